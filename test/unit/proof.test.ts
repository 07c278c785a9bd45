/** The table of planted bugs tells of every bug that is planted, and of none that is not; and that each was found by what claims it. */
import { expect, test } from "vitest";
import { plantedBugs } from "../planted/bugs.ts";
import { foundInTable } from "../planted/table.ts";

const table = foundInTable();

test("every planted bug stands in docs/proof.md, in order", () => {
  expect(table.map(({ bug }) => bug)).toEqual(plantedBugs.map(({ name }) => name));
});

test.each(table)("$bug was found by a suite that claims it", ({ bug, by, seeds }) => {
  const claimed = plantedBugs.find(({ name }) => name === bug)?.claimed ?? [];
  expect(claimed).toContain(by);
  const isSeed = by === "test/simulation/seeds.test.ts";
  expect(isSeed ? seeds : null, "how many seeds it took").toBe(seeds);
  if (isSeed) expect(seeds).toBeGreaterThan(0);
});
