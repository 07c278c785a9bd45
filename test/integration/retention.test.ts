/** Runs that have ended are deleted when their time is over, by workers over a real Redis, and nothing of them is left. */
import { Redis } from "ioredis";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { saga, stepsFor } from "../../src/index.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { effectsOf, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });
const charge = step("charge", {
  input: Id,
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  action: ({ input, operationId, services }) =>
    services.payments.charge({ orderId: input.id, cents: 7 }, { operationId }),
  compensate: ({ output, operationId, services }) => services.payments.refund(output, { operationId }),
});
const look = step("look", { input: Id, effect: "none", action: () => null });
// Long enough to be asked for its result.
const brief = { version: 1, input: Id, retention: 1_000 } as const;
const order = saga("order", brief)
  .step(charge, ({ input }) => input)
  .build();
const glance = saga("glance", brief)
  .step(look, ({ input }) => input)
  .build();
const kept = saga("kept", { version: 1, input: Id })
  .step(look, ({ input }) => input)
  .build();
const swept = { settings: { retentionSweepMs: 50 } } as const;

/** Everything in Redis that bears the id, in names of keys and in lists. */
async function tracesOf(namespace: string, id: string): Promise<readonly string[]> {
  const redis = new Redis(inject("redisUrl"));
  onTestFinished(() => redis.disconnect());
  const traces: string[] = [];
  for await (const keys of redis.scanStream({ match: `*reprise:${namespace}:*` })) {
    for (const key of keys as string[]) {
      if (key.includes(id)) traces.push(key);
      else if (key.endsWith(":gone")) continue;
      else if ((await redis.type(key)) === "zset" && (await redis.zrange(key, "0", "-1")).join().includes(id))
        traces.push(`a member of ${key}`);
    }
  }
  return traces;
}

describe.runIf(inject("shards") === 1)("a run whose time is over", () => {
  test("I16 is gone from Redis with all that was kept of it, and one that is kept is not", async () => {
    const { namespace, client, worker, world } = top([order, kept]);
    await worker(swept);
    const run = await client.start(order, { id: "o-1" }, { id: "over-1" });
    await run.result({ timeout: "20s" });
    await (await client.start(kept, { id: "o-2" }, { id: "kept-1" })).result({ timeout: "20s" });
    await until(async () => (await tracesOf(namespace, "over-1")).length === 0);
    expect((await tracesOf(namespace, "kept-1")).length).toBeGreaterThan(0);
    await expect(run.get()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(effectsOf(world)).toEqual(["payments.charge"]);
    const [{ arrivals = 0, effects = 0 } = {}] = world.counts();
    leaveEvidence("I16", { arrivals, effects, checks: ["no key and no member of a list bears the id of the run"] });
  });

  test("keeps its id to itself: another run would make its calls again under the same operation ids", async () => {
    const { namespace, client, worker, world } = top([order]);
    await worker(swept);
    await (await client.start(order, { id: "o-1" }, { id: "once" })).result({ timeout: "20s" });
    await until(async () => (await tracesOf(namespace, "once")).length === 0);
    for (const id of ["o-1", "o-2"]) {
      await expect(client.start(order, { id }, { id: "once" })).rejects.toMatchObject({ code: "RUN_GONE" });
    }
    expect(await client.startMany(order, [{ id: "once", input: { id: "o-3" } }])).toMatchObject([{ outcome: "gone" }]);
    expect(effectsOf(world)).toEqual(["payments.charge"]);
  });

  test("leaves its id, when that is free again, to a run that the worker which remembers the first one drives as any other", async () => {
    const { namespace, client, worker, troubles } = top([glance]);
    await worker({ settings: { ...swept.settings, idsKeptMs: 0 } });
    for (const id of ["o-1", "o-2"]) {
      await (await client.start(glance, { id }, { id: "again" })).result({ timeout: "20s" });
      await until(async () => (await tracesOf(namespace, "again")).length === 0);
    }
    expect(troubles).toEqual([]);
  });
});

test("R045 many runs whose time is over at once are deleted a few at a time, while others are started and run", async () => {
  const many = process.env["REPRISE_SIZE"] === "full" ? 50_000 : 300;
  const { client, worker, facts, world } = top([glance, order]);
  // Nobody deletes yet.
  const first = await worker();
  const ids = Array.from({ length: many }, (_, n) => `r${n}`);
  await client.startMany(
    glance,
    ids.map((id) => ({ id, input: { id } })),
  );
  await until(async () => (await client.gc({ dryRun: true })).due === many, 120_000);
  await first.stop();
  await worker(swept);
  const next = await client.start(order, { id: "x" }, { id: "meanwhile" });
  await next.result({ timeout: "20s" });
  const portions = () => facts.flatMap((fact) => (fact.fact === "purged" ? [fact.runs] : []));
  await until(() => portions().reduce((sum, runs) => sum + runs, 0) >= many, 60_000);
  expect((await client.gc({ dryRun: true })).due).toBe(0);
  expect(Math.max(...portions())).toBeLessThanOrEqual(50);
  expect((await client.list({ limit: 10 })).runs.filter(({ id }) => ids.includes(id))).toEqual([]);
  const [{ arrivals = 0, effects = 0 } = {}] = world.counts();
  leaveEvidence("R045", { arrivals, effects, checks: [`${many} runs deleted, 50 at most at once`] });
});

test("an operator deletes at once what is over, or only counts it", async () => {
  const { client, worker } = top([glance, kept]);
  await worker();
  await (await client.start(glance, { id: "x" }, { id: "g1" })).result({ timeout: "20s" });
  await (await client.start(kept, { id: "x" }, { id: "k1" })).result({ timeout: "20s" });
  await until(async () => (await client.gc({ dryRun: true })).due === 1);
  const told: number[] = [];
  expect(await client.gc({ onProgress: (purged) => told.push(purged) })).toEqual({ purged: 1, due: 0, later: 0 });
  expect(told.at(-1)).toBe(1);
  expect((await client.list()).runs.map(({ id }) => id)).toEqual(["k1"]);
});
