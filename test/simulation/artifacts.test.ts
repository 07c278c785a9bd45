/** The simulation again, with every value kept as an artifact: runs that miss one do nothing until it is back. */
import { describe, expect, it } from "vitest";
import { type SeedReport, simulateSeed } from "./simulate.ts";

const size = process.env["REPRISE_SIZE"] ?? "short";
const seeds = { quick: 10, short: 60, full: 600 }[size] ?? 60;
const batch = 10;

describe("where values are lost now and then every invariant holds", () => {
  let parked = 0;
  const trace = (line: string) => {
    if (line.includes('"fact":"committed"') && line.includes("parked") && line.includes("missing_artifact"))
      parked += 1;
  };
  for (let first = 70_000; first < 70_000 + seeds; first += batch) {
    it(`seeds ${first} to ${first + batch - 1}`, async () => {
      const reports: SeedReport[] = [];
      for (let seed = first; seed < first + batch; seed += 1) {
        reports.push(await simulateSeed({ seed, losing: true, trace }));
      }
      const broken = reports.filter(({ violations }) => violations.length > 0);
      expect(broken.map(({ seed, violations }) => [`seed ${seed}`, ...violations].join("\n"))).toEqual([]);
    });
  }

  it("and runs were parked for it, and came to their end", () => {
    expect(parked).toBeGreaterThan(seeds / 10);
  });
});
