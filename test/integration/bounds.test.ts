/** Bounds on what runs may do, over a real Redis and BullMQ: budgets shared with children, and an agent that repeats itself. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { child, type Saga, saga, stepsFor } from "../../src/index.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { effectsOf, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const bounds = { timeout: "20s", lateness: "1s", retry: { attempts: 3, initial: "50ms" } } as const;
const Order = z.object({ orderId: z.string(), cents: z.int() });

describe("a budget that children share", () => {
  const charge = step("charge", {
    input: Order,
    output: z.object({ chargeId: z.string() }),
    effect: "keyed",
    action: async ({ input, operationId, services, spend }) => {
      const charged = await services.payments.charge(input, { operationId });
      await spend({ cents: input.cents }, { key: operationId });
      return charged;
    },
    compensate: ({ output, operationId, services }) => services.payments.refund(output, { operationId }),
    ...bounds,
  });
  const errand = saga("errand", { version: 1, input: z.object({ of: z.string(), charges: z.int() }) })
    .each(
      ({ input }) => Array.from({ length: input.charges }, (_, at) => ({ orderId: `${input.of}-${at}`, cents: 1 })),
      charge,
      { as: "charges" },
    )
    .build();
  const house = saga("house", {
    version: 1,
    input: z.object({ errands: z.array(z.int()) }),
    budget: { cents: { soft: 4, hard: 6 } },
  })
    .each(
      ({ input }) => input.errands.map((charges, at) => ({ of: `e${at}`, charges })),
      child(errand, { share: { cents: 2 } }),
      { concurrency: 3, as: "errands" },
    )
    .build();
  const chargesOf = (world: Parameters<typeof effectsOf>[0]) =>
    effectsOf(world).filter((effect) => effect === "payments.charge").length;

  test("is never gone past by them together, on two workers; a person raises it, once, where it is owned", async () => {
    const { client, world, worker, facts } = top([house]);
    await Promise.all([worker(), worker()]);
    const run = await client.start(house, { errands: [3, 4, 2] }, { id: "h1" });
    const asked = await until(async () => {
      expect(chargesOf(world)).toBeLessThanOrEqual(6);
      const { items } = await client.inbox();
      return items.length > 0 && items;
    }, 30_000);
    expect(asked).toMatchObject([{ id: "h1", reason: "budget", evidence: { budget: "cents", hard: 6 } }]);
    expect(asked).toHaveLength(1);
    expect(chargesOf(world)).toBe(6);
    expect(facts.filter((fact) => fact.fact === "budget").map((fact) => fact.passed)).toEqual(["soft", "hard"]);
    await run.operator.raise({ budget: "cents", to: 20, reason: "worth it", by: "ann" });
    await run.result({ timeout: "40s", through: "review" });
    expect(chargesOf(world)).toBe(9);
    expect((await run.get()).budgets["cents"]).toMatchObject({ used: 9, hard: 20 });
  });

  test("bounds no going back", async () => {
    const { client, world, worker } = top([house]);
    await worker();
    const run = await client.start(house, { errands: [3, 4, 2] }, { id: "h1" });
    await until(async () => (await run.get()).status === "needs_review", 30_000);
    await run.cancel({ reason: "not worth it", by: "ann" });
    await until(async () => (await run.get()).status === "cancelled", 30_000);
    expect([await run.get(), chargesOf(world)]).toMatchObject([{ rollback: "complete" }, 6]);
    expect(effectsOf(world).filter((effect) => effect === "payments.refund")).toHaveLength(6);
  });
});

describe("an agent that makes the same call again and again", () => {
  const look = step("look", {
    input: z.object({ orderId: z.string() }),
    output: z.object({ is: z.string() }),
    effect: "once",
    noCompensation: "a look changes nothing",
    action: async ({ input, operationId, services }) => {
      await services.mail.send({ to: input.orderId, subject: "look" }, { operationId });
      return { is: "the same" };
    },
    ...bounds,
  });
  /** It looks until it sees something else. */
  const agent = step("agent", {
    input: z.object({ orderId: z.string(), patience: z.int() }),
    output: z.object({ looks: z.int() }),
    effect: "none",
    uses: { look },
    action: async ({ input, tools }) => {
      let looks = 0;
      for (; looks < input.patience; looks += 1) await tools.look({ orderId: input.orderId }, { key: looks });
      return { looks };
    },
    ...bounds,
  });
  const watching = saga("watching", { version: 1, input: z.object({ id: z.string() }), loopLimit: 3 })
    .step(agent, ({ input }) => ({ orderId: input.id, patience: 5 }))
    .build();

  test("is stopped at the limit, before the call, and parked in the inbox with what it asked", async () => {
    const { client, world, worker } = top([watching as unknown as Saga]);
    await worker({ allowForgetfulStore: true });
    const run = await client.start(watching, { id: "o-1" }, { id: "w1" });
    const item = await until(async () => {
      const page = await client.inbox();
      return page.items[0];
    }, 30_000);
    expect(item).toMatchObject({ id: "w1", reason: "loop", step: "look", evidence: { orderId: "o-1" } });
    expect(item.message).toContain("look was asked for with the same input 4 times, more than the 3 of loopLimit");
    expect(effectsOf(world)).toHaveLength(3);
    await run.operator.retry({ reason: "it may look on", by: "ann" });
    expect(await run.result({ timeout: "30s", through: "review" })).toEqual({ agent: { looks: 5 } });
    expect(effectsOf(world)).toHaveLength(5);
    const log = await run.log();
    expect(log.flatMap(({ taken }) => taken.filter((each) => each.what === "verb"))).toMatchObject([
      { verb: "retry", by: "ann" },
    ]);
  });
});
