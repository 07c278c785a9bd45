/** A run of which a value is missing: parked before anything else, held until it is back. */
import { describe, expect, test } from "vitest";
import {
  explain,
  foldLog,
  MissingArtifact,
  type MissingValue,
  missingIn,
  type Row,
  verdictOf,
  withRecordValues,
  withRowValues,
} from "../../src/core/index.ts";
import { close, compensate, epochMs, notCalled, ok, Play, resolveHappened, retry, timedOut } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const lost: MissingValue = { where: "the output of a (row 1)", hash: "ab12", bytes: 200_000, why: "gone" };

/** The next worker finds that values are missing. */
function lose(play: Play, missing: readonly MissingValue[] = [lost], died = false): Play {
  play.run = { ...play.run, missing };
  play.takeOver({ died });
  return play;
}

/** Whoever takes the run next finds all of it. */
function found(play: Play): Play {
  const { missing: _, ...whole } = play.run;
  play.run = whole;
  return play;
}

/** A run whose step `a` has happened and whose step `b` was sent. */
function halfway(): Play {
  const play = new Play(line([call("a"), call("b")], { events: ["GO"] }));
  play.answer("a", ok());
  return play;
}

describe("a missing value", () => {
  test("parks the run before anything is called, naming the value, and gives the run back", () => {
    const play = lose(halfway());
    expect(play.review).toMatchObject({
      reason: "missing_artifact",
      seq: null,
      verbs: ["retry", "compensate", "close"],
      evidence: [lost],
    });
    expect(play.review?.message).toContain("the output of a (row 1) (200000 bytes, sha-256 ab12) is not in the");
    expect(play.flying()).toEqual([]);
    expect(play.next).toEqual({ does: "released", wanted: null, due: null });
    expect(play.row("b").call.state).toBe("sent");
  });

  test("holds whatever the driver hears meanwhile", () => {
    const play = halfway();
    play.run = { ...play.run, missing: [lost] };
    play.inFlight.clear();
    play.step({ type: "tick" }, { type: "acquired", takenFrom: null, permits: [] });
    expect([play.status, play.flying()]).toEqual(["needs_review", []]);
  });

  test("that is back after retry: what was interrupted is judged then, and the run goes on", () => {
    const play = lose(halfway());
    play.verb(retry());
    expect(play.review).toBeNull();
    expect(play.flying()).toEqual(["b"]);
    play.answer("b", ok());
    expect(play.status).toBe("completed");
    expect(play.ordered).toEqual(["a", "b", "b"]);
  });

  test.each([
    ["retry", retry()],
    ["compensate", compensate],
  ])("that is still missing after %s parks again, and nothing is done", (_, verb) => {
    const play = lose(halfway());
    play.run = { ...play.run, missing: [lost] };
    play.verb(verb);
    expect(play.review).toMatchObject({ n: 2, reason: "missing_artifact" });
    expect(play.review?.message).toContain("(after review 1: the output of a (row 1)");
    expect(play.ordered).toEqual(["a", "b"]);
  });

  test("lets a person give the run up: close needs no value", () => {
    const play = lose(halfway());
    play.run = { ...play.run, missing: [lost] };
    play.verb(close);
    expect(play.status).toBe("failed");
    expect(play.row("a").undo).toMatchObject({ state: "accepted" });
  });

  test("leaves a run that had completed completed when it is given up", () => {
    const play = halfway();
    play.answer("b", ok());
    play.run = { ...play.run, missing: [lost] };
    play.undo();
    expect(play.status).toBe("needs_review");
    play.run = { ...play.run, missing: [lost] };
    play.verb(close);
    expect(play.status).toBe("completed");
  });

  test("lets what was sent to the run wait: a cancel is taken once it is back", () => {
    const play = lose(halfway());
    play.run = { ...play.run, missing: [lost] };
    play.cancel();
    play.run = { ...play.run, missing: [lost] };
    play.event("GO");
    expect(play.run.inbox.map(({ slot }) => slot)).toContain("cancel");
    expect(play.next.does).toBe("release");
    found(play).verb(retry());
    expect(play.status).toBe("unwinding");
    expect(play.taken()).toContainEqual(expect.objectContaining({ what: "control", control: "cancel" }));
  });

  test("keeps another question open, and refuses its verbs under the next number", () => {
    const play = new Play(line([call("a"), call("b", { effect: "once" })]));
    play.answer("a", ok());
    play.answer("b", timedOut());
    expect(play.review).toMatchObject({ n: 1, reason: "unknown_outcome" });
    lose(play);
    expect(play.review).toMatchObject({ n: 1, reason: "unknown_outcome" });
    expect(play.next.does).toBe("release");
    play.run = { ...play.run, missing: [lost] };
    play.verb(resolveHappened());
    expect(play.review).toMatchObject({ n: 2, reason: "unknown_outcome" });
    expect(play.review?.message).toContain("sha-256 ab12");
    play.verb(resolveHappened());
    expect(play.status).toBe("completed");
  });

  test("holds a verb that the review does not name to the same refusal as ever", () => {
    const play = lose(halfway());
    play.run = { ...play.run, missing: [lost] };
    play.verb(resolveHappened());
    expect(play.review?.message).toContain("resolve is not allowed here");
  });

  test("is named three at most, the others are counted", () => {
    const many = [1, 2, 3, 4, 5].map((seq) => ({ ...lost, where: `the output of s (row ${seq})` }));
    const message = lose(halfway(), many).review?.message;
    expect(message).toContain("(row 3)");
    expect(message).not.toContain("(row 4)");
    expect(message).toContain("and 2 more");
  });

  test("takes expired permits with it, so that nobody is woken by them again and again", () => {
    const play = new Play(line([call("a", { queue: "gpu" })]));
    play.permit("a");
    play.now += 60_000;
    lose(play);
    expect(play.row("a").call).toMatchObject({ state: "sent", fence: null });
    expect([...play.permits.keys()]).toEqual([]);
    play.verb(retry());
    expect(play.offered).toEqual(["a", "a"]);
    play.settle("a", notCalled());
    expect(play.review).toBeNull();
  });

  test("leaves permits that are alive", () => {
    const play = new Play(line([call("a", { queue: "gpu" })]));
    play.permit("a");
    lose(play);
    expect([...play.permits.keys()]).toEqual([1]);
  });
});

test("the log of a run that missed a value explains it all the same", () => {
  const play = lose(halfway());
  play.run = { ...play.run, missing: [lost] };
  play.verb(retry());
  play.verb(retry());
  play.answer("b", ok());
  expect(play.taken().filter(({ what }) => what === "missing")).toHaveLength(2);
  const { record, rows } = play.run;
  const folded = foldLog(play.machine, { record: { ...record, hash: "hash" }, rows }, play.log);
  expect(folded.map(({ problem }) => problem)).toEqual(play.log.map(() => null));
});

test("a log is not read with what stands for a missing value", () => {
  const play = halfway();
  const gone = new MissingArtifact({ hash: "ab12", bytes: 200_000, why: "gone" }, null);
  const { record, rows } = play.run;
  const incomplete = [
    { record: { ...record, input: gone }, rows },
    { record, rows: rows.map((row) => ({ ...row, output: gone })) },
  ];
  for (const run of incomplete) {
    expect(foldLog(play.machine, run, play.log)).toMatchObject([
      { revision: 1, snapshot: null, problem: "values of the run are missing" },
    ]);
  }
});

describe("what may be a large value", () => {
  const gone = new MissingArtifact({ hash: "ab12", bytes: 200_000, why: "gone" }, null);
  const full: Row = (() => {
    const play = new Play(line([call("a")]));
    play.answer("a", ok());
    play.undo();
    const row = play.row("a");
    return { ...row, undo: { ...row.undo!, input: { other: 1 } } };
  })();

  test("of a row: input, output, progress, evidence, and those of its compensation", () => {
    const emptied = withRowValues(full, () => gone);
    expect(missingIn(null, [emptied]).map(({ where }) => where)).toEqual([
      "the input of a (row 1)",
      "the output of a (row 1)",
      "the progress of a (row 1)",
      "the evidence of a (row 1)",
      "the compensation's input of a (row 1)",
      "the compensation's evidence of a (row 1)",
    ]);
    expect(JSON.parse(JSON.stringify(emptied.output))).toEqual({ $artifact: "ab12", bytes: 200_000 });
  });

  test("of a run: input, output and the machine's context; its own output is the run's and named once", () => {
    const steps = [call("a")];
    const machine = {
      context: { seen: 1 },
      initial: "s",
      states: { s: { invoke: { src: "a", input: {}, onDone: "d" } }, d: { type: "final" } },
      output: { ok: true },
    };
    const play = new Play(played(machine, steps));
    play.answer("a", ok());
    const emptied = withRecordValues(play.run.record, () => gone);
    expect(emptied.snapshot?.output).toBe(gone);
    expect(missingIn(emptied, []).map(({ where }) => where)).toEqual([
      "the input of the run",
      "the output of the run",
      "the machine context of the run",
    ]);
    const idle = new Play(line(steps), { idle: true, startAt: epochMs + 1 }).run.record;
    expect(withRecordValues(idle, () => gone).snapshot).toBeNull();
  });

  test("is left as it is, object and all, where nothing takes its place", () => {
    const { record } = halfway().run;
    expect(withRecordValues(record, (value) => value)).toBe(record);
    expect(withRowValues(full, (value) => value)).toBe(full);
    const only = withRowValues(full, (value, { part }) => (part === "compensation's evidence" ? gone : value));
    expect(only.undo?.input).toBe(full.undo?.input);
    const bare: Row = { ...full, undo: { state: "kept", call: null, reason: "kept" } };
    expect(withRowValues(bare, (value) => value)).toBe(bare);
    const sent: Row = { ...full, undo: { state: "sent", call: full.call, reason: null } };
    expect(withRowValues(sent, () => gone).undo).not.toHaveProperty("input");
  });
});

describe("of a run that misses a value", () => {
  const play = lose(halfway());
  const gone = new MissingArtifact({ hash: "ab12", bytes: 200_000, why: "damaged" }, null);
  const judged = (rows: readonly Row[]) => ({
    namespace: "ns",
    record: play.run.record,
    rows,
    machine: play.machine,
    now: play.now,
  });

  test("the verdict is BLOCKED, by name", () => {
    const rows = play.run.rows.map((row) => (row.seq === 1 ? { ...row, output: gone } : row));
    expect(verdictOf(judged(rows))).toMatchObject({
      verdict: "BLOCKED",
      reasons: [expect.stringContaining("the output of a (row 1)")],
    });
    expect(explain(judged(rows)).text).toContain("is not what was put there");
  });

  test("a call whose input is missing cannot be made", () => {
    const rows = play.run.rows.map((row) => (row.seq === 2 ? { ...row, input: gone } : row));
    expect(verdictOf(judged(rows)).calls[1]).toMatchObject({
      course: "refuse",
      reason: "its recorded input is missing",
    });
  });
});
