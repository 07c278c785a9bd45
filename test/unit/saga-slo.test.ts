/** Objectives are declared whole, or refused with what is wrong. */
import { expect, test } from "vitest";
import { z } from "zod";
import { saga, step } from "../../src/index.ts";
import { type SloOptions, sloOf } from "../../src/saga/slo.ts";
import { sloAlertRules } from "../../src/telemetry/index.ts";

const hour = 3_600_000;

test("shares that are to be kept small are told by what is good, bounds in ms, a share of 0.95 unless it is said", () => {
  expect(sloOf(undefined)).toBeNull();
  expect(
    sloOf({ intervention: 0.02, latency: { within: "1h" }, cost: { budget: "tokens", within: 9, for: 0.5 } }),
  ).toEqual({
    windowMs: 720 * hour,
    objectives: [
      { name: "intervention", target: 0.98, within: null, budget: null },
      { name: "latency", target: 0.95, within: hour, budget: null },
      { name: "cost", target: 0.5, within: 9, budget: "tokens" },
    ],
  });
  expect(sloOf({ window: "1h", unwind: 0.9 })?.windowMs).toBe(hour);
});

test.each<[string, unknown]>([
  ["slo.completion: 1 is no share", { completion: 1 }],
  ["slo.unwind: 0 is no share", { unwind: 0 }],
  ["slo.speed: is no objective", { speed: 0.9 }],
  ["slo.latency: it is 0", { latency: { within: 0 } }],
  ["slo.cost.budget", { cost: { budget: "to kens", within: 1 } }],
  ["slo.cost: it is -1", { cost: { budget: "tokens", within: -1 } }],
])("%s", (message, options) => {
  // What no compiler has checked.
  expect(() => sloOf(options as SloOptions)).toThrow(message);
});

const sagaOf = (version: number, slo?: SloOptions) =>
  saga("order", { version, input: z.object({}), ...(slo === undefined ? {} : { slo }) })
    .step(step("look", { input: z.object({}), effect: "none", action: () => null }), () => ({}))
    .build();

test("a saga whose objectives are wrong is refused with all that is", () => {
  expect(() => sagaOf(1, { completion: 7 })).toThrow("slo.completion: 7 is no share");
});

test("the newest version of a saga gives rules with two windows for each burn rate", () => {
  const { groups } = sloAlertRules([sagaOf(2, { completion: 0.99 }), sagaOf(1, { unwind: 0.5 })]);
  expect(groups.map(({ name, rules }) => [name, rules.length])).toEqual([["reprise-slo-order", 3]]);
  const [fast, , slow] = groups[0]?.rules ?? [];
  const share = (window: string) =>
    `sum by (reprise_ns) (rate(reprise_slo_events_total{saga="order",objective="completion",verdict="bad"}[${window}])) / sum by (reprise_ns) (rate(reprise_slo_events_total{saga="order",objective="completion"}[${window}]))`;
  expect(fast).toMatchObject({
    alert: "RepriseSloBurn",
    expr: `${share("1h")} > 0.144 and ${share("5m")} > 0.144`,
    labels: { severity: "page", saga: "order", objective: "completion" },
  });
  expect(slow?.expr).toContain("[3d])) > 0.01 and ");
  expect(sloAlertRules([sagaOf(1)])).toEqual({ groups: [] });
});
