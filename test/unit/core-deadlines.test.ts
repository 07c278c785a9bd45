/** Deadlines of rows and of runs: when they pass, what is still found out then, and who decides. */
import { describe, expect, test } from "vitest";
import {
  close,
  compensate,
  defect,
  done,
  epochMs,
  notApplied,
  notCalled,
  ok,
  Play,
  type PlayOptions,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
  timedOut,
} from "../support/play.ts";
import { type CallOptions, call, line, type PlayedOptions, played } from "../support/play-sagas.ts";

const failing = {
  initial: "one",
  context: { seen: null },
  states: {
    one: { invoke: { src: "a", onDone: "end", onError: { target: "sorry", actions: { type: "keep" } } } },
    sorry: { invoke: { src: "b", onDone: "end" } },
    end: { type: "final" },
  },
};
const one = (options: CallOptions, more: PlayOptions = {}) =>
  new Play(played(failing, [call("a", { deadline: "60s", ...options }), call("b")], { keep: true }), more);
const seen = (play: Play) => Reflect.get(Object(play.run.record.snapshot?.context), "seen");
const busy = {
  answer: "BUSY",
  owner: "r9#1.1",
  generation: 1,
  state: "claimed",
  claimedAt: epochMs,
  until: null,
  heard: true,
} as const;
const slow = { attempts: 100, backoff: "fixed", initial: "25s", max: "25s", jitter: false } as const;

describe("the deadline of a step", () => {
  test("is counted from when the machine asks for it, and ends the retries", () => {
    const play = one({ retry: slow });
    expect(play.row("a").dueBy).toBe(epochMs + 60_000);
    for (const _ of [1, 2]) {
      play.answer("a", notApplied());
      play.advance(25_000);
    }
    play.answer("a", notApplied({ message: "closed" }));
    play.advance(9_999);
    expect(seen(play)).toBeNull();
    play.advance(1);
    expect(play.now).toBe(epochMs + 60_000);
    expect(seen(play)).toMatchObject({ kind: "deadline", code: null, attempts: 3 });
    expect(play.row("a").call.error?.message).toBe("it was not over by its deadline; before that: closed");
    expect(play.ordered).toEqual(["a", "a", "a", "b"]);
    expect(play.taken()).toContainEqual({ what: "deadline", seq: 1 });
  });

  test("is the time-out of a call that is out then, and of when nobody can make it happen any more", () => {
    const play = one({ timeout: "50s", retry: slow });
    expect(play.orders[0]?.timeoutMs).toBe(50_000);
    play.answer("a", notApplied({ retryAfterMs: 40_000 }));
    play.advance(40_000);
    expect(play.orders[1]?.timeoutMs).toBe(20_000);
    expect(play.row("a").call.deadline).toBe(play.now + 2_000 + 20_000 + 1_000 + 30_000);
  });

  test("of a call that timed out is told only when the other side has said that nothing happened", () => {
    const play = one({ effect: "once", probe: true, retry: slow, timeout: "60s" });
    play.advance(60_000);
    play.answer("a", timedOut());
    play.probe("a", "absent");
    play.advance(30_000);
    play.probe("a", "absent");
    expect(seen(play)).toBeNull();
    play.advance(30_000);
    play.probe("a", "absent");
    expect(seen(play)).toMatchObject({ kind: "deadline" });
    expect(play.ordered.filter((name) => name === "a")).toEqual(["a"]);
  });

  test("of a call that turns out to have happened counts for nothing", () => {
    const play = one({ effect: "once", probe: true });
    play.advance(60_000);
    play.answer("a", timedOut());
    play.probe("a", "happened");
    expect(play.status).toBe("completed");
  });

  test("of a repeat in doubt is found out instead of repeated", () => {
    const play = one({ retry: slow });
    play.answer("a", timedOut({ retryAfterMs: 100_000 }));
    play.advance(60_000);
    expect(play.review).toMatchObject({ reason: "unknown_outcome" });
    play.verb(resolveAbsent);
    expect(seen(play)).toMatchObject({ kind: "timeout" });
  });

  test("does not change what its author or its retries have decided", () => {
    const said = one({ retry: slow });
    said.advance(59_000);
    said.answer("a", refused());
    expect(seen(said)).toMatchObject({ kind: "fail" });
    const used = one({ retry: { attempts: 1 } });
    used.advance(60_000);
    used.answer("a", notApplied());
    expect(seen(used)).toMatchObject({ kind: "not_applied" });
    const late = one({ retry: slow });
    late.advance(61_000);
    late.answer("a", notApplied());
    expect(seen(late)).toMatchObject({ kind: "deadline", message: expect.stringContaining("not_applied") });
  });

  test("counts a grant that was not used as nothing", () => {
    const play = one({});
    play.answer("a", notCalled("store_not_durable"));
    play.pause();
    play.advance(60_000);
    play.resume();
    expect(play.row("a").call.proof).toBe("take_back");
    expect(seen(play)).toMatchObject({ kind: "deadline", attempts: 0 });
  });

  test("takes back an offer that nobody has taken", () => {
    const play = one({ queue: "gpu" });
    play.advance(60_000);
    expect(seen(play)).toMatchObject({ kind: "deadline", message: "it was not over by its deadline" });
  });

  test("of an offer that was taken is the step worker's", () => {
    const play = one({ queue: "gpu" });
    play.permit("a");
    play.advance(60_000);
    expect(seen(play)).toBeNull();
    play.settle("a", ok());
    expect(play.status).toBe("completed");
  });

  test("of a claim that waits for somebody else gives it up", () => {
    const play = one({ intent: () => "k" });
    play.claimed("a", busy);
    play.advance(60_000);
    expect(seen(play)).toMatchObject({ kind: "deadline" });
  });

  test("waits through a pause and a question, and passes when they are over", () => {
    const play = one({ retry: slow });
    play.answer("a", notApplied());
    play.pause();
    play.advance(100_000);
    expect(seen(play)).toBeNull();
    play.resume();
    expect(seen(play)).toMatchObject({ kind: "deadline" });
    const stuck = one({ retry: slow });
    stuck.answer("a", defect);
    stuck.advance(100_000);
    expect(stuck.review?.reason).toBe("defect");
    stuck.verb(retry());
    expect(stuck.row("a").dueBy).toBe(stuck.now + 60_000);
  });

  test("of a row that the machine has left, or that goes back, is nobody's concern", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a" }, after: { 5000: "end" } }, end: { type: "final" } },
    };
    const left = new Play(played(machine, [call("a", { deadline: "60s", retry: slow })]));
    left.advance(5_000);
    left.answer("a", notApplied());
    expect(left.status).toBe("completed");
    const back = one({ retry: slow });
    back.cancel();
    back.advance(100_000);
    back.answer("a", ok());
    back.answer("undo a", done);
    expect(back.status).toBe("cancelled");
  });
});

describe("a step that wants a person at its deadline", () => {
  const missed = () => {
    const play = one({ retry: slow, onDeadline: "review" });
    play.answer("a", notApplied());
    play.advance(25_000);
    play.answer("a", notApplied({ retryAfterMs: 90_000 }));
    play.advance(35_000);
    return play;
  };

  test("is parked, and tried again with all its time", () => {
    const play = missed();
    expect(play.review).toMatchObject({
      reason: "deadline",
      seq: 1,
      side: "action",
      verbs: ["retry", "resolve", "compensate", "close"],
    });
    play.verb(retry());
    expect(play.row("a").dueBy).toBe(play.now + 60_000);
    expect(play.flying()).toEqual(["a"]);
    play.answer("a", ok());
    expect(play.status).toBe("completed");
  });

  test("is told as failed where the person says that it did not happen", () => {
    const play = missed();
    play.verb(resolveAbsent);
    expect(seen(play)).toMatchObject({ kind: "deadline" });
  });

  test("takes back its question when the effect turns up after all", () => {
    const play = missed();
    play.late("a", 1, ok());
    expect(play.review).toBeNull();
    expect(play.status).toBe("completed");
  });
});

describe("the deadline of a run", () => {
  const two = (more: PlayedOptions = {}, options: CallOptions = {}) =>
    new Play(line([call("a", options), call("b")], { deadline: { after: "60s" }, ...more }));

  test("turns it round, never early, with what is out found out and undone", () => {
    const play = two();
    play.answer("a", ok());
    play.advance(59_999);
    expect(play.status).toBe("running");
    play.advance(1);
    expect(play.run.record).toMatchObject({ status: "unwinding", deadlineAt: null, cause: { kind: "deadline" } });
    expect(play.aborted).toEqual(["action:2"]);
    play.answer("b", ok());
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete", cause: { kind: "deadline" } });
    expect(play.taken()).toContainEqual({ what: "deadline", seq: null });
  });

  test("is counted from when it may begin", () => {
    const saga = line([call("a")], { deadline: { after: "60s" } });
    expect(new Play(saga, { startAt: epochMs + 5_000, idle: true }).run.record.deadlineAt).toBe(epochMs + 65_000);
  });

  test("does not touch a run that has come to its end in time", () => {
    const play = two();
    play.answer("a", ok());
    play.answer("b", ok());
    play.advance(100_000);
    expect(play.status).toBe("completed");
  });

  test("wakes a run that waits for an event", () => {
    const machine = { initial: "one", states: { one: { on: { GO: "end" } }, end: { type: "final" } } };
    const play = new Play(played(machine, [call("a")], { events: ["GO"], deadline: { after: "7d" } }));
    expect(play.status).toBe("waiting");
    play.advance(7 * 86_400_000);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "not_applicable" });
  });

  test("past a pivot parks it, and it may go on without one", () => {
    const play = two({}, { pivot: true });
    play.answer("a", ok());
    play.advance(60_000);
    expect(play.review).toMatchObject({ reason: "after_pivot", verbs: ["retry", "compensate", "close"] });
    play.verb(retry());
    play.advance(100_000);
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("waits through a pause and through a question to a person", () => {
    const paused = two();
    paused.pause();
    paused.advance(100_000);
    expect(paused.status).toBe("paused");
    paused.resume();
    expect(paused.status).toBe("unwinding");
    const parked = two({}, { onExhausted: "review", retry: { attempts: 1 } });
    parked.answer("a", notApplied());
    parked.advance(100_000);
    expect(parked.review?.reason).toBe("exhausted");
    parked.verb(resolveHappened());
    expect(parked.run.record).toMatchObject({ status: "unwinding", cause: { kind: "deadline" } });
  });

  test("asks a person where the saga says so: on without it, back, or closed", () => {
    const asked = () => {
      // biome-ignore lint/suspicious/noThenProperty: a word, never a function, so nobody takes it for a promise
      const play = two({ deadline: { after: "60s", then: "review" } });
      play.answer("a", ok());
      play.advance(60_000);
      expect(play.review).toMatchObject({ reason: "deadline", seq: null, verbs: ["retry", "compensate", "close"] });
      play.answer("b", ok());
      return play;
    };
    const on = asked();
    on.verb(retry());
    expect(on.run.record).toMatchObject({ status: "completed", deadlineAt: null });
    const back = asked();
    back.verb(compensate);
    expect(back.run.record).toMatchObject({ status: "unwinding", cause: { kind: "deadline" } });
    const given = asked();
    given.verb(close);
    expect(given.run.record).toMatchObject({ status: "failed", rollback: "partial" });
  });
});
