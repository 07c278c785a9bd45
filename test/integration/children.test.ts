/** Runs that start runs, over a real Redis and BullMQ. */
import { Redis } from "ioredis";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type Client, child, fail, type RunFailed, type Saga, saga, stepsFor } from "../../src/index.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { effectsOf, type Top, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const bounds = { timeout: "5s", lateness: "1s", retry: { attempts: 3, initial: "50ms" } } as const;
const Order = z.object({ orderId: z.string(), cents: z.int() });

const charge = step("charge", {
  input: Order,
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  action: ({ input, operationId, services }) => services.payments.charge(input, { operationId }),
  compensate: ({ output, operationId, services }) => services.payments.refund(output, { operationId }),
  ...bounds,
});
/** Says no to what costs nothing. */
const check = step("check", {
  input: Order,
  effect: "none",
  action: ({ input }) => {
    if (input.cents === 0) throw fail("it costs nothing");
  },
  ...bounds,
});
const order = saga("order", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(charge)
  .step(check, ({ input }) => input)
  .build();
const patient = saga("patient", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(charge)
  .waitFor("GO")
  .build();
const refuse = step("refuse", {
  input: z.object({}),
  effect: "none",
  action: () => {
    throw fail("no");
  },
});
const Id = z.object({ id: z.string() });
const toOrder = ({ input }: { readonly input: { readonly id: string } }) => ({ orderId: input.id, cents: 7 });

const counts = (world: Top["world"]) => {
  const effects = effectsOf(world);
  return [
    effects.filter((effect) => effect === "payments.charge").length,
    effects.filter((effect) => effect === "payments.refund").length,
  ];
};
/** `null`: it is not there (yet). */
const statusOf = async (client: Client, id: string) =>
  (
    await client
      .run(id)
      .get()
      .catch(() => null)
  )?.status ?? null;

/** What a store does that loses its last writes. */
async function forget(namespace: string, id: string): Promise<void> {
  const redis = new Redis(inject("redisUrl"));
  onTestFinished(() => redis.disconnect());
  for await (const keys of redis.scanStream({ match: `*reprise:${namespace}:*` })) {
    for (const key of keys as string[]) {
      if (key.includes(id)) await redis.del(key);
      else if ((await redis.type(key)) === "zset") await redis.zrem(key, id, `default:${id}`);
    }
  }
}

describe("a run that starts a run as a step", () => {
  const parent = saga("parent", { version: 1, input: Id })
    .step(child(order), toOrder)
    .build({ output: ({ results }) => results.order.charge.chargeId });

  test("gives what that gave; a worker that is given the parent alone serves both", async () => {
    const { client, world, worker } = top([parent]);
    await worker();
    const run = await client.start(parent, { id: "o-1" }, { id: "p1" });
    expect(await run.result({ timeout: "20s" })).toEqual(expect.any(String));
    expect(counts(world)).toEqual([1, 0]);
    expect(world.effects()[0]?.operationId).toContain("/p1.1/charge/1");
    expect(await client.run("p1.1").get()).toMatchObject({ saga: "order", status: "completed" });
  });

  test("undoes it with itself, also after its end", async () => {
    const { client, world, worker } = top([parent]);
    await worker();
    const run = await client.start(parent, { id: "o-1" }, { id: "p1" });
    await run.result({ timeout: "20s" });
    await run.undo({ reason: "regretted", by: "ann" });
    const undone = await until(async () => (await run.get()).status === "cancelled" && (await run.get()));
    expect(undone).toMatchObject({ rollback: "complete", cause: { kind: "undone" } });
    expect(await client.run("p1.1").get()).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect(counts(world)).toEqual([1, 1]);
  });

  test("undoes it when a later step fails", async () => {
    const failing = saga("failing", { version: 1, input: Id })
      .step(child(order), toOrder)
      .step(refuse, () => ({}))
      .build();
    const { client, world, worker } = top([failing]);
    await worker();
    const run = await client.start(failing, { id: "o-1" }, { id: "p1" });
    const error = await run.result({ timeout: "20s" }).catch((reason: RunFailed) => reason);
    expect(error).toMatchObject({ code: "RUN_FAILED", rollback: "complete" });
    expect(counts(world)).toEqual([1, 1]);
  });

  test("fails with it, and says which run and why", async () => {
    const free = saga("free", { version: 1, input: Id })
      .step(child(order), ({ input }) => ({ orderId: input.id, cents: 0 }))
      .build();
    const { client, world, worker } = top([free]);
    await worker();
    const run = await client.start(free, { id: "o-1" }, { id: "p1" });
    await expect(run.result({ timeout: "20s" })).rejects.toThrow(/run p1\.1 ended failed \(it costs nothing\)/);
    expect(counts(world)).toEqual([1, 1]);
  });

  test("cancels it when it is cancelled", async () => {
    const waiting = saga("waiting", { version: 1, input: Id }).step(child(patient), toOrder).build();
    const { client, world, worker } = top([waiting]);
    await worker();
    const run = await client.start(waiting, { id: "o-1" }, { id: "p1" });
    await until(async () => (await run.get()).waitingFor === "child" && (await statusOf(client, "p1.1")) === "waiting");
    await run.cancel({ reason: "not wanted", by: "ann" });
    await until(async () => (await statusOf(client, "p1")) === "cancelled");
    expect(await client.run("p1.1").get()).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect(counts(world)).toEqual([1, 1]);
  });

  test("does not wait for one that is detached, nor cancel or undo it", async () => {
    const detached = saga("detaching", { version: 1, input: Id })
      .step(child(patient, { name: "aside", detached: true }), toOrder)
      .step(refuse, () => ({}))
      .build();
    const { client, world, worker } = top([detached]);
    await worker();
    const run = await client.start(detached, { id: "o-1" }, { id: "p1" });
    await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ rollback: "not_applicable" });
    await client.run("p1.1").signal("GO", {});
    expect(await client.run("p1.1").result({ timeout: "20s" })).toBeDefined();
    expect(counts(world)).toEqual([1, 0]);
  });

  test("does not take over a run of somebody else that has the id", async () => {
    const { client, world, worker } = top([parent]);
    await worker();
    const other = await client.start(order, { orderId: "o-1", cents: 7 }, { id: "p1.1" });
    await other.result({ timeout: "20s" });
    const run = await client.start(parent, { id: "o-1" }, { id: "p1" });
    await expect(run.result({ timeout: "20s" })).rejects.toThrow(/there is a run p1\.1 that it has not started/);
    await run.cancel({ reason: "not wanted", by: "ann" });
    await until(async () => (await statusOf(client, "p1")) === "cancelled");
    expect([counts(world), await statusOf(client, "p1.1")]).toEqual([[1, 0], "completed"]);
  });

  test.runIf(inject("shards") === 1)(
    "begins it again where the store has forgotten it and nobody knows more of it",
    async () => {
      const waiting = saga("waiting", { version: 1, input: Id }).step(child(patient), toOrder).build();
      const { namespace, client, world, worker } = top([waiting]);
      const first = await worker();
      const run = await client.start(waiting, { id: "o-1" }, { id: "p1" });
      await until(
        async () => (await run.get()).waitingFor === "child" && (await statusOf(client, "p1.1")) === "waiting",
      );
      await first.stop();
      await forget(namespace, "p1.1");
      expect(await statusOf(client, "p1.1")).toBeNull();
      await worker();
      await until(async () => (await statusOf(client, "p1.1")) === "waiting", 20_000);
      await client.run("p1.1").signal("GO", {});
      await run.result({ timeout: "20s" });
      expect(world.counts().map(({ effects }) => effects)).toEqual([1]);
    },
  );

  test("says that it is parked and why, and is not parked itself", async () => {
    const blind = step("letter", {
      input: Order,
      effect: "once",
      action: () => {
        throw new Error("gone");
      },
      noCompensation: "it is read",
      ...bounds,
    });
    const writing = saga("writing", { version: 1, input: Order }).step(blind).build();
    const asking = saga("asking", { version: 1, input: Id }).step(child(writing), toOrder).build();
    const { client, worker } = top([asking]);
    await worker({ allowForgetfulStore: true });
    const run = await client.start(asking, { id: "o-1" }, { id: "p1" });
    await until(async () => (await statusOf(client, "p1.1")) === "needs_review");
    await until(async () => /is parked for a person/.test((await run.explain()).text));
    expect(await statusOf(client, "p1")).toBe("waiting");
    const [item] = (await client.inbox()).items;
    expect(item).toMatchObject({ id: "p1.1", parent: { run: "p1", seq: 1 } });
    await client.run("p1.1").operator.resolve({ as: "happened", evidence: "seen" }, { by: "ann" });
    expect(await run.result({ timeout: "20s" })).toEqual({ writing: { letter: null } });
  });

  test("may be started by one that was started", async () => {
    const middle = saga("middle", { version: 1, input: Id }).step(child(order), toOrder).build();
    const grand = saga("grand", { version: 1, input: Id })
      .step(child(middle), ({ input }) => input)
      .step(refuse, () => ({}))
      .build();
    const { client, world, worker } = top([grand]);
    await worker();
    const run = await client.start(grand, { id: "o-1" }, { id: "g1" });
    await expect(run.result({ timeout: "30s" })).rejects.toMatchObject({ rollback: "complete" });
    expect([counts(world), await statusOf(client, "g1.1.1")]).toEqual([[1, 1], "cancelled"]);
  });
});

describe("a list of them", () => {
  const each = (last: "good" | "bad"): Saga<string, { orders: number }> => {
    const line = saga(`list-${last}`, { version: 1, input: z.object({ orders: z.int() }) }).each(
      ({ input }) => Array.from({ length: input.orders }, (_, at) => ({ orderId: `o-${at}`, cents: 1 })),
      child(order),
      { concurrency: 10 },
    );
    return last === "good" ? line.build() : line.step(refuse, () => ({})).build();
  };

  test("is worked through some at a time, and a later failure undoes all of them", async () => {
    const bad = each("bad");
    const { client, world, worker } = top([bad]);
    await worker();
    const run = await client.start(bad, { orders: 30 }, { id: "l1" });
    await expect(run.result({ timeout: "60s" })).rejects.toMatchObject({ rollback: "complete" });
    expect(counts(world)).toEqual([30, 30]);
  });
});
