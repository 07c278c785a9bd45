/** The simulation again, with runs that start runs: one invariant more, that of their families. */
import { describe, expect, it } from "vitest";
import { type SeedReport, simulateSeed } from "./simulate.ts";

const size = process.env["REPRISE_SIZE"] ?? "short";
const seeds = { quick: 20, short: 40, full: 1_000 }[size] ?? 40;
const batch = 20;

describe("where runs start runs nothing is forgotten, doubled or taken for undone", () => {
  let undone = 0;
  let parked = 0;
  const trace = (line: string) => {
    if (line.includes(`"control":"undo","by":"run `)) undone += 1;
    if (line.includes('"what":"child"') && line.includes("needs_review")) parked += 1;
  };
  for (let first = 70_000; first < 70_000 + seeds; first += batch) {
    it(`seeds ${first} to ${first + batch - 1}`, async () => {
      const reports: SeedReport[] = [];
      for (let seed = first; seed < first + batch; seed += 1) {
        reports.push(await simulateSeed({ seed, parenting: true, trace }));
      }
      const broken = reports.filter(({ violations }) => violations.length > 0);
      expect(broken.map(({ seed, violations }) => [`seed ${seed}`, ...violations].join("\n"))).toEqual([]);
    });
  }

  it("and children were parked, and undone with their parents", () => {
    expect([undone > 0, parked > 0]).toEqual([true, true]);
  });
});
