/** The table of design section 6: what came back, what is recorded, what follows. */
import { describe, expect, test } from "vitest";
import type { CallResult } from "../../src/core/index.ts";
import { done, notApplied, ok, Play, refused, refusedMaybe, timedOut, unusable } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

type Effect = "none" | "idempotent" | "keyed" | "once";

/** One step of that class, with what it came to after one answer. */
function afterOne(effect: Effect, probe: boolean, result: CallResult | "lost"): Play {
  const play = new Play(line([call("a", { effect, probe })]));
  if (result === "lost") play.takeOver({ died: false });
  else play.answer("a", result);
  return play;
}

/** State of the call, status of the run, what is under way. */
function come(play: Play): readonly [string, string, readonly string[]] {
  return [play.row("a").call.state, play.status, play.flying()];
}

const effects = ["none", "idempotent", "keyed", "once"] as const;
const both = [false, true] as const;
const cases = effects.flatMap((effect) => both.map((probe) => [effect, probe] as const));

describe("whatever the class, with and without a probe", () => {
  test.each(cases)("%s (probe: %s): an output that fits moves the machine", (effect, probe) => {
    expect(come(afterOne(effect, probe, ok()))).toEqual(["succeeded", "completed", []]);
  });

  test.each(cases)("%s (probe: %s): an output that does not fit is recorded and asks a person", (effect, probe) => {
    const play = afterOne(effect, probe, unusable);
    expect(come(play)).toEqual(["succeeded", "needs_review", []]);
    expect(play.row("a")).toMatchObject({ unusable: true, output: 7, told: null });
    expect(play.review).toMatchObject({
      reason: "defect",
      evidence: 7,
      verbs: ["retry", "resolve", "compensate", "close"],
    });
  });

  test.each(cases)("%s (probe: %s): proven not applied is tried again by policy", (effect, probe) => {
    const play = afterOne(effect, probe, notApplied());
    expect(come(play)).toEqual(["planned", "running", []]);
    play.advance(1_000);
    expect(play.ordered).toEqual(["a", "a"]);
  });

  test.each(cases)("%s (probe: %s): fail() is not tried again and fails the run", (effect, probe) => {
    const play = afterOne(effect, probe, refused());
    expect(come(play)).toEqual(["not_applied", "failed", []]);
    expect(play.run.record.cause).toEqual({ kind: "step_failed", step: "a", message: "declined", reference: "row 1" });
  });
});

describe("a time-out", () => {
  test.each(both)("none (probe: %s): nothing can have happened, so it is tried again by policy", (probe) => {
    const play = afterOne("none", probe, timedOut());
    expect(come(play)).toEqual(["planned", "running", []]);
    expect(play.row("a").call).toMatchObject({ deadline: null, doubtUntil: null });
  });

  test.each(["idempotent", "keyed"] as const)(
    "%s without a probe is repeated under the same operation id",
    (effect) => {
      const play = afterOne(effect, false, timedOut());
      expect(come(play)).toEqual(["planned", "running", []]);
      play.advance(1_000);
      expect(play.orders.map((order) => order.operationId)).toEqual(["ns/default/r1/a/1", "ns/default/r1/a/1"]);
    },
  );

  test.each(["idempotent", "keyed"] as const)("%s with a probe is asked about once, at once", (effect) => {
    expect(come(afterOne(effect, true, timedOut()))).toEqual(["unknown", "running", ["probe a"]]);
  });

  test.each(["idempotent", "keyed"] as const)("%s: what the probe finds is taken", (effect) => {
    const play = afterOne(effect, true, timedOut());
    play.probe("a", "happened", { id: "found" });
    expect(come(play)).toEqual(["succeeded", "completed", []]);
    expect(play.row("a")).toMatchObject({ output: { id: "found" }, call: { proof: "probe" } });
  });

  test.each([
    ["idempotent", "absent"],
    ["idempotent", "cannot_tell"],
    ["keyed", "absent"],
    ["keyed", "cannot_tell"],
  ] as const)("%s: %s is followed by the repeat, without waiting for the deadline", (effect, answer) => {
    const play = afterOne(effect, true, timedOut());
    play.probe("a", answer);
    play.advance(1_000);
    expect(play.ordered).toEqual(["a", "probe a", "a"]);
  });

  test("once without a probe asks a person and is never called again", () => {
    const play = afterOne("once", false, timedOut());
    play.advance(10_000_000);
    expect(come(play)).toEqual(["unknown", "needs_review", []]);
    expect(play.review).toMatchObject({
      reason: "unknown_outcome",
      seq: 1,
      side: "action",
      verbs: ["resolve", "compensate", "close"],
    });
    expect(play.ordered).toEqual(["a"]);
  });

  test("once with a probe is asked about", () => {
    expect(come(afterOne("once", true, timedOut()))).toEqual(["unknown", "running", ["probe a"]]);
  });
});

describe("an interruption", () => {
  test.each(both)("none (probe: %s) is called again at once", (probe) => {
    expect(come(afterOne("none", probe, "lost"))).toEqual(["sent", "running", ["a"]]);
  });

  test.each(["idempotent", "keyed"] as const)("%s without a probe is called again at once", (effect) => {
    expect(come(afterOne(effect, false, "lost"))).toEqual(["sent", "running", ["a"]]);
  });

  test.each(["idempotent", "keyed"] as const)("%s with a probe is asked about first", (effect) => {
    const play = afterOne(effect, true, "lost");
    expect(play.flying()).toEqual(["probe a"]);
    play.probe("a", "absent");
    expect(play.flying()).toEqual(["a"]);
  });

  test("once without a probe asks a person", () => {
    expect(come(afterOne("once", false, "lost"))).toEqual(["unknown", "needs_review", []]);
  });

  test("once with a probe is asked about", () => {
    expect(come(afterOne("once", true, "lost"))).toEqual(["unknown", "running", ["probe a"]]);
  });

  test("it does not count as an attempt", () => {
    const play = new Play(line([call("a", { retry: { attempts: 1 } })]));
    for (let lost = 0; lost < 6; lost += 1) play.takeOver({ died: false });
    expect(play.row("a").call).toMatchObject({ state: "sent", attempt: 1, send: 7 });
  });
});

describe("fail() that may have happened", () => {
  test("none: it cannot, so the run fails", () => {
    expect(come(afterOne("none", false, refusedMaybe))).toEqual(["not_applied", "failed", []]);
  });

  test.each(["idempotent", "keyed"] as const)(
    "%s without a probe is settled by the unwind, not tried again for itself",
    (effect) => {
      const play = afterOne(effect, false, refusedMaybe);
      expect(come(play)).toEqual(["planned", "unwinding", []]);
      play.advance(1_000);
      play.answer("a", ok("late"));
      play.advance(60_000);
      expect(play.ordered).toEqual(["a", "a", "undo a"]);
    },
  );

  test.each(["idempotent", "keyed", "once"] as const)("%s with a probe is asked about to the end", (effect) => {
    const play = afterOne(effect, true, refusedMaybe);
    expect(play.flying()).toEqual(["probe a"]);
    play.probe("a", "absent");
    expect(come(play)).toEqual(["unknown", "running", []]);
  });

  test("once without a probe asks a person", () => {
    expect(come(afterOne("once", false, refusedMaybe))).toEqual(["unknown", "needs_review", []]);
  });

  test("a proven absence is a failure like fail(), not an attempt to be made again", () => {
    const play = afterOne("once", true, refusedMaybe);
    play.probe("a", "absent");
    play.advance(21_500);
    play.probe("a", "absent");
    play.advance(43_000);
    play.probe("a", "absent");
    expect(come(play)).toEqual(["not_applied", "failed", []]);
    expect(play.ordered).toEqual(["a", "probe a", "probe a", "probe a"]);
  });
});

describe("retries used up", () => {
  function usedUp(
    effect: Effect,
    options: { onExhausted?: "review"; probe?: boolean },
    results: readonly CallResult[],
  ): Play {
    const play = new Play(line([call("z"), call("a", { effect, ...options })]));
    play.answer("z", ok());
    for (const result of results) {
      play.answer("a", result);
      play.advance(1_000);
    }
    return play;
  }
  const thrice = (result: CallResult) => [result, result, result];

  test("not applied: the machine is told, and the run goes back", () => {
    const play = usedUp("keyed", {}, thrice(notApplied({ message: "busy", code: "E1" })));
    expect(play.ordered).toEqual(["z", "a", "a", "a", "undo z"]);
    expect(play.row("a").call.error).toEqual({ kind: "not_applied", code: "E1", message: "busy", attempts: 3 });
  });

  test("not applied: onExhausted review asks a person instead", () => {
    const play = usedUp("keyed", { onExhausted: "review" }, thrice(notApplied()));
    expect(play.review).toMatchObject({
      reason: "exhausted",
      seq: 2,
      verbs: ["retry", "resolve", "compensate", "close"],
    });
    expect(play.row("a")).toMatchObject({ told: null, call: { state: "not_applied" } });
  });

  test("fail() never asks a person: the author has decided", () => {
    const play = usedUp("keyed", { onExhausted: "review" }, [refused()]);
    expect(play.status).toBe("unwinding");
  });

  test("unknown, nobody would take the failure: the unwind settles it before anything older is undone", () => {
    const play = usedUp("keyed", {}, thrice(timedOut()));
    expect(play.status).toBe("unwinding");
    expect(play.flying()).toEqual(["a"]);
    play.answer("a", ok());
    play.answer("undo a", done);
    play.answer("undo z", done);
    expect(play.status).toBe("failed");
    expect(play.ordered).toEqual(["z", "a", "a", "a", "a", "undo a", "undo z"]);
  });

  test("unknown, with a probe: asked about to the end first", () => {
    const play = new Play(line([call("a", { probe: true, retry: { attempts: 1 } })]));
    play.answer("a", timedOut());
    for (const wait of [21_500, 21_500, 5_000, 25_000]) {
      play.probe("a", "cannot_tell");
      play.advance(wait);
    }
    play.probe("a", "cannot_tell");
    expect(play.status).toBe("unwinding");
    expect(play.ordered).toEqual(["a", ...Array.from({ length: 5 }, () => "probe a")]);
  });

  test("unknown, an onError would take it: a person is asked, it never runs over an unknown effect", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "a", onDone: "end", onError: "other" } },
        other: { invoke: { src: "b", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("a", { retry: { attempts: 1 } }), call("b")]));
    play.answer("a", timedOut());
    expect(play.review).toMatchObject({
      reason: "unknown_outcome",
      verbs: ["resolve", "retry", "compensate", "close"],
    });
    expect(play.ordered).toEqual(["a"]);
  });

  test("an earlier send in doubt is found out, though the last one was proven not applied", () => {
    const play = usedUp("keyed", { probe: true }, []);
    play.answer("a", timedOut());
    play.probe("a", "cannot_tell");
    play.advance(1_000);
    play.answer("a", notApplied());
    play.advance(1_000);
    play.answer("a", notApplied());
    expect(play.flying()).toEqual(["probe a"]);
    expect(play.row("a").call.state).toBe("unknown");
  });

  test("fail() answers for earlier sends under the same key too", () => {
    const play = usedUp("keyed", {}, [timedOut(), refused()]);
    expect(play.row("a").call).toMatchObject({ state: "not_applied", doubtUntil: null });
    expect(play.flying()).toEqual(["undo z"]);
  });
});

test("the machine sees the failure as data", () => {
  const machine = {
    initial: "one",
    context: { seen: null },
    states: {
      one: {
        invoke: {
          src: "a",
          onDone: "end",
          onError: { target: "end", actions: { type: "keep" } },
        },
      },
      end: { type: "final" },
    },
  };
  const play = new Play(played(machine, [call("a", { effect: "none" })], { keep: true }));
  play.answer("a", refused("declined"));
  expect(play.status).toBe("completed");
  expect(play.run.record.snapshot?.context).toEqual({
    seen: { kind: "fail", code: null, message: "declined", attempts: 1 },
  });
});
