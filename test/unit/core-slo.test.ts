/** What the objectives of a saga count: the same as it happens and when the story of a run is read. */
import { describe, expect, test } from "vitest";
import type { LogEntry, Row, RunRecord, Taken } from "../../src/core/run/index.ts";
import { isGood, preventedBy, sloEvents, sloReport, tallyOf } from "../../src/core/telling/slo.ts";
import type { ObjectiveSpec } from "../../src/saga/index.ts";
import { aCall, aLogEntry, aRecord, aRow } from "../support/records.ts";

const at = 1_767_225_600_000;
const window = { saga: "order", from: at, to: at + 1_000, isWhole: true };

function entry(revision: number, afterMs: number, ...taken: readonly Taken[]): LogEntry {
  return aLogEntry(revision, { at: at + afterMs, taken });
}

function ended(patch: Partial<RunRecord> = {}): RunRecord {
  return aRecord({ status: "completed", createdAt: at, startAt: at, endedAt: at + 500, ...patch });
}

function objective(patch: Partial<ObjectiveSpec>): ObjectiveSpec {
  return { name: "completion", target: 0.9, within: null, budget: null, ...patch };
}

function report(objectives: readonly ObjectiveSpec[], ...stories: Parameters<typeof tallyOf>[0][]) {
  const budget = objectives.find(({ name }) => name === "cost")?.budget ?? null;
  const tallies = stories.map((story) => tallyOf(story, budget));
  return sloReport({ windowMs: 1_000, objectives }, tallies, window);
}

describe("a run that ends", () => {
  test("counts as completed only where no person had to step in", () => {
    const stories = [ended(), ended({ reviews: 1 }), ended({ status: "failed", rollback: "complete" })];
    const [completion, intervention, unwind] = report(
      [objective({}), objective({ name: "intervention" }), objective({ name: "unwind" })],
      ...stories.map((record) => ({ record, rows: [], log: [] })),
    ).objectives;
    expect(completion).toMatchObject({ good: 1, total: 3, isMet: false });
    expect(intervention).toMatchObject({ good: 2, total: 3 });
    expect(unwind).toMatchObject({ good: 1, total: 1, share: 1, budgetLeft: 1, isMet: true, p50: null });
  });

  test("its time and its cost are held against their bounds, and told by percentiles", () => {
    const runs = [100, 200, 900].map((ms) =>
      ended({ endedAt: at + ms, budgets: { tokens: { used: ms, soft: null, hard: null, warned: false } } }),
    );
    const [latency, cost] = report(
      [objective({ name: "latency", within: 500 }), objective({ name: "cost", within: 150, budget: "tokens" })],
      ...[...runs, ended({ status: "cancelled", endedAt: null })].map((record) => ({ record, rows: [], log: [] })),
    ).objectives;
    expect(latency).toMatchObject({ good: 2, total: 3, p50: 200, p95: 900, p99: 900 });
    expect(cost).toMatchObject({ good: 2, total: 4, p50: 100 });
    expect(report([], { record: ended({ endedAt: null }), rows: [], log: [] }).objectives).toEqual([]);
  });

  test("what was prevented from being done twice is told by how", () => {
    const undone = { state: "done", call: aCall({ state: "succeeded", proof: "person" }), reason: null } as const;
    const rows = [
      aRow(1, { state: "reused" }),
      aRow(2, { state: "succeeded", proof: "probe" }, { undo: undone }),
      aRow(3, { state: "succeeded", proof: "answer" }, { tool: { parent: 1, match: "m", asks: 3 } }),
    ];
    expect(preventedBy(rows)).toEqual({ reused: 1, found: 2, absorbed: 2 });
    const told = report([objective({ name: "duplicates" })], { record: ended(), rows, log: [] });
    expect([told.prevented, told.objectives[0]?.good]).toEqual([{ reused: 1, found: 2, absorbed: 2 }, 0]);
  });

  test("nothing that an objective is about leaves it met, and its budget unknown", () => {
    const open = { record: aRecord(), rows: [], log: [] };
    expect(report([objective({})], open)).toMatchObject({
      runs: 1,
      ended: 0,
      objectives: [{ share: null, budgetLeft: null, isMet: true }],
    });
    expect(sloReport(null, [], window)).toMatchObject({ objectives: [], avoided: { steps: 0, used: {} } });
  });
});

describe("the story of a run", () => {
  const rows: readonly Row[] = [
    aRow(1),
    aRow(2, {}, { step: "charge" }),
    aRow(3, { effect: "none" }, { step: "look" }),
  ];
  const outcome = (seq: number, word: "succeeded" | "not_applied" | "unknown") =>
    ({ what: "outcome", seq, send: 1, outcome: word, proof: "answer" }) as const;

  test("a call that a crash has cut off counts as resumed, with what was kept", () => {
    const log = [
      entry(1, 0, { what: "created" }, { what: "sent", seq: 1 }),
      entry(2, 10, outcome(1, "succeeded"), { what: "budget", name: "tokens", used: 70 }, { what: "sent", seq: 2 }),
      entry(3, 40, { what: "interrupted", seq: 2 }, { what: "sent", seq: 2 }),
      entry(4, 60, { what: "interrupted", seq: 2 }, { what: "sent", seq: 2 }),
      entry(5, 90, outcome(2, "succeeded"), { what: "sent", seq: 3 }),
      entry(6, 95, { what: "interrupted", seq: 3 }, { what: "interrupted", seq: 9 }),
    ];
    const told = report(
      [
        objective({ name: "recovery", within: 25 }),
        objective({ name: "resumption" }),
        objective({ name: "unknownAge", within: 1_000 }),
      ],
      { record: aRecord(), rows, log },
    );
    expect(told.objectives.map(({ good, total, p99 }) => [good, total, p99])).toEqual([
      [2, 3, 30],
      [1, 1, null],
      [0, 0, null],
    ]);
    expect(told.resumptions).toEqual([
      { step: "charge", times: 2, succeeded: 2 },
      { step: "look", times: 1, succeeded: 0 },
    ]);
    expect(told.avoided).toEqual({ steps: 4, used: { tokens: 210 } });
  });

  test("an outcome that was unknown has an age from its sending, also one that a crash has left in doubt", () => {
    const log = [
      entry(1, 0, { what: "offered", seq: 1 }),
      entry(2, 10, outcome(1, "unknown")),
      entry(3, 110, outcome(1, "not_applied"), { what: "sent", seq: 2 }),
      entry(4, 150, { what: "interrupted", seq: 2 }),
      entry(5, 190, outcome(2, "succeeded"), outcome(9, "succeeded")),
    ];
    const [age] = report([objective({ name: "unknownAge", within: 100 })], { record: aRecord(), rows, log }).objectives;
    expect(age).toMatchObject({ good: 1, total: 2, p50: 80, p99: 110 });
  });

  test("a step that a person has tried again, and a compensation that was cut off, go on too", () => {
    const retry = { what: "verb", verb: "retry", review: 1, by: "ann", payload: null } as const;
    const log = [
      entry(1, 0, { what: "sent", seq: 2 }, outcome(2, "not_applied")),
      entry(2, 10, { ...retry, verb: "probe" }, retry, { what: "sent", seq: 2 }),
      entry(3, 20, outcome(2, "not_applied")),
      entry(4, 30, { what: "undo", seq: 1, state: "sent" }, { what: "undo", seq: 1, state: "owed" }),
      entry(5, 40, { what: "interrupted", seq: 1 }, { what: "undo", seq: 1, state: "sent" }),
      entry(6, 50, { what: "undo", seq: 1, state: "done" }, { what: "sent", seq: 7 }),
      entry(7, 60, { what: "undo", seq: 1, state: "halted" }),
    ];
    const { resumptions } = report([], { record: aRecord(), rows, log });
    expect(resumptions).toEqual([
      { step: "charge", times: 1, succeeded: 0 },
      { step: "reserve", times: 1, succeeded: 1 },
    ]);
  });
});

describe("as it happens", () => {
  const standing = (call: Parameters<typeof aCall>[0], patch: Partial<Row> = {}) => ({
    record: aRecord({ createdAt: at }),
    rows: [aRow(1, { sentAt: at, ...call }, patch)],
  });

  test("an end is counted once, and what its calls met", () => {
    const was = standing({ state: "unknown", error: { kind: "interrupted", code: null, message: "", attempts: 1 } });
    const record = ended();
    const move = {
      before: was,
      record,
      rows: was.rows,
      entry: entry(2, 50, { what: "outcome", seq: 1, send: 1, outcome: "succeeded", proof: "probe" }),
    };
    expect(sloEvents(move, null).map(({ name, value }) => [name, value])).toEqual([
      ["completion", null],
      ["intervention", null],
      ["duplicates", null],
      ["latency", 500],
      ["unknownAge", 50],
      ["resumption", null],
    ]);
    expect(sloEvents({ ...move, before: { ...was, record } }, null)).toHaveLength(2);
    expect(sloEvents({ ...move, entry: entry(2, 50) }, "tokens").map(({ name }) => name)).toContain("cost");
  });

  test("a run that was undone later is judged by how it ended first, here and when its story is read", () => {
    const cause = { kind: "undone", step: null, message: "returned", reference: "ann" } as const;
    const unwind = { cause, at: at + 900, quiesceUntil: at + 900, ends: "failed", despitePivot: false } as const;
    const before = { record: ended({ status: "unwinding", endedAt: null, unwind }), rows: [] };
    const record = ended({ status: "failed", rollback: "complete", endedAt: at + 1_000, unwind });
    const last = { ...entry(9, 1_000), to: "failed" } as const;
    expect(sloEvents({ before, record, rows: [], entry: last }, "tokens")).toEqual([
      { name: "unwind", good: true, value: null, step: null },
    ]);
    const log = [{ ...entry(5, 500), to: "completed" } as const, { ...entry(7, 900), to: "unwinding" } as const, last];
    const objectives = [
      objective({}),
      objective({ name: "latency", within: 600 }),
      objective({ name: "unwind", target: 0.999 }),
    ];
    expect(report(objectives, { record, rows: [], log }).objectives).toMatchObject([
      { name: "completion", good: 1, total: 1 },
      { name: "latency", good: 1, total: 1, p99: 500 },
      { name: "unwind", good: 1, total: 1 },
    ]);
    // While it goes back it has ended once all the same; where the log says no more how, nothing is claimed of it.
    const still = { record: before.record, rows: [], log: log.slice(0, 2) };
    expect(report(objectives, still)).toMatchObject({
      ended: 0,
      objectives: [{ total: 1 }, { total: 1 }, { total: 0 }],
    });
    expect(report(objectives, { record, rows: [], log: [] }).objectives).toMatchObject([
      { total: 0 },
      { total: 0 },
      { total: 1 },
    ]);
  });

  test("an interruption is a recovery, of the compensation where that was under way", () => {
    const cut = entry(2, 70, { what: "interrupted", seq: 1 });
    const undo = { state: "sent", call: aCall({ state: "sent", sentAt: at + 50 }), reason: null } as const;
    const of = (was: ReturnType<typeof standing>) =>
      sloEvents({ before: was, record: aRecord(), rows: [], entry: cut }, null);
    expect(of(standing({ state: "sent" }))).toEqual([{ name: "recovery", good: true, value: 70, step: "reserve" }]);
    expect(of(standing({}, { undo }))).toMatchObject([{ value: 20 }]);
    expect(of(standing({ sentAt: null }))).toEqual([]);
    expect(of({ record: aRecord(), rows: [] })).toEqual([]);
  });

  test("a bound decides where there is one", () => {
    const event = { name: "latency", good: true, value: 5, step: null } as const;
    expect([isGood(objective({ within: 4 }), event), isGood(objective({ within: 5 }), event)]).toEqual([false, true]);
    expect(isGood(objective({ within: 4 }), { ...event, value: null, good: false })).toBe(false);
  });
});
