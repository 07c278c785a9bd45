/** A plan says what executing it would do; it is safe only where nothing can be done twice, and it is of one moment. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type Machine,
  objectionToPlan,
  planOf,
  type ReplayPlan,
  type ReplayWish,
  type VerbCommand,
  verbOf,
} from "../../src/core/index.ts";
import {
  close,
  compensate,
  done,
  notApplied,
  ok,
  Play,
  refused,
  resolveHappened,
  retry,
  timedOut,
  unusable,
} from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

const resume: ReplayWish = { mode: "resume" };
const undo: ReplayWish = { mode: "compensate_only", despitePivot: false };
const undoInSpite: ReplayWish = { mode: "compensate_only", despitePivot: true };
const anew: ReplayWish = { mode: "new_run", id: "r2" };
const once = { attempts: 1 };
const hourMs = 3_600_000;

function judged(play: Play, machine: Machine | null = play.machine) {
  return { namespace: "ns", record: play.run.record, rows: play.run.rows, machine, now: play.now };
}

function plan(play: Play, wish: ReplayWish = resume, machine: Machine | null = play.machine): ReplayPlan {
  return planOf({ judged: judged(play, machine), wish, id: "p1", expiresAt: play.now + 24 * hourMs });
}

/** Executes it as a client does; `false`: it is objected to. */
function execute(play: Play, made: ReplayPlan, override = false): boolean {
  if (objectionToPlan(made, judged(play), { override, maxReplays: 10 }) !== null) return false;
  const { request, revision } = made;
  const shown = { revision, plan: made.id };
  if (request?.type === "verb") {
    play.send(`review:${request.review}`, { type: "verb", verb: verbOf(request, "it is back"), ...shown });
  } else if (request?.type === "undo") {
    play.send("undo", { type: "undo", reason: "regretted", despitePivot: request.despitePivot, ...shown });
  }
  return true;
}

function other(saga: ReturnType<typeof line>): Machine {
  return new Play(saga, { idle: true }).machine;
}

/** Parked past a point of no return: `a` may have happened. */
function inDoubt(options: CallOptions = {}): Play {
  const play = new Play(line([call("p", { pivot: true }), call("a", { retry: once, ...options }), call("b")]));
  play.answer("p", ok());
  play.answer("a", timedOut());
  return play;
}

function exhausted(options: CallOptions = {}): Play {
  const play = new Play(line([call("a", { onExhausted: "review", retry: once, ...options }), call("b")]));
  play.answer("a", notApplied());
  return play;
}

function completed(...options: readonly CallOptions[]): Play {
  const names = ["a", "b", "c"].slice(0, options.length);
  const play = new Play(line(names.map((name, at) => call(name, options[at]))));
  for (const name of names) play.answer(name, ok());
  return play;
}

describe("resume", () => {
  test("of a call that did not happen makes it again, and the run goes on", () => {
    const play = exhausted();
    const made = plan(play);
    expect(made).toMatchObject({
      safe: true,
      request: { type: "verb", verb: "retry", review: 1 },
      calls: [{ step: "a", course: "call" }],
      revision: play.run.record.revision,
      hash: "hash",
      unwind: null,
    });
    expect(execute(play, made)).toBe(true);
    play.answer("a", ok());
    play.answer("b", ok());
    expect(play.run.record).toMatchObject({ status: "completed", replays: 1 });
    expect(play.taken()).toContainEqual(expect.objectContaining({ what: "verb", verb: "retry", plan: "p1" }));
  });

  test("of a call in doubt repeats it under its key", () => {
    const play = inDoubt();
    expect(play.review?.reason).toBe("unknown_outcome");
    expect(plan(play)).toMatchObject({ safe: true, verdict: "RETRY_SAFE", request: { verb: "retry" } });
    expect(plan(play).calls.map(({ course }) => course)).toEqual(["reuse", "repeat"]);
  });

  test("asks the other side where nothing protects against a repeat", () => {
    const play = inDoubt({ effect: "once", probe: true });
    for (let turn = 0; turn < 40 && play.review === null; turn += 1) {
      if (play.flying().includes("probe a")) play.probe("a", "cannot_tell");
      else play.advance(60_000);
    }
    const made = plan(play);
    expect(made).toMatchObject({ safe: true, request: { verb: "probe" } });
    execute(play, made);
    expect(play.flying()).toEqual(["probe a"]);
    const step: ReplayWish = { mode: "retry_step", seq: 2 };
    expect(plan(play, step)).toMatchObject({ request: null });
  });

  test("of a call that nobody can know of has no request, and is not executed on anybody's word", () => {
    const play = inDoubt({ effect: "once" });
    const made = plan(play);
    expect(made).toMatchObject({
      safe: false,
      request: null,
      unsafe: [],
      problem: expect.stringContaining("may have"),
    });
    expect(objectionToPlan(made, judged(play), { override: true, maxReplays: 10 })).toEqual({
      kind: "refused",
      message: made.problem,
    });
  });

  test("of a halted compensation makes that again", () => {
    const play = new Play(line([call("a", { compensate: { retry: once } }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", timedOut());
    expect(play.review).toMatchObject({ reason: "halted", side: "undo" });
    const made = plan(play);
    expect(made.calls).toMatchObject([{ course: "reuse" }, { side: "undo", course: "repeat" }, { step: "b" }]);
    execute(play, made);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
    expect(plan(play, undo)).toMatchObject({ request: { type: "undo" } });
    const gone = other(line([call("a", { compensate: false }), call("b")]));
    const halted = new Play(line([call("a", { compensate: { retry: once } }), call("b")]));
    halted.answer("a", ok());
    halted.answer("b", refused());
    halted.answer("undo a", timedOut());
    expect(plan(halted, resume, gone).request).not.toBeNull();
  });

  test("where a person was asked about more than the call is meant only if a person says so", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", unusable);
    const made = plan(play);
    expect(made).toMatchObject({
      safe: false,
      unsafe: [`defect: ${play.review?.message}`],
      request: { verb: "retry" },
    });
    expect(made.calls).toMatchObject([{ course: "reuse", reason: "its recorded outcome is taken up again" }]);
    expect(execute(play, made)).toBe(false);
    play.machine = other(line([call("a", { output: z.number() }), call("b")]));
    expect(execute(play, made, true)).toBe(true);
    expect(play.flying()).toEqual(["b"]);
  });

  test("of a review about no call goes on from the snapshot", () => {
    const faulty = played(
      {
        initial: "work",
        states: {
          work: { on: { GO: { target: "end", guard: () => fault() } } },
          end: { type: "final" },
        },
      },
      [],
      { events: ["GO"] },
    );
    let isBroken = true;
    const fault = () => {
      if (isBroken) throw new Error("broken");
      return true;
    };
    const play = new Play(faulty);
    play.event("GO");
    expect(play.review).toMatchObject({ reason: "defect", seq: null });
    const made = plan(play);
    expect(made).toMatchObject({ safe: false, request: { verb: "retry" } });
    expect(plan(play, { mode: "retry_step", seq: 1 }).problem).toBe("it is parked for no call, not for row 1");
    isBroken = false;
    expect(execute(play, made, true)).toBe(true);
    expect(play.status).toBe("completed");
  });

  test("of what its review does not take, of a run that runs or has ended, or that cannot be restored, has no request", () => {
    const running = new Play(line([call("a"), call("b")]));
    expect(plan(running).problem).toBe("it is running, not parked: it goes on by itself");
    expect(plan(completed({})).problem).toContain("it has ended (completed)");
    const shapeless = other(played({ initial: "x", states: { x: { type: "final" } } }, [call("a"), call("b")]));
    expect(plan(exhausted(), resume, shapeless).problem).toContain("cannot be restored");
    expect(plan(exhausted(), resume, null).problem).toContain("the saga is not here");
    const renamed = other(line([call("b"), call("b2")]));
    expect(plan(exhausted(), resume, { ...renamed, blocked: () => null }).problem).toContain("has no step a");
    const late = new Play(line([call("a", { compensate: false, retry: once, effect: "keyed" }), call("b")]));
    late.answer("a", notApplied());
    late.late("a", 1, ok());
    expect(late.review?.reason).toBe("late_result");
    expect(plan(late).problem).toBe("its review takes skip, close");
    const first = played(
      { initial: "x", states: { x: { invoke: { src: "a", input: () => fail(), onDone: "y" } }, y: { type: "final" } } },
      [call("a")],
    );
    const unbegun = new Play(first);
    expect(unbegun.run.record).toMatchObject({ snapshot: null, status: "needs_review" });
    expect(plan(unbegun)).toMatchObject({ request: { verb: "retry" }, calls: [] });
  });
});

describe("retry of a step", () => {
  const withInput = (seq: number, input: number | string): ReplayWish => ({ mode: "retry_step", seq, input });

  test("is of the call that the run is parked for, and of no other", () => {
    expect(plan(exhausted(), { mode: "retry_step", seq: 2 }).problem).toBe("it is parked for a (row 1), not for row 2");
  });

  test("hands its input on, unless that does not fit, or the call may have happened or is recorded", () => {
    const numbers = line([
      call("a", { onExhausted: "review", retry: once, input: z.json().refine((it) => it !== "bad") }),
      call("b"),
    ]);
    const play = new Play(numbers);
    play.answer("a", notApplied());
    expect(plan(play, withInput(1, "bad")).problem).toContain("the input does not fit");
    const made = plan(play, withInput(1, 7));
    expect(made).toMatchObject({ safe: true, request: { input: 7 } });
    execute(play, made);
    expect(play.row("a").input).toBe(7);
    expect(plan(inDoubt(), withInput(2, 7)).problem).toContain("with the old input");
    const recorded = new Play(line([call("a")]));
    recorded.answer("a", unusable);
    expect(plan(recorded, withInput(1, 7)).problem).toBe("its outcome is recorded: no other input is of use");
  });
});

describe("compensate only", () => {
  test("undoes a run that has ended, and shows what that does", () => {
    const play = completed({}, { effect: "once" });
    const made = plan(play, undo);
    expect(made).toMatchObject({ safe: true, request: { type: "undo", despitePivot: false } });
    expect(made.unwind?.steps.map(({ step, course }) => `${step} ${course}`)).toEqual(["b compensate", "a compensate"]);
    execute(play, made);
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", replays: 1 });
    expect(play.taken()).toContainEqual(expect.objectContaining({ control: "undo", plan: "p1" }));
    expect(plan(play, undo)).toMatchObject({ request: null, problem: expect.stringContaining("it is cancelled") });
  });

  test("against a point of no return is meant only if a person says so", () => {
    const play = completed({}, { pivot: true });
    expect(plan(play, undo).problem).toContain("a point of no return was passed (b)");
    expect(plan(play, undoInSpite)).toMatchObject({
      safe: false,
      unsafe: ["a point of no return was passed (b)"],
      request: { type: "undo", despitePivot: true },
    });
  });

  test("turns a parked run round, where its review takes that", () => {
    const play = exhausted();
    expect(plan(play, undo)).toMatchObject({ safe: true, request: { type: "verb", verb: "compensate", review: 1 } });
    execute(play, plan(play, undo));
    expect(play.status).toBe("failed");
    const passed = inDoubt();
    const warned = { safe: false, unsafe: ["a point of no return was passed (p)"], request: { verb: "compensate" } };
    expect(plan(passed, undo)).toMatchObject(warned);
    passed.verb(compensate);
    expect(passed.review?.reason).toBe("after_pivot");
    expect(plan(passed, undo)).toMatchObject(warned);
    const halted = new Play(line([call("a", { compensate: { retry: once } }), call("b")]));
    halted.answer("a", ok());
    halted.answer("b", refused());
    halted.answer("undo a", timedOut());
    expect(plan(halted, undo)).toMatchObject({
      request: null,
      problem: "its review takes resolve, retry, skip, close",
    });
  });
});

describe("as a new run", () => {
  test("of one that left nothing is safe", () => {
    const play = new Play(line([call("z", { effect: "none" }), call("a"), call("b")]));
    play.answer("z", ok());
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", done);
    expect(plan(play, anew)).toMatchObject({ safe: true, request: { type: "start", id: "r2", input: {} } });
  });

  test("says which effects stand, or may, and that the old run may still go on", () => {
    const play = inDoubt({ effect: "once" });
    expect(plan(play, anew).unsafe).toEqual([
      "run r1 is needs_review and may still go on by itself",
      "p (row 1) happened and stands: the new run makes it again",
      "a (row 2) may have happened: the new run makes it again",
    ]);
    const renamed = { ...play.machine, saga: { ...play.machine.saga, steps: {} } };
    expect(plan(play, anew, renamed).unsafe).toHaveLength(3);
  });

  test("passes over what changes nothing, what never went out, and what is not there any more", () => {
    const play = new Play(line([call("a", { effect: "none" }), call("b"), call("c", { retry: { attempts: 1 } })]));
    play.answer("a", ok());
    play.answer("b", ok());
    play.answer("c", notApplied());
    play.answer("undo b", { kind: "succeeded", output: null });
    expect(play.status).toBe("failed");
    expect(plan(play, { mode: "new_run", id: "r2" }).unsafe).toEqual([]);
    const asking = new Play(line([call("a", { intent: () => ["a"] })]));
    expect(asking.row("a").call.state).toBe("claiming");
    expect(plan(asking, anew).unsafe).toEqual(["run r1 is running and may still go on by itself"]);
  });

  test("takes other input, if it fits", () => {
    const play = completed({});
    const strict = { ...play.machine, saga: { ...play.machine.saga, input: z.number() } };
    expect(plan(play, { ...anew, input: 7 }, strict).request).toEqual({ type: "start", id: "r2", input: 7 });
    expect(plan(play, { ...anew, input: "x" }, strict)).toMatchObject({
      request: null,
      problem: expect.stringContaining("does not fit"),
    });
  });
});

describe("a plan", () => {
  const may = { override: false, maxReplays: 10 };

  test("is objected to once it has expired, the run has moved, or was replayed too often", () => {
    const play = exhausted();
    const made = plan(play);
    expect(objectionToPlan(made, judged(play), may)).toBeNull();
    expect(objectionToPlan(made, { ...judged(play), now: made.expiresAt }, may)?.kind).toBe("expired");
    expect(objectionToPlan(made, judged(play), { override: true, maxReplays: 0 })).toMatchObject({ kind: "refused" });
    play.verb(retry());
    expect(objectionToPlan(made, judged(play), may)).toMatchObject({ kind: "moved" });
  });

  test("is objected to when time has made it another one", () => {
    const brief = { keyTtl: "1h", timeout: "10s" };
    const play = inDoubt(brief);
    const late = { ...judged(play), now: play.now + 2 * hourMs };
    expect(objectionToPlan(plan(play), late, may)).toMatchObject({
      kind: "moved",
      message: expect.stringContaining("say first whether it did"),
    });
    expect(objectionToPlan(plan(play), judged(play, null), may)).toMatchObject({
      message: expect.stringContaining("the saga is not here"),
    });
    const probed = inDoubt({ ...brief, probe: true });
    for (let turn = 0; turn < 40 && probed.review === null; turn += 1) {
      if (probed.flying().includes("probe a")) probed.probe("a", "cannot_tell");
      else probed.advance(60_000);
    }
    const made = plan(probed);
    expect(made.request).toMatchObject({ verb: "retry" });
    const then = { ...judged(probed), now: probed.now + 2 * hourMs };
    expect(objectionToPlan(made, then, may)).toMatchObject({
      message: expect.stringContaining("something else would be done"),
    });
  });

  test("that is overtaken on its way does nothing, and the run asks again", () => {
    const play = exhausted();
    const made = plan(play);
    play.now += 1;
    const stale = { revision: made.revision - 1, plan: made.id };
    play.send("review:1", { type: "verb", verb: retry(), ...stale });
    expect(play.run.record).toMatchObject({ status: "needs_review", replays: 0, review: { n: 2 } });
    expect(play.review?.message).toContain("it was decided on revision");
    const ended = completed({});
    ended.send("undo", { type: "undo", reason: "late", despitePivot: false, ...stale });
    expect(ended.run.record).toMatchObject({ status: "completed", replays: 0 });
  });

  test("says to the run what its request is, with the reason of whoever executes it", () => {
    const of = (verb: "retry" | "probe" | "compensate"): VerbCommand =>
      verbOf({ type: "verb", review: 1, verb }, "why");
    expect([of("retry"), of("probe"), of("compensate")]).toEqual([
      { verb: "retry", input: undefined, reason: "why" },
      { verb: "probe" },
      { verb: "compensate", reason: "why" },
    ]);
  });

  test("never has a `once` call sent again that was not proven absent, whoever executes it", () => {
    const results = { ok: ok(), doubt: timedOut(), no: notApplied() } as const;
    const moves = fc.array(fc.constantFrom("ok", "doubt", "no", "resume", "undo", "retry", "later"), { maxLength: 14 });
    fc.assert(
      fc.property(moves, (sequence) => {
        const play = new Play(
          line([
            call("a", { effect: "once", onExhausted: "review", retry: once }),
            call("b", { effect: "once", retry: once }),
          ]),
        );
        for (const move of sequence) {
          const flying = play.flying()[0];
          if (move === "later") play.advance(60_000);
          else if (move === "ok" || move === "doubt" || move === "no") {
            if (flying !== undefined) play.answer(flying, results[move]);
          } else {
            const seq = play.review?.seq ?? 1;
            const wish: ReplayWish = move === "resume" ? resume : move === "undo" ? undo : { mode: "retry_step", seq };
            // The play's witness throws where a `once` call is ordered again without proof.
            execute(play, plan(play, wish), true);
          }
        }
        for (const name of ["a", "b"]) {
          const sends = play.ordered.filter((each) => each === name).length;
          const proofs = play
            .taken()
            .filter((taken) => taken.what === "outcome" && taken.outcome === "not_applied").length;
          expect(sends).toBeLessThanOrEqual(1 + proofs);
        }
      }),
      { numRuns: 100 },
    );
  });
});

function fail(): never {
  throw new Error("it cannot be computed");
}

test("closing and resolving by hand are no replays", () => {
  const play = exhausted();
  play.verb(resolveHappened());
  play.answer("b", ok());
  expect(play.run.record.replays).toBe(0);
  const closed = exhausted();
  closed.verb(close);
  expect(closed.run.record.replays).toBe(0);
});
