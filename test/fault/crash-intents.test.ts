/**
 * SIGKILL between every two writes of an intent (design section 6, (a) to (f)), while a second run wants the same effect:
 * it is made once, both go on, and what its owner undoes is heard by the run that went by it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunRecord } from "../../src/core/index.ts";
import { begin, crashByPlan, diesByPlan, rescue, toldOf } from "../support/fault-crash.ts";
import { type Plan, tenant } from "../support/fault-plan.ts";
import type { Room } from "../support/fault-room.ts";
import { sagas } from "../support/fault-sagas.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const holds = ({ status, waitingFor, open }: RunRecord) =>
  status === "needs_review" || (status === "waiting" && waitingFor === "event" && open.length === 0);

async function go(room: Room, id: string): Promise<void> {
  await room.client.run(id, { tenant, saga: sagas.billed }).signal("GO", {});
}

/** How often the bill was paid and paid back, whoever asked for it. */
async function paid(room: Room): Promise<{ readonly paid: number; readonly back: number }> {
  const effects = (await room.entries()).filter(({ kind }) => kind === "effect");
  const of = (name: string) => effects.filter(({ service }) => service === name).length;
  return { paid: of("bill"), back: of("undo-bill") };
}

const points: readonly (readonly [words: string, plan: Plan])[] = [
  ["(a) the row asks, (b) the claim not sent", { point: "I01" }],
  ["(b) the claim is answered, (c) not committed", { point: "I02" }],
  ["(c) sent is committed, the call not made", { point: "P06", step: "bill" }],
  ["(d) the effect is made, its outcome not committed", { point: "P09", step: "bill" }],
  ["(d) the outcome is committed, (e) not published", { point: "I03" }],
  ["(e) published, those who listen not told", { point: "I04" }],
  ["(e) they were told, (f) not cleared", { point: "I05" }],
  ["(f) it is cleared", { point: "I06" }],
];

describe.concurrent.each(points)("killed where %s", (_words, plan) => {
  test("the effect is made once, and the second run has its outcome", async () => {
    const name = `intent-${plan.point}`;
    const crashed = await crashByPlan(stage, { name, saga: "billed" }, plan);
    const { room } = crashed;
    await room.start("billed", { id: "r2" });
    const rescuer = await stage.rescuer();
    await rescuer.serve(name);
    await Promise.all(["r1", "r2"].map((id) => room.rest(id, holds)));
    const [first, second] = await Promise.all([room.rowOf("bill"), room.rowOf("bill", "r2")]);
    // Whoever was quicker once the first one's process was gone owns it; the other one reuses.
    const states = [first.call.state, second.call.state];
    expect(states.sort(), await toldOf(room)).toEqual(["reused", "succeeded"]);
    expect(second.output).toEqual(first.output);
    expect(await paid(room)).toEqual({ paid: 1, back: 0 });
    for (const id of ["r1", "r2"]) await go(room, id);
    for (const id of ["r1", "r2"]) expect((await room.rest(id)).status).toBe("completed");
    expect(await paid(room)).toEqual({ paid: 1, back: 0 });
    await room.prove(["IN-crash", plan.point], {
      killed: [{ pid: crashed.victim.pid, signal: "SIGKILL" }],
      checks: [name],
    });
    stage.leaveWhenDrained(room);
  });
});

describe.concurrent("an outcome that two runs go by", () => {
  /** `r1` pays, `r2` goes by it, then `r1` is refused and pays back; its worker dies on the way where a plan says so. */
  async function undoneByOwner(name: string, plan: Plan | null): Promise<Room> {
    const { room, victim } = await begin(stage, { name, saga: "billed" }, plan);
    await room.start("billed", { refuse: true });
    await room.rest("r1", holds);
    await room.start("billed", { id: "r2" });
    await room.rest("r2", holds);
    expect((await room.rowOf("bill", "r2")).call.state).toBe("reused");
    await go(room, "r1");
    if (plan !== null) await rescue(await diesByPlan({ stage, room, victim }, plan));
    await room.rest("r1");
    return room;
  }

  test.each([
    ["undone", null],
    ["undone, its owner's worker killed before that is published", { point: "I03", nth: 2 }],
    ["undone, its owner's worker killed before it has told anybody", { point: "I04", nth: 2 }],
  ] as const)("%s, it parks the run that went by it", async (_words, plan) => {
    const room = await undoneByOwner(`undone-${plan?.point ?? "alive"}`, plan);
    const parked = await room.rest("r2");
    expect(await room.record()).toMatchObject({ status: "failed", rollback: "complete" });
    expect(parked).toMatchObject({ status: "needs_review", review: { reason: "intent_undone" } });
    expect(parked.review?.evidence).toMatchObject({ owner: "r1#1.1", intent: ["bill", "b-1"] });
    expect(await paid(room)).toEqual({ paid: 1, back: 1 });
    // A third one makes it anew: the intent is free again.
    await room.start("billed", { id: "r3" });
    await room.rest("r3", holds);
    expect((await room.rowOf("bill", "r3")).call.state).toBe("succeeded");
    expect(await paid(room)).toEqual({ paid: 2, back: 1 });
    stage.leaveWhenDrained(room);
  });
});

describe("when all is over", () => {
  test("I3 I4 I5 I6 hold for every run", async () => {
    await expectAllSettled(stage, { ids: ["I3", "I4", "I5", "I6"], what: "around an intent" });
  });
});
