/**
 * What happens at a hard limit: nothing that would use more is granted, the run is parked, and a person may raise it.
 *
 * Invariants: H1 only going forward is bounded: going back uses nothing. H2 only a person raises a limit, and never to what is
 * used already. H3 a run that is parked for one budget may be parked for the next when that is raised.
 */

import { type Draft, note } from "../draft.ts";
import { park } from "../people/reviews.ts";
import type { Budget, Row, VerbCommand } from "../run/index.ts";
import { type Counted, put, usedOf, warn } from "./budgets.ts";
import { isOnItsWay } from "./deadlines.ts";
import { promisedOf, roomOf, wouldUse } from "./room.ts";

/** May the row's action be granted, as far as hard limits go? Where not, the run is parked. */
export function fitsBudgets(draft: Draft, row: Row): boolean {
  for (const name of Object.keys(draft.record.budgets)) {
    if (!wouldUse(row, name) || roomOf(draft, name) !== "none") continue;
    parkUsedUp(draft, name);
    return false;
  }
  return true;
}

/** Asks a person. `why`: who wants more, where it is not the run itself. */
export function parkUsedUp(draft: Draft, name: string, why = ""): void {
  const budget = draft.record.budgets[name] as Budget; // or nothing of it were used up
  const used = usedOf(draft.record, name, budget, draft.input.now);
  const promised = promisedOf(draft, name);
  const { hard } = budget;
  put(draft, name, { ...budget, used });
  note(draft, { what: "budget", name, used, passed: "hard" });
  const isPromised = promised > 0 ? ` (and ${promised} promised to runs that wait)` : "";
  const message = `the budget ${name} is used up: ${used} of ${hard}${isPromised}${why}. Nothing goes on before somebody raises it`;
  const evidence = { budget: name, used, hard, ...(promised > 0 ? { promised } : {}) };
  park(draft, { reason: "budget", message, seq: null, side: null, evidence, verbs: ["raise"] });
}

/** Time is used by passing. */
export function keepTime(draft: Draft): void {
  const budget = draft.record.budgets["time"];
  if (budget === undefined || !isOnItsWay(draft)) return;
  const used = usedOf(draft.record, "time", budget, draft.input.now);
  warn(draft, "time", used);
  if (isUsedUp(budget, used)) parkUsedUp(draft, "time");
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
  const budget = Object.hasOwn(record.budgets, name) ? record.budgets[name] : undefined;
  if (budget === undefined || budget.hard === null) {
    const bounded = Object.keys(record.budgets).filter((each) => record.budgets[each]?.hard !== null);
    return `it has no budget ${name} with a hard limit, but ${bounded.join(", ")}`;
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

function isUsedUp({ hard }: Budget, used: number): boolean {
  return hard !== null && used >= hard;
}
