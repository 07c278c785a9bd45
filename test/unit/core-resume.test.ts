/** A request to resume that nobody has thought about does what is safe, and says why it does nothing. */
import { describe, expect, test } from "vitest";
import { type Machine, type Resume, resumeOf } from "../../src/core/index.ts";
import { close, notApplied, ok, Play, refused, refusedMaybe, timedOut, unusable } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

function resume(play: Play, review = play.review?.n ?? 0, machine: Machine | null = play.machine): Resume {
  const { record, rows } = play.run;
  return resumeOf({ namespace: "ns", record, rows, machine, now: play.now }, review, "put back");
}

function reasonOf(resumed: Resume): string {
  return resumed.does === "refuse" ? resumed.reason : "";
}

const again = { does: "act", verb: { verb: "retry", input: undefined, reason: "put back" } };

test("an outcome nobody can know is refused, with the question", () => {
  const play = new Play(line([call("a", { effect: "once" })]));
  play.answer("a", timedOut());
  const reason = reasonOf(resume(play));
  expect(reason).toContain("a person has to decide (HUMAN_REQUIRED)");
  expect(reason).toContain("the other side cannot be asked");
});

test("an outcome the other side can be asked about is asked", () => {
  const play = new Play(line([call("a", { effect: "once", probe: true })]));
  play.answer("a", timedOut());
  while (play.review === null) {
    if (play.flying().length > 0) play.probe("a", "cannot_tell");
    else play.advance((play.next.wanted ?? play.next.due ?? play.now) - play.now);
  }
  expect(play.review?.reason).toBe("unknown_outcome");
  expect(resume(play)).toEqual({ does: "act", verb: { verb: "probe" } });
});

test("what was tried too often and not applied is tried again: that is what was asked", () => {
  const play = new Play(line([call("a", { onExhausted: "review", retry: { attempts: 1 } })]));
  play.answer("a", notApplied());
  expect(play.review?.reason).toBe("exhausted");
  expect(resume(play)).toEqual(again);
});

test("a halted compensation that was not applied is tried again", () => {
  const play = new Play(line([call("a"), call("b")]));
  play.answer("a", ok());
  play.answer("b", refused());
  play.answer("undo a", refused());
  expect(play.review?.reason).toBe("halted");
  expect(resume(play)).toEqual(again);
});

test("a halted compensation that may have been applied is tried again where a repeat is harmless, and only there", () => {
  const halted = (effect: "keyed" | "once") => {
    const play = new Play(line([call("a", { compensate: { effect } }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", refusedMaybe);
    expect(play.review?.reason).toBe("halted");
    return resume(play);
  };
  expect(halted("keyed")).toEqual(again);
  expect(halted("once").does).toBe("refuse");
});

test("an output that does not fit is refused", () => {
  const play = new Play(line([call("a")]));
  play.answer("a", unusable);
  expect(reasonOf(resume(play))).toContain("HUMAN_REQUIRED");
});

test("what would never end by itself is refused: a retry is no answer to it", () => {
  const play = new Play(
    played({ initial: "one", states: { one: { on: { GO: "two" } }, two: { type: "final" } } }, [call("a")]),
  );
  expect(play.review?.reason).toBe("defect");
  expect(resume(play).does).toBe("refuse");
});

test("a run whose saga is not here is refused as blocked", () => {
  const play = new Play(line([call("a", { onExhausted: "review", retry: { attempts: 1 } })]));
  play.answer("a", notApplied());
  const reason = reasonOf(resume(play, 1, null));
  expect(reason).toContain("it cannot go on here (BLOCKED): the saga is not here: line version 1");
});

test("a verb that the review does not take is refused, naming those it takes", () => {
  const play = new Play(line([call("a", { onExhausted: "review", retry: { attempts: 1 } })]));
  play.answer("a", notApplied());
  const { review } = play.run.record;
  if (review === null) throw new Error("it is not parked");
  const record = { ...play.run.record, review: { ...review, verbs: ["close" as const] } };
  const resumed = resumeOf(
    { namespace: "ns", record, rows: play.run.rows, machine: play.machine, now: play.now },
    1,
    "",
  );
  expect(reasonOf(resumed)).toContain("its review takes close");
});

describe("a request about a review that is over asks for nothing", () => {
  test("when the run has ended", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", timedOut());
    play.verb(close);
    expect(resume(play, 1)).toEqual({ does: "over" });
  });

  test("when it is parked with another question", () => {
    const play = new Play(line([call("a", { onExhausted: "review", retry: { attempts: 1 } })]));
    play.answer("a", notApplied());
    play.verb({ verb: "retry", input: undefined, reason: "again" });
    play.answer("a", notApplied());
    expect(play.review?.n).toBe(2);
    expect(resume(play, 1)).toEqual({ does: "over" });
    expect(resume(play, 2)).toEqual(again);
  });
});
