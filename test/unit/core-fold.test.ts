/** A run's log explains its snapshot, and no entry can be changed, moved or left out without that being seen (I4). */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { foldLog, type LogEntry, type Taken } from "../../src/core/index.ts";
import { notApplied, ok, Play, refused, retry } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

function folded(play: Play, log: readonly LogEntry[] = play.log) {
  return foldLog(play.machine, play.run, log);
}

function expectExplained(play: Play): void {
  const steps = folded(play);
  expect(steps.map(({ problem }) => problem)).toEqual(play.log.map(() => null));
  expect(steps.at(-1)?.snapshot).toEqual(play.run.record.snapshot);
}

/** The first thing that is wrong with a log whose entry `revision` says something else. */
function problemWith(play: Play, revision: number, taken: readonly Taken[]): string {
  const log = play.log.map((entry) => (entry.revision === revision ? { ...entry, taken } : entry));
  const last = folded(play, log).at(-1);
  expect(last?.revision).toBe(revision);
  return last?.problem ?? "none";
}

/** Waits for GO or ten seconds, calls `a`, and calls `b` where `a` fails. */
const waiting = played(
  {
    initial: "first",
    states: {
      first: { on: { GO: { target: "work", actions: "keep" }, NO: undefined }, after: { 10000: "work" } },
      work: { invoke: { src: "a", onDone: "end", onError: { target: "mend", actions: "keep" } } },
      mend: { invoke: { src: "b", onDone: "end" } },
      end: { type: "final" },
    },
  },
  [call("a"), call("b")],
  { events: ["GO", "NO"], keep: true },
);

describe("a log that is whole", () => {
  test("leads to the snapshot of a run that has begun, and of one that has not", () => {
    expectExplained(new Play(line([call("a"), call("b")])));
    const later = new Play(line([call("a")]), { startAt: 2_000_000 });
    expect(folded(later)).toEqual([{ revision: 1, snapshot: null, problem: null }]);
  });

  test("through outcomes, an event with its payload, and a failure that is handled", () => {
    const play = new Play(waiting);
    play.event("NO");
    play.event("GO", { n: 7 });
    play.answer("a", refused());
    expectExplained(play);
    play.answer("b", ok());
    expect(play.status).toBe("completed");
    expectExplained(play);
  });

  test("through a timer, with the results that the machine saw then", () => {
    const play = new Play(waiting);
    play.advance(10_000);
    play.answer("a", ok());
    expect(play.status).toBe("completed");
    expectExplained(play);
  });

  test("through what the machine refused, and took when it was tried again", () => {
    const strict = call("b", { input: z.object({ n: z.number() }) });
    const play = new Play(line([call("a"), strict]));
    play.answer("a", ok());
    expect(play.review?.reason).toBe("defect");
    expectExplained(play);
    play.machine = new Play(line([call("a"), call("b")]), { idle: true }).machine;
    play.verb(retry());
    expect(play.flying()).toEqual(["b"]);
    expectExplained(play);
  });

  test("through rows that were left while their calls were out", () => {
    const left = played(
      {
        initial: "work",
        states: {
          work: { invoke: { src: "a", onDone: "end" }, on: { GO: "other" } },
          other: { invoke: { src: "b", onDone: "end" } },
          end: { type: "final" },
        },
      },
      [call("a"), call("b")],
      { events: ["GO"] },
    );
    const play = new Play(left);
    play.event("GO");
    play.answer("a", notApplied());
    play.answer("b", ok());
    expectExplained(play);
  });
});

describe("a log that was changed", () => {
  function done(): Play {
    const play = new Play(waiting);
    play.event("GO", { n: 7 });
    play.answer("a", ok());
    expect(play.status).toBe("completed");
    return play;
  }

  test("is found out by its digest, and nothing is said of what comes after", () => {
    const play = done();
    const moved = play.log.findIndex((entry) => entry.taken.some(({ what }) => what === "event"));
    const taken = play.taken().flatMap((each) => (each.what === "event" ? [{ ...each, payload: { n: 8 } }] : []));
    expect(problemWith(play, moved + 1, taken)).toMatch(/^its digest is .*, from the log follows /);
    const log = play.log.toSpliced(1, 1);
    expect(folded(play, log).at(-1)?.problem).toBe("the machine was moved before it had begun");
  });

  test("is found out by what cannot have happened", () => {
    const play = done();
    const at = (what: Taken["what"]) =>
      play.log.findIndex((entry) => entry.taken.some((each) => each.what === what)) + 1;
    const told = { what: "told", seq: 1, failure: null } as const;
    expect(problemWith(play, at("told"), [told, told])).toBe("row 1 was told twice");
    expect(problemWith(play, at("told"), [{ ...told, seq: 9 }])).toBe("row 9 was never asked for");
    expect(problemWith(play, at("event"), [{ what: "abandoned", seq: 1 }])).toBe("row 1 was never asked for");
    expect(problemWith(play, at("event"), [{ what: "timer", id: "t" }])).toBe("there was no timer t");
    const event = { what: "event", id: "e", type: "GO", payload: {} } as const;
    expect(problemWith(play, at("told"), [told, event])).toMatch(/^the machine refuses it \(/);
  });
});

test("what was masked since is folded by what it leads to alone", () => {
  const play = new Play(waiting);
  play.event("GO", { n: 7 });
  const log = play.log.map((entry) => ({ ...entry, digest: "" }));
  expect(folded(play, log).at(-1)?.problem).toContain("its digest is");
  const steps = foldLog(play.machine, play.run, log, { digests: false });
  expect(steps.map(({ problem }) => problem)).toEqual(log.map(() => null));
  expect(steps.at(-1)?.snapshot).toEqual(play.run.record.snapshot);
});
