/**
 * What is left of a run's budgets, for itself and for the runs that it starts. Owns reading that; changes nothing.
 *
 * A child is given a share (`shares.ts`). As long as it may go forward, what it has not used of that is promised: nobody else
 * uses it. So a run and all that is below it never begin a call with more than the hard limit of the run at the top.
 *
 * Invariants: R1 used, promised and free are together the limit, or more is used than that (by a call that was begun below
 * it), and then nothing is free. R2 time is promised to nobody: it passes for all at once.
 */
import { type Draft, rowAt } from "../draft.ts";
import { isFinal } from "../rows.ts";
import type { Budget, Row, Shares } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import { counterOf, usedOf } from "./budgets.ts";

/**
 * Where a run stands with a budget. `some`: it may use more. `promised`: what is left is promised to children that are at work,
 * and comes back or is used. `asks`: its share is used up, its parent is asked. `none`: a person is.
 */
export type Room = "some" | "promised" | "asks" | "none";

/** Of a budget that the run has. */
export function roomOf(draft: Draft, name: string): Room {
  const budget = budgetOf(draft, name);
  if (freeOf(draft, name) > 0) return "some";
  const isUsed = usedOf(draft.record, name, budget, draft.input.now) >= limitOf(budget);
  if (!isUsed && holders(draft, name).some((row) => isAtWork(draft, row, name))) return "promised";
  return budget.share !== undefined && (budget.hard === null || budget.share < budget.hard) ? "asks" : "none";
}

/** Amounts need not be whole numbers: less than this part of a limit is nothing. */
const tiny = 1e-9;

/** What nobody has used and nobody was promised. */
export function freeOf(draft: Draft, name: string): number {
  const budget = budgetOf(draft, name);
  const limit = limitOf(budget);
  if (!Number.isFinite(limit)) return limit;
  const free = limit - usedOf(draft.record, name, budget, draft.input.now) - promisedOf(draft, name);
  return free > limit * tiny ? free : Math.min(0, free);
}

/** The most that may be used; infinite where there is no bound. */
export function limitOf({ hard, share }: Budget): number {
  return Math.min(hard ?? Number.POSITIVE_INFINITY, share ?? Number.POSITIVE_INFINITY);
}

/** What children may still use of their shares. */
export function promisedOf(draft: Draft, name: string): number {
  return holders(draft, name).reduce((sum, row) => sum + unusedOf(row, name), 0);
}

/** Runs of children to which some of it is promised. */
export function holders(draft: Draft, name: string): readonly Row[] {
  if (name === "time") return [];
  return draft.open.map((seq) => rowAt(draft, seq)).filter((row) => unusedOf(row, name) > 0);
}

function unusedOf({ shares, call, child }: Row, name: string): number {
  const share = shares?.[name] ?? 0;
  if (isFinal(call) || (child !== null && hasEnded(child.status))) return 0;
  return Math.max(0, share - (child?.used?.[name] ?? 0));
}

/** As it was last seen; one that was not is begun. (One that wants more of it has promised what it has left to others.) */
function isAtWork(draft: Draft, row: Row, name: string): boolean {
  const { child, shares } = row;
  return child?.rests !== true && child?.short?.[name] !== shares?.[name] && !isHeldUp(draft, row);
}

/** Does it wait for more of a budget of which nothing is free? It uses nothing meanwhile of what it was promised of others. */
function isHeldUp(draft: Draft, row: Row): boolean {
  return row.child?.status === "waiting" && wantedBy(row).some((name) => freeOf(draft, name) <= 0);
}

/** Of which budgets does its child want more than it was given? (One that has not heard of its share yet wants nothing.) */
export function wantedBy({ call, child, shares = {} }: Row): readonly string[] {
  if (call.state !== "planned" || child?.short === undefined) return [];
  const short = Object.entries(child.short);
  return short.filter(([name, share]) => given(shares, name) <= share).map(([name]) => name);
}

/** Of a budget that its child is short of: it is short of nothing but what it was given a share of. */
export function given(shares: Shares, name: string): number {
  return shares[name] as number;
}

/**
 * Is the row's action held up although nobody is asked: because of what was promised to others, or until its parent has answered?
 * (Going back has no bounds.)
 */
export function waitsForRoom(draft: Draft, row: Row): boolean {
  return heldUpBy(draft, row).length > 0;
}

/** By which budgets. */
export function heldUpBy(draft: Draft, row: Row): readonly { readonly name: string; readonly room: Room }[] {
  if (draft.record.unwind !== null || row.call.state !== "planned") return [];
  return Object.keys(draft.record.budgets)
    .filter((name) => wouldUse(row, name))
    .map((name) => ({ name, room: roomOf(draft, name) }))
    .filter(({ room }) => room === "promised" || room === "asks");
}

/** A repeat is no new step, and to look at a run that was started is none at all; of anything else a call may use more. */
export function wouldUse(row: Row, name: string): boolean {
  if (row.kind === "child" && row.call.firstSentAt !== null) return false;
  if (name !== "steps" && name !== "toolCalls") return true;
  return name === counterOf(row) && row.call.firstSentRevision === null;
}

function budgetOf({ record }: Draft, name: string): Budget {
  // Asked only of budgets that the run has.
  return record.budgets[name] as Budget;
}
