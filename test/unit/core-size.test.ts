/** The budget of a run: what it holds is counted, an outcome is recorded whatever its size, nothing follows from too much. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sizeOf } from "../../src/core/index.ts";
import { notApplied, ok, Play, refused, resolveHappened, retry } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const text = (bytes: number) => "x".repeat(bytes - 2);

function bounded(maxRunBytes: number, steps = [call("a"), call("b")]): Play {
  return new Play(line(steps), { settings: { maxRunBytes }, input: {} });
}

/** What a run holds, counted anew. */
function held({ run }: Play): number {
  return run.rows.reduce((sum, { input, output }) => sum + sizeOf(input) + sizeOf(output), sizeOf(run.record.input));
}

test("the size of a value is that of its JSON in bytes, and no value has none", () => {
  expect([sizeOf("é"), sizeOf({ a: 1 }), sizeOf(null)]).toEqual([4, 7, 0]);
});

describe("what a run holds", () => {
  test("is its input and the inputs and outputs of its rows, at every step of the way", () => {
    const play = bounded(1_000);
    expect(play.run.record.bytes).toBe(held(play));
    play.answer("a", ok("first"));
    play.answer("b", ok("second"));
    expect(play.run.record.bytes).toBe(held(play));
    expect(held(play)).toBe(2 + 2 + 14 + 2 + 15);
  });

  test("follows an output that takes another's place, and an input that a person changes", () => {
    const play = bounded(1_000, [call("a", { onExhausted: "review", retry: { attempts: 1 } }), call("b")]);
    play.answer("a", notApplied());
    play.verb(retry({ note: "other" }));
    expect(play.run.record.bytes).toBe(held(play));
    play.answer("a", ok(text(900)));
    play.answer("b", ok(text(200)));
    expect(play.review).toMatchObject({ reason: "defect", seq: 2 });
    play.verb(resolveHappened({ id: "short" }));
    expect(play.run.record.bytes).toBe(held(play));
    expect(play.status).toBe("completed");
  });
});

describe("an output with which the run holds too much", () => {
  const tooMuch = () => {
    const play = bounded(500);
    play.answer("a", ok(text(600)));
    return play;
  };

  test("is recorded, and parks before anything follows from it", () => {
    const play = tooMuch();
    expect(play.row("a")).toMatchObject({ call: { state: "succeeded" }, output: { id: text(600) }, told: null });
    expect(play.review).toMatchObject({ reason: "defect", seq: 1, side: "action" });
    expect(play.review?.message).toBe(
      "a succeeded and its output (607 bytes) is recorded, but with it the run holds 611 bytes of inputs and outputs; the most is 500 (maxRunBytes)",
    );
    expect(play.review?.verbs).toEqual(["retry", "resolve", "compensate", "close"]);
    expect(play.ordered).toEqual(["a"]);
  });

  test("parks again after a retry under the same bound, and goes on under a larger one", () => {
    const play = tooMuch();
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 2, reason: "defect" });
    const larger = new Play(line([call("a"), call("b")]), { settings: { maxRunBytes: 1_000 }, input: {} });
    larger.run = play.run;
    larger.log.splice(0, larger.log.length, ...play.log);
    larger.inFlight.clear();
    larger.held = false;
    larger.verb(retry());
    expect(larger.review).toBeNull();
    expect(larger.row("a").told).toBe("outcome");
  });

  test("is undone like any other", () => {
    const play = tooMuch();
    play.verb({ verb: "compensate", reason: "too large" });
    expect(play.flying()).toEqual(["undo a"]);
  });
});

describe("an input with which the run would hold too much", () => {
  const wide = () =>
    played(
      {
        initial: "s",
        states: {
          s: { invoke: { src: "a", input: text(400), onDone: "t" } },
          t: { invoke: { src: "b", input: text(400), onDone: "d" } },
          d: { type: "final" },
        },
      },
      [call("a"), call("b")],
    );

  test("parks before the call, and the snapshot is the one before it", () => {
    const play = new Play(wide(), { settings: { maxRunBytes: 500 }, input: {} });
    play.answer("a", ok());
    expect(play.ordered).toEqual(["a"]);
    expect(play.review).toMatchObject({ reason: "defect", seq: 1, verbs: ["retry", "compensate", "close"] });
    expect(play.review?.message).toContain("input of b: with it the run holds 812 bytes of inputs and outputs");
    expect(play.run.record).toMatchObject({ snapshot: { value: "s" }, rows: 1 });
    expect(play.run.record.bytes).toBe(held(play));
  });

  test("is refused where a person gives it", () => {
    const steps = [call("a", { onExhausted: "review", retry: { attempts: 1 }, input: z.json() })];
    const play = bounded(500, steps);
    play.answer("a", notApplied());
    play.verb(retry(text(600)));
    expect(play.review?.message).toContain("the input is too large: with it the run holds 602 bytes");
    expect(play.run.record.bytes).toBe(held(play));
  });

  test("is not counted for a compensation that is given another one", () => {
    const play = bounded(5_000, [call("a", { compensate: { retry: { attempts: 1 } } }), call("b")]);
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", refused());
    play.verb(retry({ other: text(50) }));
    expect(play.flying()).toEqual(["undo a"]);
    expect(play.run.record.bytes).toBe(held(play));
  });
});
