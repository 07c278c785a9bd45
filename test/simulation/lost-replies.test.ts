/** A commit whose answer is lost has landed: sent again with its id it is answered DUP, and nobody notices. */
import { expect, it } from "vitest";
import { calm } from "./fates.ts";
import { simulateSeed } from "./simulate.ts";

it.each([1, 2, 3, 4, 5, 6])("a lost reply parks nothing and interrupts nothing (seed %i)", async (seed) => {
  const seen: string[] = [];
  const report = await simulateSeed({
    seed,
    rates: { ...calm, loseReply: 0.2 },
    worldFaults: 0,
    meddling: false,
    trace: (line) => seen.push(line),
  });
  expect(report.violations).toEqual([]);
  expect(seen.filter((line) => line.includes("the connection broke after it was done")).length).toBeGreaterThan(0);
  expect(seen.filter((line) => /"what":"(interrupted|parked)"|"fact":"(stale|fenced)"/.test(line))).toEqual([]);
});
