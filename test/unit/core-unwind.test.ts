/** Going back: quiesce, order, what may have happened, what is kept, the point of no return, regions side by side. */
import { describe, expect, test } from "vitest";
import {
  close,
  done,
  epochMs,
  notApplied,
  notCalled,
  ok,
  Play,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
  timedOut,
} from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

/** Steps one after the other; all but the last succeed. */
function until(last: string, steps: Readonly<Record<string, CallOptions>>, input?: object): Play {
  const play = new Play(line(Object.entries(steps).map(([name, options]) => call(name, options))), {
    input: input ?? {},
  } as never);
  for (const name of Object.keys(steps)) {
    if (name === last) return play;
    play.answer(name, ok(name));
  }
  return play;
}

describe("order", () => {
  test("strict reverse, one at a time", () => {
    const play = until("d", { a: {}, b: {}, c: {}, d: {} });
    play.answer("d", refused());
    for (const name of ["c", "b", "a"]) {
      expect(play.flying()).toEqual([`undo ${name}`]);
      play.answer(`undo ${name}`, done);
    }
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("the compensation gets its own operation id, and the action's beside it", () => {
    const play = until("b", { a: {}, b: {} });
    play.answer("b", refused());
    expect(play.orders.at(-1)).toMatchObject({
      kind: "undo",
      operationId: "ns/default/r1/a/1/undo",
      forwardOperationId: "ns/default/r1/a/1",
    });
  });

  test("turns of a loop are rows of their own, undone one by one", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "a", onDone: "ask" } },
        ask: { on: { MORE: "one", STOP: "two" } },
        two: { invoke: { src: "b", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("a"), call("b")], { events: ["MORE", "STOP"] }));
    for (let turn = 0; turn < 3; turn += 1) {
      play.answer("a", ok(`turn ${turn}`));
      play.event(turn < 2 ? "MORE" : "STOP");
    }
    play.answer("b", refused());
    expect(play.orders.at(-1)?.operationId).toBe("ns/default/r1/a/3/undo");
    for (let turn = 0; turn < 3; turn += 1) play.answer("undo a", done);
    expect(play.orders.at(-1)?.operationId).toBe("ns/default/r1/a/1/undo");
    expect(play.status).toBe("failed");
  });

  test("goes by when a call was first sent, not by when it was planned", () => {
    const machine = {
      initial: "both",
      states: {
        both: {
          type: "parallel",
          states: {
            left: { initial: "l", states: { l: { invoke: { src: "a", onDone: "d" } }, d: { type: "final" } } },
            right: { initial: "r", states: { r: { invoke: { src: "b", onDone: "d" } }, d: { type: "final" } } },
          },
          onDone: "two",
        },
        two: { invoke: { src: "c", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("a", { effect: "once" }), call("b"), call("c")]));
    play.answer("a", notCalled("store_not_durable"));
    play.advance(1_000);
    play.answers(["a", ok()], ["b", ok()]);
    play.answer("c", refused());
    expect(play.flying()).toEqual(["undo a"]);
    play.answer("undo a", done);
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("what has no effect, and what did not happen, is passed over", () => {
    const play = until("d", { a: {}, b: { effect: "none" }, c: {}, d: {} });
    play.answer("d", refused());
    play.answer("undo c", done);
    play.answer("undo a", done);
    expect(play.row("b").undo).toBeNull();
  });

  test("what cannot be undone is kept with its reason, and the earlier ones are undone", () => {
    const play = until("c", { a: {}, b: { compensate: false }, c: {} });
    play.answer("c", refused());
    expect(play.row("b").undo).toEqual({ state: "kept", call: null, reason: "it stays" });
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("with nothing to undo the run just ends", () => {
    const play = until("a", { a: {} });
    play.answer("a", refused());
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "not_applicable" });
  });

  test("a thousand rows are undone in order, in time that does not explode", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "a", onDone: { target: "one", reenter: true } }, on: { STOP: "out" } },
        out: { type: "final", tags: "unwind" },
      },
    };
    const play = new Play(played(machine, [call("a", { compensate: false })], { events: ["STOP"] }));
    for (let turn = 0; turn < 100; turn += 1) play.answer("a", ok());
    play.event("STOP");
    play.answer("a", notCalled());
    expect(play.status).toBe("failed");
    expect(play.run.rows.filter((row) => row.undo?.state === "kept")).toHaveLength(100);
  });
});

describe("how it begins", () => {
  test("by a final state tagged unwind", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "a", onDone: "ask" } },
        ask: { on: { NO: "rejected" } },
        rejected: { type: "final", tags: "unwind" },
      },
    };
    const play = new Play(played(machine, [call("a")], { events: ["NO"] }));
    play.answer("a", ok());
    play.event("NO");
    expect(play.run.record.cause).toEqual({
      kind: "rejected",
      step: null,
      message: "the saga ended in played.rejected",
      reference: "played.rejected",
    });
    play.answer("undo a", done);
    expect(play.status).toBe("failed");
  });

  test("by a final state tagged unwind that an outcome led to", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "rejected" } }, rejected: { type: "final", tags: "unwind" } },
    };
    const play = new Play(played(machine, [call("a")]));
    play.answer("a", ok());
    expect(play.run.record.cause).toMatchObject({ kind: "rejected", step: "a" });
    expect(play.flying()).toEqual(["undo a"]);
  });
});

describe("quiesce", () => {
  const machine = {
    type: "parallel",
    states: {
      left: { initial: "l", states: { l: { invoke: { src: "a", onDone: "d" } }, d: { type: "final" } } },
      right: { initial: "r", states: { r: { invoke: { src: "b", onDone: "d" } }, d: { type: "final" } } },
    },
  };
  function two(options: CallOptions = {}): Play {
    return new Play(played(machine, [call("a"), call("b", options)]));
  }

  test("waits for what is under way before anything is undone", () => {
    const play = two();
    play.answer("a", ok());
    play.cancel();
    expect(play.flying()).toEqual(["b"]);
    expect(play.next).toMatchObject({ does: "hold", wanted: epochMs + 5_000 });
    play.answer("b", notCalled());
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("takes what has not answered in time as unknown, and finds it out", () => {
    const play = two({ probe: true });
    play.answer("a", ok());
    play.cancel();
    play.advance(5_000);
    expect(play.row("b").call).toMatchObject({
      state: "unknown",
      error: { message: "no answer before the run was unwound" },
    });
    expect(play.flying()).toEqual(["b", "probe b"]);
  });

  test("settles nothing beside a call that is still under way in this process", () => {
    const play = two();
    play.answer("a", ok());
    play.cancel();
    play.advance(20_000);
    expect(play.ordered).toEqual(["a", "b"]);
    play.answer("b", timedOut());
    play.advance(1_000);
    expect(play.ordered).toEqual(["a", "b", "b"]);
  });

  test("does not wait for what has no effect", () => {
    const play = two({ effect: "none" });
    play.answer("a", ok());
    play.cancel();
    expect(play.row("b").call).toMatchObject({ state: "not_applied", proof: "class" });
    expect(play.flying()).toEqual(["b", "undo a"]);
  });

  test("does not wait for the wrong ones: what a new driver finds is judged at once", () => {
    const play = two({ effect: "once", probe: true });
    play.cancel();
    play.takeOver();
    expect(play.row("a").call.state).not.toBe("sent");
    expect(play.flying()).toEqual(["a", "probe b"].filter((name) => play.flying().includes(name)));
  });

  test("is over at the same time for all, also when the lease was given back meanwhile", () => {
    const play = two();
    play.cancel();
    play.now += 4_000;
    play.takeOver({ died: false });
    expect(play.status).toBe("unwinding");
  });
});

describe("an effect that may have happened", () => {
  /** `a` done, `b` unknown when the run is cancelled. */
  function unknown(options: CallOptions): Play {
    const play = until("b", { a: {}, b: options });
    play.cancel();
    play.answer("b", timedOut());
    return play;
  }

  test("is asked about first, and undone if it happened", () => {
    const play = unknown({ probe: true });
    expect(play.flying()).toEqual(["probe b"]);
    play.probe("b", "happened");
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("proven absent it is not needed, but only past its deadline", () => {
    const play = unknown({ probe: true });
    for (const wait of [21_500, 21_500, 0]) {
      play.probe("b", "absent");
      play.advance(wait);
    }
    expect(play.row("b")).toMatchObject({ call: { state: "not_applied" }, undo: { state: "not_needed" } });
    play.answer("undo a", done);
    expect(play.rollback).toBe("complete");
  });

  test.each(["idempotent", "keyed"] as const)("%s: without a probe it is settled by one more call", (effect) => {
    const play = unknown({ effect });
    expect(play.row("b").call.state).toBe("planned");
    play.advance(1_000);
    expect(play.orders.at(-1)).toMatchObject({ kind: "action", operationId: "ns/default/r1/b/1" });
  });

  test("idempotent: its compensation waits until no late send can undo the undoing", () => {
    const play = unknown({ effect: "idempotent" });
    const { deadline } = play.row("b").call;
    play.advance(1_000);
    play.answer("b", ok());
    expect(play.row("b").undo).toMatchObject({ state: "owed", call: { nextAt: deadline } });
    play.advance(43_000);
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("keyed: its compensation is made at once, a late send is deduplicated", () => {
    const play = unknown({});
    play.advance(1_000);
    play.answer("b", ok());
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("keyed, with a key that is forgotten before a late send could arrive: the compensation waits", () => {
    const play = unknown({ keyTtl: "40s" });
    play.advance(1_000);
    play.answer("b", ok());
    expect(play.row("b").undo?.call?.nextAt).toBe(epochMs + 43_000);
  });

  test("settling calls are further and further apart, and end with a person", () => {
    const play = unknown({ retry: { attempts: 1, backoff: "exponential", initial: "1s", max: "60s", jitter: false } });
    const times: number[] = [];
    while (play.review === null) {
      play.advance(60_000);
      times.push(play.orders.at(-1) === undefined ? 0 : play.row("b").call.attempt);
      play.answer("b", timedOut());
    }
    expect(times).toEqual([2, 3, 4, 5, 6]);
    expect(play.review).toMatchObject({ reason: "unknown_outcome", seq: 2 });
    expect(play.rollback).toBe("halted");
  });

  test("a settling call that says not applied leaves the earlier ones in doubt: settled again", () => {
    const play = unknown({});
    play.advance(1_000);
    play.answer("b", notApplied());
    expect(play.row("b").call.state).toBe("planned");
    play.advance(1_000);
    play.answer("b", refused());
    expect(play.row("b")).toMatchObject({ call: { state: "not_applied" }, undo: { state: "not_needed" } });
  });

  test("settle: false asks a person", () => {
    const play = unknown({ settle: false });
    expect(play.review).toMatchObject({ reason: "unknown_outcome", verbs: ["resolve", "retry", "close"] });
    expect(play.flying()).toEqual([]);
  });

  test("once asks a person", () => {
    expect(unknown({ effect: "once" }).review).toMatchObject({
      reason: "unknown_outcome",
      verbs: ["resolve", "close"],
    });
  });

  test("keyed after its key expired asks a person", () => {
    const play = until("b", { a: {}, b: { keyTtl: "60s" } });
    play.advance(55_000);
    play.cancel();
    play.answer("b", timedOut());
    expect(play.review).toMatchObject({ reason: "unknown_outcome", verbs: ["resolve", "close"] });
  });

  test("compensateIfUnknown is compensated, past the deadline, whatever the class", () => {
    for (const effect of ["idempotent", "keyed", "once"] as const) {
      const play = unknown({ effect, compensateIfUnknown: true });
      expect(play.row("b").undo?.call?.nextAt).toBe(epochMs + 43_000);
      play.advance(43_000);
      play.answer("undo b", done);
      play.answer("undo a", done);
      expect(play.rollback).toBe("complete");
    }
  });

  test("compensateIfUnknown, and it turns out not to be there before the compensation runs: not needed", () => {
    const play = unknown({ effect: "once", compensateIfUnknown: true });
    play.late("b", 1, notApplied());
    expect(play.row("b")).toMatchObject({ call: { state: "not_applied" }, undo: { state: "not_needed" } });
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("compensateIfUnknown, and it turns out not to be there while the compensation halts: the question is gone", () => {
    const play = unknown({ effect: "once", compensateIfUnknown: true });
    play.advance(43_000);
    play.answer("undo b", refused());
    expect(play.review?.reason).toBe("halted");
    play.late("b", 1, notApplied());
    expect(play.review).toBeNull();
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("compensateIfUnknown, and it turns out not to be there while the compensation runs: that is let be", () => {
    const play = unknown({ effect: "once", compensateIfUnknown: true });
    play.advance(43_000);
    play.late("b", 1, notApplied());
    play.answer("undo b", done);
    expect(play.row("b").undo?.state).toBe("done");
  });

  test("without a compensation it is kept, whatever it was", () => {
    const play = unknown({ compensate: false });
    expect(play.row("b")).toMatchObject({ call: { state: "unknown" }, undo: { state: "kept", reason: "it stays" } });
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("holds back everything before it", () => {
    const play = unknown({ effect: "once" });
    play.advance(10_000_000);
    expect(play.ordered).toEqual(["a", "b"]);
    play.verb(resolveAbsent);
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("a person says that it happened: it is undone", () => {
    const play = unknown({ effect: "once" });
    play.verb(resolveHappened());
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("a person may have it settled by a call, where the step would not", () => {
    const play = unknown({ settle: false });
    play.verb(retry());
    play.answer("b", ok());
    expect(play.flying()).toEqual(["undo b"]);
  });

  test("given up after the forward probes it is not asked about all over again", () => {
    const play = until("b", { a: {}, b: { probe: true, retry: { attempts: 1 } } });
    play.answer("b", timedOut());
    for (const wait of [21_500, 21_500, 5_000, 25_000]) {
      play.probe("b", "cannot_tell");
      play.advance(wait);
    }
    play.probe("b", "cannot_tell");
    expect(play.ordered.filter((name) => name === "probe b")).toHaveLength(5);
    play.advance(1_000);
    expect(play.flying()).toEqual(["b"]);
  });
});

describe("a pivot", () => {
  const pivot = { pivot: true, compensate: false } as const;

  test("that happened makes a failure park instead of undoing anything", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    play.answer("c", refused());
    expect(play.run.record).toMatchObject({ status: "needs_review", cause: { kind: "step_failed", step: "c" } });
    expect(play.review).toMatchObject({
      reason: "after_pivot",
      seq: 3,
      verbs: ["retry", "resolve", "compensate", "close"],
    });
    expect(play.flying()).toEqual([]);
  });

  test("retry tries the failed step again and forgets the cause", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    play.answer("c", refused());
    play.verb(retry());
    expect(play.run.record).toMatchObject({ status: "running", cause: null });
    play.answer("c", ok());
    expect(play.status).toBe("completed");
  });

  test("resolve says that it happened, and the run goes on", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    play.answer("c", refused());
    play.verb(resolveHappened());
    expect(play.run.record).toMatchObject({ status: "completed", cause: null });
  });

  test("resolve as absent changes nothing about what may be done", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    play.answer("c", refused());
    play.verb(resolveAbsent);
    expect(play.review).toMatchObject({ n: 2, reason: "after_pivot" });
  });

  test("close ends the run with everything standing, and says so", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    play.answer("c", refused());
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    expect(play.row("a").undo?.state).toBe("not_needed");
  });

  test("a failure that an onError takes goes on as usual", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "b", onDone: "two" } },
        two: { invoke: { src: "c", onDone: "end", onError: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("b", pivot), call("c")]));
    play.answer("b", ok());
    play.answer("c", refused());
    expect(play.status).toBe("completed");
  });

  test("a cancel after it parks; retry withdraws the cancel", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    play.cancel();
    expect(play.review).toMatchObject({ reason: "after_pivot", seq: null, verbs: ["retry", "compensate", "close"] });
    play.answer("c", ok());
    expect(play.status).toBe("needs_review");
    play.verb(retry());
    expect(play.status).toBe("completed");
  });

  test("a cancel after it, closed, ends as cancelled", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    play.cancel();
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "cancelled", cause: { kind: "cancelled" }, rollback: "partial" });
    play.answer("c", ok());
    expect(play.status).toBe("cancelled");
    expect(play.row("c")).toMatchObject({ call: { state: "succeeded" }, undo: { state: "accepted" } });
  });

  test("a final state tagged unwind after it parks, to be closed", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "b", onDone: "out" } }, out: { type: "final", tags: "unwind" } },
    };
    const play = new Play(played(machine, [call("b", pivot)]));
    play.answer("b", ok());
    expect(play.review).toMatchObject({ reason: "after_pivot", verbs: ["compensate", "close"] });
    play.verb(close);
    expect(play.status).toBe("failed");
  });

  test("that turns out to have happened stops an unwind before anything is undone", () => {
    const play = until("b", { a: {}, b: pivot });
    play.cancel();
    play.answer("b", ok());
    expect(play.run.record).toMatchObject({
      unwind: null,
      status: "needs_review",
      rollback: "none",
      cause: { kind: "cancelled" },
    });
    expect(play.row("a").undo?.state).toBe("not_needed");
    expect(play.review).toMatchObject({ reason: "after_pivot", verbs: ["compensate", "close"] });
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "partial" });
  });

  test("that nobody knows is resolved first: asked about, then a person, never called for it", () => {
    const play = until("b", { a: {}, b: { ...pivot, probe: true } });
    play.cancel();
    play.answer("b", timedOut());
    for (const wait of [21_500, 21_500, 5_000, 25_000]) {
      play.probe("b", "cannot_tell");
      play.advance(wait);
    }
    play.probe("b", "cannot_tell");
    expect(play.review).toMatchObject({ reason: "unknown_outcome", seq: 2 });
    expect(play.ordered.filter((name) => name === "b")).toHaveLength(1);
    play.verb(resolveAbsent);
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("that nobody knew, and a person says happened, stops the unwind", () => {
    const play = until("b", { a: {}, b: pivot });
    play.cancel();
    play.answer("b", timedOut());
    play.verb(resolveHappened());
    expect(play.review?.reason).toBe("after_pivot");
  });

  test("that nobody knew may be called again by a person, and nothing else is undone meanwhile", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "b", onDone: "two" }, on: { GO: "two" } },
        two: { invoke: { src: "c", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("b", pivot), call("c")], { events: ["GO"] }));
    play.event("GO");
    play.answer("c", refused());
    play.answer("b", timedOut());
    expect(play.review?.seq).toBe(1);
    play.verb(retry());
    expect(play.flying()).toEqual(["b"]);
    play.answer("b", refused());
    expect(play.status).toBe("failed");
  });

  test("unknown going forward, with nobody to take the failure, asks a person", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      play.answer("c", timedOut());
      play.advance(1_000);
    }
    expect(play.review).toMatchObject({ reason: "unknown_outcome", seq: 3 });
  });

  test("a late effect of a run that was closed after it may still be undone, if a person says so", () => {
    const play = until("c", { a: {}, b: pivot, c: {} });
    play.answer("c", refused());
    play.verb(close);
    play.late("c", 1, ok());
    expect(play.review?.reason).toBe("late_result");
    play.verb(retry());
    expect(play.flying()).toEqual(["undo c"]);
    play.answer("undo c", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
  });
});

describe("parallel regions", () => {
  const region = (first: string, second: string) => ({
    initial: "one",
    states: {
      one: { invoke: { src: first, onDone: "two" } },
      two: { invoke: { src: second, onDone: "d" } },
      d: { type: "final" },
    },
  });
  const machine = {
    initial: "before",
    states: {
      before: { invoke: { src: "fork", onDone: "both" } },
      both: { type: "parallel", states: { left: region("l1", "l2"), right: region("r1", "r2") }, onDone: "after" },
      after: { invoke: { src: "join", onDone: "last" } },
      last: { invoke: { src: "end", onDone: "end" } },
      end: { type: "final" },
    },
  };
  const names = ["fork", "l1", "l2", "r1", "r2", "join", "end"];
  function atTheEnd(unwind: "reverse" | "parallel-regions", options: Readonly<Record<string, CallOptions>> = {}): Play {
    const play = new Play(
      played(
        machine,
        names.map((name) => call(name, options[name])),
        { unwind },
      ),
    );
    for (const name of names.slice(0, 6)) {
      while (!play.flying().includes(name)) throw new Error(`${name}: ${play.flying().join()}`);
      play.answer(name, ok(name));
    }
    play.answer("end", refused());
    return play;
  }

  test("reverse: one at a time whatever the regions", () => {
    const play = atTheEnd("reverse");
    for (const name of ["join", "r2", "l2", "r1", "l1", "fork"]) {
      const [flying] = play.flying();
      expect(play.flying()).toHaveLength(1);
      play.answer(flying ?? "", done);
      expect(names).toContain(name);
    }
    expect(play.ordered.slice(7)).toEqual(["undo join", "undo r2", "undo l2", "undo r1", "undo l1", "undo fork"]);
  });

  test("side by side: the join first, the regions each in reverse, the fork last", () => {
    const play = atTheEnd("parallel-regions");
    expect(play.flying()).toEqual(["undo join"]);
    play.answer("undo join", done);
    expect([...play.flying()].sort()).toEqual(["undo l2", "undo r2"]);
    play.answer("undo l2", done);
    expect([...play.flying()].sort()).toEqual(["undo l1", "undo r2"]);
    play.answer("undo l1", done);
    expect(play.flying()).toEqual(["undo r2"]);
    play.answer("undo r2", done);
    play.answer("undo r1", done);
    expect(play.flying()).toEqual(["undo fork"]);
    play.answer("undo fork", done);
    expect(play.rollback).toBe("complete");
  });

  test("a row that halts holds back its region and the fork, not its sibling", () => {
    const play = atTheEnd("parallel-regions");
    play.answer("undo join", done);
    play.answer("undo l2", refused());
    expect(play.status).toBe("needs_review");
    play.answer("undo r2", done);
    expect(play.flying()).toEqual(["undo r1"]);
    play.answer("undo r1", done);
    expect(play.flying()).toEqual([]);
    play.verb(retry());
    play.answer("undo l2", done);
    play.answer("undo l1", done);
    play.answer("undo fork", done);
    expect(play.status).toBe("failed");
  });

  test("two that halt are asked about one after the other", () => {
    const play = atTheEnd("parallel-regions");
    play.answer("undo join", done);
    play.answer("undo l2", refused());
    play.answer("undo r2", refused());
    expect(play.review).toMatchObject({ n: 1, seq: play.row("l2").seq });
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 2, seq: play.row("r2").seq });
  });

  test("rows of another entry of the same state are kept in strict order", () => {
    const again = {
      initial: "both",
      states: {
        both: {
          type: "parallel",
          states: {
            left: { initial: "l", states: { l: { invoke: { src: "l1", onDone: "d" } }, d: { type: "final" } } },
            right: { initial: "r", states: { r: { invoke: { src: "r1", onDone: "d" } }, d: { type: "final" } } },
          },
          onDone: "ask",
        },
        ask: { on: { MORE: "both", NO: "out" } },
        out: { type: "final", tags: "unwind" },
      },
    };
    const play = new Play(
      played(again, [call("l1"), call("r1")], { unwind: "parallel-regions", events: ["MORE", "NO"] }),
    );
    play.answers(["l1", ok()], ["r1", ok()]);
    play.event("MORE");
    play.answers(["l1", ok()], ["r1", ok()]);
    play.event("NO");
    expect(play.run.record.regionEntries).toEqual({ "played.both.left": 2, "played.both.right": 2 });
    expect(
      play.orders
        .slice(-2)
        .map((order) => order.operationId)
        .sort(),
    ).toEqual(["ns/default/r1/l1/2/undo", "ns/default/r1/r1/2/undo"]);
    play.answer("undo l1", done);
    expect(play.flying()).toEqual(["undo r1"]);
    play.answer("undo r1", done);
    play.answer("undo r1", done);
    play.answer("undo l1", done);
    expect(play.status).toBe("failed");
  });

  test("regions within regions, and of states one after the other, are kept in strict order", () => {
    const leaf = (src: string) => ({
      initial: "x",
      states: { x: { invoke: { src, onDone: "d" } }, d: { type: "final" } },
    });
    const nested = {
      initial: "one",
      states: {
        one: { type: "parallel", states: { left: leaf("a"), right: leaf("b") }, onDone: "two" },
        two: {
          type: "parallel",
          states: {
            left: {
              initial: "in",
              states: {
                in: { type: "parallel", states: { up: leaf("c"), down: leaf("d") }, onDone: "d" },
                d: { type: "final" },
              },
            },
            right: leaf("e"),
          },
          onDone: "end",
        },
        end: { type: "final" },
      },
    };
    const steps = ["a", "b", "c", "d", "e"].map((name) => call(name));
    const play = new Play(played(nested, steps, { unwind: "parallel-regions" }));
    play.answers(["a", ok()], ["b", ok()]);
    play.answers(["c", ok()], ["d", ok()]);
    play.answer("e", refused());
    expect([...play.flying()].sort()).toEqual(["undo c", "undo d"]);
    play.answer("undo c", done);
    expect(play.flying()).toEqual(["undo d"]);
    play.answer("undo d", done);
    expect([...play.flying()].sort()).toEqual(["undo a", "undo b"]);
  });
});

describe("what else may happen on the way", () => {
  test("a call that still ran when a person declared it absent, and succeeds: the ended run is reopened", () => {
    const play = until("b", { a: {}, b: { effect: "once" } });
    play.cancel();
    play.advance(5_000);
    play.verb(resolveAbsent);
    play.answer("undo a", done);
    expect(play.status).toBe("cancelled");
    play.answer("b", ok());
    expect(play.review).toMatchObject({ reason: "late_result", seq: 2 });
    play.verb(retry());
    play.answer("undo b", done);
    expect(play.status).toBe("cancelled");
  });

  test("closing aborts the compensations of other regions that are under way", () => {
    const leaf = (src: string) => ({
      initial: "x",
      states: { x: { invoke: { src, onDone: "d" } }, d: { type: "final" } },
    });
    const machine = {
      initial: "both",
      states: {
        both: { type: "parallel", states: { left: leaf("a"), right: leaf("b") }, onDone: "out" },
        out: { type: "final", tags: "unwind" },
      },
    };
    const play = new Play(played(machine, [call("a"), call("b")], { unwind: "parallel-regions" }));
    play.answers(["a", ok()], ["b", ok()]);
    play.answer("undo a", refused());
    play.verb(close);
    expect(play.aborted).toEqual(["undo:2"]);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
    play.answer("undo b", done);
    expect(play.row("b").undo?.state).toBe("done");
  });

  test("a pivot that stops an unwind says nothing about what did not happen", () => {
    const play = new Play(
      played(
        {
          initial: "one",
          states: {
            one: { invoke: { src: "a", onDone: "two", onError: "two" } },
            two: { invoke: { src: "b", onDone: "end" } },
            end: { type: "final" },
          },
        },
        [call("a"), call("b", { pivot: true, compensate: false })],
      ),
    );
    play.answer("a", refused());
    play.cancel();
    play.answer("b", ok());
    expect(play.row("a").undo).toBeNull();
    expect(play.row("b").undo?.state).toBe("not_needed");
  });

  test("a failure behind a pivot that turns out to be a success takes the question back", () => {
    const play = until("c", { a: {}, b: { pivot: true, compensate: false }, c: {} });
    play.answer("c", refused());
    expect(play.review?.reason).toBe("after_pivot");
    play.late("c", 1, ok());
    expect(play.run.record).toMatchObject({ status: "completed", cause: null });
  });

  test("a retry that was offered is refused once the key has expired", () => {
    const play = until("b", { a: {}, b: { settle: false, keyTtl: "60s" } });
    play.cancel();
    play.answer("b", timedOut());
    expect(play.review?.verbs).toContain("retry");
    play.advance(3_600_000);
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 2, message: expect.stringContaining("say first whether it did") });
  });

  test("a question about a call of which no error is known says so", () => {
    const play = until("b", { a: {}, b: { settle: false } });
    play.pause();
    play.cancel();
    play.answer("b", timedOut());
    play.verb(retry());
    play.answer("b", timedOut());
    expect(play.review?.message).toContain("may have happened");
  });

  test("undone in advance it stays undone, whatever is heard of it later", () => {
    const play = until("b", { a: {}, b: { effect: "once", compensateIfUnknown: true } });
    play.cancel();
    play.answer("b", timedOut());
    play.advance(43_000);
    play.late("b", 1, notApplied());
    play.answer("undo b", done);
    play.send("late:2:1:again", { type: "late", seq: 2, send: 1, side: "action", result: ok() });
    expect(play.row("b")).toMatchObject({ call: { state: "succeeded" }, undo: { state: "done" } });
  });

  test("a late effect whose compensation today's code has lost is said to have none", () => {
    const play = until("c", { a: {}, c: {} });
    play.answer("c", refused());
    play.answer("undo a", done);
    play.late("c", 1, ok());
    play.machine = new Play(line([call("a"), call("c", { compensate: false })]), { idle: true }).machine;
    play.verb(retry());
    expect(play.review).toMatchObject({
      n: 2,
      reason: "late_result",
      message: expect.stringContaining("no compensation"),
    });
  });
});
