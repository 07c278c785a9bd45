/**
 * The simulation: one mix of all kinds of seeds, as many as the size of the run allows. The model looks at every commit and the checker at
 * every end; together the seeds must have met what they are for. A failing one says how to repeat it.
 */
import { describe, expect, it } from "vitest";
import type { Fact, Taken } from "../../src/core/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { type Kind, kindOf, kinds } from "./kinds.ts";
import { pinned } from "./pinned.ts";
import { type CrashPoint, crashPoints } from "./points.ts";
import { type SeedReport, simulateSeed } from "./simulate.ts";

const size = process.env["REPRISE_SIZE"] ?? "short";
const seeds = { quick: 40, short: 2_000, full: 10_000 }[size] ?? 2_000;
const first = 1_000;
const batch = 40;
/** So many make it sure that they have met everything. */
const many = 1_000;

/** What happened in all of them, in words. */
const happened = new Set<string>();
const reports: SeedReport[] = [];

async function play(kind: Kind, seed: number): Promise<SeedReport> {
  const onFact = (fact: Fact) => {
    if (fact.fact !== "committed") return;
    for (const taken of fact.entry.taken) for (const word of wordsOf(taken)) happened.add(word);
    if (fact.record.review?.reason === "missing_artifact") happened.add("missing");
  };
  return await simulateSeed({ ...kinds[kind], seed, onFact });
}

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

function told(kind: Kind, { seed, derived, violations }: SeedReport): string {
  const repeat = `repeat: npm run sim -- --kind ${kind} --seed ${seed} --trace`;
  return [`${kind} seed ${seed} ${JSON.stringify(derived)}`, ...violations, repeat].join("\n");
}

async function expectClean(kind: Kind, seed: number): Promise<SeedReport> {
  const report = await play(kind, seed);
  expect(report.violations.length === 0 ? "" : told(kind, report)).toBe("");
  return report;
}

describe("under crash, delay, loss and late effects every invariant holds after every commit", () => {
  for (let from = first; from < first + seeds; from += batch) {
    it(`seeds ${from} to ${from + batch - 1}`, async () => {
      for (let seed = from; seed < from + batch; seed += 1) {
        reports.push(await expectClean(kindOf(seed), seed));
      }
    });
  }

  it("every way to end was reached, and workers died everywhere (I1, I2, I3, I4, I5, I6, I7, I8)", () => {
    const ends = new Set(reports.flatMap((report) => Object.keys(report.check.byStatus)));
    expect([...ends].sort()).toEqual(["cancelled", "completed", "failed"]);
    expect(new Set(reports.flatMap((report) => Object.keys(report.deaths))).size).toBeGreaterThan(8);
    const sum = (of: (report: SeedReport) => number): number =>
      reports.reduce((total, report) => total + of(report), 0);
    const arrivals = sum((report) => report.check.arrivals);
    const effects = sum((report) => report.check.effects);
    const [runs, commits] = [sum((report) => report.check.runs), sum((report) => report.commits)];
    const checks = [`${reports.length} seeds, ${runs} runs, ${commits} commits judged, three witnesses compared`];
    leaveEvidence(["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8"], { arrivals, effects, checks });
  });

  // Few seeds have no room for all of it.
  it.runIf(seeds >= many)("every crash point that a simulation can hit was hit", () => {
    const missed = crashPoints.filter((point) => reports.every(({ hits }) => hits[point] === 0));
    expect(missed satisfies readonly CrashPoint[]).toEqual([]);
  });

  it.runIf(seeds >= many)("and all that people may do was done", () => {
    const verbs = ["close", "compensate", "discard", "resolve", "retry", "rewind", "skip"];
    const controls = ["cancel", "cancel stop", "cancel kill", "pause", "resume", "undo"];
    const said = ["approve", "edit", "reject", "ask_back", "delegate", "escalated", "expired", "refused", "not_needed"];
    const others = ["turn waiting", "turn freed", "raised", "migrated", "deadline of a run", "reused", "missing"];
    const families = ["undone by its parent", "child needs_review"];
    const all = [...verbs, ...controls, ...said.map((word) => `approval ${word}`), ...others, ...families];
    expect(all.filter((word) => !happened.has(word))).toEqual([]);
  });
});

describe.runIf(pinned.length > 0)("a seed that found a fault finds it no more", () => {
  it.each(pinned)("$kind seed $seed: $found", async ({ kind, seed }) => {
    await expectClean(kind, seed);
  });
});
