/**
 * The objectives of a saga as its author writes them. Owns their names, the defaults and what is refused;
 * `core/telling/slo.ts` owns what counts as good and what does not.
 *
 * Invariant: what leaves here is whole: every target is a share of events that are to be good, every bound a number.
 */
import { RepriseError } from "../errors.ts";
import { budgetNameProblem } from "./bounds.ts";
import { type Duration, durationMs } from "./duration.ts";
import type { ObjectiveSpec, SloName, SloSpec } from "./spec.ts";

/** A bound, and the share of events (0.95 unless given) that are to be within it. */
export interface SloBound<Limit = number> {
  readonly within: Limit;
  readonly for?: number;
}

/** What is promised of the runs of a saga. Shares are from 0 to 1, neither of them included; what is left out is not promised. */
export interface SloOptions {
  /** Over how long it is computed: `"30d"`. */
  readonly window?: Duration;
  /** At least this share of the runs that end completes, and no person had to step in. */
  readonly completion?: number;
  /** At most this share of the runs that end had been parked for a person. */
  readonly intervention?: number;
  /** At most this share of the runs that end would have done something twice, had it not been prevented. */
  readonly duplicates?: number;
  /** How long a run that completes takes from its start, waits included. */
  readonly latency?: SloBound<Duration>;
  /** What a run that ends has used of a budget. */
  readonly cost?: SloBound & { readonly budget: string };
  /** From when a call that a crash has cut off was sent until another worker goes on. */
  readonly recovery?: SloBound<Duration>;
  /** From when a call was sent whose outcome was unknown until it is known. */
  readonly unknownAge?: SloBound<Duration>;
  /** At least this share of the unwinds that end has undone everything. */
  readonly unwind?: number;
  /** At least this share of the calls that a crash has cut off comes to a good end. */
  readonly resumption?: number;
}

const standardWindowMs = 30 * 24 * 3_600_000;
const standardShare = 0.95;

/** Shares that are to be kept small: their target is that of the others. */
const atMost: readonly SloName[] = ["intervention", "duplicates"];
const shares = ["completion", "intervention", "duplicates", "unwind", "resumption"] as const;
const times = ["latency", "recovery", "unknownAge"] as const;

/** Throws DEFINITION_INVALID. */
export function sloOf(options: SloOptions | undefined): SloSpec | null {
  if (options === undefined) return null;
  const { window, cost } = options;
  const unknown = Object.keys(options).filter((name) => !isKnown(name));
  if (unknown.length > 0) throw invalid(unknown.join(", "), "is no objective");
  return {
    windowMs: window === undefined ? standardWindowMs : boundOf("window", durationMs(window, "slo.window")),
    objectives: [
      ...shares.flatMap((name) => shareObjective(name, options[name])),
      ...times.flatMap((name) => timeObjective(name, options[name])),
      ...(cost === undefined ? [] : [costObjective(cost)]),
    ],
  };
}

function isKnown(name: string): boolean {
  return ["window", "cost", ...shares, ...times].includes(name);
}

function shareObjective(name: SloName, share: number | undefined): readonly ObjectiveSpec[] {
  if (share === undefined) return [];
  const target = shareOf(name, share);
  // Without the noise of binary fractions: 1 - 0.02 is 0.98.
  const good = atMost.includes(name) ? Number((1 - target).toFixed(9)) : target;
  return [{ name, target: good, within: null, budget: null }];
}

function timeObjective(name: SloName, bound: SloBound<Duration> | undefined): readonly ObjectiveSpec[] {
  if (bound === undefined) return [];
  const within = boundOf(name, durationMs(bound.within, `slo.${name}.within`));
  return [{ name, target: shareOf(name, bound.for ?? standardShare), within, budget: null }];
}

function costObjective({ budget, within, for: share = standardShare }: SloBound & { budget: string }): ObjectiveSpec {
  const problem = budgetNameProblem(budget);
  if (problem !== null) throw invalid(`cost.budget ${JSON.stringify(budget)}`, problem);
  return { name: "cost", target: shareOf("cost", share), within: boundOf("cost", within), budget };
}

function boundOf(name: string, bound: number): number {
  if (Number.isFinite(bound) && bound > 0) return bound;
  throw invalid(name, `it is ${String(bound)}; write more than 0`);
}

function shareOf(name: string, share: number): number {
  if (share > 0 && share < 1) return share;
  throw invalid(name, `${String(share)} is no share between 0 and 1: no error budget would be left`);
}

function invalid(what: string, problem: string): RepriseError {
  return new RepriseError("DEFINITION_INVALID", `slo.${what}: ${problem}`, { details: { what, problem } });
}
