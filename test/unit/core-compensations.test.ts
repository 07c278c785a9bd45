/** The compensation's own call: judged by its own class like any other, and what it comes to when it cannot be made. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { inputOf } from "../../src/core/index.ts";
import {
  close,
  done,
  notApplied,
  notCalled,
  ok,
  Play,
  probeNow,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
  skip,
  timedOut,
} from "../support/play.ts";
import { call, line } from "../support/play-sagas.ts";

type Undoing = Readonly<Record<string, unknown>>;

/** `z` and `a` are done, the run failed, the compensation of `a` is under way. */
function undoing(compensate: Undoing = {}): Play {
  const play = new Play(line([call("z"), call("a", { compensate }), call("b")]));
  play.answer("z", ok());
  play.answer("a", ok());
  play.answer("b", refused());
  expect(play.flying()).toEqual(["undo a"]);
  return play;
}

function finish(play: Play): Play {
  play.answer("undo z", done);
  return play;
}

describe("tried again", () => {
  test("when proven not applied, by its own policy", () => {
    const play = undoing();
    play.answer("undo a", notApplied());
    expect(play.row("a").undo).toMatchObject({ state: "owed", call: { state: "planned", attempt: 1 } });
    play.advance(1_000);
    play.answer("undo a", done);
    expect(finish(play).rollback).toBe("complete");
  });

  test("when nobody knows, where its class allows, under the same operation id", () => {
    const play = undoing();
    play.answer("undo a", timedOut());
    play.advance(1_000);
    expect(play.orders.slice(-2).map((order) => order.operationId)).toEqual([
      "ns/default/r1/a/1/undo",
      "ns/default/r1/a/1/undo",
    ]);
  });

  test("when its worker died in the middle, without counting it", () => {
    const play = undoing();
    play.takeOver();
    expect(play.row("a").undo).toMatchObject({ state: "sent", call: { attempt: 1, send: 2, interruptions: 1 } });
  });

  test("when it was not called at all", () => {
    const play = undoing({ effect: "once" });
    play.answer("undo a", notCalled());
    expect(play.row("a").undo).toMatchObject({ state: "sent", call: { attempt: 1, send: 2 } });
  });

  test("not before a probe has been asked, where it has one", () => {
    const play = undoing({ probe: true });
    play.answer("undo a", timedOut());
    expect(play.flying()).toEqual(["probe undo a"]);
    expect(play.orders.at(-1)).toMatchObject({ kind: "probe", side: "undo", operationId: "ns/default/r1/a/1/undo" });
    play.probe("undo a", "happened");
    expect(finish(play).rollback).toBe("complete");
  });

  test("not once its key expired: it is found out instead", () => {
    const play = undoing({ keyTtl: "60s" });
    play.now += 3_600_000;
    play.answer("undo a", timedOut());
    expect(play.review).toMatchObject({ reason: "halted", side: "undo", verbs: ["resolve", "skip", "close"] });
  });

  test("nothing before it is undone meanwhile", () => {
    const play = undoing();
    play.answer("undo a", notApplied());
    play.advance(999);
    expect(play.ordered).not.toContain("undo z");
  });
});

describe("used up", () => {
  function halted(): Play {
    const play = undoing();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      play.answer("undo a", notApplied({ message: "closed" }));
      play.advance(1_000);
    }
    return play;
  }

  test("halts the unwind and asks a person", () => {
    const play = halted();
    expect(play.run.record).toMatchObject({ status: "needs_review", rollback: "halted" });
    expect(play.review).toMatchObject({ reason: "halted", side: "undo", verbs: ["resolve", "retry", "skip", "close"] });
    expect(play.review?.message).toBe("a could not be undone: closed");
    expect(play.ordered).not.toContain("undo z");
  });

  test("retry gives it all its attempts again", () => {
    const play = halted();
    play.verb(retry());
    expect(play.row("a").undo?.call).toMatchObject({ state: "sent", attempt: 1 });
    play.answer("undo a", done);
    expect(finish(play).run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("retry with another input keeps that beside the compensation, and the action's as it was", () => {
    const play = halted();
    play.verb(retry({ account: "n-2" }));
    expect(play.row("a")).toMatchObject({ input: {}, undo: { state: "sent", input: { account: "n-2" } } });
    expect(inputOf(play.row("a"), "undo")).toEqual({ account: "n-2" });
    expect(inputOf(play.row("a"), "action")).toEqual({});
    expect(play.taken()).toContainEqual({
      what: "verb",
      verb: "retry",
      review: 1,
      by: "ops",
      payload: retry({ account: "n-2" }),
    });
    play.answer("undo a", done);
    expect(play.row("a").undo).toMatchObject({ state: "done", input: { account: "n-2" } });
    expect(finish(play).run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("retry with another input is held to the step's schema", () => {
    const input = z.object({ n: z.number().optional() });
    const play = new Play(line([call("a", { input }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", refused());
    play.verb(retry({ n: "x" }));
    expect(play.review).toMatchObject({ n: 2, message: expect.stringContaining("the input does not fit") });
    expect(play.row("a").undo).not.toHaveProperty("input");
    play.verb(retry({ n: 7 }));
    expect(play.row("a").undo?.input).toEqual({ n: 7 });
    // The other input stays what it is given, also where it fails again and is given up.
    play.answer("undo a", refused());
    play.verb(close);
    expect(play.row("a").undo).toMatchObject({ state: "accepted", input: { n: 7 } });
  });

  test("resolve with evidence says that it was undone by hand", () => {
    const play = halted();
    play.verb(resolveHappened(null));
    expect(play.row("a")).toMatchObject({ reference: "ref-1", undo: { state: "done", call: { proof: "person" } } });
    expect(finish(play).rollback).toBe("complete");
  });

  test("resolve as absent makes it again", () => {
    const play = halted();
    play.verb(resolveAbsent);
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("skip leaves the effect, with who and why, and goes on", () => {
    const play = halted();
    play.verb(skip);
    expect(play.row("a").undo).toMatchObject({ state: "skipped", reason: "ops: by hand" });
    expect(finish(play).run.record).toMatchObject({ status: "failed", rollback: "partial" });
  });

  test("close gives up on everything that is left", () => {
    const play = halted();
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    expect([play.row("a").undo?.state, play.row("z").undo?.state]).toEqual(["accepted", "accepted"]);
  });

  test("fail() halts at the first", () => {
    const play = undoing();
    play.answer("undo a", refused());
    expect(play.review?.reason).toBe("halted");
    play.verb(resolveAbsent);
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("an answer that comes late takes the question back", () => {
    const play = halted();
    play.late("a", 1, done, "undo");
    expect(play.review).toBeNull();
    expect(play.row("a").undo?.state).toBe("done");
    expect(play.flying()).toEqual(["undo z"]);
  });

  test("what was skipped and turns out to be done is said to be done", () => {
    const play = halted();
    play.verb(skip);
    play.late("a", 1, done, "undo");
    expect(play.row("a").undo?.state).toBe("done");
  });
});

describe("sent once, and nobody knows", () => {
  function unclear(compensate: Undoing = {}): Play {
    const play = undoing({ effect: "once", ...compensate });
    play.answer("undo a", timedOut());
    return play;
  }

  test("it is never made again by itself", () => {
    const play = unclear();
    expect(play.review).toMatchObject({ reason: "halted", verbs: ["resolve", "skip", "close"] });
    expect(play.review?.message).toBe("a may or may not have been undone: unknown");
    play.advance(10_000_000);
    expect(play.ordered.filter((name) => name === "undo a")).toHaveLength(1);
  });

  test("retry is not among the verbs, and is refused", () => {
    const play = unclear();
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 2, message: expect.stringContaining("retry is not allowed here") });
    expect(play.ordered.filter((name) => name === "undo a")).toHaveLength(1);
  });

  test("no other input is taken while it may have happened with the old one", () => {
    const play = undoing();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      play.answer("undo a", timedOut());
      play.advance(1_000);
    }
    expect(play.review?.verbs).toContain("retry");
    play.verb(retry({ account: "n-2" }));
    expect(play.review?.message).toContain("it may have happened with the old input");
    expect(play.flying()).toEqual([]);
  });

  test("a second refusal does not pile up the messages", () => {
    const play = unclear();
    play.verb(retry());
    play.verb(retry());
    expect(play.review?.message).toBe(
      "a may or may not have been undone: unknown (after review 2: retry is not allowed here, but resolve, skip, close)",
    );
  });

  test("a probe may clear it up", () => {
    const play = unclear({ probe: true });
    for (const wait of [21_500, 21_500, 5_000, 25_000]) {
      play.probe("undo a", "cannot_tell");
      play.advance(wait);
    }
    play.probe("undo a", "cannot_tell");
    expect(play.review).toMatchObject({ reason: "halted", verbs: ["probe", "resolve", "skip", "close"] });
    play.verb(probeNow);
    expect(play.row("a").undo?.state).toBe("sent");
    play.probe("undo a", "happened");
    expect(finish(play).rollback).toBe("complete");
  });

  test("proven absent it is made again, in time with its policy", () => {
    const play = unclear({ probe: true });
    for (const wait of [21_500, 21_500, 1_000]) {
      play.probe("undo a", "absent");
      play.advance(wait);
    }
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("a person's word that it was not made makes it again", () => {
    const play = unclear();
    play.verb(resolveAbsent);
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("a worker that never called says so, and it is made again", () => {
    const play = unclear();
    play.late("a", 1, notCalled(), "undo");
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("skipped, it is not made again by a worker that never called", () => {
    const play = unclear();
    play.verb(skip);
    play.late("a", 1, notCalled(), "undo");
    expect(play.row("a").undo?.state).toBe("skipped");
  });

  test("given up, it may be known later, and nothing is reopened", () => {
    const play = unclear();
    play.verb(close);
    play.late("a", 1, done, "undo");
    expect(play.status).toBe("failed");
    expect(play.row("a").undo?.state).toBe("done");
  });

  test("three dead workers ask as poison", () => {
    const play = undoing();
    for (let death = 0; death < 3; death += 1) play.takeOver();
    expect(play.review).toMatchObject({ reason: "poison", side: "undo", verbs: ["resolve", "retry", "skip", "close"] });
    expect(play.rollback).toBe("halted");
    play.verb(retry());
    play.answer("undo a", done);
    expect(finish(play).status).toBe("failed");
  });
});

describe("its class", () => {
  test("is the action's unless it says otherwise: the undo of a once action waits for the barrier too", () => {
    const play = new Play(line([call("a", { effect: "once" }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    expect(play.orders.at(-1)).toMatchObject({ kind: "undo", barrier: true });
  });

  test("none: repeated as often as it takes", () => {
    const play = undoing({ effect: "none" });
    play.answer("undo a", timedOut());
    play.advance(1_000);
    play.takeOver();
    expect(play.flying()).toEqual(["undo a"]);
  });
});

describe("code that has changed", () => {
  test("an owed compensation that today's code does not have is the engine's defect to report", () => {
    const play = undoing();
    play.answer("undo a", notApplied());
    play.machine = new Play(line([call("z"), call("a", { compensate: false }), call("b")]), { idle: true }).machine;
    play.advance(1_000);
    expect(play.flying()).toEqual(["undo a"]);
    play.answer("undo a", { kind: "defect", message: "a has no compensation in this version" });
    expect(play.review?.reason).toBe("defect");
  });

  test("a step that had an effect when it was sent is not passed over because today it has none", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.machine = new Play(line([call("a", { effect: "none" }), call("b")]), { idle: true }).machine;
    play.answer("b", refused());
    expect(play.row("a").undo).toMatchObject({ state: "kept", reason: null });
  });
});

test("closing while a compensation is under way aborts it and accounts for it", () => {
  const play = new Play(line([call("y"), call("z"), call("a", { effect: "once" }), call("b")]));
  for (const name of ["y", "z", "a"]) play.answer(name, ok());
  play.answer("b", refused());
  play.answer("undo a", refused());
  expect(play.review?.reason).toBe("halted");
  play.verb(close);
  expect(play.run.rows.map((row) => row.undo?.state)).toEqual(["accepted", "accepted", "accepted", undefined]);
});
