/**
 * What a run may use, and what it has used. Owns counting, and the warning at a soft limit; `budget-limits.ts` owns what
 * happens at a hard one.
 *
 * Invariants: B1 what was used is recorded, also past the limit and whatever became of the call that used it. B2 what is
 * reported under a key is counted once a row.
 * (What children may use, and how theirs is counted, is `shares.ts`'s.)
 */
import type { Json, SagaSpec, Uses } from "../../saga/index.ts";
import type { DriverFact } from "../decision.ts";
import { hashOf } from "../digest.ts";
import { type Draft, note, patchRow } from "../draft.ts";
import type { Budget, Row, RunRecord } from "../run/index.ts";

/** Keys that are remembered of a row; of more the oldest are forgotten. */
const maxKeysOfRow = 1_000;

/** What a new run may use. */
export function newBudgets({ budgets }: SagaSpec, input: Json): RunRecord["budgets"] {
  if (budgets === null) return {};
  const specs = Object.entries(budgets({ input }));
  return Object.fromEntries(specs.map(([name, bounds]) => [name, { used: 0, ...bounds, warned: false }] as const));
}

export type Counted = Pick<RunRecord, "budgets" | "startAt">;

/** What is left up to each limit, 0 at the least; `null`: there is none. What was promised to children is not taken off. */
export function remainingOf(record: Counted, now: number): Readonly<Record<string, number | null>> {
  const entries = Object.entries(record.budgets).map(([name, budget]) => {
    const limit = Math.min(budget.hard ?? Number.POSITIVE_INFINITY, budget.share ?? Number.POSITIVE_INFINITY);
    const isBounded = Number.isFinite(limit);
    return [name, isBounded ? Math.max(0, limit - usedOf(record, name, budget, now)) : null] as const;
  });
  return Object.fromEntries(entries);
}

/** The first of these budgets whose hard limit was passed; `null`: none. */
export function passedBy(record: Counted, uses: Uses): { readonly name: string; readonly budget: Budget } | null {
  for (const name of Object.keys(uses)) {
    const budget = record.budgets[name];
    if (budget !== undefined && budget.hard !== null && budget.used > budget.hard) return { name, budget };
  }
  return null;
}

/** Was more used of one of these than the run's parent has given? Whoever has used it waits until that has given more. */
export function isOverShareOf(record: Counted, uses: Uses): boolean {
  return Object.keys(uses).some((name) => record.budgets[name] !== undefined && isOverShare(record.budgets[name]));
}

export function isOverShare({ used, share }: Budget): boolean {
  return share !== undefined && used > share;
}

/** Time is used by passing; everything else as it is counted. */
export function usedOf({ startAt }: Counted, name: string, { used }: Budget, now: number): number {
  return name === "time" ? Math.max(0, now - startAt) : used;
}

// ---- counting

/** Adds what was used by an action, or by a child. What nobody bounds is counted too. */
export function addUse(draft: Draft, uses: Uses): void {
  for (const [name, amount] of Object.entries(uses)) {
    const used = count(draft, name, amount);
    note(draft, { what: "budget", name, used });
    warn(draft, name, used);
  }
}

/** Takes what an action reports. */
export function takeSpend(draft: Draft, { seq, uses, key }: Extract<DriverFact, { type: "spend" }>): void {
  const row = draft.rows[seq - 1];
  if (row === undefined) return;
  const { spent = [] } = row;
  const mark = key === null ? null : hashOf(key);
  if (mark !== null && spent.includes(mark)) return;
  if (mark !== null) patchRow(draft, seq, { spent: [...spent, mark].slice(-maxKeysOfRow) });
  addUse(draft, uses);
}

/** A call of the machine, or of an action, is begun for the first time. */
export function countGrant(draft: Draft, row: Row): void {
  const name = counterOf(row);
  if (draft.record.budgets[name] !== undefined) warn(draft, name, count(draft, name, 1));
}

/** It was not begun after all. */
export function takeBackGrant(draft: Draft, row: Row): void {
  const name = counterOf(row);
  if (draft.record.budgets[name] !== undefined) count(draft, name, -1);
}

/** By which budget a first call of the row is counted. */
export function counterOf({ tool }: Row): "steps" | "toolCalls" {
  return tool === null ? "steps" : "toolCalls";
}

/** What is counted and has no limit. */
export const unbounded: Budget = { used: 0, soft: null, hard: null, warned: false };

function count(draft: Draft, name: string, amount: number): number {
  const budget = draft.record.budgets[name] ?? unbounded;
  const used = budget.used + amount;
  put(draft, name, { ...budget, used });
  return used;
}

/** Writes a budget. */
export function put(draft: Draft, name: string, budget: Budget): void {
  draft.record.budgets = { ...draft.record.budgets, [name]: budget };
}

/** Says once that a soft limit is reached. */
export function warn(draft: Draft, name: string, used: number): void {
  const budget = draft.record.budgets[name] as Budget; // it was counted just now
  if (budget.soft === null || budget.warned || used < budget.soft) return;
  put(draft, name, { ...budget, used, warned: true });
  note(draft, { what: "budget", name, used, passed: "soft" });
}

/** What the record says of time is true as of its last commit. */
export function countTime({ record, input }: Draft): void {
  const { time } = record.budgets;
  if (time !== undefined)
    record.budgets = { ...record.budgets, time: { ...time, used: usedOf(record, "time", time, input.now) } };
}
