/** What may be done with a run is never judged safer than the engine itself would treat it. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type CallVerdict, explain, type Machine, type RunVerdict, verdictOf } from "../../src/core/index.ts";
import { close, notApplied, notCalled, ok, Play, refused, timedOut, unusable } from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

function judged(play: Play, machine: Machine | null = play.machine) {
  return { namespace: "ns", record: play.run.record, rows: play.run.rows, machine, now: play.now };
}

function verdict(play: Play, machine: Machine | null = play.machine): RunVerdict {
  return verdictOf(judged(play, machine));
}

/** Step and course of each call, `undo` before the compensations. */
function courses({ calls }: RunVerdict): readonly string[] {
  return calls.map(({ step, side, course }) => `${side === "undo" ? "undo " : ""}${step} ${course}`);
}

function reasonOf({ calls }: RunVerdict, step: string): string {
  return (calls.find((each) => each.step === step) as CallVerdict).reason;
}

/** A run whose call `a` timed out for good. */
function inDoubt(options: CallOptions): Play {
  const play = new Play(line([call("a", options), call("b")]));
  play.answer("a", timedOut());
  return play;
}

describe("a call in doubt", () => {
  test.each([
    ["none", "repeat", "RETRY_SAFE", "it changes nothing outside"],
    ["idempotent", "repeat", "RETRY_SAFE", "doing it again leaves the same result"],
    ["keyed", "repeat", "RETRY_SAFE", "the other side still knows its key"],
    ["once", "human", "HUMAN_REQUIRED", "nothing protects against doing it twice, and the other side cannot be asked"],
  ] as const)("of class %s: %s, so %s", (effect, course, whole, reason) => {
    const play = new Play(line([call("a", { effect }), call("b")]));
    play.answer("a", effect === "none" ? notApplied() : timedOut());
    const found = verdict(play);
    expect(found.calls[0]).toMatchObject({ effect, course: effect === "none" ? "call" : course });
    if (effect === "none") return;
    expect(found.verdict).toBe(whole);
    expect(reasonOf(found, "a")).toContain(reason);
    expect(found.reasons.join()).toContain("a (row 1): ");
  });

  test("of class once with a probe: the other side first", () => {
    const play = inDoubt({ effect: "once", probe: true });
    expect(verdict(play).verdict).toBe("PROBE_FIRST");
    expect(reasonOf(verdict(play), "a")).toContain(
      "nothing protects against doing it twice, and the other side can be asked",
    );
  });

  test("that a process may still send, which is not gone, says so, wanted or not", () => {
    const play = new Play(line([call("a", { effect: "once", probe: true })]));
    play.freeze();
    const held = "(but w1 is not gone and has not said what became of it, so it may still be sent)";
    expect(reasonOf(verdict(play), "a")).toContain(`the other side can be asked ${held}`);
    expect(explain(judged(play)).text).toContain(held);
    play.cancel();
    expect(reasonOf(verdict(play), "a")).toContain(
      `it is not wanted any more, and the other side can be asked ${held}`,
    );
  });

  test("whose key the other side may have forgotten is as one of class once", () => {
    const play = inDoubt({
      effect: "keyed",
      keyTtl: "1h",
      retry: { attempts: 9, backoff: "fixed", initial: "2h", max: "2h" },
    });
    expect(verdict(play).verdict).toBe("RETRY_SAFE");
    const later = verdictOf({ ...judged(play), now: play.now + 3_600_000 });
    expect(later.verdict).toBe("HUMAN_REQUIRED");
    expect(reasonOf(later, "a")).toContain("may have forgotten its key");
  });

  test("that waits for its repeat longer than its key lives is asked about, and nobody keeps the answer from being believed", () => {
    const retry = { attempts: 9, backoff: "fixed", initial: "30m", max: "30m" } as const;
    const play = new Play(line([call("a", { effect: "keyed", probe: true, keyTtl: "1h", retry })]));
    play.answer("a", timedOut());
    play.probe("a", "cannot_tell");
    expect(play.row("a").call.state).toBe("planned");
    const later = verdictOf({ ...judged(play), now: play.now + 3_600_000 });
    expect(later.verdict).toBe("PROBE_FIRST");
    expect(reasonOf(later, "a")).toContain("and the other side can be asked");
    expect(reasonOf(later, "a")).not.toContain("not gone");
  });

  test("is judged by the stricter of the class it was sent under and today's", () => {
    const play = new Play(line([call("a", { effect: "once" }), call("b")]));
    play.answer("a", timedOut());
    const today = new Play(line([call("a", { effect: "idempotent" }), call("b")]), { idle: true }).machine;
    expect(verdict(play, today).calls[0]).toMatchObject({ effect: "once", course: "human" });
  });
});

describe("a call that is not in doubt", () => {
  test("is used when it has an outcome, and made when it was never sent", () => {
    const play = new Play(line([call("a"), call("b", { effect: "once" }), call("c")]));
    play.answer("a", ok());
    expect(courses(verdict(play))).toEqual(["a reuse", "b wait"]);
    expect(verdict(play)).toMatchObject({
      verdict: "RESUME_SAFE",
      reasons: [expect.stringContaining("b (row 2): it is under way")],
    });
    const proven = new Play(line([call("a", { effect: "once" })]));
    proven.answer("a", notApplied());
    expect(courses(verdict(proven))).toEqual(["a call"]);
    expect(verdict(proven)).toMatchObject({ verdict: "RESUME_SAFE", reasons: ["no effect of it is in doubt"] });
  });

  test("is no longer under way when its time is over", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    const { deadline } = play.row("a").call;
    expect(verdictOf({ ...judged(play), now: (deadline ?? 0) + 1 }).verdict).toBe("HUMAN_REQUIRED");
  });

  test("is recorded as not having happened, or as withdrawn", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    expect(courses(verdict(play))).toEqual(["a reuse", "undo a wait", "b reuse"]);
    expect(reasonOf(verdict(play), "b")).toBe("it is recorded that it did not happen");
    const queued = new Play(line([call("a", { queue: "gpu" })]));
    queued.cancel();
    expect(queued.row("a").call.state).toBe("withdrawn");
    expect(reasonOf(verdict(queued), "a")).toBe("it was withdrawn before it was sent");
  });
});

describe("an effect that is not wanted any more", () => {
  function unwinding(options: CallOptions): RunVerdict {
    const play = new Play(line([call("a", options), call("b")]));
    play.cancel();
    play.answer("a", timedOut());
    return verdict(play);
  }

  test("is asked about, or settled by a repeat that is harmless", () => {
    expect(courses(unwinding({ probe: true }))).toContain("a probe");
    expect(courses(unwinding({}))).toContain("a repeat");
  });

  test("is left as its step declares", () => {
    expect(reasonOf(unwinding({ compensateIfUnknown: true }), "a")).toBe("it is undone whether it happened or not");
    expect(reasonOf(unwinding({ compensate: false }), "a")).toBe("it is not undone: it stays");
  });

  test("is put to a person where nothing else is allowed", () => {
    expect(reasonOf(unwinding({ settle: false }), "a")).toBe("it may not be repeated to settle what it did (settle)");
    expect(reasonOf(unwinding({ pivot: true, compensate: false }), "a")).toContain("the point of no return");
  });

  test("is put to a person when it was settled by repeats as often as may be", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.cancel();
    for (let turn = 0; turn < 50 && play.review === null; turn += 1) {
      if (play.flying().includes("a")) play.answer("a", timedOut());
      else play.advance(60_000);
    }
    expect(play.review?.reason).toBe("unknown_outcome");
    expect(verdict(play).verdict).toBe("HUMAN_REQUIRED");
    expect(reasonOf(verdict(play), "a")).toBe("it was repeated as often as may be to settle what it did");
  });

  test("is kept where it is left", () => {
    const left = played(
      {
        initial: "work",
        states: {
          work: { invoke: { src: "a", onDone: "end" }, on: { GO: "other" } },
          other: { invoke: { src: "b", onDone: "end" } },
          end: { type: "final" },
        },
      },
      [call("a", { onAbandon: "keep" }), call("b")],
      { events: ["GO"] },
    );
    const play = new Play(left);
    play.event("GO");
    play.advance(1);
    expect(verdictOf({ ...judged(play), now: play.now + 86_400_000 }).calls[0]).toMatchObject({ course: "leave" });
  });
});

describe("a run", () => {
  test("that is parked for more than an outcome needs a person, in the words of its review", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", unusable);
    expect(verdict(play)).toMatchObject({
      verdict: "HUMAN_REQUIRED",
      reasons: [play.review?.message, expect.any(String)],
    });
    expect(courses(verdict(play))).toEqual(["a human"]);
  });

  test("that was closed has nothing left to judge: the decision stands", () => {
    const play = inDoubt({ effect: "once" });
    play.verb(close);
    expect(verdict(play)).toMatchObject({ verdict: "RESUME_SAFE", reasons: ["it has ended (failed)"] });
  });

  test("whose compensation a person skipped or accepted is not asked about again", () => {
    const play = new Play(line([call("a", { effect: "once" }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", timedOut());
    expect(verdict(play).verdict).toBe("HUMAN_REQUIRED");
    play.verb(close);
    expect(courses(verdict(play))).toContain("undo a reuse");
  });

  test("whose workers died at it again and again needs a person", () => {
    const play = new Play(line([call("a")]));
    for (let death = 0; death < 3; death += 1) play.takeOver();
    expect(play.review?.reason).toBe("poison");
    expect(verdict(play)).toMatchObject({ verdict: "HUMAN_REQUIRED" });
    expect(courses(verdict(play))).toEqual(["a human"]);
  });

  test("is blocked without its saga, its step, its compensation, or an input that fits", () => {
    const play = inDoubt({});
    const other = (saga: ReturnType<typeof line>) => new Play(saga, { idle: true }).machine;
    expect(verdict(play, null)).toMatchObject({
      verdict: "BLOCKED",
      reasons: [expect.stringContaining("the saga is not here")],
    });
    expect(verdict(play, other(line([call("b")]))).verdict).toBe("BLOCKED");
    const strict = other(line([call("a", { input: z.object({ n: z.number() }) }), call("b")]));
    expect(reasonOf(verdict(play, strict), "a")).toContain("does not fit its schema");
    const undoing = new Play(line([call("a"), call("b")]));
    undoing.answer("a", ok());
    undoing.answer("b", refused());
    undoing.answer("undo a", timedOut());
    const without = verdict(undoing, other(line([call("a", { compensate: false }), call("b")])));
    expect(without).toMatchObject({ verdict: "BLOCKED", reasons: [expect.stringContaining("has no compensation")] });
    const shapeless = verdict(
      play,
      other(played({ initial: "x", states: { x: { type: "final" } } }, [call("a"), call("b")])),
    );
    expect(shapeless).toMatchObject({ verdict: "BLOCKED", reasons: [expect.stringContaining("cannot be restored")] });
  });

  test("is judged at a revision, of a structure", () => {
    const play = new Play(line([call("a")]));
    const { revision, hash } = play.run.record;
    expect(verdict(play)).toMatchObject({ revision, hash, at: play.now });
    expect(verdict(play).calls[0]?.operationId).toBe("ns/default/r1/a/1");
  });
});

describe("the three answers", () => {
  function told(play: Play): readonly string[] {
    return explain(judged(play)).text.split("\n");
  }

  test("of a run that is parked because nobody can know", () => {
    const play = new Play(line([call("a"), call("b", { effect: "once" })]));
    play.answer("a", ok());
    play.answer("b", timedOut());
    expect(explain(judged(play)).attempted.map(({ step, known }) => `${step} ${known}`)).toEqual([
      "a happened",
      "b may have happened",
    ]);
    const [where, attempted, safe] = told(play);
    expect(where).toMatch(
      /^Where: run r1 of line version 1 is in .* and is parked for a person: b was sent and may have/,
    );
    expect(attempted).toBe(
      "Attempted: a (row 1, ns/default/r1/a/1) happened; b (row 2, ns/default/r1/b/1) may have happened.",
    );
    expect(safe).toMatch(
      /^Safe now: nothing is repeated before a person has decided \(HUMAN_REQUIRED\): b \(row 2\): /,
    );
  });

  test("of a run that has not begun, runs, waits for a repeat, is paused, or waits", () => {
    const later = new Play(line([call("a")]), { startAt: 2_000_000 });
    expect(told(later)[0]).toContain("has not begun and goes on");
    expect(told(later)[1]).toBe("Attempted: nothing was sent.");
    const unsent = new Play(line([call("a")]));
    unsent.answer("a", notCalled("store_not_durable"));
    expect(told(unsent)[1]).toBe("Attempted: nothing was sent.");
    const play = new Play(line([call("a")]));
    expect(told(play)[1]).toContain("is under way");
    play.answer("a", timedOut());
    expect(told(play)[1]).toContain("may have happened");
    play.pause();
    expect(told(play)[0]).toContain("is paused");
    const proven = new Play(line([call("a")]));
    proven.answer("a", notApplied());
    expect(told(proven)[1]).toContain("did not happen");
    const waits = new Play(
      played({ initial: "w", states: { w: { on: { GO: "e" } }, e: { type: "final" } } }, [], { events: ["GO"] }),
    );
    expect(told(waits)[0]).toContain("waits for event");
  });

  test("of a run that goes back, and of one that has ended", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused("no stock"));
    expect(told(play)[0]).toContain("is being undone (no stock)");
    expect(told(play)[1]).toContain("the compensation of a (row 1, ns/default/r1/a/1/undo) is under way");
    play.answer("undo a", { kind: "succeeded", output: null });
    expect(told(play)[0]).toMatch(/ended failed \(no stock\), roll-back complete\.$/);
    const done = new Play(line([call("a")]));
    done.answer("a", ok());
    expect(told(done)).toEqual([
      "Where: run r1 of line version 1 ended completed.",
      "Attempted: a (row 1, ns/default/r1/a/1) happened.",
      "Safe now: it can go on (RESUME_SAFE): it has ended (completed).",
    ]);
  });
});
