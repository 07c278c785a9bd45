/** `sagas/batch.ts` at its full size: 500 orders as runs of their own, over a real Redis. */
import { expect, inject, test } from "vitest";
import { batch } from "../../sagas/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { settings } from "../support/fault-plan.ts";
import { top } from "./top.ts";

const orders = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `o-${at}`, sku: "A", cents: 100 + at, email: "a@example.com" }));
const mailTo = "office@example.com";
/** How often the world did each thing. */
function tally(world: ReturnType<typeof top>["world"]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { service, action } of world.effects()) {
    counts[`${service}.${action}`] = (counts[`${service}.${action}`] ?? 0) + 1;
  }
  return counts;
}

/** (A cluster sees a few of them.) */
const isCluster = inject("shards") > 1 || inject("redisUrl").includes("cluster");
const size = isCluster ? 60 : 500;

test("500 orders are carried out, each once, and the batch holds no worker meanwhile", {
  timeout: 120_000,
}, async () => {
  const { client, world, worker } = top([batch]);
  await worker({ concurrency: 12, allowForgetfulStore: true });
  const run = await client.start(batch, { id: "b-1", orders: orders(size), email: mailTo }, { id: "b-1" });
  const result = await run.result({ timeout: "100s" });
  expect(result).toMatchObject({ orders: size });
  expect(tally(world)).toEqual({
    "stock.reserve": size,
    "payments.charge": size,
    "shipping.ship": size,
    "mail.send": size,
    "outbox.queue": 1,
  });
  const log = await run.log();
  expect(new Set(log.map(({ to }) => to))).toEqual(new Set(["running", "waiting", "completed"]));
  expect(log.length).toBeLessThan(2_600);
  leaveEvidence("CHILD-fanout", {
    arrivals: 4 * size + 1,
    effects: 4 * size + 1,
    checks: [`${log.length} revisions of the batch`],
  });
});

test.skipIf(isCluster)(
  "an order that is refused after 300: those are undone, the last one first",
  {
    timeout: 120_000,
  },
  async () => {
    const { client, world, worker } = top([batch]);
    world.fault({ service: "shipping", kind: "refuse", code: "no such address", fromArrival: 301, times: 1 });
    await worker({ concurrency: 12, allowForgetfulStore: true, settings: { quiesceMs: settings.quiesceMs } });
    const run = await client.start(batch, { id: "b-1", orders: orders(500), email: mailTo }, { id: "b-1" });
    await expect(run.result({ timeout: "100s" })).rejects.toMatchObject({ code: "RUN_FAILED", rollback: "complete" });
    const counts = tally(world);
    expect(counts["shipping.ship"]).toBeGreaterThanOrEqual(300);
    expect(counts["shipping.ship"]).toBeLessThan(315);
    expect(counts["shipping.recall"]).toBe(counts["shipping.ship"]);
    expect(counts["payments.refund"]).toBe(counts["payments.charge"]);
    expect(counts["stock.release"]).toBe(counts["stock.reserve"]);
    expect(counts["outbox.queue"]).toBeUndefined();
    // Ten at a time: what was shipped first is recalled at the very end.
    const { effects } = { effects: world.effects() };
    const shipped = effects
      .filter(({ action }) => action === "ship")
      .map(({ operationId }) => operationId.split("/")[2]);
    const recalled = effects
      .filter(({ action }) => action === "recall")
      .map(({ operationId }) => operationId.split("/")[2]);
    expect(recalled.slice(-50).every((id) => shipped.slice(0, 90).includes(id))).toBe(true);
  },
);
