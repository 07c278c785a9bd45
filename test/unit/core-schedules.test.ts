/** What follows from the ticks of a schedule, whoever looks at it when and how often. */
import { describe, expect, test } from "vitest";
import { moveOf, pausedOf, type Schedule, type ScheduleWish, scheduleOf, startedOf } from "../../src/core/index.ts";

const minute = 60_000;
const begin = Date.parse("2026-11-30T09:00:30Z");
const wish: ScheduleWish = {
  id: "nightly",
  tenant: "default",
  saga: "report",
  version: 1,
  input: {},
  priority: 0,
  timing: { everyMs: minute },
  overlap: "skip",
  missed: "skip",
};
const tickAt = (n: number) => begin - 30_000 + n * minute;

/** One that is looked at as the engine does, by somebody who knows whether its run has ended. */
class Looked {
  schedule: Schedule;
  readonly started: string[] = [];
  readonly cancelled: string[] = [];
  isOpen = false;

  constructor(patch: Partial<ScheduleWish> = {}) {
    this.schedule = scheduleOf({ ...wish, ...patch }, null, begin);
  }

  look(now: number): number | null {
    for (let moves = 0; moves < 500; moves += 1) {
      const move = moveOf(this.schedule, { now, isOpen: this.isOpen });
      switch (move.does) {
        case "rest":
          return move.at;
        case "save":
          expect(move.schedule.revision).toBe(this.schedule.revision + 1);
          this.schedule = move.schedule;
          break;
        case "start":
          this.started.push(move.run.id);
          this.schedule = startedOf(this.schedule, null);
          break;
        case "cancel":
          this.cancelled.push(move.run.id);
          return now;
      }
    }
    throw new Error("it never rests");
  }
}

const runAt = (n: number) => `nightly.${new Date(tickAt(n)).toISOString().replaceAll(/[-:]/g, "")}`;
const runs = (...ticks: readonly number[]) => ticks.map(runAt);

describe("a tick", () => {
  test("starts one run, named after it, however often it is looked at", () => {
    const looked = new Looked();
    expect(looked.look(begin)).toBe(tickAt(1));
    for (const late of [0, 1, 5_000, 29_000]) looked.look(tickAt(1) + late);
    expect(looked.started).toEqual(["nightly.20261130T090100.000Z"]);
    expect(looked.look(tickAt(1) + 30_000)).toBe(tickAt(2));
  });

  test("is decided on in a write before its run is started", () => {
    const schedule = scheduleOf(wish, null, begin);
    const first = moveOf(schedule, { now: tickAt(1), isOpen: false });
    expect(first).toMatchObject({
      does: "save",
      schedule: { pending: [tickAt(1)], doneUntil: tickAt(1), current: null },
    });
    const decided = (first as { schedule: Schedule }).schedule;
    const second = moveOf(decided, { now: tickAt(1), isOpen: false });
    const current = { tick: tickAt(1), run: runAt(1), started: false };
    expect(second).toMatchObject({ does: "save", schedule: { pending: [], current } });
    const begun = (second as { schedule: Schedule }).schedule;
    // Whoever comes after a crash starts it, paused or not, and begins nothing else before.
    for (const one of [begun, pausedOf(begun, { by: "ann", reason: "look" }, tickAt(2))]) {
      const run = { tenant: "default", id: runAt(1) };
      expect(moveOf(one, { now: tickAt(3), isOpen: true })).toEqual({ does: "start", run });
    }
  });

  test("whose run can never be is told, and counts as skipped", () => {
    const looked = new Looked();
    looked.look(begin);
    let schedule = (moveOf(looked.schedule, { now: tickAt(1), isOpen: false }) as { schedule: Schedule }).schedule;
    schedule = (moveOf(schedule, { now: tickAt(1), isOpen: false }) as { schedule: Schedule }).schedule;
    const problem = { tick: tickAt(1), message: "no" };
    const told = startedOf(schedule, "no");
    expect(told).toMatchObject({ current: null, skipped: 1, problem });
    looked.schedule = told;
    looked.look(tickAt(2));
    expect(looked.schedule).toMatchObject({ problem: null, current: { run: runAt(2) } });
  });
});

describe("while the run before has not ended", () => {
  const open = (overlap: Schedule["overlap"]) => {
    const looked = new Looked({ overlap });
    looked.look(tickAt(1));
    looked.isOpen = true;
    return looked;
  };

  test("skip starts none", () => {
    const looked = open("skip");
    looked.look(tickAt(2));
    looked.look(tickAt(3));
    looked.isOpen = false;
    looked.look(tickAt(3) + 1);
    expect(looked.started).toEqual(runs(1));
    expect(looked.schedule.skipped).toBe(2);
    looked.look(tickAt(4));
    expect(looked.started).toEqual(runs(1, 4));
  });

  test("queue starts them one after the other, when it has", () => {
    const looked = open("queue");
    looked.look(tickAt(2));
    expect(looked.look(tickAt(3))).toBe(tickAt(3));
    expect(looked.started).toEqual(runs(1));
    looked.isOpen = false;
    looked.look(tickAt(3) + 1);
    expect(looked.started).toEqual(runs(1, 2, 3));
    expect(looked.schedule.skipped).toBe(0);
  });

  test("queue keeps the newest hundred", () => {
    const looked = open("queue");
    for (let n = 2; n <= 150; n += 1) looked.look(tickAt(n));
    expect(looked.schedule.pending).toHaveLength(100);
    expect(looked.schedule.pending.at(-1)).toBe(tickAt(150));
    expect(looked.schedule.skipped).toBe(49);
  });

  test("cancel_previous cancels it, and starts the newest tick's run when it has ended", () => {
    const looked = open("cancel_previous");
    looked.look(tickAt(2));
    looked.look(tickAt(3));
    expect(looked.cancelled).toEqual(runs(1, 1));
    expect(looked.started).toEqual(runs(1));
    looked.isOpen = false;
    looked.look(tickAt(3) + 1);
    expect(looked.started).toEqual(runs(1, 3));
    expect(looked.schedule.skipped).toBe(1);
  });
});

describe("ticks that nobody saw to", () => {
  const startedAfter = (missed: Schedule["missed"], late: number, timing: Schedule["timing"] = { everyMs: minute }) => {
    const looked = new Looked({ missed, timing, overlap: "queue" });
    looked.look(begin);
    looked.look(tickAt(5) + late);
    return looked;
  };

  test("are skipped, all but one that is not a minute late", () => {
    expect(startedAfter("skip", 10_000).started).toEqual(runs(5));
    expect(startedAfter("skip", 10_000).schedule.skipped).toBe(4);
    const hourly = startedAfter("skip", 80 * minute, { everyMs: 60 * minute });
    expect(hourly.started).toEqual([]);
    expect(hourly.schedule.skipped).toBe(1);
  });

  test("come to one run for all of them", () => {
    expect(startedAfter("run_once", 0).started).toEqual(runs(5));
    const hourly = startedAfter("run_once", 80 * minute, { everyMs: 60 * minute });
    expect(hourly.started).toEqual(["nightly.20261130T100000.000Z"]);
  });

  test("come to a run each, of very many to the newest hundred", () => {
    expect(startedAfter("run_all", 0).started).toEqual(runs(1, 2, 3, 4, 5));
    const many = new Looked({ missed: "run_all" });
    many.look(tickAt(1_000));
    expect(many.started).toHaveLength(100);
    expect(many.started.at(-1)).toBe(runAt(1_000));
  });
});

describe("paused", () => {
  const by = { by: "ann", reason: "holidays" };

  test("it starts nothing, and afterwards what falls due from then on", () => {
    const looked = new Looked({ missed: "run_all" });
    looked.schedule = pausedOf(looked.schedule, by, begin);
    expect(looked.schedule.paused).toEqual({ ...by, at: begin });
    expect(looked.look(tickAt(3))).toBeNull();
    looked.schedule = pausedOf(looked.schedule, null, tickAt(3) + 1);
    expect(looked.look(tickAt(3) + 2)).toBe(tickAt(4));
    expect(looked.started).toEqual([]);
  });

  test("what was due before that is started when it goes on", () => {
    const looked = new Looked();
    looked.schedule = pausedOf(looked.schedule, by, tickAt(1));
    looked.schedule = pausedOf(looked.schedule, by, tickAt(2));
    looked.schedule = pausedOf(looked.schedule, null, tickAt(2));
    looked.look(tickAt(2) + 1);
    expect(looked.started).toEqual(runs(1));
  });
});

describe("put again with another definition", () => {
  test("that counts from now on; what was due before stays decided, and it has no revision twice", () => {
    const looked = new Looked();
    const changed = scheduleOf({ ...wish, timing: { everyMs: 3_600_000 } }, looked.schedule, tickAt(1) + 5);
    expect(changed).toMatchObject({
      doneUntil: tickAt(1) + 5,
      pending: [tickAt(1)],
      revision: looked.schedule.revision + 1,
    });
    looked.schedule = changed;
    expect(looked.look(tickAt(2))).toBe(Date.parse("2026-11-30T10:00:00Z"));
    expect(looked.started).toEqual(runs(1));
    const paused = pausedOf(looked.schedule, { by: "ann", reason: "x" }, tickAt(2));
    expect(scheduleOf(wish, paused, tickAt(9)).pending).toEqual([]);
    expect(scheduleOf(wish, null, tickAt(9)).revision).toBeGreaterThan(looked.schedule.revision);
  });
});
