/**
 * Cancels against real deaths: SIGKILL around every write of the cancel of a run whose children are at work, in each mode, during an
 * unwind and past a point of no return. Everything ends, nothing is left running, and the world saw what the ledgers claim. And a
 * cancel reaches a call that is out in another process.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Cancel, RunRecord } from "../../src/core/index.ts";
import { begin, type Crashed, diesByPlan, prove, rescue, toldOf } from "../support/fault-crash.ts";
import { type Plan, tenant } from "../support/fault-plan.ts";
import type { Room } from "../support/fault-room.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";
import { Scene } from "./scenarios-scene.ts";

type Mode = Cancel["mode"];
const isFull = process.env["REPRISE_SIZE"] === "full";
let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const children = ["r1.2", "r1.3"] as const;
const cancel = (room: Room, mode: Mode) =>
  room.client.run("r1", { tenant }).cancel({ mode, reason: "not wanted", by: "ann" });

/** One child holds with its charge recorded; the other's charge was applied, and its answer is still on its way. */
async function atWork(name: string, plan: Plan | null) {
  const { room, victim, start } = await begin(stage, { name, saga: "brood" }, plan);
  const operationId = room.operationOf("charge", "r1.2");
  stage.world.fault({ service: "charge", operationId, kind: "apply-then-hang" });
  await start();
  const held = await stage.world.nextHeld({ service: "charge", operationId });
  const isWaiting = async () => (await room.store.read({ tenant, id: "r1.3" }))?.waitingFor === "event";
  await waitFor(isWaiting, { timeoutMs: 30_000, what: "a child to wait" });
  for (const id of children) room.history.push({ op: "start", run: { tenant, id }, outcome: "ok" });
  return { room, victim, held };
}

async function endsOf(room: Room): Promise<readonly RunRecord[]> {
  return await Promise.all(["r1", ...children].map((id) => room.rest(id)));
}

/** How often each child charged, and took that back, in the world. */
async function chargesOf(room: Room) {
  const counts = await Promise.all(children.map((id) => room.counts(id)));
  return counts.map((count) => [count["charge"]?.effects ?? 0, count["undo-charge"]?.effects ?? 0]);
}

const moments: readonly (readonly [string, Plan])[] = [
  ["before its own turn is written", { point: "C01" }],
  ["before the first child is asked", { point: "H04" }],
  ["the first child was asked, and nobody was woken", { point: "H05" }],
  ["before the second child is asked", { point: "H04", nth: 2 }],
  ["before a child leaves word that it has ended", { point: "H06" }],
  ["the end of a child is written, and nothing was said of it", { point: "P13" }],
];
const modes: readonly Mode[] = ["compensate", "stop", "kill"];
/** By mode, the moments that are always played. */
const usual: Readonly<Record<Mode, readonly string[]>> = {
  compensate: ["C01 1", "H05 1", "H04 2", "H06 1", "P13 1"],
  stop: ["H04 2"],
  kill: ["H05 1"],
};
/** Who kills waits for no child, so that its end may be written before or after its parent's. */
const isPlayed = (mode: Mode, { point, nth = 1 }: Plan) =>
  isFull ? mode !== "kill" || point !== "H06" : usual[mode].includes(`${point} ${nth}`);
const played = modes.flatMap((mode) =>
  moments.filter(([, plan]) => isPlayed(mode, plan)).map(([words, plan]) => [mode, words, plan] as const),
);

describe.concurrent("killed while a run is cancelled whose children are at work", () => {
  test.each(played)("%s, %s: all of them end, and what stands is what the ledgers say", async (mode, _words, plan) => {
    const name = `cancel-${mode}-${plan.point}-${plan.nth ?? 1}`;
    const { room, victim, held } = await atWork(name, plan);
    await cancel(room, mode);
    const crashed: Crashed = await diesByPlan({ stage, room, victim }, plan);
    held.drop();
    await rescue(crashed);
    const ends = await endsOf(room);
    const told = await toldOf(room);
    expect(
      ends.map(({ status, open }) => [status, open.length]),
      told,
    ).toEqual(ends.map(() => ["cancelled", 0]));
    const undone = mode === "compensate" ? 1 : 0;
    expect(await chargesOf(room), told).toEqual(children.map(() => [1, undone]));
    expect(ends[0]?.rollback, told).toBe(mode === "compensate" ? "complete" : "partial");
    await prove("CANCEL-children", crashed, { endedByVictim: plan.point === "P13" && mode === "kill" });
  });
});

describe.concurrent("killed during an unwind that is cancelled harder", () => {
  test.each<[Mode]>([["stop"], ["kill"]])("%s: it ends where it is, and says what stands", async (mode) => {
    const { room, victim, start } = await begin(stage, { name: `harder-${mode}`, refuse: true }, null);
    const operationId = room.operationOf("undo-fee");
    stage.world.fault({ service: "undo-fee", operationId, kind: "apply-then-hang" });
    await start();
    const held = await stage.world.nextHeld({ service: "undo-fee", operationId });
    const exit = await victim.child.kill("SIGKILL");
    await cancel(room, mode);
    held.drop();
    const crashed: Crashed = { stage, room, victim, exit, where: "during undo-fee, applied and not answered" };
    const record = await rescue(crashed);
    expect(record, await toldOf(room)).toMatchObject({ status: "cancelled", rollback: "partial", cancel: { mode } });
    const counts = await room.counts();
    expect(counts["undo-pick"]).toMatchObject({ effects: 1 });
    expect([counts["undo-charge"], counts["undo-reserve"]]).toEqual([undefined, undefined]);
    await prove("CANCEL-harder", crashed);
  });
});

test.concurrent("killed past a point of no return and cancelled: it is parked, and only a person has it undone all the same", async () => {
  const { room, victim, start } = await begin(stage, { name: "cancel-sealed", saga: "sealed" }, null);
  await start();
  await waitFor(async () => (await room.record()).waitingFor === "event", { timeoutMs: 30_000, what: "it to hold" });
  const exit = await victim.child.kill("SIGKILL");
  await cancel(room, "compensate");
  const crashed: Crashed = { stage, room, victim, exit, where: "holding past its point of no return" };
  const parked = await rescue(crashed);
  expect([parked.status, parked.review?.reason]).toEqual(["needs_review", "after_pivot"]);
  expect((await room.counts())["undo-charge"]).toBeUndefined();
  const { operator } = room.client.run("r1", { tenant });
  await operator.compensate({ reason: "it must go back", by: "bob", review: parked.review?.n ?? 0 });
  const record = await room.rest("r1", ({ status }) => status === "cancelled");
  expect(record.rollback).toBe("complete");
  expect((await room.counts())["undo-charge"]).toMatchObject({ effects: 1 });
  await prove("CANCEL-pivot", crashed);
});

describe("when all is over", () => {
  test("I3 I4 I5 I6 hold for every run", async () => {
    await expectAllSettled(stage, { ids: ["I3", "I4", "I5", "I6"], what: "around a cancel" });
  });
});

/** Slower than a renewal and a read by far, so that only a cancel that was not heard is too late on a busy machine. */
const heardMs = { usually: 3_000, most: 15_000 };

test("a cancel aborts the call of a run in whichever process it runs, with the settings that nobody has changed", async () => {
  const scene = await Scene.open();
  try {
    const play = await scene.play("cancel-abort");
    const workers = await Promise.all([scene.worker(), scene.worker()]);
    for (const worker of workers) await worker.serve(play.namespace, { isDefault: true, concurrency: 2 });
    scene.world.fault({ service: "errand", kind: "hang-before-apply", times: 4 });
    const ids = ["r1", "r2", "r3", "r4"];
    for (const id of ids) await play.start("errand", id);
    const held = [];
    for (const _ of ids) held.push(await scene.world.nextHeld({ service: "errand" }));
    expect(new Set(held.map(({ pid }) => pid)).size).toBe(2);
    const took = await Promise.all(
      held.map(async ({ id, run = "" }) => {
        const from = performance.now();
        await play.client.run(run, { tenant }).cancel({ reason: "not wanted", by: "ann" });
        const isGone = () =>
          scene.world.eventsAfter(0).some(({ event, call }) => event === "abandoned" && call.id === id);
        await waitFor(isGone, { timeoutMs: heardMs.most, everyMs: 10, what: `the call of ${run} to be aborted` });
        return Math.round(performance.now() - from);
      }),
    );
    expect(took.toSorted((a, b) => a - b)[1]).toBeLessThan(heardMs.usually);
    for (const call of held) call.drop();
    expect((await play.restAll(ids)).map(({ status }) => status)).toEqual(ids.map(() => "cancelled"));
    // Its outcome is not known, so it is made under its key once more, to learn what is to be undone.
    expect((await play.counts("undo-errand")).effects).toBe((await play.counts("errand")).effects);
    await play.prove("CANCEL-abort", { checks: [`aborted ${took.join(", ")} ms after the cancel was sent`] });
  } finally {
    await scene.close();
  }
});
