/** Undoing a run that has ended: when it is taken, what it does, and what it leaves as it is. */
import { describe, expect, test } from "vitest";
import { foldLog, verdictOf } from "../../src/core/index.ts";
import {
  close,
  compensate,
  defect,
  done,
  ok,
  Play,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
  skip,
  timedOut,
} from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

/** All steps have succeeded. */
function completed(steps: Readonly<Record<string, CallOptions>>): Play {
  const play = new Play(line(Object.entries(steps).map(([name, options]) => call(name, options))));
  for (const name of Object.keys(steps)) play.answer(name, ok(name));
  expect(play.status).toBe("completed");
  return play;
}

function lastRefusal(play: Play): string | undefined {
  const last = play.taken().findLast((taken) => taken.what === "refused");
  return last?.what === "refused" ? last.note : undefined;
}

describe("a completed run", () => {
  test("goes back in strict reverse and ends as cancelled, undone", () => {
    const play = completed({ a: {}, b: { effect: "once" }, c: { effect: "none" } });
    const ended = play.run.record.endedAt;
    play.now += 3_600_000;
    play.undo("the customer regretted it");
    expect(play.run.record).toMatchObject({ status: "unwinding", rollback: "pending", endedAt: null });
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({
      status: "cancelled",
      rollback: "complete",
      cause: { kind: "undone", step: null, message: "the customer regretted it", reference: "ops" },
      output: { a: { id: "a" }, b: { id: "b" }, c: { id: "c" } },
    });
    expect(play.run.record.endedAt).toBeGreaterThan(ended as number);
    expect(play.ordered).toEqual(["a", "b", "c", "undo b", "undo a"]);
  });

  test("says in its log who asked and why, and the log still explains it", () => {
    const play = completed({ a: {} });
    play.undo();
    play.answer("undo a", done);
    expect(play.taken()).toContainEqual({ what: "control", control: "undo", by: "ops", reason: "regretted" });
    expect(play.taken().filter(({ what }) => what === "ended")).toEqual([
      { what: "ended", note: "completed" },
      { what: "ended", note: "cancelled" },
    ]);
    expect(foldLog(play.machine, play.run, play.log).at(-1)).toMatchObject({
      problem: null,
      snapshot: play.run.record.snapshot,
    });
  });

  test("with nothing to undo ends at once, and calls nothing", () => {
    const play = completed({ a: { effect: "none" }, b: { compensate: false } });
    play.undo();
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "not_applicable" });
    expect(play.row("b").undo).toMatchObject({ state: "kept", reason: "it stays" });
    expect(play.ordered).toEqual(["a", "b"]);
    expect(play.held).toBe(false);
  });

  test("asked twice is undone once", () => {
    const play = completed({ a: {} });
    play.undo();
    play.undo("again");
    play.answer("undo a", done);
    expect(play.ordered).toEqual(["a", "undo a"]);
    expect(play.run.record.cause).toMatchObject({ kind: "undone", message: "regretted" });
    expect(lastRefusal(play)).toContain("it is cancelled");
  });

  test("whose worker dies on the way back goes on going back", () => {
    const play = completed({ a: {}, b: {} });
    play.undo();
    play.takeOver();
    play.advance(1_000);
    play.answer("undo b", done);
    play.takeOver();
    play.advance(1_000);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("is parked where a compensation halts, and ends as cancelled all the same", () => {
    const play = completed({ a: {}, b: {} });
    play.undo();
    play.answer("undo b", refused());
    expect(play.run.record).toMatchObject({ status: "needs_review", rollback: "halted", cause: { kind: "undone" } });
    expect(play.review?.verbs).not.toContain("compensate");
    play.verb(skip);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "partial" });
  });

  test("does not undo again what it had left on its way", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "a", onDone: "two" }, on: { GO: "two" } },
        two: { invoke: { src: "b", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("a"), call("b")], { events: ["GO"] }));
    play.event("GO");
    play.answer("a", ok());
    play.answer("undo a", done);
    play.answer("b", ok());
    play.undo();
    play.answer("undo b", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect(play.ordered.filter((name) => name === "undo a")).toHaveLength(1);
  });

  test("needs no machine that could still hold its state", () => {
    const play = completed({ a: {} });
    play.machine = { ...play.machine, blocked: () => "it has no such state" };
    play.undo();
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("is judged as one that goes back", () => {
    const play = completed({ a: {} });
    play.undo();
    play.answer("undo a", timedOut());
    const { record, rows } = play.run;
    const judged = verdictOf({ namespace: "ns", record, rows, machine: play.machine, now: play.now });
    expect(judged.calls.map(({ side, course }) => `${side} ${course}`)).toEqual(["action reuse", "undo repeat"]);
  });
});

describe("a failed run", () => {
  /** `a` and `b` have happened, `c` has failed, and the compensation of `b` was refused. */
  function halted(b: CallOptions = {}): Play {
    const play = new Play(line([call("a"), call("b", b), call("c")]));
    play.answer("a", ok());
    play.answer("b", ok());
    play.answer("c", refused());
    return play;
  }

  test("that was undone ends as undone at once, and nothing is called twice", () => {
    const play = halted();
    play.answer("undo b", done);
    play.answer("undo a", done);
    const before = play.ordered.length;
    play.undo();
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete", cause: { kind: "undone" } });
    expect(play.ordered).toHaveLength(before);
  });

  test("what a person had skipped is undone after all, with all its attempts", () => {
    const play = halted();
    play.answer("undo b", refused());
    play.verb(skip);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    play.undo();
    expect(play.row("b").undo).toMatchObject({ state: "sent", reason: null, call: { attempt: 1, send: 2 } });
    play.answer("undo b", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect(play.ordered.filter((name) => name === "undo a")).toHaveLength(1);
  });

  test("a compensation that may have happened is found out, never made blindly again", () => {
    const play = halted({ compensate: { effect: "once" } });
    play.answer("undo b", timedOut());
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    play.undo();
    expect(play.review).toMatchObject({ reason: "halted", seq: 2, verbs: ["resolve", "skip", "close"] });
    play.verb(resolveAbsent);
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("a compensation that may have happened is made again at once where that is harmless", () => {
    const play = halted();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      play.answer("undo b", timedOut());
      play.advance(1_000);
    }
    play.verb(close);
    play.undo();
    expect(play.flying()).toEqual(["undo b"]);
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("a compensation that could not be made is tried again, by mended code", () => {
    const play = halted();
    play.answer("undo b", defect);
    play.verb(skip);
    play.answer("undo a", done);
    play.undo();
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("a call of which nobody knows is found out first", () => {
    const play = new Play(line([call("a", { effect: "once" }), call("b")]));
    play.answer("a", timedOut());
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    play.undo();
    expect(play.review).toMatchObject({ reason: "unknown_outcome", verbs: ["resolve", "close"] });
    play.verb(resolveHappened());
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("a call that its workers had died of is no question any more: it is not made for its own sake", () => {
    const play = new Play(line([call("a", { effect: "idempotent" }), call("b")]));
    for (let death = 0; death < 3; death += 1) play.takeOver();
    play.verb(close);
    play.undo();
    expect(play.review).toBeNull();
    play.advance(10_000);
    expect(play.flying()).toEqual(["a"]);
  });
});

describe("a compensation that was under way when its run was closed", () => {
  test("is found out when that is undone", () => {
    const leaf = (src: string) => ({
      initial: "x",
      states: { x: { invoke: { src, onDone: "d" } }, d: { type: "final" } },
    });
    const machine = {
      initial: "both",
      states: {
        both: { type: "parallel", states: { left: leaf("a"), right: leaf("b") }, onDone: "after" },
        after: { invoke: { src: "c", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const steps = [call("a", { compensate: { effect: "once", probe: true } }), call("b"), call("c")];
    const play = new Play(played(machine, steps, { unwind: "parallel-regions" }));
    play.answer("a", ok());
    play.answer("b", ok());
    play.answer("c", refused());
    play.answer("undo b", refused());
    play.verb(close);
    expect(play.row("a").undo).toMatchObject({ state: "accepted", call: { state: "sent" } });
    play.inFlight.clear();
    play.undo();
    expect([...play.flying()].sort()).toEqual(["probe undo a", "undo b"]);
    play.probe("undo a", "happened");
    play.answer("undo b", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect(play.ordered.filter((name) => name === "undo a")).toHaveLength(1);
  });
});

describe("asked before the end", () => {
  test("it is kept, and begins when the run has ended", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.undo();
    expect(play.flying()).toEqual(["a"]);
    play.answer("a", ok());
    play.answer("b", ok());
    expect(play.run.record).toMatchObject({ status: "unwinding", cause: { kind: "undone" } });
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("it is kept while the run waits or is parked, and holds nothing up", () => {
    const machine = { initial: "one", states: { one: { on: { GO: "end" } }, end: { type: "final" } } };
    const play = new Play(played(machine, [call("a")], { events: ["GO"] }));
    play.undo();
    expect(play.run.record).toMatchObject({ status: "waiting" });
    expect(play.held).toBe(false);
    play.event("GO");
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "not_applicable" });
  });

  test("with a late result that contradicts, the question comes first", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", done);
    play.late("b", 1, ok());
    expect(play.review?.reason).toBe("late_result");
    play.undo();
    expect(play.review?.reason).toBe("late_result");
    play.verb(retry());
    play.answer("undo b", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", cause: { kind: "undone" }, rollback: "complete" });
  });
});

describe("after a point of no return", () => {
  const steps = { a: {}, b: { pivot: true, compensate: false }, c: {} } as const;

  test("nothing is undone: the run is as it was, and the log says why", () => {
    const play = completed(steps);
    const { endedAt } = play.run.record;
    play.now += 1_000;
    play.undo();
    expect(play.run.record).toMatchObject({ status: "completed", cause: null, unwind: null, endedAt });
    expect(lastRefusal(play)).toBe(
      "a point of no return was passed (b), so nothing is undone unless it says despitePivot",
    );
    expect(play.ordered).toEqual(["a", "b", "c"]);
    expect(foldLog(play.machine, play.run, play.log).at(-1)).toMatchObject({ problem: null });
  });

  test("all of it is undone where the request says so, with a reason", () => {
    const play = completed(steps);
    play.undo("fraud", true);
    play.answer("undo c", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect(play.row("b").undo?.state).toBe("kept");
    expect(play.taken()).toContainEqual({
      what: "control",
      control: "undo",
      by: "ops",
      reason: "fraud",
      despitePivot: true,
    });
  });

  test("without a reason it is refused as well", () => {
    const play = completed(steps);
    play.undo(" ", true);
    expect(play.status).toBe("completed");
    expect(lastRefusal(play)).toContain("no reason says why");
  });

  test("what a closed run had left because of it is undone too", () => {
    const play = new Play(line([call("a"), call("b", steps.b), call("c")]));
    play.answer("a", ok());
    play.answer("b", ok());
    play.answer("c", refused());
    play.verb(close);
    expect(play.row("a").undo?.state).toBe("not_needed");
    play.undo();
    expect(play.status).toBe("failed");
    play.undo("fraud", true);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("one that turns out on the way to have been passed stops it; compensate goes on, close ends as cancelled", () => {
    function stopped(): Play {
      const play = new Play(line([call("a"), call("b", { effect: "once", pivot: true, compensate: false })]));
      play.answer("a", ok());
      play.answer("b", timedOut());
      play.verb(close);
      play.undo();
      expect(play.review).toMatchObject({ reason: "unknown_outcome", seq: 2 });
      play.verb(resolveHappened());
      expect(play.review).toMatchObject({ reason: "after_pivot", verbs: ["compensate", "close"] });
      return play;
    }
    const on = stopped();
    on.verb(compensate);
    on.answer("undo a", done);
    expect(on.run.record).toMatchObject({ status: "cancelled", rollback: "complete", cause: { kind: "undone" } });
    const off = stopped();
    off.verb(close);
    expect(off.run.record).toMatchObject({ status: "cancelled", rollback: "partial", cause: { kind: "undone" } });
  });
});
