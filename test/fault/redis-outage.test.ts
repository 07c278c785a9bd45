/**
 * Redis itself fails under two healthy workers: killed and started again, or frozen for longer than every lease, while each
 * run has a call under way. Nobody may take the pause of the store for the death of an owner: no effect is doubled, and no
 * run is parked because a `once` call was thought to be lost.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { toldOf } from "../support/fault-crash.ts";
import { settings } from "../support/fault-plan.ts";
import type { Room } from "../support/fault-room.ts";
import { done } from "../support/fault-sagas.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";

const steps = ["look", "reserve", "charge", "fee", "pick", "tag", "letter", "approve"];
const rounds = process.env["REPRISE_SIZE"] === "full" ? 3 : 1;
let stage: Stage;
beforeAll(async () => {
  // The world cannot look into a store that does not answer.
  stage = await Stage.open({ witness: false });
});
afterEach(() => stage.world.clearFaults());
afterAll(() => stage.close());

interface Underway {
  readonly room: Room;
  /** Lets the world answer every call that is under way. */
  readonly answerAll: () => void;
}

/** Two workers, and one run for each step, with that step's call under way. */
async function underway(name: string): Promise<Underway> {
  const [room, first, second] = await Promise.all([stage.room(name), stage.worker(), stage.rescuer()]);
  await Promise.all([first.serve(name), second.serve(name)]);
  const held = steps.map((step) => {
    const operationId = room.operationOf(step, step);
    stage.world.fault({ service: step, operationId, kind: "apply-then-hang" });
    return stage.world.nextHeld({ operationId });
  });
  for (const id of steps) await room.start("whole", { id });
  const calls = await Promise.all(held);
  const answerAll = () => {
    for (const call of calls) call.release();
  };
  return { room, answerAll };
}

/** Every run is completed, each of its effects was made once, and no call was repeated. */
async function expectWhole(room: Room, killed: { readonly pid: number; readonly signal: string }): Promise<void> {
  for (const id of steps) {
    const { status } = await room.rest(id);
    expect(status, await toldOf(room, id)).toBe("completed");
    expect(await room.counts(id)).toMatchObject(done);
  }
  const checks = [`${steps.length} runs with a call under way at redis-server ${killed.signal}`];
  await room.prove(["I1", "I3", "I4", "I5"], { killed: [killed], checks });
}

describe.each(Array.from({ length: rounds }, (_, n) => n + 1))("round %i", (round) => {
  test("I1 I3 I4 I5 killed and started again: every run goes on, and nothing acknowledged is lost", async () => {
    const { room, answerAll } = await underway(`restart-${round}`);
    const { pid } = stage.redis;
    expect(await stage.redis.kill()).toEqual({ code: null, signal: "SIGKILL" });
    answerAll();
    await stage.redis.restart();
    await expectWhole(room, { pid, signal: "SIGKILL" });
  });

  test("I1 I3 I4 I5 frozen for longer than every lease: owners come first, no once effect is doubled", async () => {
    const { room, answerAll } = await underway(`frozen-${round}`);
    const { pid } = stage.redis;
    stage.redis.freeze();
    const frozenAt = performance.now();
    answerAll();
    const isLong = () => performance.now() - frozenAt > 1.75 * settings.leaseMs;
    await waitFor(isLong, { what: "every lease to lapse" });
    stage.redis.thaw();
    await expectWhole(room, { pid, signal: "SIGSTOP" });
  });
});
