/** Going back to a savepoint: what came after is undone and asked for anew, what came before stays as it is. */
import { describe, expect, test } from "vitest";
import { explain, foldLog, type Judged, type LogEntry, unwindPreview } from "../../src/core/index.ts";
import type { Saga } from "../../src/saga/index.ts";
import {
  close,
  compensate,
  done,
  notApplied,
  ok,
  Play,
  resolveHappened,
  rewind,
  skip,
  timedOut,
} from "../support/play.ts";
import { type CallOptions, call, played } from "../support/play-sagas.ts";

const parking = { onExhausted: "review", retry: { attempts: 1 } } as const;

/** a, then `work` (a savepoint): b, c and d, one after the other. */
function working(options: Readonly<Record<string, CallOptions>> = {}): Saga {
  const config = {
    initial: "before",
    states: {
      before: { invoke: { src: "a", onDone: "work" } },
      work: {
        initial: "b",
        tags: "savepoint",
        states: {
          b: { invoke: { src: "b", onDone: "c" } },
          c: { invoke: { src: "c", onDone: "d" } },
          d: { invoke: { src: "d", onDone: "done" } },
          done: { type: "final" },
        },
        onDone: "end",
        on: { AGAIN: "before" },
      },
      end: { type: "final" },
    },
  };
  const steps = ["a", "b", "c", "d"].map((name) => call(name, options[name] ?? {}));
  return played(config, steps, { events: ["AGAIN"] });
}

/** Parked at `d`, with everything before it done. */
function parkedAtLast(options: Readonly<Record<string, CallOptions>> = {}): Play {
  const play = new Play(working({ d: parking, ...options }));
  for (const name of ["a", "b", "c"]) play.answer(name, ok(name));
  play.answer("d", notApplied());
  expect(play.status).toBe("needs_review");
  return play;
}

function expectExplained(play: Play, log: readonly LogEntry[] = play.log): void {
  const steps = foldLog(play.machine, play.run, log);
  expect(steps.map(({ problem }) => problem)).toEqual(log.map(() => null));
  expect(steps.at(-1)?.snapshot).toEqual(play.run.record.snapshot);
}

function judged({ run: { record, rows }, machine, now }: Play): Judged {
  return { namespace: "ns", record, rows, machine, now };
}

function previewed(play: Play) {
  return unwindPreview(judged(play), play.run.record.savepoints[0]);
}

function explained(play: Play): string {
  return explain(judged(play)).where.text;
}

describe("a run that goes back to a savepoint", () => {
  test("undoes what came after it in reverse, and goes on with new rows", () => {
    const play = parkedAtLast();
    expect(play.review?.verbs).toEqual(["retry", "resolve", "rewind", "compensate", "close"]);
    expect(play.run.record.savepoints).toMatchObject([{ state: "played.work", start: { rows: 2, waits: [2] } }]);
    expect(previewed(play)?.steps.map(({ step, course }) => `${step} ${course}`)).toEqual([
      "d nothing",
      "c compensate",
      "b compensate",
    ]);
    play.verb(rewind("played.work"));
    expect(play.run.record).toMatchObject({ status: "unwinding", rollback: "pending" });
    expect(explained(play)).toContain("is being undone as far as the savepoint played.work (back)");
    play.answer("undo c", done);
    play.answer("undo b", done);
    expect(play.flying()).toEqual(["b"]);
    expect(play.run.record).toMatchObject({ status: "running", rollback: "none", cause: null, unwind: null });
    expect(play.row("b", 2)).toMatchObject({ seq: 5, occurrence: 2, input: play.row("b").input });
    for (const name of ["b", "c", "d"]) play.answer(name, ok(`${name}2`));
    expect(play.status).toBe("completed");
    expect(play.ordered).toEqual(["a", "b", "c", "d", "undo c", "undo b", "b", "c", "d"]);
    expect(play.orders.map(({ operationId }) => operationId).slice(-3)).toEqual([
      "ns/default/r1/b/2",
      "ns/default/r1/c/2",
      "ns/default/r1/d/2",
    ]);
    expect(play.row("a").undo).toBeNull();
    expectExplained(play);
  });

  test("can do so again, and be undone as a whole afterwards", () => {
    const play = parkedAtLast();
    for (const turn of [1, 2]) {
      play.verb(rewind("played.work"));
      play.answer("undo c", done);
      play.answer("undo b", done);
      play.answer("b", ok());
      play.answer("c", ok());
      play.answer("d", turn === 1 ? notApplied() : ok());
    }
    expect(play.status).toBe("completed");
    play.undo();
    for (const name of ["d", "c", "b", "a"]) play.answer(`undo ${name}`, done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect(play.ordered.filter((name) => name.startsWith("undo a"))).toHaveLength(1);
    expectExplained(play);
  });

  test("stands again where it last entered the state", () => {
    const play = new Play(working({ d: parking }));
    play.answer("a", ok());
    play.event("AGAIN");
    play.answer("b", ok());
    play.answer("undo b", done);
    play.answer("a", ok());
    expect(play.run.record.savepoints).toMatchObject([{ start: { rows: 4, waits: [4] } }]);
    play.answer("b", ok());
    play.answer("c", ok());
    play.answer("d", notApplied());
    play.verb(rewind("played.work"));
    play.answer("undo c", done);
    play.answer("undo b", done);
    expect(play.flying()).toEqual(["b"]);
    expect(play.ordered.filter((name) => name === "undo a")).toEqual([]);
    expectExplained(play);
  });

  test("waits for what is under way, and is parked where an undoing halts", () => {
    const play = parkedAtLast({ b: { compensate: { effect: "once" } } });
    play.verb(rewind("played.work"));
    play.answer("undo c", done);
    play.answer("undo b", timedOut());
    expect(play.review).toMatchObject({ reason: "halted", verbs: ["resolve", "skip", "close"] });
    play.verb(skip);
    expect(play.flying()).toEqual(["b"]);
    expectExplained(play);
  });

  test("is undone altogether when it is cancelled meanwhile", () => {
    const play = parkedAtLast();
    play.verb(rewind("played.work"));
    play.cancel("enough");
    for (const name of ["c", "b", "a"]) play.answer(`undo ${name}`, done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete", cause: { kind: "cancelled" } });
    const whole = parkedAtLast();
    whole.verb(compensate);
    whole.cancel("too");
    expect(whole.run.record.unwind?.ends).toBe("failed");
  });

  test("ends where a person closes it meanwhile", () => {
    const play = parkedAtLast({ c: { compensate: { effect: "once" } } });
    play.verb(rewind("played.work"));
    play.answer("undo c", timedOut());
    play.verb(close);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "partial" });
  });

  test("starts the timers of the state again, with what was left of them", () => {
    const config = {
      initial: "before",
      states: {
        before: { invoke: { src: "a", onDone: "work" } },
        work: {
          tags: "savepoint",
          invoke: { src: "b", onDone: "end" },
          after: { 60000: "late" },
        },
        late: { type: "final", tags: "unwind" },
        end: { type: "final" },
      },
    };
    const play = new Play(played(config, [call("a"), call("b", parking)]));
    play.answer("a", ok());
    play.advance(30_000);
    play.answer("b", notApplied());
    play.verb(rewind("played.work"));
    expect(play.run.record.timers).toMatchObject([{ at: play.now + 60_000 }]);
    expectExplained(play);
  });
});

test("a question about what came before the savepoint is asked again when the run has gone back", () => {
  const play = new Play(working({ a: { effect: "once", probe: true } }));
  play.answer("a", timedOut());
  for (const wait of [21_500, 21_500, 1_000]) {
    play.probe("a", "absent");
    play.advance(wait);
  }
  // It was believed absent and made again; now the first one turns up as well.
  play.late("a", 1, ok("first"));
  play.answer("a", ok("second"));
  const twice = { reason: "late_result", seq: 1, message: expect.stringContaining("it happened twice") };
  expect(play.review).toMatchObject(twice);
  play.verb(rewind("played.work"));
  expect(play.review).toMatchObject({ ...twice, n: 2 });
  expect(play.run.record).toMatchObject({ unwind: null, cause: null });
  expect(play.row("a")).toMatchObject({ told: "outcome", undo: { state: "halted" } });
  play.verb(skip);
  expect(play.flying()).toEqual(["b"]);
  expectExplained(play);
});

describe("going back is refused", () => {
  test("to a state that was not entered, or is none", () => {
    const play = parkedAtLast();
    play.verb(rewind("played.before"));
    expect(play.review?.message).toContain("it has no savepoint played.before, but played.work");
  });

  test("past a point of no return, and over what stays, unless a person says so", () => {
    const passed = parkedAtLast({ c: { pivot: true } });
    passed.verb(rewind("played.work"));
    expect(passed.review?.message).toContain("a point of no return was passed since (c)");
    passed.verb(rewind("played.work", true));
    expect(passed.flying()).toEqual(["undo c"]);
    const standing = parkedAtLast({ b: { compensate: false } });
    standing.verb(rewind("played.work"));
    expect(standing.review?.message).toContain("b (row 2) is not undone, and would be made again");
    standing.verb(rewind("played.work", true));
    standing.answer("undo c", done);
    expect(standing.flying()).toEqual(["b"]);
  });

  test("not for a point of no return, or an effect that stays, that was there before", () => {
    for (const options of [{ pivot: true }, { compensate: false }]) {
      const play = parkedAtLast({ a: options });
      play.verb(rewind("played.work"));
      play.answer("undo c", done);
      play.answer("undo b", done);
      expect(play.flying()).toEqual(["b"]);
    }
  });

  test("not for what changes nothing, did not happen, or was never sent", () => {
    const play = parkedAtLast({ b: { effect: "none" }, c: { effect: "none" }, d: { ...parking, compensate: false } });
    play.verb(rewind("played.work"));
    expect(play.flying()).toEqual(["b"]);
  });

  test("when a pivot turns out to have happened on the way: a person is asked again", () => {
    const play = new Play(working({ c: { effect: "once", pivot: true, probe: true, retry: { attempts: 1 } } }));
    play.answer("a", ok());
    play.answer("b", ok());
    play.answer("c", timedOut());
    for (let turn = 0; turn < 40 && play.review === null; turn += 1) {
      if (play.flying().includes("probe c")) play.probe("c", "cannot_tell");
      else play.advance(60_000);
    }
    play.verb(rewind("played.work"));
    expect(play.review?.reason).toBe("unknown_outcome");
    play.verb(resolveHappened());
    expect(play.review).toMatchObject({ reason: "after_pivot", verbs: ["rewind", "compensate", "close"] });
    expect(play.ordered.filter((name) => name.startsWith("undo"))).toEqual([]);
    play.verb(rewind("played.work", true));
    play.answer("undo c", done);
    play.answer("undo b", done);
    expect(play.flying()).toEqual(["b"]);
    expectExplained(play);
  });
});

test("a saga without savepoints keeps none and offers no way back to one", () => {
  const config = { initial: "x", states: { x: { invoke: { src: "a", onDone: "y" } }, y: { type: "final" } } };
  const play = new Play(played(config, [call("a", parking)]));
  play.answer("a", notApplied());
  expect(play.run.record.savepoints).toEqual([]);
  expect(play.review?.verbs).toEqual(["retry", "resolve", "compensate", "close"]);
  play.verb(rewind("played.x"));
  expect(play.review?.message).toContain("rewind is not allowed here");
});

test("of more than eight savepoints the newest are kept, and a final state keeps none", () => {
  const names = Array.from({ length: 10 }, (_, n) => `s${n}`);
  const states = Object.fromEntries(
    names.map((name, n) => [name, { tags: "savepoint", on: { GO: names[n + 1] ?? "end" } }]),
  );
  const config = { initial: "s0", states: { ...states, end: { type: "final" } } };
  const play = new Play(played(config, [], { events: ["GO"] }));
  for (let turn = 0; turn < 9; turn += 1) play.event("GO");
  expect(play.run.record.savepoints.map(({ state }) => state)).toEqual(names.slice(2).map((name) => `played.${name}`));
  play.event("GO");
  expect(play.status).toBe("completed");
});

test("a log that goes back where the run never stood is found out", () => {
  const play = parkedAtLast();
  play.verb(rewind("played.work"));
  play.answer("undo c", done);
  play.answer("undo b", done);
  const forged = play.log.map((entry) => ({
    ...entry,
    taken: entry.taken.map((taken) =>
      taken.what === "rewound"
        ? { ...taken, start: { ...taken.start, snapshot: { ...taken.start.snapshot, value: "end" } } }
        : taken,
    ),
  }));
  expect(foldLog(play.machine, play.run, forged).at(-1)?.problem).toBe("it never stood where it went back to");
});
