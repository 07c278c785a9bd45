/** Words that come too late, or about an older send: what they are worth, and when they reopen a question. */
import { describe, expect, test } from "vitest";
import {
  close,
  defect,
  done,
  notApplied,
  notCalled,
  ok,
  Play,
  refused,
  resolveAbsent,
  retry,
  skip,
  timedOut,
  unusable,
} from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const tries = (attempts: number) => ({
  retry: { attempts, backoff: "fixed", initial: "1s", max: "1s", jitter: false } as const,
});

describe("while a repeat is planned", () => {
  function waiting(): Play {
    const play = new Play(line([call("a", tries(9))]));
    play.answer("a", timedOut());
    return play;
  }

  test("that the last send happened after all settles it", () => {
    const play = waiting();
    play.late("a", 1, ok("after all"));
    expect(play.status).toBe("completed");
    expect(play.row("a").call).toMatchObject({ proof: "late", doubtUntil: null });
  });

  test("so does an output that fits nothing: the effect is there", () => {
    const play = waiting();
    play.late("a", 1, unusable);
    expect(play.row("a")).toMatchObject({ unusable: true, call: { state: "succeeded" } });
    expect(play.review?.reason).toBe("defect");
  });

  test.each([notApplied(), notCalled()])("that it did not happen ends its doubt ($kind)", (result) => {
    const play = waiting();
    play.late("a", 1, result);
    expect(play.row("a").call).toMatchObject({ state: "planned", deadline: null, doubtUntil: null });
  });

  test.each([timedOut(), defect])("a word that says nothing changes nothing but the log ($kind)", (result) => {
    const play = waiting();
    const before = play.row("a");
    play.late("a", 1, result);
    expect(play.row("a")).toEqual(before);
    expect(play.taken().at(-1)).toEqual({ what: "late", seq: 1, send: 1, outcome: result.kind });
  });
});

describe("while it is being found out", () => {
  function asked(): Play {
    const play = new Play(line([call("a", { effect: "once", probe: true, ...tries(2) })]));
    play.answer("a", timedOut());
    play.probe("a", "cannot_tell");
    return play;
  }

  test("an answer is taken", () => {
    const play = asked();
    play.late("a", 1, ok());
    expect(play.status).toBe("completed");
  });

  test("a proven failure is tried again by policy", () => {
    const play = asked();
    play.late("a", 1, notApplied());
    expect(play.row("a").call).toMatchObject({ state: "planned", deadline: null });
    play.advance(1_000);
    expect(play.flying()).toEqual(["a"]);
  });

  test.each([timedOut(), defect])("a word that says nothing does not begin the asking anew ($kind)", (result) => {
    const play = asked();
    const before = play.row("a").call;
    play.late("a", 1, result);
    expect(play.row("a").call).toEqual(before);
  });
});

describe("while a person is asked about it", () => {
  function parked(): Play {
    const play = new Play(line([call("a", { effect: "once", ...tries(2) }), call("b")]));
    play.answer("a", timedOut());
    expect(play.review?.reason).toBe("unknown_outcome");
    return play;
  }

  test("an answer takes the question back, and the run goes on", () => {
    const play = parked();
    play.late("a", 1, ok());
    expect(play.status).toBe("running");
    expect(play.flying()).toEqual(["b"]);
  });

  test("a verb on the question that was taken back changes nothing but the log", () => {
    const play = parked();
    play.late("a", 1, ok());
    play.send("review:1", { type: "verb", verb: resolveAbsent });
    expect(play.row("a").call.state).toBe("succeeded");
    expect(play.taken().at(-1)).toEqual({ what: "unconsumed", slot: "review:1" });
  });

  test("a proven failure takes the question back too, and it is tried again", () => {
    const play = parked();
    play.late("a", 1, notApplied());
    play.advance(1_000);
    expect(play.flying()).toEqual(["a"]);
  });

  test("an answer after the retries were used up is a success after all", () => {
    const play = new Play(line([call("a", { onExhausted: "review", ...tries(1) })]));
    play.answer("a", notApplied());
    expect(play.review?.reason).toBe("exhausted");
    play.late("a", 1, ok());
    expect(play.status).toBe("completed");
  });
});

describe("an older send", () => {
  function repeated(options: object = {}): Play {
    const play = new Play(line([call("a", { ...tries(3), ...options }), call("b")]));
    play.answer("a", timedOut());
    play.advance(1_000);
    return play;
  }

  test("that happened is evidence, and the newer one is waited for", () => {
    const play = repeated();
    play.late("a", 1, ok("first"));
    expect(play.row("a").call).toMatchObject({
      state: "sent",
      evidence: { send: 1, output: { id: "first" }, unusable: null },
    });
    play.answer("a", ok("second"));
    expect(play.row("a").output).toEqual({ id: "second" });
  });

  test.each([notApplied(), refused(), timedOut()])(
    "outweighs that the newer one brought nothing ($kind, final $final)",
    (result) => {
      const play = repeated();
      play.late("a", 1, ok("first"));
      play.answer("a", result);
      expect(play.row("a")).toMatchObject({ output: { id: "first" }, call: { state: "succeeded", proof: "late" } });
      expect(play.flying()).toEqual(["b"]);
    },
  );

  test("outweighs that the newer one was not made", () => {
    const play = repeated();
    play.late("a", 1, ok("first"));
    play.answer("a", notCalled());
    expect(play.row("a").output).toEqual({ id: "first" });
  });

  test("outweighs that the newer one was interrupted", () => {
    const play = repeated();
    play.late("a", 1, unusable);
    play.takeOver();
    expect(play.row("a")).toMatchObject({ unusable: true, call: { state: "succeeded" } });
  });

  test("that happened settles a newer one that is planned again", () => {
    const play = repeated();
    play.answer("a", timedOut());
    play.late("a", 1, ok("first"));
    expect(play.row("a").output).toEqual({ id: "first" });
  });

  test("that happened settles a newer one that is being found out, whose twin may still come", () => {
    const play = repeated({ effect: "idempotent", probe: true, ...tries(2) });
    const first = new Play(line([call("a", { effect: "idempotent", probe: true, ...tries(2) }), call("b")]));
    first.answer("a", timedOut());
    first.probe("a", "absent");
    first.advance(1_000);
    first.answer("a", timedOut());
    const { deadline } = first.row("a").call;
    first.late("a", 1, ok("first"));
    expect(first.row("a").call).toMatchObject({ state: "succeeded", doubtUntil: deadline });
    expect(play.flying()).toEqual(["probe a"]);
  });

  test.each([notApplied(), notCalled(), timedOut()])(
    "that brought nothing says nothing of the newer one ($kind)",
    (result) => {
      const play = repeated();
      play.late("a", 1, result);
      expect(play.row("a").call).toMatchObject({ state: "sent", send: 2 });
    },
  );
});

describe("once, and it happened twice", () => {
  /** Believed absent past its deadline, called again, and then the first one turns up. */
  function doubled(): Play {
    const play = new Play(line([call("a", { effect: "once", probe: true }), call("b")]));
    play.answer("a", timedOut());
    for (const wait of [21_500, 21_500, 1_000]) {
      play.probe("a", "absent");
      play.advance(wait);
    }
    return play;
  }

  test("a person is asked when the newer one succeeds too", () => {
    const play = doubled();
    play.late("a", 1, ok("first"));
    play.answer("a", ok("second"));
    expect(play.review).toMatchObject({
      reason: "late_result",
      seq: 1,
      verbs: ["retry", "skip", "compensate", "close"],
    });
    expect(play.review?.message).toContain("it happened twice");
    expect(play.flying()).toEqual([]);
    play.verb(skip);
    expect(play.flying()).toEqual(["b"]);
  });

  test("a person is asked when the older one is heard of later", () => {
    const play = doubled();
    play.answer("a", ok("second"));
    play.late("a", 1, ok("first"));
    expect(play.review?.reason).toBe("late_result");
    expect(play.row("a").output).toEqual({ id: "second" });
  });

  test("it is kept as evidence while the run is paused, and asked about when it is resumed", () => {
    const play = doubled();
    play.pause();
    play.answer("a", ok("second"));
    play.late("a", 1, ok("first"));
    expect(play.review).toBeNull();
    play.resume();
    expect(play.review?.reason).toBe("late_result");
  });

  test("a run that goes back only remembers it", () => {
    const play = doubled();
    play.answer("a", ok("second"));
    play.answer("b", refused());
    play.late("a", 1, ok("first"));
    expect(play.review).toBeNull();
    expect(play.row("a").call.evidence).toMatchObject({ send: 1 });
  });

  test.each([
    ["did not answer in time", (play: Play) => play.answer("a", timedOut())],
    ["lost its worker", (play: Play) => play.takeOver()],
  ] as const)("where the newest %s it is not undone before that one can no longer arrive", (_what, come) => {
    const play = new Play(line([call("a", { effect: "once" }), call("b")]));
    play.answer("a", notApplied({ retryAfterMs: 0 }));
    const { deadline } = play.row("a").call;
    play.late("a", 1, ok("first"));
    come(play);
    expect(play.review?.message).toContain("it happened twice");
    play.verb(retry());
    expect(play.flying()).not.toContain("undo a");
    play.advance((deadline as number) - play.now);
    expect(play.flying()).toContain("undo a");
  });

  test("heard twice it is asked about once", () => {
    const play = doubled();
    play.answer("a", ok("second"));
    play.late("a", 1, ok("first"));
    play.verb(skip);
    play.late("a", 1, ok("first"));
    expect(play.status).toBe("running");
  });
});

describe("an answer that was heard before", () => {
  test("changes nothing but the log", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok("first"));
    play.late("a", 1, ok("again"));
    expect(play.row("a").output).toEqual({ id: "first" });
  });

  test("about a row that is not there changes nothing but the log", () => {
    const play = new Play(line([call("a")]));
    play.send("late:7:1", { type: "late", seq: 7, send: 1, side: "action", result: ok() });
    expect(play.taken().at(-1)).toMatchObject({ what: "late", seq: 7 });
  });

  test("about a compensation that is not owed changes nothing but the log", () => {
    const play = new Play(line([call("a")]));
    play.late("a", 1, done, "undo");
    expect(play.row("a").undo).toBeNull();
  });
});

describe("an effect that turns up after it was believed not to be there", () => {
  const onError = {
    initial: "one",
    states: {
      one: { invoke: { src: "a", onDone: "two", onError: "two" } },
      two: { invoke: { src: "b", onDone: "end" } },
      end: { type: "final" },
    },
  };
  function wentOn(options: object = {}): Play {
    const play = new Play(played(onError, [call("a", options), call("b")]));
    play.answer("a", refused());
    expect(play.flying()).toEqual(["b"]);
    return play;
  }

  test("asks a person, since the machine went on without it", () => {
    const play = wentOn();
    play.late("a", 1, ok("after all"));
    expect(play.review).toMatchObject({ reason: "late_result", seq: 1, side: "action" });
    expect(play.row("a")).toMatchObject({ output: { id: "after all" }, call: { state: "succeeded" } });
    expect(play.rollback).toBe("none");
  });

  test("without effect is of no interest", () => {
    const play = wentOn({ effect: "none" });
    play.late("a", 1, ok());
    expect(play.review).toBeNull();
  });

  test("is undone if the person says so, and the run goes on", () => {
    const play = wentOn();
    play.late("a", 1, ok());
    play.verb(retry());
    expect(play.flying()).toEqual(["b", "undo a"]);
    play.answer("undo a", done);
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("is left if the person says so", () => {
    const play = wentOn();
    play.late("a", 1, ok());
    play.verb(skip);
    expect(play.row("a").undo).toMatchObject({ state: "skipped", reason: "ops: by hand" });
    expect(play.status).toBe("running");
  });

  test("cannot be undone where there is no compensation", () => {
    const play = wentOn({ compensate: false });
    play.late("a", 1, ok());
    expect(play.review?.verbs).toEqual(["skip", "compensate", "close"]);
  });

  test("is undone by a cancel like everything else", () => {
    const play = wentOn();
    play.late("a", 1, ok());
    play.cancel();
    play.answer("b", notCalled());
    play.answer("undo a", done);
    expect(play.status).toBe("cancelled");
  });

  test("is taken in by an unwind under way, in its place", () => {
    const play = new Play(line([call("a"), call("b"), call("c")]));
    play.answer("a", ok());
    play.answer("b", ok());
    play.answer("c", refused());
    expect(play.flying()).toEqual(["undo b"]);
    play.late("c", 1, ok());
    play.answer("undo b", done);
    expect(play.flying()).toEqual(["undo c"]);
    play.answer("undo c", done);
    play.answer("undo a", done);
    expect(play.status).toBe("failed");
  });
});

describe("after the end", () => {
  function failed(): Play {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", done);
    expect(play.status).toBe("failed");
    return play;
  }
  function completed(): Play {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "end", onError: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a")]));
    play.answer("a", refused());
    expect(play.status).toBe("completed");
    return play;
  }

  test("a late effect reopens a failed run to review", () => {
    const play = failed();
    play.late("b", 1, ok());
    expect(play.status).toBe("needs_review");
    expect(play.review?.reason).toBe("late_result");
    expect(play.run.record.endedAt).toBeNull();
  });

  test("undoing it ends the run as it had ended", () => {
    const play = failed();
    play.late("b", 1, ok());
    play.verb(retry());
    expect(play.status).toBe("unwinding");
    play.answer("undo b", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("closing it ends the run as it had ended, with the effect standing", () => {
    const play = failed();
    play.late("b", 1, ok());
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    expect(play.row("b").undo).toMatchObject({ state: "accepted", reason: "ops: enough" });
  });

  test("a completed run stays completed when it is closed or left", () => {
    for (const verb of [close, skip]) {
      const play = completed();
      play.late("a", 1, ok());
      expect(play.status).toBe("needs_review");
      play.verb(verb);
      expect(play.run.record).toMatchObject({ status: "completed", unwind: null });
    }
  });

  test("a completed run shows that it undoes something, and is completed again", () => {
    const play = completed();
    play.late("a", 1, ok());
    play.verb(retry());
    expect(play.status).toBe("unwinding");
    play.answer("undo a", done);
    expect(play.status).toBe("completed");
  });

  test("a word that contradicts nothing reopens nothing", () => {
    const play = failed();
    play.late("b", 1, notApplied());
    expect(play.status).toBe("failed");
    expect(play.taken().at(-1)).toMatchObject({ what: "late", outcome: "not_applied" });
  });

  test("a wake-up with nothing to hear changes nothing", () => {
    const play = failed();
    const { revision } = play.run.record;
    play.acquire();
    expect(play.run.record.revision).toBe(revision);
    expect(play.next).toMatchObject({ does: "release", wanted: null });
  });

  test("what was accepted as unknown may be known later without a question", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", timedOut());
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    play.late("a", 1, ok("known"));
    expect(play.status).toBe("failed");
    expect(play.row("a")).toMatchObject({ output: { id: "known" }, undo: { state: "accepted" } });
  });

  test.each([notApplied(), notCalled()])(
    "what was accepted as unknown may turn out not to be there ($kind)",
    (result) => {
      const play = new Play(line([call("a", { effect: "once" })]));
      play.answer("a", timedOut());
      play.verb(close);
      play.late("a", 1, result);
      expect(play.status).toBe("failed");
      expect(["not_applied", "withdrawn"]).toContain(play.row("a").call.state);
    },
  );
});

describe("a call that was said not to have been made", () => {
  function withdrawn(): Play {
    const play = new Play(line([call("a")]));
    play.cancel();
    play.answer("a", notCalled());
    expect(play.status).toBe("cancelled");
    expect(play.row("a").call.firstSentRevision).toBeNull();
    return play;
  }

  test("and turns out to have happened is not lost: it is asked about, and undone if a person says so", () => {
    const play = withdrawn();
    play.late("a", 1, ok());
    expect(play.review).toMatchObject({ reason: "late_result", seq: 1 });
    play.verb(retry());
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });
});
