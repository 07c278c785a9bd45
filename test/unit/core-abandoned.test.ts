/** Rows that the machine has left by a timer, a signal or a sibling: nothing they did outside is forgotten. */
import { describe, expect, test } from "vitest";
import {
  done,
  notApplied,
  notCalled,
  ok,
  Play,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
  timedOut,
  unusable,
} from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

/** `a` runs until it is done, a minute is over, or somebody says GO; then `b` runs. */
function leaving(options: object = {}, more: object = {}): Play {
  const machine = {
    initial: "one",
    states: {
      one: { invoke: { src: "a", onDone: "two" }, after: { 60000: "two" }, on: { GO: "two" } },
      two: { invoke: { src: "b", onDone: "end" } },
      end: { type: "final" },
    },
  };
  return new Play(played(machine, [call("a", options), call("b")], { events: ["GO"], ...more }));
}

describe("not sent yet", () => {
  test("it is withdrawn", () => {
    const play = leaving();
    play.answer("a", notCalled("store_not_durable"));
    play.event("GO");
    expect(play.row("a")).toMatchObject({ abandoned: true, call: { state: "withdrawn" } });
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("after a proven failure it is closed as not applied", () => {
    const play = leaving();
    play.answer("a", notApplied());
    play.event("GO");
    expect(play.row("a").call.state).toBe("not_applied");
  });

  test("with an earlier send in doubt it is found out", () => {
    const play = leaving({ probe: true });
    play.answer("a", timedOut());
    play.probe("a", "cannot_tell");
    play.event("GO");
    expect(play.row("a").call.state).toBe("unknown");
    expect(play.flying()).toEqual(["probe a", "b"]);
  });
});

describe("under way", () => {
  test("its signal is aborted and the run cannot end before it has answered", () => {
    const play = leaving();
    play.event("GO");
    expect(play.aborted).toEqual(["action:1"]);
    play.answer("b", ok());
    expect(play.status).toBe("running");
    play.answer("a", notCalled());
    expect(play.status).toBe("completed");
  });

  test("by a timer it is left like by a signal", () => {
    const play = leaving();
    play.advance(60_000);
    expect(play.row("a").abandoned).toBe(true);
    expect(play.flying()).toEqual(["a", "b"]);
  });

  test("without effect it is dropped at once", () => {
    const play = leaving({ effect: "none" });
    play.event("GO");
    expect(play.row("a").call).toMatchObject({ state: "not_applied", proof: "class" });
    play.answer("b", ok());
    expect(play.status).toBe("completed");
    play.answer("a", ok());
    expect(play.status).toBe("completed");
  });

  test("that happened is undone at once", () => {
    const play = leaving();
    play.event("GO");
    play.answer("a", ok());
    expect(play.flying()).toEqual(["b", "undo a"]);
    play.answer("b", ok());
    expect(play.status).toBe("unwinding");
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "completed", rollback: "none" });
  });

  test("that happened is left where the step says so", () => {
    const play = leaving({ onAbandon: "keep" });
    play.event("GO");
    play.answer("a", ok());
    expect(play.row("a").undo).toEqual({ state: "kept", call: null, reason: "onAbandon: keep" });
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("that happened stays where nothing can undo it", () => {
    const play = leaving({ compensate: false });
    play.event("GO");
    play.answer("a", ok());
    expect(play.row("a").undo).toMatchObject({ state: "kept", reason: "it stays" });
  });

  test("that did not happen is closed, and not tried again", () => {
    const play = leaving();
    play.event("GO");
    play.answer("a", notApplied());
    expect(play.row("a").call.state).toBe("not_applied");
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("that happened with an output that fits nothing asks a person", () => {
    const play = leaving();
    play.event("GO");
    play.answer("a", unusable);
    expect(play.review).toMatchObject({ reason: "defect", seq: 1 });
    play.verb(resolveHappened());
    expect(play.flying()).toEqual(["b", "undo a"]);
  });

  test("whose outcome is never told to the machine, not even when it comes at the same time", () => {
    const play = leaving();
    play.event("GO");
    play.answers(["a", refused()], ["b", ok()]);
    expect(play.status).toBe("completed");
  });
});

describe("nobody knows", () => {
  test("it is settled by one more call under the same key, then undone", () => {
    const play = leaving();
    play.event("GO");
    play.answer("a", timedOut());
    play.advance(1_000);
    expect(play.flying()).toEqual(["b", "a"]);
    play.answer("a", ok());
    expect(play.flying()).toEqual(["b", "undo a"]);
  });

  test("a settling call that was refused undoes nothing", () => {
    const play = leaving();
    play.event("GO");
    play.answer("a", timedOut());
    play.advance(1_000);
    play.answer("a", refused());
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("once: a person is asked", () => {
    const play = leaving({ effect: "once" });
    play.event("GO");
    play.answer("a", timedOut());
    expect(play.review).toMatchObject({ reason: "unknown_outcome", verbs: ["resolve", "compensate", "close"] });
    play.verb(resolveAbsent);
    expect(play.row("a").call.state).toBe("not_applied");
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("once, and somebody says that it happened: it is undone", () => {
    const play = leaving({ effect: "once" });
    play.event("GO");
    play.answer("a", timedOut());
    play.verb(resolveHappened());
    expect(play.flying()).toEqual(["b", "undo a"]);
  });

  test("compensateIfUnknown: it is undone, but not before a late one can arrive any more", () => {
    const play = leaving({ effect: "once", compensateIfUnknown: true });
    const { deadline } = play.row("a").call;
    play.event("GO");
    play.answer("a", timedOut());
    expect(play.row("a").undo).toMatchObject({ state: "owed", call: { nextAt: deadline } });
    play.advance(43_000);
    expect(play.flying()).toEqual(["b", "undo a"]);
  });

  test("kept, whatever it was, where the step says so", () => {
    const play = leaving({ effect: "once", onAbandon: "keep" });
    play.event("GO");
    play.answer("a", timedOut());
    expect(play.row("a").undo?.state).toBe("kept");
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("interrupted, and called for nobody: it is found out like the rest", () => {
    const play = leaving({ effect: "once", probe: true });
    play.event("GO");
    play.takeOver();
    expect(play.flying()).toContain("probe a");
  });

  test("no settling by a call where the step forbids it: a person is asked, and may retry", () => {
    const play = leaving({ effect: "idempotent", settle: false });
    play.event("GO");
    play.takeOver();
    expect(play.review).toMatchObject({
      reason: "unknown_outcome",
      verbs: ["resolve", "retry", "compensate", "close"],
    });
    play.verb(retry());
    play.answer("a", ok());
    play.advance(43_000);
    expect(play.flying()).toContain("undo a");
  });

  test("a pivot asks a person, since everything that follows depends on it", () => {
    const play = leaving({ pivot: true, compensate: false });
    play.event("GO");
    play.answer("a", timedOut());
    expect(play.review?.reason).toBe("unknown_outcome");
    play.verb(resolveHappened());
    expect(play.row("a").undo?.state).toBe("kept");
  });
});

describe("while the run is paused", () => {
  test("what happened is owed, and undone when it is resumed", () => {
    const play = leaving();
    play.event("GO");
    play.pause();
    play.answer("a", ok());
    expect(play.row("a").undo?.state).toBe("owed");
    expect(play.flying()).toEqual(["b"]);
    play.resume();
    expect(play.flying()).toEqual(["b", "undo a"]);
  });

  test("what nobody knows waits", () => {
    const play = leaving({ effect: "once" });
    play.event("GO");
    play.pause();
    play.answer("a", timedOut());
    expect(play.review).toBeNull();
    play.resume();
    expect(play.review?.reason).toBe("unknown_outcome");
  });
});

describe("before the run goes back", () => {
  test("it is undone in its place", () => {
    const play = leaving();
    play.event("GO");
    play.answer("b", refused());
    expect(play.status).toBe("unwinding");
    play.answer("a", ok());
    play.answer("undo a", done);
    expect(play.status).toBe("failed");
    expect(play.rollback).toBe("complete");
  });

  test("it is kept where the step says so", () => {
    const play = leaving({ onAbandon: "keep" });
    play.event("GO");
    play.answer("b", refused());
    play.answer("a", ok());
    expect(play.row("a").undo?.state).toBe("kept");
    expect(play.status).toBe("failed");
  });

  test("an undoing that halted there still asks", () => {
    const play = leaving({ compensate: { effect: "once" } });
    play.event("GO");
    play.answer("a", ok());
    play.answer("undo a", timedOut());
    expect(play.review).toMatchObject({ reason: "halted", side: "undo" });
    expect(play.rollback).toBe("halted");
    play.cancel();
    play.answer("b", notCalled());
    expect(play.review).toMatchObject({ reason: "halted", side: "undo" });
    expect(play.run.record.cause?.kind).toBe("cancelled");
  });
});

describe("by a sibling", () => {
  const machine = {
    initial: "both",
    states: {
      both: {
        type: "parallel",
        states: {
          left: { initial: "l", states: { l: { invoke: { src: "a", onDone: "d" } }, d: { type: "final" } } },
          right: {
            initial: "r",
            states: { r: { invoke: { src: "b", onDone: "d", onError: "#played.other" } }, d: { type: "final" } },
          },
        },
        onDone: "end",
      },
      other: { invoke: { src: "c", onDone: "end" } },
      end: { type: "final" },
    },
  };

  test("a success that was recorded and not told yet is undone", () => {
    const play = new Play(played(machine, [call("a"), call("b"), call("c")]));
    play.pause();
    play.answer("b", refused());
    play.answer("a", ok());
    play.resume();
    expect(play.status).toBe("running");
    const a = play.row("a");
    // Told first, as the older row: then the failure of its sibling leaves a state that it had finished.
    expect(a).toMatchObject({ told: "outcome", abandoned: false, undo: null });
  });

  test("told first, the failure leaves the other one, which is undone when it succeeds", () => {
    const play = new Play(played(machine, [call("a"), call("b"), call("c")]));
    play.answers(["b", refused()], ["a", ok()]);
    expect(play.row("a")).toMatchObject({ abandoned: true, undo: { state: "sent" } });
  });

  test("a failure that nobody takes is no leaving: everything is quiesced and undone in order, also what is to be kept", () => {
    const without = structuredClone(machine) as typeof machine;
    delete (without.states.both.states.right.states.r.invoke as { onError?: string }).onError;
    const play = new Play(played(without, [call("a", { onAbandon: "keep" }), call("b"), call("c")]));
    play.answer("b", refused());
    expect(play.row("a").abandoned).toBe(false);
    play.answer("a", ok());
    play.answer("undo a", done);
    expect(play.status).toBe("failed");
  });
});

test("a machine that ends with something under way leaves it", () => {
  const machine = {
    initial: "one",
    states: { one: { invoke: { src: "a", onDone: "end" }, on: { GO: "end" } }, end: { type: "final" } },
  };
  const play = new Play(played(machine, [call("a")], { events: ["GO"] }));
  play.event("GO");
  expect(play.status).toBe("running");
  play.answer("a", ok());
  expect(play.status).toBe("unwinding");
  play.answer("undo a", done);
  expect(play.status).toBe("completed");
});

test("the next entry of the same state is a row of its own", () => {
  const machine = {
    initial: "one",
    states: {
      one: { invoke: { src: "a", onDone: "end" }, on: { AGAIN: { target: "one", reenter: true } } },
      end: { type: "final" },
    },
  };
  const play = new Play(played(machine, [call("a")], { events: ["AGAIN"] }));
  play.event("AGAIN");
  expect(play.run.rows.map((row) => [row.occurrence, row.abandoned])).toEqual([
    [1, true],
    [2, false],
  ]);
  expect(play.orders.map((order) => order.operationId)).toEqual(["ns/default/r1/a/1", "ns/default/r1/a/2"]);
  play.step({ type: "result", seq: 1, send: 1, side: "action", result: ok("old") });
  expect(play.status).toBe("running");
  play.inFlight.delete("action:1");
  play.answer("undo a", done);
  play.answer("a", ok("new"));
  expect(play.status).toBe("completed");
});

test("a line without a leaving leaves nothing", () => {
  const play = new Play(line([call("a")]));
  play.answer("a", ok());
  expect(play.row("a").abandoned).toBe(false);
});
