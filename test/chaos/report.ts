/** What is told of a round: in words, with the bound that it gives, and as one object. */
import { execFileSync } from "node:child_process";
import type { Round } from "./round.ts";

export interface Summary {
  readonly runs: number;
  readonly kills: number;
  readonly violations: number;
  readonly completed: number;
  readonly parked: number;
  /** Workers that died at a planned point. */
  readonly crashPointHits: number;
  readonly recoveryP99Ms: number | null;
  readonly seconds: number;
  readonly verdict: "PASS" | "VIOLATION" | "VOID";
  readonly seed: number;
  readonly fsync: "always" | "everysec";
  readonly together: boolean;
  readonly failed: number;
  readonly cancelled: number;
  readonly restored: number;
  readonly forgottenSends: number;
  readonly crashPoints: Readonly<Record<string, number>>;
}

export function summaryOf(round: Round): Summary {
  const { asked, byStatus, crashPoints, voids, violations } = round;
  return {
    runs: asked.runs,
    kills: round.kills,
    violations: violations.length,
    completed: byStatus["completed"] ?? 0,
    parked: byStatus["needs_review"] ?? 0,
    crashPointHits: Object.values(crashPoints).reduce((sum, each) => sum + each, 0),
    recoveryP99Ms: percentile(round.recoveryMs, 0.99),
    seconds: round.seconds,
    verdict: violations.length > 0 ? "VIOLATION" : voids.length > 0 ? "VOID" : "PASS",
    seed: asked.seed,
    fsync: asked.fsync,
    together: asked.together,
    failed: byStatus["failed"] ?? 0,
    cancelled: byStatus["cancelled"] ?? 0,
    restored: round.restored,
    forgottenSends: round.forgottenSends,
    crashPoints,
  };
}

export function tellRound(round: Round): readonly string[] {
  const { asked, violations, voids, byStatus, crashPoints, mishaps } = round;
  const { verdict, recoveryP99Ms, kills } = summaryOf(round);
  const seen = `${round.arrivals} arrivals, ${round.effects} effects, ${round.restored} runs restored`;
  return [
    `seed ${asked.seed} at ${commit()}: ${JSON.stringify(asked)}`,
    `derived ${JSON.stringify(round.derived)}`,
    `mishaps ${JSON.stringify(mishaps)}, ${round.dropped} replies lost, ${round.races} races of operators`,
    `runs ${JSON.stringify(byStatus)}, ${round.expected} were expected to complete; ${seen}`,
    `crash points ${JSON.stringify(crashPoints)}`,
    `recovered within ${percentile(round.recoveryMs, 0.5)} ms (p50), ${recoveryP99Ms} ms (p99), of ${round.recoveryMs.length}`,
    `began within ${round.phaseSeconds[0]} s, faults for ${round.phaseSeconds[1]} s, at rest after ${round.phaseSeconds[2]} s, judged in ${round.phaseSeconds[3]} s`,
    `of the schedule it took, in ms: ${JSON.stringify(round.spentMs)}`,
    `checked ${round.checks.join(", ")}`,
    ...violations.flatMap(({ what, timeline }) => [`VIOLATION ${what}`, ...timeline.map((line) => `    ${line}`)]),
    ...voids.map((why) => `VOID ${why}`),
    ...(verdict === "PASS" ? [boundOf(round, kills)] : [`repeat: ${repeatOf(round)}`]),
    ...(asked.together ? [`${round.forgottenSends} sends were forgotten by store and processes together`] : []),
    ...(round.books === null ? [] : [`the books of the round: ${round.books}`]),
    `${verdict} ${asked.runs} runs, ${kills} kills, ${round.violations.length} violations, ${round.seconds} s`,
  ];
}

/** What no violation in so many says: the rule of three. */
function boundOf({ asked }: Round, kills: number): string {
  const bound = (n: number) => (n === 0 ? "1" : (3 / n).toExponential(1));
  return `no violation in n independent trials bounds the rate at 3/n (95 %): ${bound(asked.runs)} a run, ${bound(kills)} a kill; not zero`;
}

function repeatOf({ asked }: Round): string {
  const { seed, runs, kills, fsync, together, without } = asked;
  const more = `${together ? " --together" : ""}${without.length > 0 ? ` --without ${without.join(",")}` : ""}`;
  return `npm run chaos -- --seed ${seed} --runs ${runs} --kills ${kills} --fsync ${fsync}${more}`;
}

/** Of sorted values. */
function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
}

function commit(): string {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty"], { encoding: "utf8", stdio: "pipe" }).trim();
  } catch {
    return "an unknown commit";
  }
}
