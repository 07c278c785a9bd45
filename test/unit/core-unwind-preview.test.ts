/** What undoing a run would do is said by the rules that undo it, and before anything is done. */
import { describe, expect, test } from "vitest";
import { type Machine, type UnwindPreview, unwindPreview } from "../../src/core/index.ts";
import {
  close,
  done,
  notApplied,
  ok,
  Play,
  refused,
  refusedMaybe,
  retry,
  skip,
  timedOut,
  unusable,
} from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

function preview(play: Play, machine: Machine | null = play.machine, laterMs = 0): UnwindPreview {
  const { record, rows } = play.run;
  const found = unwindPreview({ namespace: "ns", record, rows, machine, now: play.now + laterMs });
  if (found === null) throw new Error("the saga is not here");
  return found;
}

/** Step and course, in order. */
function courses({ steps }: UnwindPreview): readonly string[] {
  return steps.map(({ step, course }) => `${step} ${course}`);
}

function played3(options: CallOptions = {}): Play {
  return new Play(line([call("a", options), call("b"), call("c")]));
}

describe("a completed run", () => {
  test("is shown in the order in which it is then undone, with the ids of its compensations", () => {
    const play = new Play(
      line([call("a"), call("b", { compensate: false }), call("c", { effect: "none" }), call("d")]),
    );
    for (const name of ["a", "b", "c", "d"]) play.answer(name, ok());
    const shown = preview(play);
    expect(courses(shown)).toEqual(["d compensate", "c nothing", "b leave", "a compensate"]);
    expect(shown.steps[0]).toMatchObject({ seq: 4, occurrence: 1, operationId: "ns/default/r1/d/1/undo" });
    expect(shown).toMatchObject({ pivot: null });
    play.undo();
    play.answer("undo d", done);
    play.answer("undo a", done);
    expect(play.ordered.slice(4)).toEqual(["undo d", "undo a"]);
    expect(courses(preview(play))).toEqual(["d nothing", "c nothing", "b leave", "a nothing"]);
  });

  test("names the point of no return that it has passed", () => {
    const play = new Play(line([call("a"), call("b", { pivot: true })]));
    play.answer("a", ok());
    play.answer("b", ok());
    expect(preview(play)).toMatchObject({ pivot: "b", steps: [{ course: "compensate" }, { course: "compensate" }] });
  });

  test("whose saga is not here says nothing", () => {
    const { record, rows } = played3().run;
    expect(unwindPreview({ namespace: "ns", record, rows, machine: null, now: 0 })).toBeNull();
  });

  test("whose step or compensation is gone from the code needs a person", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    const other = (options: CallOptions) => new Play(line([call("a", options)]), { idle: true }).machine;
    expect(courses(preview(play, other({})))).toEqual(["b human", "a wait"]);
    expect(courses(preview(play, other({ compensate: false }), 1e6))).toEqual(["b human", "a human"]);
  });
});

describe("an effect that may have happened", () => {
  function inDoubt(options: CallOptions): Play {
    const play = new Play(line([call("a", { retry: { attempts: 1 }, ...options }), call("b")]));
    play.answer("a", timedOut());
    return play;
  }

  test.each([
    ["is asked about", { effect: "once", probe: true }, "probe"],
    ["is undone all the same", { effect: "once", compensateIfUnknown: true }, "compensate"],
    ["is left where it has no compensation", { effect: "once", compensate: false }, "leave"],
    ["is put to a person", { effect: "once" }, "human"],
    ["that may have been a pivot is put to a person", { effect: "once", pivot: true }, "human"],
    ["is made once more to learn what to undo", { effect: "keyed" }, "settle"],
  ] as const)("%s", (_, options, course) => {
    expect(courses(preview(inDoubt(options)))).toEqual([`a ${course}`]);
  });

  test("is asked about first of all where it may be a point of no return", () => {
    const left = played(
      {
        initial: "work",
        states: {
          work: { invoke: { src: "p", onDone: "other" }, on: { GO: "other" } },
          other: { invoke: { src: "a", onDone: "wait" } },
          wait: { on: { GO: "end" } },
          end: { type: "final" },
        },
      },
      [call("p", { effect: "once", pivot: true, settle: false }), call("a")],
      { events: ["GO"] },
    );
    const play = new Play(left);
    play.event("GO");
    play.answer("a", ok());
    play.now += 1e6;
    expect(courses(preview(play))).toEqual(["p human", "a compensate"]);
  });

  test("is waited for while it is under way, and judged afterwards", () => {
    const play = played3({ effect: "once" });
    expect(courses(preview(play))).toEqual(["a wait"]);
    expect(courses(preview(play, play.machine, 1e6))).toEqual(["a human"]);
  });

  test("is not there any more once it is proven that it did not happen", () => {
    const play = played3();
    play.answer("a", notApplied());
    expect(courses(preview(play))).toEqual(["a nothing"]);
  });
});

describe("an effect that happened", () => {
  test("is put to a person where its output fits nothing", () => {
    const play = played3();
    play.answer("a", unusable);
    expect(courses(preview(play))).toEqual(["a human"]);
  });

  test("is kept where it was left, if its step says so", () => {
    const left = played(
      {
        initial: "work",
        states: {
          work: { invoke: { src: "a", onDone: "other" }, on: { GO: "other" } },
          other: { invoke: { src: "b", onDone: "end" } },
          end: { type: "final" },
        },
      },
      [call("a", { onAbandon: "keep" }), call("b")],
      { events: ["GO"] },
    );
    const play = new Play(left);
    play.event("GO");
    expect(courses(preview(play, play.machine, 1e6))).toEqual(["b settle", "a leave"]);
    play.answer("a", ok());
    expect(courses(preview(play))).toEqual(["b wait", "a leave"]);
  });
});

describe("a compensation", () => {
  /** The run goes back, and the compensation of `a` ended like this. */
  function undoing(options: CallOptions, result = timedOut()): Play {
    const play = new Play(line([call("a", options), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", result);
    return play;
  }

  test("that is owed, or may be made again, is made", () => {
    expect(courses(preview(undoing({}, notApplied())))).toEqual(["b nothing", "a compensate"]);
    expect(courses(preview(undoing({})))).toEqual(["b nothing", "a compensate"]);
  });

  test("that may not be made again is asked about, or a person is", () => {
    const asked = undoing({ compensate: { effect: "once", probe: true } });
    expect(courses(preview(asked))).toEqual(["b nothing", "a probe"]);
    const halted = undoing({ compensate: { effect: "once" } });
    expect(courses(preview(halted))).toEqual(["b nothing", "a human"]);
    const sent = new Play(line([call("a", { compensate: { effect: "once" } }), call("b")]));
    sent.answer("a", ok());
    sent.answer("b", refused());
    expect(courses(preview(sent))).toEqual(["b nothing", "a wait"]);
    expect(courses(preview(sent, sent.machine, 1e6))).toEqual(["b nothing", "a human"]);
  });

  test("that a person left is left, and taken up when the ended run is undone", () => {
    const play = new Play(line([call("z"), call("a", { compensate: { effect: "once" } }), call("b")]));
    play.answer("z", ok());
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", refusedMaybe);
    play.verb(skip);
    expect(courses(preview(play))).toEqual(["b nothing", "a leave", "z wait"]);
    play.answer("undo z", done);
    expect(play.status).toBe("failed");
    expect(courses(preview(play))).toEqual(["b nothing", "a human", "z nothing"]);
  });

  test("that was never made because a person closed the run is judged by what it would undo", () => {
    const play = new Play(line([call("a"), call("b", { effect: "once" })]));
    play.answer("a", ok());
    play.answer("b", timedOut());
    play.verb(close);
    expect(play.status).toBe("failed");
    expect(courses(preview(play))).toEqual(["b human", "a compensate"]);
  });
});

test("an effect that turned up late is judged as one that happened", () => {
  const play = new Play(line([call("a", { effect: "once", probe: true, retry: { attempts: 1 } }), call("b")]));
  play.answer("a", timedOut());
  for (let turn = 0; turn < 40 && play.review === null; turn += 1) {
    if (play.flying().includes("probe a")) play.probe("a", "absent");
    else play.advance(60_000);
  }
  expect(play.status).toBe("failed");
  play.late("a", 1, ok("late"));
  expect(play.review?.reason).toBe("late_result");
  expect(courses(preview(play))).toEqual(["a compensate"]);
  play.verb(retry());
  play.answer("undo a", done);
  expect(play.ordered).toContain("undo a");
});

test("what a person closed after a point of no return is owed nothing", () => {
  const play = new Play(line([call("a"), call("b", { pivot: true }), call("c")]));
  play.answer("a", ok());
  play.answer("b", ok());
  play.answer("c", refused());
  expect(play.review?.reason).toBe("after_pivot");
  play.verb(close);
  expect(courses(preview(play))).toEqual(["c nothing", "b nothing", "a nothing"]);
});

test("what is undone already is shown as that", () => {
  const play = played3();
  play.answer("a", ok());
  play.answer("b", notApplied({ final: true }));
  play.answer("undo a", { kind: "succeeded", output: null });
  expect(play.status).toBe("failed");
  expect(courses(preview(play))).toEqual(["b nothing", "a nothing"]);
});
