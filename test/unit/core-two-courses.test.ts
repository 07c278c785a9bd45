/** One ledger of what a store has and what somebody remembers: row by row, without a run around it. */
import { expect, test } from "vitest";
import { joined } from "../../src/core/change/two-courses.ts";
import type { Call, Row, Undo } from "../../src/core/index.ts";
import { aRow } from "../support/records.ts";

const planned: Partial<Call> = { state: "planned", attempt: 0, send: 0, firstSentAt: null, firstSentRevision: null };
const sent = (send: number, at: number, more: Partial<Call> = {}): Partial<Call> => ({
  state: "sent",
  attempt: send,
  send,
  firstSentAt: at,
  firstSentRevision: 2,
  sentAt: at,
  deadline: at + 100,
  ...more,
});
const undo = (call: Partial<Call> | null, state: Undo["state"]): Undo => ({
  state,
  call: call === null ? null : aRow(1, call).call,
  reason: null,
});

function callOf(row: Partial<Call>, twin: Partial<Call>): Call | undefined {
  return joined([aRow(1, row)], [aRow(1, twin)])[0]?.call;
}

test("a row of which the other course says nothing more is the very row's call", () => {
  const row = aRow(1, sent(1, 10));
  expect(joined([row], [])[0]).toBe(row);
  expect(joined([row], [aRow(1, sent(1, 10))])[0]?.call).toBe(row.call);
  expect(joined([row], [aRow(1, planned)])[0]?.call).toBe(row.call);
});

test("of one send a proof that it did nothing counts; of two each may have happened", () => {
  const nothing = { ...sent(1, 10), state: "not_applied", deadline: null } as const;
  expect(callOf(sent(1, 10), nothing)).toMatchObject({ state: "not_applied", doubtUntil: null });
  expect(callOf(nothing, sent(1, 10))).toMatchObject({ state: "not_applied" });
  expect(callOf(nothing, sent(1, 20))).toMatchObject({ state: "sent", sentAt: 20, firstSentAt: 10 });
  expect(callOf(sent(1, 10), sent(2, 30, { firstSentAt: 25 }))).toMatchObject({ send: 2, doubtUntil: 110 });
  // What was sent again after it knows what became of the first send.
  expect(callOf(sent(1, 10), sent(2, 30, { firstSentAt: 10 }))).toMatchObject({ send: 2, doubtUntil: null });
  expect(callOf(sent(2, 30, { firstSentAt: 10 }), sent(1, 10))).toMatchObject({ send: 2, doubtUntil: null });
});

test("whoever may still send it in either may, unless it has happened or the word is on the same send", () => {
  const [ann, bob] = [
    { send: 1, owner: "ann" },
    { send: 1, owner: "bob" },
  ];
  const by = (...senders: Call["senders"]) => ({ senders });
  expect(callOf(sent(1, 10, by(ann)), sent(1, 20, by(ann, bob)))).toMatchObject(by(ann, bob));
  const own = aRow(1, sent(1, 10, by(ann))).call;
  expect(callOf(own, { ...sent(1, 20), state: "not_applied", ...by(bob) })?.senders).toBe(own.senders);
  expect(callOf(sent(1, 10, by(ann)), sent(1, 10, by(bob)))).toMatchObject(by(ann));
  expect(callOf(sent(2, 30, by(ann)), { ...sent(1, 10), state: "succeeded", ...by() })).toMatchObject(by());
});

test("that it happened counts before everything, and no send number is given twice", () => {
  const done = { ...sent(1, 10), state: "succeeded", deadline: null } as const;
  expect(callOf(sent(3, 50), done)).toMatchObject({ state: "succeeded", send: 3, doubtUntil: 150 });
  expect(callOf(done, sent(3, 50))).toMatchObject({ state: "succeeded", send: 3, doubtUntil: 150 });
  expect(callOf({ ...done, send: 2 }, done)).toMatchObject({ state: "succeeded", send: 2 });
  expect(callOf(planned, { state: "reused", send: 0, firstSentAt: null })).toMatchObject({ state: "planned" });
  expect(callOf({ state: "claiming" }, done)).toMatchObject({ state: "succeeded" });
});

test("an offer of a send is no doubt beside a word on it; a planned repeat may leave its send in doubt", () => {
  const nothing = { ...sent(1, 10), state: "not_applied", deadline: null } as const;
  expect(callOf(nothing, { state: "offered", send: 1, sentAt: 5 })).toMatchObject({ state: "not_applied" });
  expect(callOf(planned, { state: "offered", send: 1, sentAt: 5 })).toMatchObject({ state: "offered" });
  const inDoubt = { ...sent(1, 10), state: "planned", nextAt: 40 } as const;
  expect(callOf(planned, inDoubt)).toMatchObject({ state: "planned", deadline: 110 });
});

test("what has been undone in either is undone, what may have been may have been, and what was needless is judged anew", () => {
  const done = { ...sent(1, 10), state: "succeeded", deadline: null } as const;
  const undone = (own: Undo | null, theirs: Undo | null, call: Partial<Call> = done) =>
    joined([aRow(1, call, { undo: own })], [aRow(1, done, { undo: theirs })])[0]?.undo;
  const made = undo({ ...sent(1, 60), state: "succeeded" }, "done");
  const owed = undo(planned, "owed");
  expect(undone(null, made)).toEqual(made);
  expect(undone(null, owed)).toBeNull();
  expect(undone(null, undo(sent(1, 60), "sent"))).toMatchObject({ state: "sent", call: { state: "sent" } });
  expect(undone(owed, made)).toMatchObject({ state: "done", call: { state: "succeeded" } });
  expect(undone(made, owed)).toEqual(made);
  expect(undone(undo(null, "skipped"), owed)).toMatchObject({ state: "skipped" });
  expect(undone(undo(null, "not_needed"), null, { state: "not_applied" })).toBeNull();
  expect(undone(undo(null, "not_needed"), made, { state: "not_applied" })).toEqual(made);
});

test("what only the other course has comes after, is abandoned, and a tool stays with what asked for it", () => {
  const tool = { parent: 1, match: "m", asks: 1 };
  const ledger = (...rows: Row[]): readonly Row[] => rows.map((row, index) => ({ ...row, seq: index + 1 }));
  const agent = aRow(1, {}, { step: "agent" });
  const mail = aRow(2, {}, { step: "mail", tool, told: "outcome" });
  const other = aRow(1, {}, { step: "check" });
  const rows = joined(ledger(other), ledger(agent, mail));
  expect(rows.map(({ seq, step, abandoned, told }) => [seq, step, abandoned, told])).toEqual([
    [1, "check", false, null],
    [2, "agent", true, "nothing"],
    [3, "mail", true, "outcome"],
  ]);
  expect(rows[2]?.tool).toEqual({ parent: 2, match: "m~3", asks: 1 });
  expect(joined(ledger(agent), ledger(agent, mail))[1]?.tool).toEqual({ parent: 1, match: "m~2", asks: 1 });
});

test("a child that either has started is its child, and what either has counted as used is counted once", () => {
  const child = { run: "r1.1", status: "running", rollback: "none", revision: 1, why: null } as const;
  const [row] = joined([aRow(1, {}, { spent: ["a"] })], [aRow(1, {}, { child, spent: ["a", "b"] })]);
  expect(row).toMatchObject({ child, spent: ["a", "b"] });
});
