/** What an action may say it has used: names that can be budgets and are not counted by themselves, amounts from 0. */
import type { Facts, LogEntry, RunRef } from "../core/index.ts";
import { budgetNameProblem, countedBudgets, type Uses } from "../saga/index.ts";

/** Names that a run counts, at most. */
const maxNames = 50;

export const spendsNothing = "only an action that is on no named queue says what it used";

/** Why it cannot be counted beside what is; `null`: it can. Its author may be nobody whom a compiler has checked. */
export function problemOf(uses: Uses, known: Readonly<Record<string, unknown>>): string | null {
  if (typeof uses !== "object" || uses === null) return "it is not an object of amounts by name";
  for (const [name, amount] of Object.entries(uses)) {
    const problem = countedBudgets.includes(name) ? "it is counted by itself" : budgetNameProblem(name);
    if (problem !== null) return `${JSON.stringify(name)}: ${problem}`;
    if (!Number.isFinite(amount) || amount < 0) return `${name} is ${String(amount)}; an amount is a number from 0`;
  }
  const names = new Set([...Object.keys(known), ...Object.keys(uses)]).size;
  return names <= maxNames ? null : `with it the run counts ${names} names; the most is ${maxNames}`;
}

/** Tells that a budget has come to a limit, as it is committed. */
export function tellBudgets(facts: Facts, run: RunRef, { taken }: LogEntry): void {
  for (const each of taken) {
    if (each.what !== "budget" || each.passed === undefined) continue;
    const { name, used, passed } = each;
    facts.emit({ fact: "budget", run, name, used, passed });
  }
}
