/** What is observed in buckets is told by a registry as prom-client's own histogram would tell it. */
import { Histogram, type Metric, Registry } from "prom-client";
import { expect, test } from "vitest";
import { Timings } from "../../src/telemetry/timings.ts";

const bounds = [0.01, 0.1, 1];
const observed = [
  { step: "charge", seconds: [0.005, 0.01, 0.0100001, 0.5, 7] },
  { step: 'a "quoted" one', seconds: [1] },
];

function byPromClient(): Registry {
  const registry = new Registry();
  const of = { name: "took_seconds", help: "how long", labelNames: ["step"], buckets: bounds, registers: [registry] };
  const histogram = new Histogram(of);
  for (const { step, seconds } of observed) for (const value of seconds) histogram.observe({ step }, value);
  return registry;
}

function byTimings(): Registry {
  const registry = new Registry();
  const timings = new Timings("took_seconds", { help: "how long", labels: ["step"] }, bounds);
  for (const { step, seconds } of observed) for (const value of seconds) timings.add(timings.under({ step }), value);
  registry.registerMetric(timings as unknown as Metric); // as metrics.ts does
  return registry;
}

test("durations are told as a histogram of prom-client tells them", async () => {
  const [own, theirs] = [byTimings(), byPromClient()];
  for (const registry of [own, theirs]) registry.setDefaultLabels({ reprise_ns: "test" });
  expect(await own.metrics()).toBe(await theirs.metrics());
  const values = async (registry: Registry) => (await registry.getMetricsAsJSON()).map((metric) => metric.values);
  expect((await values(own)).flat().map(({ labels, value }) => ({ labels, value }))).toEqual(
    (await values(theirs)).flat().map(({ labels, value }) => ({ labels, value })),
  );
});

test("what has no labels is told of before anything is observed", async () => {
  const registry = new Registry();
  registry.registerMetric(new Timings("took_seconds", { help: "how long", labels: [] }, bounds) as unknown as Metric);
  const theirs = new Registry();
  new Histogram({ name: "took_seconds", help: "how long", buckets: bounds, registers: [theirs] });
  expect(await registry.metrics()).toBe(await theirs.metrics());
});
