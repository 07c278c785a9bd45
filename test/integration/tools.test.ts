/**
 * An agent's tools over a real Redis, with a scripted model: it takes another way when it is made again, puts the same thing
 * in other words, and asks twice to be sure. What counts is what the world saw.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { absent, fail, happened, saga, stepsFor } from "../../src/index.ts";
import { FakeWorld, type WorldClient } from "../../src/testing/index.ts";
import { effectsOf, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const bounds = { retry: { attempts: 2, initial: "10ms", max: "20ms" }, timeout: "5s", lateness: "200ms" } as const;
const Ticket = z.object({ ticket: z.string() });

const lookup = step("lookup", {
  input: Ticket,
  output: z.object({ customer: z.string() }),
  effect: "none",
  action: ({ input }) => ({ customer: `c-${input.ticket}` }),
  ...bounds,
});

const refund = step("refund", {
  input: z.object({ orderId: z.string(), cents: z.int().positive() }),
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  action: ({ input, operationId, services }) => services.payments.charge(input, { operationId }),
  compensate: ({ output, operationId, services }) => services.payments.refund(output, { operationId }),
  ...bounds,
});

const mail = step("mail", {
  input: z.object({ to: z.string(), subject: z.string() }),
  output: z.object({ messageId: z.string() }),
  effect: "once",
  action: ({ input, operationId, services }) => services.mail.send(input, { operationId }),
  probe: async ({ operationId, services }) => {
    const sent = await services.mail.findByKey(operationId);
    return sent === undefined ? absent() : happened(sent);
  },
  noCompensation: "a mail cannot be unsent",
  ...bounds,
});

type Model = Parameters<typeof agentOf>[0];
const decline = step("decline", {
  input: Ticket,
  effect: "none",
  action: ({ input }) => {
    if (input.ticket === "refused") throw fail("the customer has gone");
  },
  ...bounds,
});

/** The agent's loop is the model: each call of it is one way through. */
function agentOf(
  model: (turn: { readonly attempt: number; readonly ticket: string; readonly tools: Tools }) => Promise<string>,
) {
  let turns = 0;
  const agent = step("agent", {
    input: Ticket,
    output: z.object({ said: z.string() }),
    effect: "none",
    uses: { lookup, refund, mail },
    action: async ({ input, tools }) => {
      turns += 1;
      return { said: await model({ attempt: turns, ticket: input.ticket, tools }) };
    },
    ...bounds,
    timeout: "30s",
  });
  return saga("support", { version: 1, input: Ticket })
    .step(agent)
    .step(decline, ({ input }) => input)
    .build();
}

interface Tools {
  readonly lookup: (input: { ticket: string }) => Promise<{ customer: string }>;
  readonly refund: (
    input: { orderId: string; cents: number },
    options: { intent: readonly string[] },
  ) => Promise<{ chargeId: string }>;
  readonly mail: (
    input: { to: string; subject: string },
    options: { intent: readonly string[] },
  ) => Promise<{ messageId: string }>;
}

const refundOf = (ticket: string) => ({ intent: ["refund", ticket] });
const mailOf = (ticket: string) => ({ intent: ["answer", ticket] });

test("a model that is killed in the middle and takes another way meets what it has done; nothing is done twice", async () => {
  const seen: string[] = [];
  let stop: (() => Promise<void>) | null = null;
  const model: Model = async ({ attempt, ticket, tools }) => {
    if (attempt === 1) {
      const { customer } = await tools.lookup({ ticket });
      await tools.refund({ orderId: ticket, cents: 500 }, refundOf(ticket));
      seen.push(customer);
      void stop?.();
      return await new Promise<never>(() => undefined); // never heard of again
    }
    // The other way round, and twice to be sure.
    const mailed = await tools.mail({ to: "ann", subject: "sorry" }, mailOf(ticket));
    const again = await tools.mail({ to: "ann", subject: "sorry" }, mailOf(ticket));
    const { chargeId } = await tools.refund({ orderId: ticket, cents: 500 }, refundOf(ticket));
    seen.push(chargeId);
    return mailed.messageId === again.messageId ? "done" : "doubled";
  };
  const support = agentOf(model);
  const { client, world, worker } = top([support]);
  const first = await worker({ settings: { shutdownMs: 100, abortGraceMs: 50 } });
  stop = () => first.stop();
  const run = await client.start(support, { ticket: "t-1" }, { id: "r1" });
  await until(() => seen.length === 1);
  await stop();
  await worker();
  expect(await run.result({ timeout: "20s" })).toMatchObject({ agent: { said: "done" } });
  expect(effectsOf(world)).toEqual(["payments.charge", "mail.send"]);
  const rows = await run.ledger();
  expect(rows.map(({ step: name, tool }) => [name, tool?.asks ?? 0])).toEqual([
    ["agent", 0],
    ["lookup", 1],
    ["refund", 2],
    ["mail", 2],
    ["decline", 0],
  ]);
});

test("put in other words, the same intent is refused with a message that a model can use", async () => {
  const support = agentOf(async ({ ticket, tools }) => {
    await tools.mail({ to: "ann", subject: "we are sorry" }, mailOf(ticket));
    try {
      await tools.mail({ to: "ann", subject: "please accept our apologies" }, mailOf(ticket));
    } catch (error) {
      return error instanceof Error ? error.message : "";
    }
    return "sent twice";
  });
  const { client, world, worker } = top([support]);
  await worker();
  const run = await client.start(support, { ticket: "t-1" });
  const { agent } = await run.result({ timeout: "20s" });
  expect(agent.said).toContain("mail was already called for this intent, with other arguments, and it has happened");
  expect(agent.said).toContain("we are sorry");
  expect(effectsOf(world)).toEqual(["mail.send"]);
});

test("a mail whose answer was lost is asked about before anything is sent again, while the model waits", async () => {
  const support = agentOf(
    async ({ ticket, tools }) => (await tools.mail({ to: "ann", subject: "hi" }, mailOf(ticket))).messageId,
  );
  const { client, world, worker } = top([support], new FakeWorld({ services: { mail: { query: true } } }));
  world.fault({ service: "mail", kind: "reset-after-apply" });
  await worker({ settings: { startWithinMs: 300, abortGraceMs: 100, barrierMs: 200 } });
  const run = await client.start(support, { ticket: "t-1" });
  const { agent } = await run.result({ timeout: "20s" });
  expect(agent.said).toMatch(/./);
  expect(effectsOf(world)).toEqual(["mail.send"]);
});

test("two runs that refund the same order refund it once; the second one is given the first one's outcome", async () => {
  const support = agentOf(async ({ tools }) => {
    const { chargeId } = await tools.refund({ orderId: "o-1", cents: 500 }, refundOf("o-1"));
    return chargeId;
  });
  const { client, world, worker } = top([support]);
  await worker();
  const runs = await Promise.all(["a", "b", "c"].map((ticket) => client.start(support, { ticket })));
  const said = await Promise.all(runs.map(async (run) => (await run.result({ timeout: "20s" })).agent.said));
  expect(new Set(said).size).toBe(1);
  expect(effectsOf(world)).toEqual(["payments.charge"]);
});

test("with other arguments it is refused to the second one's model, which names who has it", async () => {
  const support = agentOf(async ({ ticket, tools }) => {
    try {
      const cents = ticket === "a" ? 500 : 700;
      return (await tools.refund({ orderId: "o-1", cents }, refundOf("o-1"))).chargeId;
    } catch (error) {
      return String(error);
    }
  });
  const { client, world, worker } = top([support]);
  await worker();
  const first = await client.start(support, { ticket: "a" }, { id: "first" });
  await first.result({ timeout: "20s" });
  const second = await client.start(support, { ticket: "b" });
  const { agent } = await second.result({ timeout: "20s" });
  expect(agent.said).toContain("first#2.1 has already used this intent with other arguments");
  expect(agent.said).toContain('"cents":500');
  expect(effectsOf(world)).toEqual(["payments.charge"]);
});

test("what its tools did is undone in reverse when the run fails later", async () => {
  const support = agentOf(async ({ ticket, tools }) => {
    for (const order of ["o-1", "o-2"])
      await tools.refund({ orderId: order, cents: 5 }, { intent: ["refund", ticket, order] });
    await tools.mail({ to: "ann", subject: "hi" }, mailOf(ticket));
    return "done";
  });
  const { client, world, worker } = top([support]);
  await worker();
  const run = await client.start(support, { ticket: "refused" });
  await expect(run.result({ timeout: "20s" })).rejects.toThrow("the customer has gone");
  expect(effectsOf(world)).toEqual([
    "payments.charge",
    "payments.charge",
    "mail.send",
    "payments.refund",
    "payments.refund",
  ]);
  const rows = await run.ledger();
  expect(rows.map(({ step: name, undo }) => [name, undo?.state ?? null])).toEqual([
    ["agent", null],
    ["refund", "done"],
    ["refund", "done"],
    ["mail", "kept"],
    ["decline", null],
  ]);
  const undone = world
    .effects()
    .filter(({ action }) => action === "refund")
    .map(({ operationId }) => operationId);
  expect(undone.map((id) => id.split("/").slice(-2))).toEqual([
    ["2", "undo"],
    ["1", "undo"],
  ]);
});

test("a tool that must not be repeated needs a name for what it does", async () => {
  const support = agentOf(async ({ tools }) => {
    const blind = tools.mail as (input: { to: string; subject: string }) => Promise<unknown>;
    return await blind({ to: "ann", subject: "hi" }).then(String, String);
  });
  const { client, world, worker } = top([support]);
  await worker();
  const run = await client.start(support, { ticket: "t" });
  expect((await run.result({ timeout: "20s" })).agent.said).toContain("call it with { intent: [...] }");
  expect(effectsOf(world)).toEqual([]);
});

test("a tool whose outcome nobody knows parks the run and lets the worker go; a person's word lets the model go on", async () => {
  const blindMail = step("mail", {
    input: z.object({ to: z.string() }),
    output: z.object({ messageId: z.string() }),
    effect: "once",
    action: ({ input, operationId, services }) => services.mail.send({ ...input, subject: "hi" }, { operationId }),
    noCompensation: "a mail cannot be unsent",
    ...bounds,
  });
  let turns = 0;
  const agent = step("agent", {
    input: Ticket,
    output: z.object({ said: z.string() }),
    effect: "none",
    uses: { mail: blindMail },
    action: async ({ tools }) => {
      turns += 1;
      const { messageId } = await tools.mail({ to: "ann" }, { intent: ["hello"] });
      return { said: messageId };
    },
    ...bounds,
  });
  const support = saga("blind", { version: 1, input: Ticket }).step(agent).build();
  const { client, world, worker } = top([support]);
  world.fault({ service: "mail", kind: "reset-after-apply" });
  await worker({ settings: { startWithinMs: 300, abortGraceMs: 100, barrierMs: 200 } });
  const run = await client.start(support, { ticket: "t" });
  await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ code: "RUN_NEEDS_REVIEW" });
  await until(async () => (await run.ledger())[0]?.call.state === "planned");
  expect((await run.ledger())[0]?.call).toMatchObject({ attempt: 0 });
  await run.operator.resolve(
    { as: "happened", output: { messageId: "m-7" }, evidence: "seen in the outbox" },
    { by: "ann" },
  );
  expect(await run.result({ timeout: "20s", through: "review" })).toMatchObject({ agent: { said: "m-7" } });
  expect([turns, effectsOf(world)]).toEqual([2, ["mail.send"]]);
});

test("500 items resume at the right one after their worker was stopped, each with an operation id of its own", async () => {
  const item = step("ship", {
    input: z.object({ orderId: z.string(), cents: z.int() }),
    output: z.object({ chargeId: z.string() }),
    effect: "keyed",
    action: ({ input, operationId, services }) => services.payments.charge(input, { operationId }),
    compensate: ({ output, operationId, services }) => services.payments.refund(output, { operationId }),
    ...bounds,
  });
  const batch = saga("batch", { version: 1, input: z.object({ orders: z.int() }) })
    .each(({ input }) => Array.from({ length: input.orders }, (_, at) => ({ orderId: `o-${at}`, cents: 1 })), item, {
      size: 50,
      concurrency: 10,
    })
    .build();
  const { client, world, worker } = top([batch]);
  const first = await worker({ settings: { shutdownMs: 50, abortGraceMs: 20 } });
  const run = await client.start(batch, { orders: 500 });
  await until(() => world.effects().length > 220, 30_000);
  await first.stop();
  const before = world.effects().length;
  await worker();
  const { shipEach } = await run.result({ timeout: "60s" });
  expect([before < 500, shipEach.length]).toEqual([true, 500]);
  const effects = world.effects();
  expect([effects.length, new Set(effects.map(({ operationId }) => operationId)).size]).toEqual([500, 500]);
  expect(effects.map(({ operationId }) => operationId)[0]).toMatch(/\/ship\/1$/);
});

test("an item that fails ends the batch, and the items before it are undone", async () => {
  const item = step("ship", {
    input: z.object({ orderId: z.string(), cents: z.int() }),
    output: z.object({ chargeId: z.string() }),
    effect: "keyed",
    action: ({ input, operationId, services }) => {
      if (input.orderId === "o-3") throw fail("out of stock");
      return services.payments.charge(input, { operationId });
    },
    compensate: ({ output, operationId, services }) => services.payments.refund(output, { operationId }),
    ...bounds,
  });
  const batch = saga("batch", { version: 1, input: z.object({ orders: z.int() }) })
    .each(({ input }) => Array.from({ length: input.orders }, (_, at) => ({ orderId: `o-${at}`, cents: 1 })), item)
    .build();
  const { client, world, worker } = top([batch]);
  await worker();
  const run = await client.start(batch, { orders: 10 });
  await expect(run.result({ timeout: "20s" })).rejects.toThrow("item 3: ");
  expect(effectsOf(world).filter((effect) => effect === "payments.charge")).toHaveLength(3);
  expect(effectsOf(world).filter((effect) => effect === "payments.refund")).toHaveLength(3);
});
