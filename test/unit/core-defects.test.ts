/** Bugs, found by the engine: they park the run as it was, and nothing is ever undone because of one. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Machine, Turn } from "../../src/core/index.ts";
import {
  close,
  defect,
  done,
  epochMs,
  notApplied,
  ok,
  Play,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
  skip,
  timedOut,
  unusable,
} from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const strict = z.object({ n: z.number() });

/** A saga of the same shape, with mended code. */
function mend(play: Play, ...steps: readonly ReturnType<typeof call>[]): void {
  play.machine = new Play(line(steps), { idle: true }).machine;
}

describe("an output that does not fit", () => {
  function parked(): Play {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", unusable);
    return play;
  }

  test("is read again by mended code, and nothing is called", () => {
    const play = parked();
    mend(play, call("a", { output: z.number() }), call("b"));
    play.verb(retry());
    expect(play.row("a")).toMatchObject({ unusable: false, told: "outcome" });
    expect(play.ordered).toEqual(["a", "b"]);
  });

  test("that still does not fit parks again", () => {
    const play = parked();
    play.verb(retry());
    expect(play.review).toMatchObject({
      n: 2,
      reason: "defect",
      message: expect.stringContaining("still does not fit"),
    });
  });

  test("is entered by a person", () => {
    const play = parked();
    play.verb(resolveHappened({ id: "mine" }));
    expect(play.row("a")).toMatchObject({ output: { id: "mine" }, reference: "ref-1", call: { proof: "person" } });
    expect(play.flying()).toEqual(["b"]);
  });

  test("is refused when what the person enters does not fit either", () => {
    const play = parked();
    play.verb(resolveHappened({ id: 7 }));
    expect(play.review).toMatchObject({ n: 2, message: expect.stringContaining("the output does not fit") });
  });

  test("cannot be declared absent: it is recorded as succeeded", () => {
    const play = parked();
    play.verb(resolveAbsent);
    expect(play.review).toMatchObject({ n: 2, message: expect.stringContaining("recorded as succeeded") });
  });

  test("is no output of a compensation, which has none", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", unusable);
    expect(play.status).toBe("failed");
    expect(play.row("a").call.error).toBeNull();
  });

  test("of a compensation's probe is no defect", () => {
    const play = new Play(line([call("a", { compensate: { effect: "once", probe: true } }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", timedOut());
    play.probeUnusable("undo a");
    expect(play.status).toBe("failed");
  });

  test("asks a person before it can be undone", () => {
    const play = parked();
    play.cancel();
    expect(play.review).toMatchObject({ reason: "defect", seq: 1, verbs: ["retry", "resolve", "close"] });
    expect(play.rollback).toBe("halted");
    play.verb(resolveHappened());
    play.answer("undo a", done);
    expect(play.status).toBe("cancelled");
  });

  test("does not stop a compensation that needs none", () => {
    const play = new Play(line([call("a", { compensateIfUnknown: true }), call("b")]));
    play.answer("a", unusable);
    play.cancel();
    expect(play.flying()).toEqual(["undo a"]);
  });
});

describe("an input that does not fit", () => {
  test("parks before anything is planned", () => {
    const play = new Play(line([call("a"), call("b", { input: strict })]));
    play.answer("a", ok());
    expect(play.run.rows).toHaveLength(1);
    expect(play.row("a")).toMatchObject({ told: null, call: { state: "succeeded" } });
    expect(play.review).toMatchObject({
      reason: "defect",
      seq: 1,
      side: "action",
      verbs: ["retry", "compensate", "close"],
    });
    expect(play.review?.message).toMatch(/^input of b: .*The snapshot before it is kept/);
  });

  test("is tried again by mended code, which calls nothing twice", () => {
    const play = new Play(line([call("a"), call("b", { input: strict })]));
    play.answer("a", ok());
    mend(play, call("a"), call("b"));
    play.verb(retry());
    expect(play.ordered).toEqual(["a", "b"]);
  });

  test("is tried again as it was by a retry that changed nothing", () => {
    const play = new Play(line([call("a"), call("b", { input: strict })]));
    play.answer("a", ok());
    play.verb(retry());
    expect(play.review?.n).toBe(2);
  });

  test("at the start leaves a run that has not begun", () => {
    const play = new Play(line([call("a", { input: strict })]));
    expect(play.run.record).toMatchObject({ snapshot: null, status: "needs_review" });
    expect(play.review).toMatchObject({ seq: null, verbs: ["retry", "compensate", "close"] });
    mend(play, call("a"));
    play.verb(retry());
    expect(play.flying()).toEqual(["a"]);
  });

  test("that is no JSON is a defect too", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", input: () => new Date(), onDone: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a")]));
    expect(play.review?.message).toContain("input of a: ");
  });

  test("that is left out is null", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "end" } }, end: { type: "final" } },
    };
    expect(new Play(played(machine, [call("a")])).row("a").input).toBeNull();
  });

  test("ends with the run when a run that never began is closed", () => {
    const play = new Play(line([call("a", { input: strict })]));
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "not_applicable" });
    expect(play.run.record.cause).toEqual({ kind: "closed", step: null, message: "ops: enough", reference: null });
  });
});

describe("a throw in the saga's own code", () => {
  function throwing(what: object): Play {
    const machine = {
      initial: "one",
      context: {},
      states: {
        one: { invoke: { src: "a", onDone: { target: "two", ...what }, onError: { target: "two", ...what } } },
        two: { invoke: { src: "b", onDone: "end" } },
        end: { type: "final" },
      },
    };
    return new Play(played(machine, [call("a"), call("b")]));
  }
  const guard = () => {
    throw new Error("a bug");
  };

  test("keeps the snapshot and the outcome", () => {
    const play = throwing({ guard });
    const { snapshot } = play.run.record;
    play.answer("a", ok());
    expect(play.run.record.snapshot).toEqual(snapshot);
    expect(play.row("a")).toMatchObject({ told: null, output: { id: "x" } });
    expect(play.taken()).toContainEqual({ what: "refused", note: expect.stringContaining("a bug") });
  });

  test("is told without the credentials that its message holds", () => {
    const play = throwing({
      guard: () => {
        throw new Error("a bug near token=abc");
      },
    });
    play.answer("a", ok());
    expect(JSON.stringify([play.run, play.taken()])).toContain("a bug near token=[redacted]");
    expect(JSON.stringify([play.run, play.taken()])).not.toContain("abc");
  });

  test("on a failure keeps that as well, and retry calls nothing", () => {
    const play = throwing({ guard });
    play.answer("a", refused());
    expect(play.review).toMatchObject({ reason: "defect", verbs: ["retry", "compensate", "close"] });
    play.verb(retry());
    expect(play.ordered).toEqual(["a"]);
    play.machine = throwing({}).machine;
    play.verb(retry());
    expect(play.ordered).toEqual(["a", "b"]);
  });

  test("is never a reason to undo anything", () => {
    const play = throwing({ guard });
    play.answer("a", ok());
    play.advance(10_000_000);
    expect(play.ordered).toEqual(["a"]);
    expect(play.row("a").undo).toBeNull();
  });

  test("on an event keeps the event, to be taken by mended code", () => {
    const waiting = (guard: () => boolean) => ({
      initial: "one",
      states: { one: { on: { GO: { target: "end", guard } } }, end: { type: "final" } },
    });
    const play = new Play(played(waiting(guard), [call("a")], { events: ["GO"] }));
    play.event("GO");
    expect(play.review).toMatchObject({ reason: "defect", seq: null });
    expect(play.run.inbox).toHaveLength(1);
    play.machine = new Play(
      played(
        waiting(() => true),
        [call("a")],
        { events: ["GO"] },
      ),
    ).machine;
    play.verb(retry());
    expect(play.status).toBe("completed");
    expect(play.run.inbox).toHaveLength(0);
  });

  test("on a timer keeps the timer, to be fired by mended code", () => {
    const waiting = (guard: () => boolean) => ({
      initial: "one",
      states: { one: { after: { 5000: { target: "end", guard } } }, end: { type: "final" } },
    });
    const play = new Play(played(waiting(guard), [call("a")]));
    play.advance(5_000);
    expect(play.review?.reason).toBe("defect");
    expect(play.run.record.timers).toMatchObject([{ at: epochMs + 5_000 }]);
    play.machine = new Play(
      played(
        waiting(() => true),
        [call("a")],
      ),
    ).machine;
    play.verb(retry());
    expect(play.status).toBe("completed");
  });
});

describe("a call that could not be made", () => {
  test("parks, uncounted and undoubted", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", defect);
    expect(play.row("a").call).toMatchObject({ state: "planned", attempt: 0, deadline: null });
    expect(play.review).toMatchObject({
      reason: "defect",
      message: "a: the input does not fit",
      verbs: ["resolve", "retry", "compensate", "close"],
    });
    play.advance(100_000);
    expect(play.ordered).toEqual(["a"]);
  });

  test("is made again after a retry", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", defect);
    play.verb(retry());
    expect(play.flying()).toEqual(["a"]);
    play.answer("a", ok());
    expect(play.status).toBe("completed");
  });

  test("is made with another input, where a person gives one", () => {
    const play = new Play(line([call("a", { input: z.object({ n: z.number().optional() }) })]));
    play.answer("a", defect);
    play.verb(retry({ n: "x" }));
    expect(play.review).toMatchObject({ n: 2, message: expect.stringContaining("the input does not fit") });
    play.verb(retry({ n: 7 }));
    expect(play.row("a").input).toEqual({ n: 7 });
    expect(play.flying()).toEqual(["a"]);
  });

  test("with an earlier send in doubt takes no other input", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", timedOut());
    play.advance(1_000);
    play.answer("a", defect);
    play.verb(retry({ n: 7 }));
    expect(play.review?.message).toContain("it may have happened with the old input");
  });

  test("with an earlier send in doubt takes no other input until that is over", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", timedOut());
    play.advance(1_000);
    play.answer("a", defect);
    play.verb(resolveAbsent);
    expect(play.review).toMatchObject({ n: 2, reason: "defect" });
    play.verb(retry({ n: 7 }));
    expect(play.row("a").input).toEqual({ n: 7 });
  });

  test("is no question once the run goes back: it was not made", () => {
    const play = new Play(line([call("a")]));
    play.cancel();
    play.answer("a", defect);
    expect(play.row("a").call.state).toBe("not_applied");
    expect(play.status).toBe("cancelled");
  });

  test("is a question when the unwind needs it to settle something", () => {
    const play = new Play(line([call("a", { retry: { attempts: 1 } })]));
    play.answer("a", timedOut());
    play.advance(10_000);
    play.answer("a", defect);
    expect(play.status).toBe("needs_review");
    expect(play.review).toMatchObject({ reason: "defect", seq: 1, side: "action" });
    play.verb(retry());
    expect(play.flying()).toEqual(["a"]);
  });

  test("of a compensation asks as well, and may be skipped", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", defect);
    expect(play.review).toMatchObject({ reason: "defect", side: "undo", verbs: ["resolve", "retry", "skip", "close"] });
    expect(play.review?.message).toBe("the compensation of a: the input does not fit");
    play.verb(skip);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
  });
});

describe("a dead end", () => {
  test("is parked, naming the state, and can be closed", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "two" } }, two: { on: { NEVER: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a")]));
    play.answer("a", ok());
    expect(play.review).toMatchObject({ reason: "defect", verbs: ["compensate", "close"] });
    expect(play.review?.message).toContain('the state "two"');
    play.verb(retry());
    expect(play.review?.message).toContain("retry is not allowed here");
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "partial" });
  });

  test("is not called one while the run is paused, but then", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "two" } }, two: { on: { NEVER: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a")]));
    play.answers(["a", ok()]);
    const paused = new Play(played(machine, [call("a")]));
    paused.pause();
    paused.answer("a", ok());
    expect(paused.status).toBe("paused");
    paused.resume();
    expect(paused.review?.reason).toBe("defect");
  });
});

describe("attributes", () => {
  const saga = (attributes: (view: never) => unknown) => line([call("a"), call("b")], { attributes });
  const view = ({ context }: { readonly context: { readonly results: Readonly<Record<string, { id: string }>> } }) => ({
    last: context.results["a"]?.id ?? "none",
  });

  test("are read after every transition, of what a builder saga knows by then", () => {
    const play = new Play(saga(view));
    expect(play.run.record.attributes).toEqual({ last: "none" });
    play.answer("a", ok("a-1"));
    expect(play.run.record.attributes).toEqual({ last: "a-1" });
    expect(play.last?.commit).toMatchObject({ leave: ["attribute:last=none"], join: ["attribute:last=a-1"] });
  });

  test("are read of the machine's own context where it has one", () => {
    const machine = {
      initial: "one",
      context: { n: 7 },
      states: { one: { invoke: { src: "a", onDone: "end" } }, end: { type: "final" } },
    };
    const play = new Play(
      played(machine, [call("a")], { attributes: ({ context }: { context: { n: number } }) => ({ n: context.n }) }),
    );
    expect(play.run.record.attributes).toEqual({ n: 7 });
  });

  test("that throw are told without the credentials that their message holds", () => {
    const play = new Play(
      saga(() => {
        throw new Error("a bug near token=abc");
      }),
    );
    expect(play.review).toMatchObject({ message: "attributes: a bug near token=[redacted]" });
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("a bug");
      },
    ],
    [
      "throws what is no error",
      () => {
        // biome-ignore lint/style/useThrowOnlyError: user code may
        throw "a bug";
      },
    ],
    ["is not JSON", () => ({ at: new Date() })],
    ["is no object", () => 7],
    ["is a list", () => []],
    ["is null", () => null],
    ["is deeper than a listing can show", () => ({ deep: { n: 1 } })],
  ])("that %s park the run", (_how, attributes) => {
    const play = new Play(saga(attributes));
    expect(play.review).toMatchObject({ reason: "defect", message: expect.stringMatching(/^attributes: /) });
    expect(play.run.record.attributes).toEqual({});
  });

  test("are read again by mended code after a retry", () => {
    const play = new Play(saga(() => 7));
    play.machine = new Play(saga(view), { idle: true }).machine;
    play.verb(retry());
    expect(play.run.record).toMatchObject({ attributes: { last: "none" }, status: "running" });
  });

  test("that are broken at the very end keep the run from completing, not its outcome", () => {
    const play = new Play(line([call("a")], { attributes: () => 7 }));
    const mended = new Play(line([call("a")], { attributes: () => ({}) }), { idle: true }).machine;
    const broken = play.machine;
    play.machine = mended;
    play.verb(retry());
    play.machine = broken;
    play.answer("a", ok());
    expect(play.run.record).toMatchObject({ status: "needs_review", endedAt: null });
    play.machine = mended;
    play.verb(retry());
    expect(play.status).toBe("completed");
  });

  test("do not keep a run from being closed", () => {
    const play = new Play(saga(() => 7));
    play.verb(close);
    expect(play.status).toBe("failed");
  });
});

describe("a machine port that breaks its word", () => {
  function lying(turn: (turn: Turn) => Turn): Machine {
    const { machine } = new Play(line([call("a")]), { idle: true });
    return { ...machine, initial: (view) => turn(machine.initial(view)) };
  }
  const effects = (turn: Turn, more: object): Turn => (turn.ok ? { ...turn, ...more } : turn);

  test("by a step that is none parks the run", () => {
    const start = { type: "start", invoke: "x", step: "nobody", input: null, region: [] } as const;
    const machine = lying((turn) => effects(turn, { effects: [start] }));
    const play = new Play(line([call("a")]), { machine });
    expect(play.review?.message).toContain("x: the saga has no step named nobody");
  });

  test("by an error without a cause goes back all the same", () => {
    const machine = lying((turn) => effects(turn, { effects: [], ended: { how: "error", at: "somewhere" } }));
    const play = new Play(line([call("a")]), { machine });
    expect(play.run.record).toMatchObject({ status: "failed", cause: { reference: "somewhere" } });
  });

  test("by ending with something under way leaves that", () => {
    const machine = lying((turn) =>
      turn.ok ? { ...turn, state: { ...turn.state, status: "done" }, ended: { how: "completed", at: "end" } } : turn,
    );
    const play = new Play(line([call("a")]), { machine });
    expect(play.row("a")).toMatchObject({ abandoned: true, call: { state: "withdrawn" } });
    expect(play.status).toBe("completed");
  });

  test("by stopping what is not under way stops nothing", () => {
    const machine = lying((turn) =>
      turn.ok ? effects(turn, { effects: [...turn.effects, { type: "stop", invoke: "no" }] }) : turn,
    );
    const play = new Play(line([call("a")]), { machine });
    expect(play.flying()).toEqual(["a"]);
  });
});

test("a step that today's code does not have is a bug of the deployment, not a silent loss", () => {
  const play = new Play(line([call("a"), call("b")]));
  play.machine = new Play(line([call("z")]), { idle: true }).machine;
  expect(() => play.answer("a", notApplied())).toThrow("saga line has no step a");
});

test("attributes are read after a transition, and only then", () => {
  let reads = 0;
  const attributes = () => {
    reads += 1;
    return {};
  };
  const play = new Play(line([call("a")], { attributes }));
  const before = reads;
  play.pause();
  expect(reads).toBe(before);
});
