/** A fork begins where its log says that the other run stood, reuses what had happened, and undoes nothing of it. */
import { describe, expect, test } from "vitest";
import {
  foldLog,
  fork,
  type LogEntry,
  momentBefore,
  objectionToPlan,
  planOf,
  type ReplayPlan,
} from "../../src/core/index.ts";
import { close, done, notApplied, ok, Play, refused, refusedMaybe, rewind, skip, timedOut } from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

function judged(play: Play, log: readonly LogEntry[] | null = play.log) {
  const { record, rows } = play.run;
  return { namespace: "ns", record, rows, machine: play.machine, now: play.now, ...(log === null ? {} : { log }) };
}

function plan(play: Play, seq: number, log: readonly LogEntry[] | null = play.log): ReplayPlan {
  const wish = { mode: "fork", id: "r2", seq } as const;
  return planOf({ judged: judged(play, log), wish, id: "p1", expiresAt: play.now + 1_000 });
}

/** The fork, played on from its first record. */
function forked(play: Play, seq: number): Play {
  const moment = momentBefore(judged(play), play.machine, seq);
  if (!moment.ok) throw new Error(moment.problem);
  const whose = { id: "r2", now: play.now, plan: "p1", by: "ann", reason: "again" };
  const first = fork({ judged: judged(play), machine: play.machine, moment, ...whose });
  const next = new Play(line([call("a")]), { machine: play.machine, idle: true });
  next.run = { record: first.record, rows: first.rows, inbox: [] };
  next.log.splice(0, next.log.length, first.log);
  next.now = play.now;
  next.acquire();
  return next;
}

function completed(...options: readonly CallOptions[]): Play {
  const names = ["a", "b", "c"].slice(0, options.length);
  const play = new Play(line(names.map((name, at) => call(name, options[at]))));
  for (const name of names) play.answer(name, ok(name));
  return play;
}

/** The log leads to where the run is. */
function expectExplained(play: Play): void {
  const steps = foldLog(play.machine, play.run, play.log);
  expect(steps.map(({ problem }) => problem)).toEqual(play.log.map(() => null));
  expect(steps.at(-1)?.snapshot).toEqual(play.run.record.snapshot);
}

describe("a fork of a line", () => {
  test("calls what comes after, with what came before as it was", () => {
    const play = completed({}, {}, {});
    const next = forked(play, 2);
    expect(next.flying()).toEqual(["b"]);
    next.answer("b", ok("b2"));
    next.answer("c", ok("c2"));
    expect(next.run.record).toMatchObject({
      status: "completed",
      output: { a: { id: "a" }, b: { id: "b2" }, c: { id: "c2" } },
      replays: 1,
      replayOf: { mode: "fork", run: "r1", revision: play.run.record.revision, plan: "p1", by: "ann", reason: "again" },
    });
    expect(next.ordered).toEqual(["b", "c"]);
    expectExplained(next);
  });

  test("asks for its first step with all its time, and nothing of it used", () => {
    const play = new Play(line([call("a", { deadline: "60s" }), call("b")]));
    play.spend("a", { money: 3 }, "one");
    play.answer("a", ok());
    play.answer("b", ok());
    play.advance(100_000);
    const next = forked(play, 1);
    expect(next.row("a")).toMatchObject({ dueBy: next.now + 60_000 });
    next.spend("a", { money: 3 }, "one");
    expect(next.run.record.budgets["money"]?.used).toBe(3);
  });

  test("that fails undoes its own effects and none of the other run's", () => {
    const next = forked(completed({}, {}, {}), 2);
    next.answer("b", ok());
    next.answer("c", refused());
    next.answer("undo b", done);
    expect(next.run.record).toMatchObject({ status: "failed", rollback: "complete" });
    expect(next.ordered).toEqual(["b", "c", "undo b"]);
    expect(next.row("a").undo).toEqual({
      state: "kept",
      call: null,
      reason: "it belongs to run r1 (ns/default/r1/a/1)",
    });
    expectExplained(next);
  });

  test("that has completed is undone without the other run's effects, also in spite of a pivot", () => {
    const next = forked(completed({}, { pivot: true }, {}), 3);
    next.answer("c", ok());
    next.undo("regretted", true);
    next.answer("undo c", done);
    expect(next.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect(next.ordered).toEqual(["c", "undo c"]);
  });

  test("can be forked again", () => {
    const next = forked(completed({}, {}, {}), 2);
    next.answer("b", ok("b2"));
    next.answer("c", ok());
    const third = forked(next, 3);
    third.answer("c", ok("c3"));
    expect(third.run.record).toMatchObject({
      status: "completed",
      output: { a: { id: "a" }, b: { id: "b2" }, c: { id: "c3" } },
      replays: 2,
    });
    expectExplained(third);
  });
});

test("a step with an intent asks for it anew, under the fork's own name, and what it reuses has none", () => {
  const intent = () => ["pay", "o-1"];
  const play = new Play(line([call("a", { intent }), call("b", { intent: () => ["ship", "o-1"] })]));
  for (const name of ["a", "b"]) {
    play.claimed(name, { answer: "MINE", generation: 1 });
    play.answer(name, ok(name));
    play.published(name);
  }
  const next = forked(play, 2);
  expect(next.row("a")).toMatchObject({ call: { state: "reused" }, intent: null, undo: { state: "kept" } });
  expect(next.last?.claims).toMatchObject([{ seq: 2, owner: "r2#2.1" }]);
  next.claimed("b", { answer: "DONE", owner: "r1#2.1", generation: 1, outcome: { id: "b" }, heard: true });
  expect(next).toMatchObject({ status: "completed", ordered: [] });
});

test("regions, timers and rows that were left stand in a fork as they stood then", () => {
  const config = {
    type: "parallel",
    states: {
      x: {
        initial: "a",
        states: {
          a: { invoke: { src: "a", onDone: "b", onError: "b" }, on: { GO: "b" } },
          b: { invoke: { src: "b", onDone: "end" } },
          end: { type: "final" },
        },
      },
      y: {
        initial: "early",
        states: {
          early: { after: { 1000: "late" } },
          late: { invoke: { src: "c", onDone: "wait" } },
          wait: { after: { 60000: "end" } },
          end: { type: "final" },
        },
      },
    },
  };
  const steps = [call("a", { onAbandon: "keep", retry: { attempts: 1 } }), call("b"), call("c")];
  const play = new Play(played(config, steps, { events: ["GO"] }));
  play.event("GO");
  play.answer("a", ok());
  play.advance(1_000);
  play.answer("c", ok());
  play.answer("b", ok());
  play.advance(60_000);
  expect(play.status).toBe("completed");

  const early = forked(play, 2);
  expect(early.flying()).toEqual(["b"]);
  expect(early.run.record.timers).toMatchObject([{ at: early.now + 1_000 }]);
  early.answer("b", ok());
  early.advance(1_000);
  early.answer("c", ok());
  early.advance(60_000);
  expect(early.status).toBe("completed");
  expect(early.ordered).toEqual(["b", "c"]);
  expectExplained(early);

  const late = forked(play, 3);
  expect([...late.flying()].sort()).toEqual(["b", "c"]);
  expect(plan(play, 3).unsafe).toEqual([
    "b (row 2) happened and stands: the new run makes it again",
    "c (row 3) happened and stands: the new run makes it again",
  ]);
});

test("a failure that the machine was told of is told in the fork, too", () => {
  const config = {
    initial: "a",
    states: {
      a: { invoke: { src: "a", onDone: "end", onError: "b" } },
      b: { invoke: { src: "b", onDone: "end" } },
      end: { type: "final" },
    },
  };
  const play = new Play(played(config, [call("a"), call("b")]));
  play.answer("a", refused());
  play.answer("b", ok());
  const next = forked(play, 2);
  expect(next.row("a")).toEqual(play.row("a"));
  next.answer("b", ok());
  expect(next.ordered).toEqual(["b"]);
  expectExplained(next);
});

test("a fork of a run that has gone back to a savepoint reuses what stands, and not what was undone", () => {
  const config = {
    initial: "a",
    states: {
      a: { invoke: { src: "a", onDone: "b" } },
      b: { tags: "savepoint", invoke: { src: "b", onDone: "c" } },
      c: { invoke: { src: "c", onDone: "end" } },
      end: { type: "final" },
    },
  };
  const play = new Play(
    played(config, [call("a"), call("b"), call("c", { onExhausted: "review", retry: { attempts: 1 } })]),
  );
  play.answer("a", ok());
  play.answer("b", ok());
  play.answer("c", notApplied());
  play.verb(rewind("played.b"));
  play.answer("undo b", done);
  play.answer("b", ok());
  play.answer("c", ok());
  expect(play.status).toBe("completed");
  expect(plan(play, 3).problem).toContain("b (row 2) is undone");
  const next = forked(play, 5);
  expect(next.flying()).toEqual(["c"]);
  expect(next.row("b").undo?.state).toBe("done");
  expect(next.row("b", 2).undo?.state).toBe("kept");
  next.answer("c", ok());
  expect(next.status).toBe("completed");
  expectExplained(next);
  expect(play.run.record.savepoints).toHaveLength(1);
  expect(next.run.record.savepoints).toEqual([]);
});

test("a fork from before a run went back has what the machine had then", () => {
  const config = {
    initial: "b",
    states: {
      b: { tags: "savepoint", invoke: { src: "b", onDone: "c" } },
      c: { invoke: { src: "c", onDone: "end" } },
      end: { type: "final" },
    },
  };
  const parked = { onExhausted: "review", retry: { attempts: 1 } } as const;
  const play = new Play(played(config, [call("b", { compensate: false }), call("c", parked)]));
  play.answer("b", ok());
  play.answer("c", notApplied());
  play.verb(rewind("played.b", true));
  play.answer("b", ok());
  play.answer("c", ok());
  expect(play.row("b").told).toBe("nothing");
  const next = forked(play, 2);
  expect(next.row("b")).toMatchObject({ told: "outcome", undo: { state: "kept" } });
  next.answer("c", ok());
  expect(next.status).toBe("completed");
  expectExplained(next);
});

describe("the plan of a fork", () => {
  test("says what is reused and what is made anew, under which operation ids", () => {
    const play = completed({}, {}, { effect: "none" });
    const made = plan(play, 2);
    expect(made.calls).toMatchObject([
      { step: "a", course: "reuse", operationId: "ns/default/r1/a/1" },
      { step: "b", course: "call", operationId: "ns/default/r2/b/1" },
    ]);
    expect(made.unsafe).toEqual(["b (row 2) happened and stands: the new run makes it again"]);
    expect(plan(play, 3)).toMatchObject({ safe: true, request: { type: "fork", id: "r2", seq: 3 } });
    expect(objectionToPlan(plan(play, 3), judged(play), { override: false, maxReplays: 10 })).toBeNull();
  });

  test("of a run that has not ended says that it may go on itself", () => {
    const play = new Play(line([call("a"), call("b", { onExhausted: "review", retry: { attempts: 1 } })]));
    play.answer("a", ok());
    play.answer("b", notApplied());
    expect(plan(play, 2).unsafe).toEqual(["run r1 is needs_review and may still go on by itself"]);
  });

  test("is not to be executed where what had happened is undone, or is to be, or is not known", () => {
    const undone = completed({}, {});
    undone.undo();
    expect(plan(undone, 2).problem).toBe("it is being undone");
    undone.answer("undo b", done);
    undone.answer("undo a", done);
    expect(plan(undone, 2).problem).toBe("a (row 1) is undone, or is to be: its outcome cannot be reused");
    expect(plan(undone, 1)).toMatchObject({ safe: true });
    const left = played(
      {
        initial: "work",
        states: {
          work: { invoke: { src: "a", onDone: "other" }, on: { GO: "other" } },
          other: { invoke: { src: "b", onDone: "end" } },
          end: { type: "final" },
        },
      },
      [call("a"), call("b")],
      { events: ["GO"] },
    );
    const open = new Play(left);
    open.event("GO");
    expect(plan(open, 2).problem).toBe("a (row 1) is open: nobody knows what it will be");
  });

  test("may reuse what a person left, or what was kept", () => {
    const play = new Play(
      line([call("z", { compensate: false }), call("a", { compensate: { effect: "once" } }), call("b")]),
    );
    play.answer("z", ok());
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", refusedMaybe);
    play.verb(skip);
    expect(play.status).toBe("failed");
    expect(plan(play, 3)).toMatchObject({ safe: true, problem: null });
    const closed = new Play(line([call("a"), call("b", { effect: "once" })]));
    closed.answer("a", ok());
    closed.answer("b", timedOut());
    closed.verb(close);
    expect(plan(closed, 2)).toMatchObject({ problem: null, unsafe: [expect.stringContaining("b (row 2) may have")] });
  });

  test("is not to be executed where the log does not lead there", () => {
    const play = completed({}, {});
    const problem = (log: readonly LogEntry[] | null, seq = 2) => String(plan(play, seq, log).problem);
    expect(problem(play.log.slice(0, 2))).toContain("(not_reproducible): the log is not whole");
    expect(problem(null)).toContain("the log is not whole");
    expect(problem(play.log, 9)).toContain("the log never asks for row 9");
    const forged = play.log.map((entry) => (entry.revision === 2 ? { ...entry, digest: "forged" } : entry));
    expect(problem(forged)).toContain("revision 2: its digest is forged");
  });

  test("of a step that was left in the moment in which it was asked for is not to be executed", () => {
    const hasty = played(
      {
        initial: "work",
        states: {
          work: { invoke: { src: "a", onDone: "end" }, after: { 0: "other" } },
          other: { invoke: { src: "b", onDone: "end" } },
          end: { type: "final" },
        },
      },
      [call("a"), call("b")],
    );
    const play = new Play(hasty);
    expect(plan(play, 1).problem).toContain("row 1 was left in the moment in which it was asked for");
  });
});

test("a fork of a run that takes turns waits for its own, and takes no event before", () => {
  const config = {
    initial: "s",
    states: {
      s: { invoke: { src: "a", onDone: "t" } },
      t: { invoke: { src: "b", onDone: "u" }, on: { GO: "u" } },
      u: { type: "final" },
    },
  };
  const concurrency = { key: () => "k", limit: 1 };
  const play = new Play(played(config, [call("a"), call("b")], { events: ["GO"], concurrency }));
  play.turned({ answer: "MINE" });
  play.answer("a", ok());
  play.answer("b", ok());
  const next = forked(play, 2);
  next.turned({ answer: "WAIT", ahead: 0, before: [] });
  next.event("GO", {}, "1");
  expect([next.flying(), next.run.inbox.length, next.run.record.snapshot?.value]).toEqual([[], 1, "t"]);
  next.send("turn:r0", { type: "turn" });
  next.turned({ answer: "MINE" });
  expect([next.status, next.run.inbox]).toEqual(["completed", []]);
});
