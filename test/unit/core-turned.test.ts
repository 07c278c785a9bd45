/** The verbs that turn a parked run round (`compensate`) or rid it of an event it cannot take (`discard`). */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { foldLog, type Machine, verdictOf } from "../../src/core/index.ts";
import {
  close,
  compensate,
  defect,
  discard,
  done,
  notApplied,
  ok,
  Play,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
  skip,
  timedOut,
  unusable,
} from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

/** `a` has happened, and `b` is under way. */
function at(b: CallOptions, a: CallOptions = {}): Play {
  const play = new Play(line([call("a", a), call("b", b), call("c")]));
  play.answer("a", ok());
  return play;
}

describe("compensate", () => {
  test("goes back instead of asking what became of a call, and finds that out on the way", () => {
    const play = at({ effect: "once", probe: true });
    play.answer("b", timedOut());
    while (play.review === null) {
      if (play.flying().includes("probe b")) play.probe("b", "cannot_tell");
      else play.advance(30_000);
    }
    play.verb(compensate);
    expect(play.run.record).toMatchObject({
      status: "needs_review",
      rollback: "halted",
      cause: { kind: "step_failed", step: "b", message: "ops: no use", reference: "review 1" },
    });
    expect(play.review).toMatchObject({ n: 2, reason: "unknown_outcome", verbs: ["probe", "resolve", "close"] });
    play.verb(resolveHappened());
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("undoes a call that nobody knows of where its step can", () => {
    const play = at({ effect: "once", compensateIfUnknown: true });
    play.answer("b", timedOut());
    play.verb(compensate);
    play.advance(60_000);
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("leads on from retries that were used up", () => {
    const play = at({ onExhausted: "review", retry: { attempts: 1 } });
    play.answer("b", notApplied());
    play.verb(compensate);
    expect(play.flying()).toEqual(["undo a"]);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("leads on from an output that does not fit, where the compensation needs none", () => {
    const play = at({ compensateIfUnknown: true });
    play.answer("b", unusable);
    play.verb(compensate);
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("leads on from a call that could not be made, which is withdrawn", () => {
    const play = at({});
    play.answer("b", defect);
    play.verb(compensate);
    expect(play.row("b").call.state).toBe("not_applied");
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("leads on from a bug in the machine, and undoes the effect that it was not told of", () => {
    const play = new Play(line([call("a"), call("b", { input: z.object({ n: z.number() }) })]));
    play.answer("a", ok());
    play.verb(compensate);
    expect(play.run.record.cause).toMatchObject({ kind: "defect", step: "a" });
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("leads on from a dead end", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "two" } }, two: { on: { NEVER: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a")]));
    play.answer("a", ok());
    play.verb(compensate);
    expect(play.flying()).toEqual(["undo a"]);
    expect(play.run.record.cause).toMatchObject({ kind: "defect", step: null });
  });

  test("leads on from the death of its workers, before or during a call", () => {
    const early = new Play(line([call("a")]), { idle: true });
    early.pause();
    for (let death = 0; death < 3; death += 1) early.takeOver();
    expect(early.review).toMatchObject({ reason: "poison", seq: null });
    early.verb(compensate);
    expect(early.run.record).toMatchObject({ status: "failed", rollback: "not_applicable", interruptions: 0 });
    const during = at({ effect: "idempotent" });
    for (let death = 0; death < 3; death += 1) during.takeOver();
    expect(during.review).toMatchObject({ reason: "poison", seq: 2 });
    during.verb(compensate);
    during.advance(10_000);
    expect(during.flying()).toEqual(["b"]);
    during.answer("b", refused());
    expect(during.flying()).toEqual(["undo a"]);
  });

  test("leads on from a state that today's machine cannot hold", () => {
    const play = at({});
    const blocked: Machine = { ...play.machine, blocked: () => "it has no state b" };
    play.machine = blocked;
    play.takeOver();
    expect(play.review).toMatchObject({ reason: "blocked", verbs: ["retry", "compensate", "close"] });
    play.verb(compensate);
    expect(play.run.record).toMatchObject({ status: "unwinding", cause: { kind: "defect" } });
  });

  test("leads on from attributes that cannot be read", () => {
    const attributes = () => {
      throw new Error("a bug");
    };
    const play = new Play(line([call("a")], { attributes }));
    play.verb(compensate);
    expect(play.run.record).toMatchObject({ status: "failed", cause: { kind: "defect" } });
    expect(play.row("a").call.state).toBe("withdrawn");
  });

  test("takes in an effect that turned up late, in its place", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "a", onDone: "two", onError: "two" } },
        two: { invoke: { src: "b", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("a"), call("b")]));
    play.answer("a", refused());
    play.late("a", 1, ok());
    expect(play.review?.reason).toBe("late_result");
    play.verb(compensate);
    play.answer("b", ok());
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("is not offered, nor taken, once the run goes back", () => {
    const play = at({});
    play.answer("b", refused());
    play.answer("undo a", refused());
    expect(play.review?.verbs).toEqual(["resolve", "retry", "skip", "close"]);
    play.verb(compensate);
    expect(play.review).toMatchObject({
      n: 2,
      message: expect.stringContaining("compensate is not allowed here, but resolve, retry, skip, close"),
    });
  });

  test("is not offered where a run that had completed asks again: that is undone", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "end", onError: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a")]));
    play.answer("a", refused());
    play.late("a", 1, ok());
    expect(play.review).toMatchObject({ reason: "late_result", verbs: ["retry", "skip", "close"] });
  });

  test("on a review that is over changes nothing but the log", () => {
    const play = at({ effect: "once" });
    play.answer("b", timedOut());
    play.send("review:7", { type: "verb", verb: compensate });
    expect(play.run.record).toMatchObject({ unwind: null, review: { n: 1 } });
    expect(play.taken().at(-1)).toEqual({ what: "unconsumed", slot: "review:7" });
  });

  test("is in the log with who and why, and the log still explains the run", () => {
    const play = at({ effect: "once" });
    play.answer("b", timedOut());
    play.verb(compensate);
    expect(play.taken()).toContainEqual({
      what: "verb",
      verb: "compensate",
      review: 1,
      by: "ops",
      payload: compensate,
    });
    expect(play.taken()).toContainEqual({ what: "unwinding", note: "ops: no use" });
    const steps = foldLog(play.machine, play.run, play.log);
    expect(steps.at(-1)).toMatchObject({ problem: null, snapshot: play.run.record.snapshot });
  });

  test("leaves a verdict that is no safer than what is done: the unknown call needs a person", () => {
    const play = at({ effect: "once" });
    play.answer("b", timedOut());
    play.verb(compensate);
    const { record, rows } = play.run;
    const judged = verdictOf({ namespace: "ns", record, rows, machine: play.machine, now: play.now });
    expect(judged.verdict).toBe("HUMAN_REQUIRED");
  });
});

describe("compensate after a point of no return", () => {
  const pivot = { pivot: true, compensate: false } as const;

  /** `a`, and the pivot `b`, have happened; `c` has failed. */
  function passed(c: CallOptions = {}): Play {
    const play = new Play(line([call("a"), call("b", pivot), call("c", c)]));
    play.answer("a", ok());
    play.answer("b", ok());
    return play;
  }

  test("undoes what stands before it, and keeps the pivot that has no compensation", () => {
    const play = passed();
    play.answer("c", refused());
    play.verb(compensate);
    expect(play.run.record.cause).toMatchObject({ kind: "step_failed", step: "c", message: "declined" });
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete", unwind: { despitePivot: true } });
    expect(play.row("b").undo?.state).toBe("kept");
  });

  test("without a reason is refused, and the cause stays", () => {
    const play = passed();
    play.answer("c", refused());
    play.verb({ verb: "compensate", reason: "  " });
    expect(play.review).toMatchObject({ n: 2, reason: "after_pivot", message: expect.stringContaining("say why") });
    expect(play.run.record.cause).toMatchObject({ step: "c" });
    expect(play.flying()).toEqual([]);
  });

  test("on another question says first that one was passed; the same verb again goes back", () => {
    const play = passed({ effect: "once" });
    play.answer("c", timedOut());
    expect(play.review?.reason).toBe("unknown_outcome");
    play.verb(compensate);
    expect(play.review).toMatchObject({ n: 2, reason: "after_pivot", verbs: ["retry", "compensate", "close"] });
    expect(play.row("a").undo).toBeNull();
    play.verb(compensate);
    expect(play.review).toMatchObject({ n: 3, reason: "unknown_outcome", verbs: ["resolve", "close"] });
    play.verb(resolveAbsent);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("on another question may be thought better of: the question comes up again", () => {
    const play = passed({ effect: "once" });
    play.answer("c", timedOut());
    play.verb(compensate);
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 3, reason: "unknown_outcome" });
    play.verb(resolveHappened());
    expect(play.run.record).toMatchObject({ status: "completed", cause: null });
  });

  test("of a cancel ends as cancelled", () => {
    const play = passed();
    play.cancel();
    play.verb(compensate);
    play.answer("c", ok());
    play.answer("undo c", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete", cause: { kind: "cancelled" } });
  });

  test("of an unwind that it had stopped takes up what was left because of it", () => {
    const play = new Play(line([call("a"), call("b", pivot)]));
    play.answer("a", ok());
    play.cancel();
    play.answer("b", ok());
    expect(play.row("a").undo?.state).toBe("not_needed");
    play.verb(compensate);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("of a final state tagged unwind goes back after all", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "a", onDone: "two" } },
        two: { invoke: { src: "b", onDone: "out" } },
        out: { type: "final", tags: "unwind" },
      },
    };
    const play = new Play(played(machine, [call("a"), call("b", pivot)]));
    play.answer("a", ok());
    play.answer("b", ok());
    expect(play.review?.verbs).toEqual(["compensate", "close"]);
    play.verb(compensate);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete", cause: { kind: "rejected" } });
  });

  test("closed half-way says of each effect that a person left it", () => {
    const play = new Play(line([call("z"), call("a"), call("b", pivot), call("c")]));
    for (const name of ["z", "a", "b"]) play.answer(name, ok());
    play.answer("c", refused());
    play.verb(compensate);
    play.answer("undo a", refused());
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    expect(play.row("z").undo).toMatchObject({ state: "accepted", reason: "ops: enough" });
  });

  test("does not call it harmless to skip: what is skipped stands", () => {
    const play = passed();
    play.answer("c", refused());
    play.verb(compensate);
    play.answer("undo a", refused());
    play.verb(skip);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
  });
});

describe("discard", () => {
  const guard = () => {
    throw new Error("a bug");
  };
  const machine = {
    initial: "one",
    states: {
      one: {
        on: { BAD: { target: "end", guard }, GO: "two" },
        after: { 60000: { target: "end", guard } },
      },
      two: { invoke: { src: "a", onDone: "end" } },
      end: { type: "final" },
    },
  };
  function parked(): Play {
    const play = new Play(played(machine, [call("a")], { events: ["BAD", "GO"] }));
    play.event("BAD", { n: 1 }, "bad-1");
    return play;
  }

  test("throws the event away that the machine cannot take, and says so", () => {
    const play = parked();
    expect(play.review).toMatchObject({
      reason: "defect",
      event: "bad-1",
      verbs: ["retry", "discard", "compensate", "close"],
    });
    play.verb(discard);
    expect(play.run.inbox).toEqual([]);
    expect(play.last?.commit?.consumed).toContain("event:bad-1");
    expect(play.run.record).toMatchObject({ status: "waiting", waitingFor: "event", review: null });
    expect(play.taken()).toContainEqual({ what: "verb", verb: "discard", review: 1, by: "ops", payload: discard });
    expect(play.taken()).toContainEqual({ what: "discarded", slot: "event:bad-1" });
  });

  test("lets the events behind it be heard, and no other is lost", () => {
    const play = parked();
    play.event("GO", {}, "go-1");
    play.event("BAD", {}, "bad-2");
    play.verb(discard);
    expect(play.flying()).toEqual(["a"]);
    expect(play.run.inbox.map(({ slot }) => slot)).toEqual(["event:bad-2"]);
    expect(foldLog(play.machine, play.run, play.log).at(-1)).toMatchObject({ problem: null });
  });

  test("is of one event: the next faulty one is a question of its own", () => {
    const play = parked();
    play.event("BAD", {}, "bad-2");
    play.verb(discard);
    expect(play.review).toMatchObject({ n: 2, event: "bad-2" });
  });

  test("is still of that event after another verb came to nothing", () => {
    const play = parked();
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 2, event: "bad-1" });
    play.verb(skip);
    expect(play.review).toMatchObject({
      n: 3,
      event: "bad-1",
      verbs: ["retry", "discard", "compensate", "close"],
      message: expect.stringContaining("skip is not allowed here, but retry, discard, compensate, close"),
    });
    play.verb(discard);
    expect(play.run.record.review).toBeNull();
  });

  test("is not offered of a timer, nor of an outcome: those are not thrown away", () => {
    const play = new Play(played(machine, [call("a")], { events: ["BAD", "GO"] }));
    play.advance(60_000);
    expect(play.review).toMatchObject({ reason: "defect", verbs: ["retry", "compensate", "close"] });
    expect(play.review).not.toHaveProperty("event");
    play.verb(discard);
    expect(play.review?.n).toBe(2);
  });
});

test("retry with another input is refused where no call takes it", () => {
  const recorded = at({});
  recorded.answer("b", unusable);
  recorded.verb(retry({ n: 1 }));
  expect(recorded.review?.message).toContain("no other input is of use");
  const dead = new Play(line([call("a")]), { idle: true });
  dead.pause();
  for (let death = 0; death < 3; death += 1) dead.takeOver();
  dead.verb(retry({ n: 1 }));
  expect(dead.review?.message).toContain("there is no call here to take another input");
});
