/**
 * The bounds of a saga as its author writes them: how long a run may take, what it may use, how often it may ask for the same
 * call. Owns the defaults and what is refused; `core/bounds/deadlines.ts`, `core/bounds/budgets.ts` and `core/bounds/loops.ts` own what follows.
 *
 * Invariant: what leaves here is whole: numbers that can be counted up to, times in ms.
 */
import { RepriseError } from "../errors.ts";
import { type Duration, durationMs } from "./duration.ts";
import type { BudgetSpec, SagaSpec } from "./spec.ts";

/** A soft limit warns, a hard one makes the run wait for a person. Either may be left out. */
export interface BudgetLimits<Limit = number> {
  readonly soft?: Limit;
  readonly hard?: Limit;
}

/**
 * What a run may use. `steps` (calls that the machine has begun, repeats apart), `toolCalls` (the same of tools) and `time`
 * (since its start, waits included) count by themselves; everything else by `spend` in an action, in a unit of your own.
 */
export interface BudgetOptions {
  readonly steps?: BudgetLimits;
  readonly toolCalls?: BudgetLimits;
  readonly time?: BudgetLimits<Duration>;
  readonly [name: string]: BudgetLimits<Duration> | undefined;
}

/** How long a run may take from its start, and what then. */
export interface DeadlineOptions {
  readonly after: Duration;
  /** `"compensate"` (default): it turns round; past a point of no return it is parked. `"review"`: a person decides. */
  readonly then?: "compensate" | "review";
}

/**
 * The same call so often in one run, and a person is asked, unless the saga says otherwise. No retry policy comes near it,
 * an agent that repeats itself is stopped after minutes, and a loop that polls on purpose says how often it may.
 */
export const standardLoopLimit = 100;

/** Names that are counted by themselves. */
export const countedBudgets: readonly string[] = ["steps", "toolCalls", "time"];
const namePattern = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;
const maxBudgets = 20;

/** Why a budget cannot be called so; `null`: it can. */
export function budgetNameProblem(name: string): string | null {
  if (namePattern.test(name) && !(name in {})) return null;
  return "it is 1 to 32 letters, digits and _, begins with a letter, and is no name that every object has";
}

/** Throws DEFINITION_INVALID. */
export function deadlineOf(options: DeadlineOptions | undefined): SagaSpec["deadline"] {
  if (options === undefined) return null;
  const { after, then = "compensate" } = options;
  if (then !== "compensate" && then !== "review") {
    throw invalid("deadline.then", `it is ${JSON.stringify(then)}; write "compensate" or "review"`);
  }
  return { ms: positiveMs(after, "deadline.after"), then };
}

/** A length of time that is more than nothing. Throws DEFINITION_INVALID. */
export function positiveMs(duration: Duration, what: string): number {
  const ms = durationMs(duration, what);
  if (ms > 0) return ms;
  throw invalid(what, "it is 0: write a length of time, or leave it out");
}

/** Throws DEFINITION_INVALID. */
export function loopLimitOf(limit: number | false | undefined): number | null {
  if (limit === false) return null;
  const often = limit ?? standardLoopLimit;
  if (Number.isInteger(often) && often >= 1) return often;
  throw invalid("loopLimit", `it is ${String(limit)}; write a whole number from 1, or false for no limit`);
}

/** Bounds that are the same for all runs are judged at once, those that follow from the input when a run is started. */
export function budgetsOf(
  options: BudgetOptions | ((view: { readonly input: unknown }) => BudgetOptions) | undefined,
): SagaSpec["budgets"] {
  if (options === undefined) return null;
  if (typeof options === "function") return (view) => specsOf(options(view));
  const specs = specsOf(options);
  return () => specs;
}

function specsOf(options: BudgetOptions): Readonly<Record<string, BudgetSpec>> {
  const entries = Object.entries(options).flatMap(([name, limits]) =>
    limits === undefined ? [] : [[name, limits] as const],
  );
  if (entries.length > maxBudgets) throw invalid("budget", `it has ${entries.length} names; the most is ${maxBudgets}`);
  return Object.freeze(Object.fromEntries(entries.map(([name, limits]) => [name, specOf(name, limits)] as const)));
}

function specOf(name: string, { soft, hard }: BudgetLimits<Duration>): BudgetSpec {
  const wrong = budgetNameProblem(name);
  if (wrong !== null) throw invalid(`budget ${JSON.stringify(name)}`, wrong);
  const spec = { soft: limitOf(name, "soft", soft), hard: limitOf(name, "hard", hard) };
  if (spec.soft === null || spec.hard === null || spec.soft <= spec.hard) return spec;
  throw invalid(`budget.${name}`, `its soft limit ${spec.soft} is above its hard limit ${spec.hard}`);
}

function limitOf(name: string, which: "soft" | "hard", limit: Duration | undefined): number | null {
  if (limit === undefined) return null;
  const what = `budget.${name}.${which}`;
  if (name === "time") return positiveMs(limit, what);
  const fits = name === "steps" || name === "toolCalls" ? Number.isInteger(limit) : Number.isFinite(limit);
  if (typeof limit === "number" && fits && limit >= 0) return limit;
  throw invalid(what, `it is ${JSON.stringify(limit)}; write a number from 0 (lengths of time are for \`time\` alone)`);
}

function invalid(what: string, problem: string): RepriseError {
  return new RepriseError("DEFINITION_INVALID", `${what}: ${problem}`, { details: { what, problem } });
}
