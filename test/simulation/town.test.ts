/**
 * The simulation again, with sagas put together by chance and a town of people who decide, cancel, pause, signal and move their
 * runs while workers die: what was approved is what was done, turns and budgets hold, and families stay whole.
 */
import { describe, expect, it } from "vitest";
import type { Fact } from "../../src/core/index.ts";
import { type SeedReport, simulateSeed } from "./simulate.ts";

const size = process.env["REPRISE_SIZE"] ?? "short";
const seeds = { quick: 10, short: 40, full: 1_000 }[size] ?? 40;
const batch = 10;

function expectClean(reports: readonly SeedReport[]): void {
  const broken = reports.filter(({ violations }) => violations.length > 0);
  expect(broken.map(({ seed, violations }) => [`seed ${seed}`, ...violations].join("\n"))).toEqual([]);
}

describe("where people meddle with everything what was approved is done, once, within its bounds", () => {
  const happened = new Set<string>();
  const onFact = (fact: Fact) => {
    if (fact.fact !== "committed") return;
    for (const each of fact.entry.taken) {
      if (each.what === "approval") happened.add(`approval ${each.state}`);
      if (each.what === "turn_taken") happened.add(`turn ${each.state}`);
      if (each.what === "control") happened.add(`${each.control} ${each.mode ?? ""}`.trim());
      if (each.what === "budget" && each.raised !== undefined) happened.add("raised");
      if (each.what === "migrated" && each.base !== undefined) happened.add("migrated");
      if (each.what === "deadline") happened.add(each.seq === null ? "deadline of a run" : "deadline of a row");
    }
  };
  for (let first = 40_000; first < 40_000 + seeds; first += batch) {
    it(`seeds ${first} to ${first + batch - 1}`, async () => {
      const reports: SeedReport[] = [];
      for (let seed = first; seed < first + batch; seed += 1) {
        reports.push(await simulateSeed({ seed, town: true, onFact }));
      }
      expectClean(reports);
    });
  }

  it("and all that people may do was done", () => {
    const words = [
      "approve",
      "edit",
      "reject",
      "ask_back",
      "delegate",
      "escalated",
      "expired",
      "refused",
      "not_needed",
    ];
    const controls = ["cancel", "cancel stop", "cancel kill", "pause", "resume", "undo"];
    const all = [...words.map((word) => `approval ${word}`), ...controls, "turn waiting", "turn freed", "raised"];
    const wanted = [...all, "migrated", "deadline of a run"];
    // Few seeds have no room for all of it.
    if (seeds >= 40) expect([...happened]).toEqual(expect.arrayContaining(wanted));
  });
});
