/** The simulation again, with runs that want one effect together, and actions that use tools. */
import { describe, expect, it } from "vitest";
import { type SeedReport, simulateSeed } from "./simulate.ts";

const size = process.env["REPRISE_SIZE"] ?? "short";
const seeds = { quick: 20, short: 120, full: 1_000 }[size] ?? 120;
const batch = 20;

describe("where runs share an effect it is made once at a time, and every invariant holds", () => {
  let reused = 0;
  const trace = (line: string) => {
    if (line.includes('"state":"reused"')) reused += 1;
  };
  for (let first = 90_000; first < 90_000 + seeds; first += batch) {
    it(`seeds ${first} to ${first + batch - 1}`, async () => {
      const reports: SeedReport[] = [];
      for (let seed = first; seed < first + batch; seed += 1) {
        reports.push(await simulateSeed({ seed, sharing: true, trace }));
      }
      const broken = reports.filter(({ violations }) => violations.length > 0);
      expect(broken.map(({ seed, violations }) => [`seed ${seed}`, ...violations].join("\n"))).toEqual([]);
    });
  }

  it("and runs went by what others had done", () => {
    expect(reused).toBeGreaterThan(seeds / 4);
  });
});
