/**
 * Wake-up jobs that are lost, doubled or early, and two worker processes at once on one run: the job is only a nudge, so
 * none of it may show outside.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WakeUp } from "../../src/core/index.ts";
import { toldOf } from "../support/fault-crash.ts";
import { tenant } from "../support/fault-plan.ts";
import type { FaultWorker } from "../support/fault-processes.ts";
import type { Room } from "../support/fault-room.ts";
import { done, timedWaitMs } from "../support/fault-sagas.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";

/** More than one worker may drive at once (20), fewer than two. */
const runsAtOnce = process.env["REPRISE_SIZE"] === "full" ? 36 : 24;
let stage: Stage;
let workers: readonly FaultWorker[];
beforeAll(async () => {
  stage = await Stage.open();
  workers = await Promise.all([stage.rescuer(), stage.worker()]);
});
afterAll(() => stage.close());

async function servedByBoth(room: Room): Promise<void> {
  await Promise.all(workers.map((worker) => worker.serve(room.namespace)));
}

/** As many jobs as there are numbers, all of them asking for the same run. */
function nudges(id: string, numbers: readonly number[]): readonly WakeUp[] {
  return numbers.map((wake) => ({ run: { tenant, id }, wake, pool: "default", lane: 0, priority: 0 }));
}

async function jobsAreTaken(room: Room): Promise<void> {
  await waitFor(async () => (await room.queuedInAll()) === 0, { timeoutMs: 30_000, what: "the jobs to be taken" });
}

/** Completed, nothing left in the queue, all three witnesses agree. */
async function expectWhole(room: Room, ids: readonly string[], what: string): Promise<void> {
  for (const { run } of room.history) {
    const { status } = await room.rest(run.id);
    expect(status, await toldOf(room, run.id)).toBe("completed");
  }
  await jobsAreTaken(room);
  await room.prove(ids, { checks: [`${room.history.length} runs: ${what}`] }, { queued: true });
}

describe.concurrent("a wake-up job", () => {
  test("I1 I9 that is lost is made anew: the run goes on", async () => {
    const room = await stage.room("lost-job");
    room.deliver = async () => undefined;
    await servedByBoth(room);
    await room.start("whole");
    expect(await room.queuedInAll()).toBe(0);
    await expectWhole(room, ["I1", "I9"], "its wake-up was lost");
    expect(await room.counts()).toMatchObject(done);
  });

  test("I1 I9 that is lost with its whole queue is made anew", async () => {
    const room = await stage.room("lost-queue");
    await room.start("whole");
    expect(await room.queuedInAll()).toBe(1);
    await room.loseQueue();
    await servedByBoth(room);
    await expectWhole(room, ["I1", "I9"], "the keys of its queue were deleted");
    expect(await room.counts()).toMatchObject(done);
  });

  test("I3 I4 I5 that is doubled changes nothing", async () => {
    const room = await stage.room("doubled-job");
    room.deliver = (wakes) => room.wakeUps.wake([...wakes, ...nudges("r1", [50, 51, 52, 53])]);
    await room.start("whole");
    expect(await room.queuedInAll()).toBe(5);
    await servedByBoth(room);
    await expectWhole(room, ["I3", "I4", "I5"], "it was woken five times at once");
    expect(await room.counts()).toMatchObject(done);
  });

  test("I3 I4 that is early does not hurry a timer", async () => {
    const room = await stage.room("early-job");
    await servedByBoth(room);
    await room.start("timed");
    const { fence } = (await waitFor(async () => (await room.log()).find(({ to }) => to === "waiting"), {
      timeoutMs: 30_000,
    })) as { readonly fence: number };
    await room.wakeUps.wake(nudges("r1", [50]));
    await expectWhole(room, ["I3", "I4"], "it was woken before its time");
    const log = await room.log();
    const waitedFrom = log.find(({ to }) => to === "waiting")?.at ?? Number.NaN;
    const letter = (await room.entries()).find(({ service }) => service === "letter");
    expect(Date.parse(letter?.at ?? "") - waitedFrom).toBeGreaterThanOrEqual(timedWaitMs);
    // The early one took the lease and gave it back; the timer's own came after it.
    expect(log.at(-1)?.fence).toBe(fence + 2);
    expect(await room.counts()).toMatchObject({ charge: { effects: 1 }, letter: { arrivals: 1, effects: 1 } });
  });
});

describe("two worker processes at once", () => {
  test("I3 I5 on one run that is held: the second changes nothing", async () => {
    const room = await stage.room("both-held");
    const operationId = room.operationOf("charge");
    stage.world.fault({ service: "charge", operationId, kind: "hang-before-apply" });
    const [first, second] = workers;
    await first?.serve(room.namespace);
    await room.start("whole");
    const held = await stage.world.nextHeld({ operationId });
    await second?.serve(room.namespace);
    await room.wakeUps.wake(nudges("r1", [50, 51, 52, 53]));
    // One job is the first worker's own, and ends with its drive.
    await waitFor(async () => (await room.queuedInAll()) <= 1, { timeoutMs: 30_000, what: "the others to be taken" });
    held.release();
    await expectWhole(room, ["I3", "I5"], "four more wake-ups came while it was held");
    expect(new Set((await room.log()).slice(1).map(({ fence }) => fence))).toEqual(new Set([1]));
    expect(await room.counts()).toMatchObject(done);
  });

  test("I3 I4 I5 on many runs, each woken four times: each call is made once", async () => {
    const room = await stage.room("both-many");
    const ids = Array.from({ length: runsAtOnce }, (_, n) => `r${n}`);
    room.deliver = (wakes) =>
      room.wakeUps.wake([...wakes, ...wakes.flatMap(({ run }) => nudges(run.id, [50, 51, 52]))]);
    const calls = ids.map((id) => {
      const operationId = room.operationOf("look", id);
      stage.world.fault({ service: "look", operationId, kind: "hang-before-apply" });
      return stage.world.nextHeld({ operationId });
    });
    for (const id of ids) await room.start("whole", { id });
    await servedByBoth(room);
    for (const call of await Promise.all(calls)) call.release(); // all of them are being driven
    await expectWhole(room, ["I3", "I4", "I5"], "each was woken four times, for two workers");
    for (const id of ids) expect(await room.counts(id)).toMatchObject(done);
    const pids = new Set((await room.entries()).map(({ pid }) => pid));
    expect(pids).toEqual(new Set(workers.map(({ pid }) => pid)));
  });
});
