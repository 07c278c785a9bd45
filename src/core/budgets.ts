/**
 * What a run may use, and what it has used. Owns counting, the warning at a soft limit, the question to a person at a hard
 * one, and how that is raised.
 *
 * Invariants: B1 what was used is recorded, also past the limit and whatever became of the call that used it. B2 what is
 * reported under a key is counted once a row. B3 past a hard limit nothing is granted that would use more, going forward;
 * going back uses nothing. B4 only a person raises a limit, and never to what is used already.
 *
 * A child's use is its parent's: `remainingOf(parent, now)` is what a child may be given at most when it begins, and when its
 * word comes, the parent calls `addUse` with what it has used since the word before.
 */
import type { Json, SagaSpec, Uses } from "../saga/index.ts";
import { isOnItsWay } from "./deadlines.ts";
import type { DriverFact } from "./decision.ts";
import { hashOf } from "./digest.ts";
import { type Draft, note, patchRow } from "./draft.ts";
import { park } from "./reviews.ts";
import type { Row, RunRecord, VerbCommand } from "./run.ts";
import type { Budget } from "./run-people.ts";

/** Keys that are remembered of a row; of more the oldest are forgotten. */
const maxKeysOfRow = 1_000;

/** What a new run may use. */
export function newBudgets({ budgets }: SagaSpec, input: Json): RunRecord["budgets"] {
  if (budgets === null) return {};
  const specs = Object.entries(budgets({ input }));
  return Object.fromEntries(specs.map(([name, bounds]) => [name, { used: 0, ...bounds, warned: false }] as const));
}

type Counted = Pick<RunRecord, "budgets" | "startAt">;

/** What is left up to each hard limit, 0 at the least; `null`: there is none. */
export function remainingOf(record: Counted, now: number): Readonly<Record<string, number | null>> {
  const entries = Object.entries(record.budgets).map(([name, budget]) => {
    const { hard } = budget;
    return [name, hard === null ? null : Math.max(0, hard - usedOf(record, name, budget, now))] as const;
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

function usedOf({ startAt }: Counted, name: string, { used }: Budget, now: number): number {
  return name === "time" ? Math.max(0, now - startAt) : used;
}

function isUsedUp({ hard }: Budget, used: number): boolean {
  return hard !== null && used >= hard;
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

function counterOf({ tool }: Row): "steps" | "toolCalls" {
  return tool === null ? "steps" : "toolCalls";
}

const unbounded: Budget = { used: 0, soft: null, hard: null, warned: false };

function count(draft: Draft, name: string, amount: number): number {
  const budget = draft.record.budgets[name] ?? unbounded;
  const used = budget.used + amount;
  put(draft, name, { ...budget, used });
  return used;
}

function put(draft: Draft, name: string, budget: Budget): void {
  draft.record.budgets = { ...draft.record.budgets, [name]: budget };
}

/** Says once that a soft limit is reached. */
function warn(draft: Draft, name: string, used: number): void {
  const budget = draft.record.budgets[name] as Budget; // it was counted just now
  if (budget.soft === null || budget.warned || used < budget.soft) return;
  put(draft, name, { ...budget, used, warned: true });
  note(draft, { what: "budget", name, used, passed: "soft" });
}

// ---- at the limit

/** May the row's action be granted, as far as budgets go? Where not, the run is parked. */
export function fitsBudgets(draft: Draft, row: Row): boolean {
  const { record, input } = draft;
  for (const [name, budget] of Object.entries(record.budgets)) {
    const used = usedOf(record, name, budget, input.now);
    if (!isUsedUp(budget, used) || !wouldUse(row, name)) continue;
    parkUsedUp(draft, name, budget, used);
    return false;
  }
  return true;
}

/** A repeat is no new step; of anything else a call may use more. */
function wouldUse(row: Row, name: string): boolean {
  if (name !== "steps" && name !== "toolCalls") return true;
  return name === counterOf(row) && row.call.firstSentRevision === null;
}

function parkUsedUp(draft: Draft, name: string, budget: Budget, used: number): void {
  const { hard } = budget;
  put(draft, name, { ...budget, used });
  note(draft, { what: "budget", name, used, passed: "hard" });
  const message = `the budget ${name} is used up: ${used} of ${hard}. Nothing goes on before somebody raises it`;
  park(draft, {
    reason: "budget",
    message,
    seq: null,
    side: null,
    evidence: { budget: name, used, hard },
    verbs: ["raise"],
  });
}

/** Time is used by passing. */
export function keepTime(draft: Draft): void {
  const budget = draft.record.budgets["time"];
  if (budget === undefined || !isOnItsWay(draft)) return;
  const used = usedOf(draft.record, "time", budget, draft.input.now);
  warn(draft, "time", used);
  const { time = budget } = draft.record.budgets;
  if (isUsedUp(time, used)) parkUsedUp(draft, "time", time, used);
}

/** What the record says of time is true as of its last commit. */
export function countTime({ record, input }: Draft): void {
  const { time } = record.budgets;
  if (time !== undefined)
    record.budgets = { ...record.budgets, time: { ...time, used: usedOf(record, "time", time, input.now) } };
}

/** When the run is to be looked at because of the time that it may use. */
export function timeBudgetTime(draft: Draft): number {
  const budget = draft.record.budgets["time"];
  const never = Number.POSITIVE_INFINITY;
  if (budget === undefined || !isOnItsWay(draft)) return never;
  const { soft, hard, warned } = budget;
  return draft.record.startAt + Math.min(warned ? never : (soft ?? never), hard ?? never);
}

// ---- raising it

type Raise = Pick<Extract<VerbCommand, { readonly verb: "raise" }>, "budget" | "to">;

/** Why the hard limit is not raised so; `null`: it can be. */
export function objectionToRaise(record: Counted, { budget: name, to }: Raise, now: number): string | null {
  const budget = record.budgets[name];
  if (budget === undefined || budget.hard === null) {
    const bounded = Object.keys(record.budgets).filter((each) => record.budgets[each]?.hard !== null);
    return `it has no budget ${name} with a hard limit, but ${bounded.join(", ") || "none"}`;
  }
  const used = usedOf(record, name, budget, now);
  return Number.isFinite(to) && to > used ? null : `${used} of ${name} is used: it is raised to more than that`;
}

/** Gives a budget a new hard limit; answers why not. */
export function raise(draft: Draft, command: Raise): string | null {
  const { record, input } = draft;
  const problem = objectionToRaise(record, command, input.now);
  if (problem !== null) return problem;
  const { budget: name, to } = command;
  const budget = record.budgets[name] as Budget; // or there was an objection
  put(draft, name, { ...budget, hard: to });
  note(draft, { what: "budget", name, used: usedOf(record, name, budget, input.now), raised: to });
  return null;
}
