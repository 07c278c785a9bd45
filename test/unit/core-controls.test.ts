/** Cancel, pause, resume, signals, timers, shutdown: what is asked of a run from outside, and when it is taken. */
import { describe, expect, test, vi } from "vitest";
import {
  close,
  done,
  epochMs,
  notApplied,
  notCalled,
  ok,
  Play,
  refused,
  resolveHappened,
  retry,
  timedOut,
} from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

describe("a cancel", () => {
  test("before the run has begun ends it without a call", () => {
    const play = new Play(line([call("a")]), { idle: true });
    play.cancel("changed my mind");
    expect(play.run.record).toMatchObject({
      status: "cancelled",
      rollback: "not_applicable",
      snapshot: null,
      cause: { kind: "cancelled", message: "changed my mind", reference: "ops" },
    });
    expect(play.ordered).toEqual([]);
  });

  test("before its start time ends it as well", () => {
    const play = new Play(line([call("a")]), { startAt: epochMs + 60_000 });
    play.cancel();
    expect(play.status).toBe("cancelled");
  });

  test("aborts what runs, records what it says, undoes it", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.cancel();
    expect(play.aborted).toEqual(["action:2"]);
    expect(play.status).toBe("unwinding");
    play.answer("b", ok("b-1"));
    expect(play.row("b").output).toEqual({ id: "b-1" });
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("wins over the outcome that would have ended the run, when both are at hand", () => {
    const play = new Play(line([call("a")]));
    play.inFlight.clear();
    const entry = { slot: "cancel", position: 1, commandId: "m", at: play.now, by: "ops" } as const;
    play.step(
      { type: "result", seq: 1, send: 1, side: "action", result: ok() },
      { type: "inbox", entries: [{ ...entry, body: { type: "cancel", mode: "compensate", reason: "no" } }] },
    );
    expect(play.status).toBe("unwinding");
    expect(play.row("a").call.state).toBe("succeeded");
    play.answer("undo a", done);
    expect(play.status).toBe("cancelled");
  });

  test("of a call that was not made withdraws it", () => {
    const play = new Play(line([call("a")]));
    play.cancel();
    play.answer("a", notCalled("a cancel is at hand"));
    expect(play.row("a").call.state).toBe("withdrawn");
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "not_applicable" });
  });

  test("while it waits for a retry ends the waiting", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", notApplied({ retryAfterMs: 60_000 }));
    play.cancel();
    expect(play.status).toBe("cancelled");
    expect(play.row("a").call.state).toBe("not_applied");
  });

  test("while it waits for an event takes it at once, timers and all", () => {
    const machine = {
      initial: "one",
      states: { one: { on: { GO: "end" }, after: { 60000: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a")], { events: ["GO"] }));
    play.cancel();
    expect(play.run.record).toMatchObject({ status: "cancelled", timers: [] });
  });

  test("while it is parked takes it at once and withdraws the question", () => {
    const play = new Play(line([call("a"), call("b", { onExhausted: "review", retry: { attempts: 1 } })]));
    play.answer("a", ok());
    play.answer("b", notApplied());
    play.cancel();
    expect(play.run.record).toMatchObject({ review: null, status: "unwinding" });
    play.answer("undo a", done);
    expect(play.status).toBe("cancelled");
  });

  test("of a run whose outcome nobody knows asks again, now in order to undo it", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", timedOut());
    play.cancel();
    expect(play.run.record).toMatchObject({ status: "needs_review", rollback: "halted", cause: { kind: "cancelled" } });
    expect(play.review).toMatchObject({ n: 2, reason: "unknown_outcome" });
    play.verb(resolveHappened());
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("during an unwind is recorded and changes nothing", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.cancel();
    expect(play.run.record).toMatchObject({ cancel: { by: "ops", mode: "compensate" }, unwind: { ends: "failed" } });
    play.answer("undo a", done);
    expect(play.status).toBe("failed");
  });

  test("during an unwind that is parked leaves the question open", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", refused());
    expect(play.review?.reason).toBe("halted");
    play.cancel();
    expect(play.review?.reason).toBe("halted");
  });

  test("that is closed while it asks ends as cancelled", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", timedOut());
    play.cancel();
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "partial", cause: { kind: "cancelled" } });
  });
});

describe("a pause", () => {
  test("lets the call that runs end, and tells nobody until it is over", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.pause();
    play.answer("a", ok());
    expect(play.status).toBe("paused");
    expect(play.row("a")).toMatchObject({ told: null, call: { state: "succeeded" } });
    expect(play.flying()).toEqual([]);
    play.resume();
    expect(play.flying()).toEqual(["b"]);
  });

  test("lets nothing be retried", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", notApplied());
    play.pause();
    play.advance(60_000);
    expect(play.ordered).toEqual(["a"]);
    expect(play.due).toBeNull();
    play.resume();
    expect(play.ordered).toEqual(["a", "a"]);
  });

  test("lets no timer fire and no event be taken, and loses neither", () => {
    const machine = {
      initial: "one",
      states: {
        one: { after: { 5000: "two" } },
        two: { on: { GO: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("a")], { events: ["GO"] }));
    play.pause();
    play.event("GO");
    play.advance(60_000);
    expect(play.run.record).toMatchObject({ status: "paused", snapshot: { value: "one" } });
    play.resume();
    expect(play.status).toBe("completed");
  });

  test("before the start begins the machine and calls nothing", () => {
    const play = new Play(line([call("a")]), { idle: true });
    play.pause();
    expect(play.run.record).toMatchObject({ status: "paused", rows: 1 });
    play.resume();
    expect(play.flying()).toEqual(["a"]);
  });

  test("does not stop an unwind", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.pause();
    play.answer("b", refused());
    play.cancel();
    expect(play.flying()).toEqual(["undo a"]);
    play.answer("undo a", done);
    expect(play.status).toBe("cancelled");
  });

  test("is logged with who and why", () => {
    const play = new Play(line([call("a")]));
    play.pause();
    expect(play.taken().at(-1)).toEqual({ what: "control", control: "pause", by: "ops", reason: "look" });
  });
});

describe("a signal", () => {
  const machine = {
    initial: "one",
    context: { seen: null },
    states: {
      one: { invoke: { src: "a", onDone: "two" }, on: { EARLY: { target: "two" }, NO: undefined } },
      two: { on: { GO: { target: "three", actions: { type: "keep" } } } },
      three: { invoke: { src: "b", onDone: "end" }, on: { GO: {} } },
      end: { type: "final" },
    },
  };
  const events = ["GO", "NO", "EARLY"];
  function waiting(): Play {
    const play = new Play(played(machine, [call("a"), call("b")], { events, keep: true }));
    return play;
  }

  test("moves the machine with its payload", () => {
    const play = waiting();
    play.answer("a", ok());
    expect(play.run.record).toMatchObject({ status: "waiting", waitingFor: "event" });
    play.event("GO", { by: "ann" });
    expect(play.run.record.snapshot?.context).toEqual({ seen: { by: "ann" } });
    expect(play.flying()).toEqual(["b"]);
  });

  test("that the state cannot take yet is kept and taken later", () => {
    const play = waiting();
    play.event("GO", { n: 1 });
    expect(play.run.inbox).toHaveLength(1);
    play.answer("a", ok());
    expect(play.run.inbox).toHaveLength(0);
    expect(play.flying()).toEqual(["b"]);
  });

  test("kept is offered oldest first", () => {
    const play = waiting();
    play.event("GO", { n: 1 });
    play.event("GO", { n: 2 });
    play.answer("a", ok());
    expect(play.run.record.snapshot?.context).toEqual({ seen: { n: 1 } });
  });

  test("that the state forbids is consumed, logged, and moves nothing", () => {
    const play = waiting();
    const { snapshot } = play.run.record;
    play.event("NO", {}, "n-1");
    expect(play.run.record.snapshot).toEqual(snapshot);
    expect(play.run.inbox).toHaveLength(0);
    expect(play.taken().at(-1)).toEqual({ what: "event", id: "n-1", type: "NO", payload: {}, forbidden: true });
  });

  test("delivered twice is taken once", () => {
    const play = waiting();
    const entry = { slot: "event:x", position: 1, commandId: "m", at: play.now, by: "app" } as const;
    const body = { type: "event", event: "GO", payload: {} } as const;
    play.step({ type: "inbox", entries: [{ ...entry, body }] });
    play.step({ type: "inbox", entries: [{ ...entry, body }] });
    expect(play.run.inbox).toHaveLength(1);
  });

  test("that nobody took when the run ended is logged as such", () => {
    const play = waiting();
    play.event("GO", {}, "first");
    play.event("EARLY", {}, "early");
    play.event("NO", {}, "late");
    play.inFlight.delete("action:1");
    play.step({ type: "result", seq: 1, send: 1, side: "action", result: notCalled() });
    play.answer("b", ok());
    expect(play.status).toBe("completed");
    expect(play.taken().filter((taken) => taken.what === "unconsumed")).toEqual([
      { what: "unconsumed", slot: "event:late" },
    ]);
  });

  test("is not taken while the run is parked or goes back", () => {
    const play = new Play(played(machine, [call("a", { effect: "once" }), call("b")], { events, keep: true }));
    play.answer("a", timedOut());
    play.event("EARLY");
    expect(play.status).toBe("needs_review");
    play.cancel();
    expect(play.status).toBe("needs_review");
    expect(play.run.inbox).toHaveLength(1);
  });

  test("that is kept is not offered twice to the same state", () => {
    const play = waiting();
    const at = { commandId: "m", at: play.now, by: "app" } as const;
    const accepts = vi.spyOn(play.machine, "accepts");
    play.step({
      type: "inbox",
      entries: [
        { ...at, slot: "event:1", position: 1, body: { type: "event", event: "GO", payload: {} } },
        { ...at, slot: "event:2", position: 2, body: { type: "event", event: "NO", payload: {} } },
      ],
    });
    expect(play.run.inbox.map((entry) => entry.position)).toEqual([1]);
    // Each decision is made twice.
    expect(accepts.mock.calls.filter(([, event]) => event.type === "external" && event.event === "GO")).toHaveLength(2);
    accepts.mockRestore();
  });

  test("to a run that has ended moves nothing", () => {
    const play = waiting();
    play.cancel();
    play.answer("a", notCalled());
    expect(play.status).toBe("cancelled");
    const { revision } = play.run.record;
    play.event("GO");
    expect(play.run.record.revision).toBe(revision);
  });

  test("a thousand at once are all taken or kept, none is lost", () => {
    const counting = {
      initial: "one",
      context: { seen: null },
      states: { one: { on: { GO: { actions: { type: "keep" } }, END: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(counting, [call("a")], { events: ["GO", "END"], keep: true }));
    const entries = Array.from({ length: 1_100 }, (_, index) => ({
      slot: `event:${index}`,
      position: index + 1,
      commandId: `m${index}`,
      at: play.now,
      by: "app",
      body: { type: "event", event: "GO", payload: { n: index } } as const,
    }));
    play.step({ type: "inbox", entries });
    if (play.held) play.advance(1);
    else play.acquire();
    expect(play.run.inbox).toHaveLength(0);
    expect(play.run.record.snapshot?.context).toEqual({ seen: { n: 1_099 } });
  });
});

describe("a timer", () => {
  const machine = {
    initial: "one",
    states: {
      one: { after: { 5000: "two" }, on: { GO: "two" } },
      two: { after: { 60000: "end" } },
      end: { type: "final" },
    },
  };
  function set(): Play {
    return new Play(played(machine, [call("a")], { events: ["GO"] }));
  }

  test("fires at its time by the store's clock, not before", () => {
    const play = set();
    play.advance(4_999);
    play.held ? play.tick() : play.acquire();
    expect(play.run.record.snapshot?.value).toBe("one");
    play.advance(1);
    expect(play.run.record.snapshot?.value).toBe("two");
  });

  test("that is far away gives the run back until then", () => {
    const play = set();
    play.advance(5_000);
    expect(play.run.record).toMatchObject({ status: "waiting", waitingFor: "timer" });
    expect(play.held).toBe(false);
    expect(play.due).toBe(epochMs + 65_000);
    play.advance(60_000);
    expect(play.status).toBe("completed");
  });

  test("of a state that was left never fires", () => {
    const play = set();
    play.event("GO");
    expect(play.run.record.timers).toHaveLength(1);
    play.advance(5_000);
    expect(play.run.record.snapshot?.value).toBe("two");
  });

  test("with an event awaited as well says that it waits for the event", () => {
    expect(set().run.record.waitingFor).toBe("event");
  });

  test("the earlier of two comes first, and may call the other off", () => {
    const both = {
      initial: "one",
      states: {
        one: { after: { 6000: "late", 5000: "early" } },
        early: { type: "final" },
        late: { type: "final" },
      },
    };
    const play = new Play(played(both, [call("a")]));
    play.now += 10_000;
    play.held ? play.tick() : play.acquire();
    expect(play.run.record.snapshot?.value).toBe("early");
    expect(play.run.record.timers).toEqual([]);
  });

  test("set again under its name takes the place of the older one", () => {
    const again = {
      initial: "one",
      states: {
        one: { after: { 5000: "end" }, on: { AGAIN: { target: "one", reenter: true } } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(again, [call("a")], { events: ["AGAIN"] }));
    play.advance(4_000);
    play.event("AGAIN");
    expect(play.run.record.timers).toMatchObject([{ at: epochMs + 9_000 }]);
  });

  test("that fires for ever at once does not hold a decision for ever", () => {
    const endless = {
      initial: "one",
      states: { one: { after: { 0: "two" } }, two: { after: { 0: "one" } }, end: { type: "final" } },
    };
    const play = new Play(played(endless, [call("a")]));
    expect(play.next).toMatchObject({ does: "hold", wanted: epochMs });
    expect(play.run.record.revision).toBe(2);
  });
});

describe("a worker that stops", () => {
  test("grants nothing more and hands the run on at once", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.stop();
    expect(play.held).toBe(true);
    play.answer("a", ok());
    expect(play.row("b").call.state).toBe("planned");
    expect(play.next).toMatchObject({ does: "released", due: epochMs });
    play.acquire();
    expect(play.flying()).toEqual(["b"]);
  });

  test("hands on what waits within reach", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", notApplied());
    play.stop();
    expect(play.next).toMatchObject({ does: "release", wanted: epochMs + 1_000 });
  });

  test("asks no more probes", () => {
    const play = new Play(line([call("a", { effect: "once", probe: true })]));
    play.stop();
    play.answer("a", timedOut());
    expect(play.flying()).toEqual([]);
    expect(play.next).toMatchObject({ does: "released" });
    play.acquire();
    expect(play.flying()).toEqual(["probe a"]);
  });
});

describe("a retry of a review about no row", () => {
  test("on a run with nothing left to do changes nothing but the number", () => {
    const play = new Play(line([call("a", { pivot: true, compensate: false }), call("b")]));
    play.answer("a", ok());
    play.cancel();
    expect(play.review).toMatchObject({ reason: "after_pivot", seq: null, verbs: ["retry", "compensate", "close"] });
    play.verb(retry());
    expect(play.run.record).toMatchObject({ cancel: null, cause: null, status: "running" });
  });
});
