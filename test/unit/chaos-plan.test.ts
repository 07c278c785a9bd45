/** How a round of chaos is planned, dealt and paced (test/chaos): pure, and the same for the same seed. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Deal } from "../chaos/deal.ts";
import { type Asked, forgets, planned } from "../chaos/options.ts";
import { Pace } from "../chaos/pace.ts";
import { pinned } from "../chaos/pinned.ts";
import { Random } from "../simulation/random.ts";
import type { Point } from "../support/fault-plan.ts";

const asked: Asked = { seed: 7, runs: 10_000, kills: 500, fsync: "everysec", together: false, without: [] };

describe("the schedule", () => {
  test("the same seed plans the same, another seed another order", () => {
    expect(planned(asked)).toEqual(planned(asked));
    expect(planned({ ...asked, seed: 8 }).schedule).not.toEqual(planned(asked).schedule);
  });

  test("everything is planned as often as it is said, and what forgets comes in no more windows than that", () => {
    const plan = planned(asked);
    for (const [trouble, count] of Object.entries(plan.counts))
      expect(plan.schedule.filter((each) => each === trouble)).toHaveLength(count);
    const begins = plan.schedule.filter(
      (each, n) => forgets(each, asked) && !forgets(plan.schedule[n - 1] ?? "kill", asked),
    );
    expect(begins).toHaveLength(plan.windows);
    expect(plan.windows).toBe(10);
  });

  test("under `always` a power loss forgets nothing, and strikes among the deaths", () => {
    expect(forgets("power-loss", { fsync: "always" })).toBe(false);
    expect(forgets("fail-over", { fsync: "always" })).toBe(true);
  });
});

describe("the deal", () => {
  const points: readonly Point[] = ["P04", "P05", "H04"];

  test("a point where nobody has died yet is dealt more often than the rest, and not for ever", () => {
    const deal = new Deal(points, new Random(1));
    const hits = new Set<Point>(["P04", "P05"]);
    const dealt = Array.from({ length: 30 }, () => deal.next(hits, new Set()));
    expect(dealt.slice(0, 4)).toEqual(["H04", "H04", "H04", "H04"]);
    expect(new Set(dealt)).toEqual(new Set(points));
  });

  test("nobody is sent to a point where somebody else is to die, while there are others", () => {
    const deal = new Deal(points, new Random(1));
    expect(deal.next(new Set(), new Set<Point>(["P04", "P05"]))).toBe("H04");
    expect(deal.next(new Set(), new Set(points))).not.toBeNull();
    expect(new Deal([], new Random(1)).next(new Set(), new Set())).toBeNull();
  });
});

describe("the pace", () => {
  test("the load goes on within what takes long, never beyond its part, and keeps some for the end", () => {
    let now = 0;
    const plan = planned({ ...asked, kills: 50 });
    const pace = new Pace(plan, () => now);
    const shares: number[] = [];
    for (const n of plan.schedule.keys()) {
      pace.begin(n);
      for (let step = 0; step < 10; step += 1) {
        now += 200;
        shares.push(pace.share);
      }
    }
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares.at(-1)).toBeLessThanOrEqual(0.92);
    expect(shares.at(-1)).toBeGreaterThan(0.87);
    const middle = shares[Math.floor(shares.length / 2)] ?? 0;
    expect(middle).toBeGreaterThan(0.3);
    expect(middle).toBeLessThan(0.7);
  });
});

test("a round that is pinned can be planned, and what it found is caught by tests that are there", () => {
  for (const { asked: round, tests } of pinned) {
    expect(planned({ ...asked, ...round }).schedule.length).toBeGreaterThan(round.kills);
    expect(tests.length).toBeGreaterThan(0);
    for (const file of tests) expect(existsSync(new URL(`../../${file}`, import.meta.url)), file).toBe(true);
  }
});
