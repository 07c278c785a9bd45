/**
 * What children use is used by their parent. Owns what each is given of its parent's budgets, when it is given more, and how what
 * it has used is counted.
 *
 * A child begins with a share: so much as its step says, else a tenth of the parent's limit, at most what is free. It is written to
 * the parent's row before the child exists, so what is given to one is not given to another. When it is used up the child goes on
 * with nothing that would use more, and says so; the parent gives another share, and where nothing is free it asks its own parent,
 * or at the top a person. What a child that has ended did not use is free again.
 *
 * Invariants: H1 what was given never exceeds the limit. H2 a share only grows, so it may be told twice, late and in any order.
 * H3 what a child has used is counted in the commit that keeps how it was seen: once. H4 a child's own limits are its own: only a
 * person raises them, and no share does. H5 a detached child is bounded by itself alone, and counted nowhere else.
 */
import { isClear } from "../calls/clearance.ts";
import { consume, type Draft, note, patchCall, patchRow, rowAt, stepOf } from "../draft.ts";
import { nextOf } from "../rows.ts";
import type { Amounts, Budget, InboxBody, InboxEntry, Row, RowChild, RunRecord, Shares } from "../run/index.ts";
import { parkUsedUp } from "./budget-limits.ts";
import { addUse, isOverShare, put, unbounded, usedOf } from "./budgets.ts";
import { isOnItsWay } from "./deadlines.ts";
import { freeOf, given, heldUpBy, limitOf, roomOf, wantedBy } from "./room.ts";

/** What a child is given at a time of a budget that its step does not name, as a part of its parent's limit. */
const usualPart = 1 / 10;

/** Names that a run counts for its children, beside its own; more are left to the child's own record. */
const maxNames = 50;

// ---- the parent gives

/** Writes what a child that is about to be started may use. */
export function giveShares(draft: Draft, row: Row): void {
  const { record } = draft;
  const isBounded = stepOf(draft, row).child?.detached === false && Object.keys(record.budgets).length > 0;
  if (!isBounded || row.child !== null || row.shares !== undefined) return;
  const shares = Object.keys(record.budgets).map((name) => [name, firstShare(draft, row, name)] as const);
  patchRow(draft, row.seq, { shares: Object.fromEntries(shares) });
  for (const [name, share] of shares) if (share !== null) tell(draft, row, name, share);
}

function firstShare(draft: Draft, row: Row, name: string): number | null {
  if (limitOf(budgetOf(draft, name)) === Number.POSITIVE_INFINITY) return null;
  return name === "time" ? Math.max(0, freeOf(draft, name)) : partOf(draft, row, name);
}

/** So much at a time, at most what is free. */
function partOf(draft: Draft, row: Row, name: string): number {
  const limit = limitOf(budgetOf(draft, name));
  const part = stepOf(draft, row).child?.share[name] ?? limit * usualPart;
  const whole = name === "steps" || name === "toolCalls" ? Math.ceil(part) : part;
  return Math.max(0, Math.min(whole, freeOf(draft, name)));
}

function tell(draft: Draft, { seq }: Row, name: string, share: number): void {
  note(draft, { what: "budget", name, used: usedNow(draft, name), seq, share });
}

/** Gives more to the children that want more; where nothing is free, whoever may give more is asked. */
export function shareOut(draft: Draft): void {
  if (draft.stopping || !isOnItsWay(draft)) return;
  for (const seq of draft.open) {
    for (const name of wantedBy(rowAt(draft, seq))) {
      if (draft.record.review !== null) return;
      giveMore(draft, rowAt(draft, seq), name);
    }
  }
}

function giveMore(draft: Draft, row: Row, name: string): void {
  const room = roomOf(draft, name);
  if (room === "none") return askForChild(draft, row, name);
  if (room !== "some") return;
  const { shares = {}, seq } = row;
  const share = name === "time" ? timeLeftFor(draft, row) : given(shares, name) + partOf(draft, row, name);
  patchRow(draft, seq, { shares: { ...shares, [name]: share } });
  tell(draft, row, name, share);
  patchCall(draft, { seq, side: "action" }, { nextAt: draft.input.now });
}

/** Counted from when the child was started. */
function timeLeftFor(draft: Draft, { call }: Row): number {
  // It has been seen, so it was sent.
  return draft.record.startAt + limitOf(budgetOf(draft, "time")) - (call.firstSentAt as number);
}

function askForChild(draft: Draft, { child }: Row, name: string): void {
  parkUsedUp(draft, name, `; run ${child?.run}, which it has started, wants more`);
}

// ---- the parent counts

/** What a child has used since it was last seen. */
export function countChildUse(draft: Draft, known: RowChild | null, seen: RowChild): void {
  const before = known?.used ?? {};
  const uses = Object.entries(seen.used ?? {}).map(([name, used]) => [name, used - (before[name] ?? 0)] as const);
  addUse(draft, Object.fromEntries(uses.filter(([name, amount]) => amount > 0 && isCounted(draft.record, name))));
}

function isCounted({ budgets }: RunRecord, name: string): boolean {
  if (budgets[name] !== undefined) return true;
  return name !== "steps" && name !== "toolCalls" && Object.keys(budgets).length < maxNames;
}

// ---- the child

/** The budgets of a run that another one starts. */
export function withShares(own: RunRecord["budgets"], shares: Shares | undefined): RunRecord["budgets"] {
  const given = Object.entries(shares ?? {}).map(([name, share]) => {
    const budget = own[name] ?? unbounded;
    return [name, share === null ? budget : { ...budget, share }] as const;
  });
  return { ...own, ...Object.fromEntries(given) };
}

/** What a run says to its parent of its budgets. */
export function reportOf({ budgets }: RunRecord): Pick<RowChild, "used" | "short"> {
  const entries = Object.entries(budgets);
  const used = entries.flatMap(([name, budget]) => (name === "time" || budget.used === 0 ? [] : [[name, budget.used]]));
  const short = entries.flatMap(([name, budget]) => (budget.short === true ? [[name, budget.share]] : []));
  return {
    ...(used.length === 0 ? {} : { used: Object.fromEntries(used) as Amounts }),
    ...(short.length === 0 ? {} : { short: Object.fromEntries(short) as Amounts }),
  };
}

/** What of a row's shares its child has not heard of; `null`: it knows all. */
export function sharesUnheard({ shares = {} }: Row, { budgets }: RunRecord): Amounts | null {
  const unheard = Object.entries(shares).filter(([name, share]) => isMore(share, budgets[name]));
  return unheard.length === 0 ? null : (Object.fromEntries(unheard) as Amounts);
}

function isMore(share: number | null, known: Budget | undefined): boolean {
  return share !== null && known?.share !== undefined && share > known.share;
}

/** Its parent says what it may use. */
export function takeShares(draft: Draft, entry: InboxEntry, { shares }: Extract<InboxBody, { type: "share" }>): void {
  consume(draft, entry);
  for (const [name, share] of Object.entries(shares)) {
    const budget = draft.record.budgets[name];
    if (budget?.share === undefined || share <= budget.share) continue;
    put(draft, name, { ...budget, share });
    note(draft, { what: "budget", name, used: usedNow(draft, name), share });
  }
}

/** Says of which budgets the run wants more than its share, as long as it does. */
export function askForMore(draft: Draft): void {
  const shared = Object.entries(draft.record.budgets).filter(([, { share }]) => share !== undefined);
  if (shared.length === 0) return;
  const wanted = isOnItsWay(draft) ? wantedNames(draft) : new Set<string>();
  for (const [name, budget] of shared) {
    const isShort = wanted.has(name);
    if (isShort === (budget.short === true)) continue;
    const { short: _, ...rest } = budget;
    put(draft, name, isShort ? { ...rest, short: true } : rest);
    draft.writes += 1;
  }
}

/** By calls that are held up, by an action that has used more than was given, and by children of its own. */
function wantedNames(draft: Draft): ReadonlySet<string> {
  const rows = draft.open.map((seq) => rowAt(draft, seq));
  const held = rows.filter((row) => isClear(draft, row, "action") && nextOf(row.call) <= draft.input.now);
  const names = [
    ...held.flatMap((row) => heldUpBy(draft, row).flatMap(({ name, room }) => (room === "asks" ? [name] : []))),
    ...rows.flatMap((row) => wantedBy(row).filter((name) => roomOf(draft, name) === "asks")),
    ...(rows.some(isOut) ? Object.keys(draft.record.budgets).filter((name) => isPastShare(budgetOf(draft, name))) : []),
  ];
  return new Set(names);
}

/** An action that may wait for what it has said that it used. */
function isOut({ kind, call }: Row): boolean {
  return kind === "call" && call.state === "sent";
}

/** (Time passes by itself, and is wanted only where a call is held up: `used` does not count it.) */
function isPastShare(budget: Budget): boolean {
  return isOverShare(budget) && limitOf(budget) !== budget.hard;
}

function usedNow(draft: Draft, name: string): number {
  return usedOf(draft.record, name, budgetOf(draft, name), draft.input.now);
}

function budgetOf({ record }: Draft, name: string): Budget {
  // Asked only of budgets that the run has.
  return record.budgets[name] as Budget;
}
