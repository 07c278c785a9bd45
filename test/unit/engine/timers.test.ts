/** Timers of a whole engine over virtual time: when they fire, how often, and what a crowd of them does to others. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { LogEntry, RunRef } from "../../../src/core/index.ts";
import { saga, step } from "../../../src/saga/index.ts";
import { benchTop, settings, wrapped } from "./bench-top.ts";

const input = z.object({ n: z.number() });
/** Longer than a driver keeps its lease for. */
const waitMs = 3_000;
const workMs = 100;
const atOnce = 10; // runs that the worker of the bench drives at once

/** A timer, and then a step that takes its time; when each step was begun. */
function reminders() {
  const began = new Map<string, number>();
  const work = step("work", {
    input,
    effect: "none",
    action: async ({ run }) => {
      began.set(run.id, top.clock.monotonicMs());
      await new Promise<void>((resolve) => void top.clock.after(workMs, resolve));
    },
  });
  const reminder = saga("reminder", { version: 1, input })
    .wait(waitMs)
    .step(work, ({ input: of }) => of)
    .build();
  const plain = saga("plain", { version: 1, input })
    .step(work, ({ input: of }) => of)
    .build();
  const sweeps: number[] = [];
  const top = benchTop(
    [reminder, plain],
    wrapped((store) => ({
      due: (shard, limit) => {
        sweeps.push(top.clock.monotonicMs());
        return store.due(shard, limit);
      },
    })),
  );
  const logOf = (run: RunRef) => top.store.log(run);
  return { top, reminder, plain, began, sweeps, logOf };
}

const firings = (log: readonly LogEntry[]) => log.filter(({ taken }) => taken.some(({ what }) => what === "timer"));

describe("a timer", () => {
  test("fires once, not before its time and at most one sweep after it", async () => {
    const { top, reminder, logOf } = reminders();
    await top.worker().start();
    await top.clock.advance(1_234);
    const run = await top.start(reminder, { n: 1 });
    await top.clock.advance(10);
    const { timers = [] } = (await top.store.read(run)) ?? {};
    const dueAt = timers[0]?.at ?? 0;
    await top.clock.advance(2 * waitMs);
    const fired = firings(await logOf(run)).map(({ at }) => at - dueAt);
    expect(fired).toHaveLength(1);
    expect(fired[0]).toBeGreaterThanOrEqual(0);
    expect(fired[0]).toBeLessThanOrEqual(settings.sweepMs);
  });
});

describe("of 250 timers at once", () => {
  const crowd = 250;
  const crowded = async () => {
    const scene = reminders();
    const runs: RunRef[] = [];
    await scene.top.worker().start();
    for (let n = 0; n < crowd; n += 1) runs.push(await scene.top.start(scene.reminder, { n }, `t${n}`));
    await scene.top.clock.advance(waitMs - 100);
    expect(scene.began.size).toBe(0);
    await scene.top.clock.advance(100 + settings.sweepMs);
    return { ...scene, runs };
  };

  test("each fires once and none early, however long it takes", async () => {
    const { top, runs, logOf } = await crowded();
    await top.clock.advance(2 * crowd * (workMs / atOnce));
    for (const run of runs) {
      const log = await logOf(run);
      expect(firings(log)).toHaveLength(1);
      expect((firings(log)[0]?.at ?? 0) - (log[0]?.at ?? 0)).toBeGreaterThanOrEqual(waitMs);
    }
  }, 60_000);

  test("a new run begins after a hundred of them at most, and the queue never holds many more", async () => {
    const { top, plain, began } = await crowded();
    expect(top.queue.size()).toBeLessThan(200);
    const startedAt = top.clock.monotonicMs();
    await top.start(plain, { n: 0 }, "new");
    await top.clock.advance(2_000);
    const begun = began.get("new") ?? Number.POSITIVE_INFINITY;
    expect(begun - startedAt).toBeLessThanOrEqual((100 / atOnce + 2) * workMs);
    expect([...began.values()].filter((at) => at > begun).length).toBeGreaterThan(crowd / 5);
  }, 60_000);

  test("while room is made it is looked again soon, and as seldom as ever when nobody takes anything", async () => {
    const { top, sweeps } = await crowded();
    sweeps.length = 0;
    await top.clock.advance(1_000);
    expect(sweeps.length).toBeGreaterThanOrEqual(9); // four and a half times as often as idle
    const idle = benchTop(
      [],
      wrapped((store) => ({
        due: async (shard, limit) => {
          sweeps.push(idle.clock.monotonicMs());
          return { ...(await store.due(shard, limit)), crowded: true };
        },
      })),
    );
    await idle.worker().start();
    await idle.clock.advance(1_000);
    sweeps.length = 0;
    await idle.clock.advance(10_000);
    expect(sweeps.length).toBeLessThanOrEqual(10_000 / settings.sweepMs);
  }, 60_000);
});
