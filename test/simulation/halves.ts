/**
 * The simulation as tests: one mix of all kinds of seeds, in two halves for two cores. The model looks at every commit and the checker at
 * every end; together the seeds of a half must have met what they are for. A failing one says how to repeat it.
 */
import { describe, expect, it } from "vitest";
import type { Fact, Taken } from "../../src/core/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { type Kind, kindOf, kinds } from "./kinds.ts";
import { type CrashPoint, crashPoints } from "./points.ts";
import { type SeedReport, simulateSeed } from "./simulate.ts";

const batch = 40;

/** Seeds of one half, by the size of the run. */
export function halfOf({ quick }: { readonly quick: number }): number {
  return { quick, full: 5_000 }[process.env["REPRISE_SIZE"] ?? "short"] ?? 1_000;
}

/** Declares the tests of so many seeds; `meetAll`: they hit every crash point there is, and do all that people may do. */
export function playSeeds(first: number, count: number, { meetAll }: { readonly meetAll: boolean }): void {
  /** What happened in all of them, in words. */
  const happened = new Set<string>();
  const reports: SeedReport[] = [];

  describe("under crash, delay, loss and late effects every invariant holds after every commit", () => {
    for (let from = first; from < first + count; from += batch) {
      it(`seeds ${from} to ${from + batch - 1}`, async () => {
        for (let seed = from; seed < from + batch; seed += 1) {
          reports.push(await expectClean(kindOf(seed), seed, happened));
        }
      });
    }

    it("every way to end was reached, and workers died everywhere (I1, I2, I3, I4, I5, I6, I7, I8)", () => {
      const ends = new Set(reports.flatMap((report) => Object.keys(report.check.byStatus)));
      expect([...ends].sort()).toEqual(["cancelled", "completed", "failed"]);
      expect(new Set(reports.flatMap((report) => Object.keys(report.deaths))).size).toBeGreaterThan(8);
      leaveEvidence(["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8"], evidenceOf(reports));
    });

    it.runIf(meetAll)("every crash point that a simulation can hit was hit", () => {
      const missed = crashPoints.filter((point) => reports.every(({ hits }) => hits[point] === 0));
      expect(missed satisfies readonly CrashPoint[]).toEqual([]);
    });

    it.runIf(meetAll)("and all that people may do was done", () => {
      expect(allThatPeopleDo.filter((word) => !happened.has(word))).toEqual([]);
    });
  });
}

/** Plays a seed, and fails with how to repeat it where an invariant was broken. */
export async function expectClean(kind: Kind, seed: number, happened = new Set<string>()): Promise<SeedReport> {
  const onFact = (fact: Fact) => {
    if (fact.fact !== "committed") return;
    for (const taken of fact.entry.taken) for (const word of wordsOf(taken)) happened.add(word);
    if (fact.record.review?.reason === "missing_artifact") happened.add("missing");
  };
  const report = await simulateSeed({ ...kinds[kind], seed, onFact });
  expect(report.violations.length === 0 ? "" : told(kind, report)).toBe("");
  return report;
}

function told(kind: Kind, { seed, derived, violations }: SeedReport): string {
  const repeat = `repeat: npm run sim -- --kind ${kind} --seed ${seed} --trace`;
  return [`${kind} seed ${seed} ${JSON.stringify(derived)}`, ...violations, repeat].join("\n");
}

function evidenceOf(reports: readonly SeedReport[]) {
  const sum = (of: (report: SeedReport) => number): number => reports.reduce((total, report) => total + of(report), 0);
  const arrivals = sum((report) => report.check.arrivals);
  const effects = sum((report) => report.check.effects);
  const [runs, commits] = [sum((report) => report.check.runs), sum((report) => report.commits)];
  const checks = [`${reports.length} seeds, ${runs} runs, ${commits} commits judged, three witnesses compared`];
  return { arrivals, effects, checks };
}

const allThatPeopleDo: readonly string[] = [
  ...["close", "compensate", "discard", "resolve", "retry", "rewind", "skip"],
  ...["cancel", "cancel stop", "cancel kill", "pause", "resume", "undo"],
  ...["approve", "edit", "reject", "ask_back", "delegate", "escalated", "expired", "refused", "not_needed"].map(
    (word) => `approval ${word}`,
  ),
  ...["turn waiting", "turn freed", "raised", "migrated", "deadline of a run", "reused", "missing"],
  ...["undone by its parent", "child needs_review"],
];

function wordsOf(taken: Taken): readonly string[] {
  switch (taken.what) {
    case "approval":
      return [`approval ${taken.state}`];
    case "turn_taken":
      return [`turn ${taken.state}`];
    case "control":
      return [
        taken.control,
        `${taken.control} ${taken.mode ?? ""}`.trim(),
        ...(isFamily(taken) ? ["undone by its parent"] : []),
      ];
    case "verb":
      return [taken.verb];
    case "budget":
      return taken.raised === undefined ? [] : ["raised"];
    case "migrated":
      return taken.base === undefined ? [] : ["migrated"];
    case "deadline":
      return [taken.seq === null ? "deadline of a run" : "deadline of a row"];
    case "intent":
      return [taken.state];
    case "child":
      return [`child ${taken.status}`];
    default:
      return [];
  }
}

function isFamily({ control, by }: Extract<Taken, { readonly what: "control" }>): boolean {
  return control === "undo" && by.startsWith("run ");
}
