/** Replay plans, on a real Redis with a real worker: what is planned is what the world sees, and nothing twice. */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { refusalsAreFinal, step } from "../../sagas/services.ts";
import { type PlanOptions, RunFailed, saga } from "../../src/index.ts";
import { effectsOf, type Top, top, until } from "./top.ts";

const Purchase = z.object({ id: z.string(), cents: z.int().positive() });
const noRetry = { attempts: 1 };

const charge = step("charge", {
  input: z.object({ orderId: z.string(), cents: z.int().positive() }),
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  onExhausted: "review",
  action: ({ input, services, ...call }) => services.payments.charge(input, call).catch(refusalsAreFinal),
  compensate: ({ output, services, ...call }) => services.payments.refund(output, call),
  retry: noRetry,
  timeout: "1s",
  keyTtl: "1h",
});
const mail = step("mail", {
  input: z.object({ orderId: z.string(), to: z.string(), subject: z.string() }),
  output: z.object({ messageId: z.string() }),
  effect: "once",
  action: ({ input, services, ...call }) => services.mail.send(input, call).catch(refusalsAreFinal),
  noCompensation: "a mail that was read cannot be unread",
  retry: noRetry,
  timeout: "1s",
});
const purchase = saga("purchase", { version: 1, input: Purchase })
  .step(charge, ({ input }) => ({ orderId: input.id, cents: input.cents }))
  .step(mail, ({ input }) => ({ orderId: input.id, to: "a@example.com", subject: "thanks" }))
  .build();

const seal = step("seal", {
  input: z.object({ orderId: z.string(), sku: z.string() }),
  output: z.object({ reservationId: z.string() }),
  effect: "keyed",
  pivot: true,
  action: ({ input, services, ...call }) => services.stock.reserve(input, call).catch(refusalsAreFinal),
  compensate: ({ output, services, ...call }) => services.stock.release(output, call),
});
/** Past a point of no return a charge in doubt is not settled by going back: a person is asked, and a repeat is harmless. */
const sealed = saga("sealed", { version: 1, input: Purchase })
  .step(seal, ({ input }) => ({ orderId: input.id, sku: "A" }))
  .step(charge, ({ input }) => ({ orderId: input.id, cents: input.cents }))
  .step(mail, ({ input }) => ({ orderId: input.id, to: "a@example.com", subject: "thanks" }))
  .build();

const input = { id: "p-1", cents: 4_200 };
const ann = { by: "ann", reason: "the bank is back" };

async function parked({ client }: Top, of: typeof purchase | typeof sealed = purchase, id = "r1") {
  const run = await client.start(of, input, { id });
  await until(async () => (await run.get()).status === "needs_review");
  return run;
}

/** Parked: the bank would not charge now, and did not. */
async function parkedAtCharge(of: Top) {
  of.world.fault({ service: "payments", action: "charge", kind: "rate-limit", retryAfterSeconds: 1 });
  return await parked(of);
}

/** Parked: the charge was applied and not answered. */
async function parkedInDoubt(of: Top) {
  of.world.fault({ service: "payments", action: "charge", kind: "reset-after-apply" });
  return await parked(of, sealed);
}

/** Parked: the mail may be out, and nobody can be asked. */
async function parkedAtMail(of: Top) {
  of.world.fault({ service: "mail", action: "send", kind: "reset-after-apply" });
  return await parked(of);
}

async function running() {
  const of = top([purchase, sealed]);
  await of.worker();
  return of;
}

describe("resume", () => {
  test("of a call that may be repeated: the run goes on, and each effect is there once", async () => {
    const of = await running();
    const run = await parkedInDoubt(of);
    const before = await run.get();
    const plan = await run.plan({ mode: "resume" });
    expect(plan).toMatchObject({
      safe: true,
      verdict: "RETRY_SAFE",
      unsafe: [],
      problem: null,
      revision: before.revision,
    });
    expect(plan.calls).toMatchObject([
      { step: "seal", course: "reuse" },
      { step: "charge", course: "repeat" },
    ]);
    expect(await run.get()).toEqual(before);
    const replayed = await of.client.executePlan(plan.id, ann);
    expect(replayed).toEqual({ tenant: "default", run: "r1", mode: "resume", isRepeated: false });
    await run.result({ timeout: "10s", through: "review" });
    expect(of.world.service("payments").counts()).toEqual({ arrivals: 2, effects: 1 });
    expect(of.world.service("mail").counts()).toEqual({ arrivals: 1, effects: 1 });
    expect((await run.get()).replays).toBe(1);
    const verbs = (await run.log()).flatMap((entry) => entry.taken.filter(({ what }) => what === "verb"));
    expect(verbs).toMatchObject([{ verb: "retry", by: "ann", plan: plan.id, payload: { reason: ann.reason } }]);
  });

  test("of a mail that may be out is refused, also to whoever says that it is meant", async () => {
    const of = await running();
    const run = await parkedAtMail(of);
    const plan = await run.plan({ mode: "resume" });
    expect(plan).toMatchObject({ safe: false, verdict: "HUMAN_REQUIRED", request: null });
    expect(plan.problem).toContain("it may have happened");
    const insisting = { ...ann, override: "I know better" };
    await expect(of.client.executePlan(plan.id, insisting)).rejects.toMatchObject({ code: "PLAN_REFUSED" });
    expect(await run.get()).toMatchObject({ status: "needs_review", revision: plan.revision });
    expect(of.world.service("mail").counts()).toEqual({ arrivals: 1, effects: 1 });
  });

  test("of a run that is not parked has nothing to send", async () => {
    const of = await running();
    const run = await of.client.start(purchase, input);
    await run.result({ timeout: "10s", through: "review" });
    expect(await run.plan({ mode: "resume" })).toMatchObject({
      safe: false,
      request: null,
      problem: expect.stringContaining("it has ended"),
    });
    await expect(of.client.run("nobody").plan({ mode: "resume" })).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });
});

describe("a plan", () => {
  test("is of one revision: once the run has moved it is not executed", async () => {
    const of = await running();
    const run = await parkedAtCharge(of);
    const plan = await run.plan({ mode: "resume" });
    of.world.fault({ service: "payments", action: "charge", kind: "rate-limit", retryAfterSeconds: 1 });
    await run.operator.retry({ by: "bob", reason: "by hand" });
    await until(async () => (await run.get()).review?.n === 2);
    await expect(of.client.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "STALE_REVISION" });
    expect(of.world.service("payments").counts()).toEqual({ arrivals: 2, effects: 0 });
    expect((await run.get()).replays).toBe(0);
  });

  test("is executed once by two at the same time, and the other is told by whom", async () => {
    const of = await running();
    const run = await parkedAtCharge(of);
    const plan = await run.plan({ mode: "resume" });
    const people = ["ann", "bob", "cy", "dee"];
    const ends = await Promise.allSettled(
      people.map((by) => of.client.executePlan(plan.id, { by, reason: `${by} says so` })),
    );
    const winner = people[ends.findIndex(({ status }) => status === "fulfilled")];
    const others = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as Error] : []));
    expect(others).toHaveLength(3);
    for (const other of others) expect(other).toMatchObject({ code: "PLAN_TAKEN", details: { by: winner } });
    await run.result({ timeout: "10s", through: "review" });
    expect(of.world.service("payments").counts()).toEqual({ arrivals: 2, effects: 1 });
  });

  test("is executed once by one command, however often that is sent", async () => {
    const of = await running();
    const run = await parkedAtCharge(of);
    const plan = await run.plan({ mode: "resume" });
    const again = { ...ann, commandId: "c-1" };
    await expect(of.client.executePlan(plan.id, again)).resolves.toMatchObject({ isRepeated: false });
    await run.result({ timeout: "10s", through: "review" });
    await expect(of.client.executePlan(plan.id, again)).resolves.toMatchObject({ run: "r1", isRepeated: true });
    expect(of.world.service("payments").counts()).toEqual({ arrivals: 2, effects: 1 });
    expect((await run.get()).replays).toBe(1);
  });

  test("that has expired is gone", async () => {
    const of = await running();
    const run = await parkedAtCharge(of);
    const plan = await run.plan({ mode: "resume", expiresIn: "300ms" });
    const end = performance.now() + 400;
    await until(() => performance.now() > end);
    await expect(of.client.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "PLAN_GONE" });
    expect(of.world.service("payments").counts()).toEqual({ arrivals: 1, effects: 0 });
  });

  test("to repeat a call is not executed once the other side may have forgotten its key", async () => {
    const forgetful = step("forgetful", {
      input: z.object({ orderId: z.string(), cents: z.int() }),
      effect: "keyed",
      action: ({ input, services, ...call }) => services.payments.charge(input, call).catch(refusalsAreFinal),
      noCompensation: "it is a test",
      retry: noRetry,
      timeout: "500ms",
      keyTtl: "3s",
    });
    const brief = saga("brief", { version: 1, input: z.object({}) })
      .step(seal, () => ({ orderId: "o", sku: "A" }))
      .step(forgetful, () => ({ orderId: "o", cents: 1 }))
      .build();
    const { client, world, worker } = top([brief]);
    world.fault({ service: "payments", action: "charge", kind: "reset-after-apply" });
    await worker();
    const run = await client.start(brief, {});
    await until(async () => (await run.get()).status === "needs_review");
    const plan = await run.plan({ mode: "resume" });
    expect(plan.safe).toBe(true);
    await until(async () => (await run.verdict()).verdict === "HUMAN_REQUIRED");
    await expect(client.executePlan(plan.id, ann)).rejects.toMatchObject({
      code: "STALE_REVISION",
      message: expect.stringContaining("it may have happened"),
    });
    expect(world.service("payments").counts()).toEqual({ arrivals: 1, effects: 1 });
  });

  test("counts against the cap of its run", async () => {
    const of = await running();
    of.world.fault({
      service: "payments",
      action: "charge",
      kind: "rate-limit",
      retryAfterSeconds: 1,
      times: "always",
    });
    const run = await parked(of);
    const capped = of.replica({ maxReplays: 2 });
    for (const n of [2, 3]) {
      const plan = await run.plan({ mode: "resume" });
      await capped.executePlan(plan.id, ann);
      await until(async () => (await run.get()).review?.n === n);
    }
    const plan = await run.plan({ mode: "resume" });
    await expect(capped.executePlan(plan.id, { ...ann, override: "please" })).rejects.toMatchObject({
      code: "PLAN_REFUSED",
      message: expect.stringContaining("the cap"),
    });
    expect(of.world.service("payments").counts()).toEqual({ arrivals: 3, effects: 0 });
  });
});

describe("retry of a step", () => {
  test("is made with other input that fits, where nothing of the old one is in doubt", async () => {
    const of = await running();
    const run = await parkedAtCharge(of);
    expect((await run.get()).review?.reason).toBe("exhausted");
    const wanted = (cents: number): PlanOptions => ({
      mode: "retry_step",
      step: "charge",
      input: { orderId: "p-1", cents },
    });
    await expect(run.plan(wanted(-1))).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await expect(run.plan({ mode: "retry_step", step: "nothing" })).rejects.toMatchObject({ code: "INPUT_INVALID" });
    const plan = await run.plan(wanted(100));
    expect(plan).toMatchObject({ safe: true, calls: [{ step: "charge", course: "call" }] });
    await of.client.executePlan(plan.id, ann);
    await run.result({ timeout: "10s", through: "review" });
    expect(of.world.effects().map(({ args }) => args)).toMatchObject([{ cents: 100 }, { orderId: "p-1" }]);
  });

  test("that may have happened is not made with other input", async () => {
    const of = await running();
    const run = await parkedInDoubt(of);
    const plan = await run.plan({ mode: "retry_step", step: "charge", input: { orderId: "p-1", cents: 1 } });
    expect(plan).toMatchObject({ safe: false, request: null, problem: expect.stringContaining("with the old input") });
  });
});

describe("compensate only", () => {
  test("says what it would undo, in order, and undoes that", async () => {
    const of = await running();
    const run = await of.client.start(purchase, input, { id: "r1" });
    await run.result({ timeout: "10s", through: "review" });
    const plan = await run.plan({ mode: "compensate_only" });
    expect(plan.unwind).toEqual(await run.unwindPreview());
    expect(plan.unwind?.steps).toMatchObject([
      { step: "mail", course: "leave" },
      { step: "charge", course: "compensate", operationId: expect.stringContaining("/undo") },
    ]);
    expect(effectsOf(of.world)).toEqual(["payments.charge", "mail.send"]);
    await of.client.executePlan(plan.id, ann);
    await until(async () => (await run.get()).status === "cancelled");
    expect(effectsOf(of.world)).toEqual(["payments.charge", "mail.send", "payments.refund"]);
    expect(of.world.effects()[2]?.operationId).toBe(plan.unwind?.steps[1]?.operationId);
    expect(await run.get()).toMatchObject({ cause: { kind: "undone", reference: "ann" }, replays: 1 });
    expect(await run.plan({ mode: "compensate_only" })).toMatchObject({
      request: null,
      problem: expect.stringContaining("it is cancelled"),
    });
  });

  test("of a parked run turns it round", async () => {
    const of = await running();
    const run = await parkedAtMail(of);
    const plan = await run.plan({ mode: "compensate_only" });
    expect(plan.unwind?.steps).toMatchObject([
      { step: "mail", course: "leave" },
      { step: "charge", course: "compensate" },
    ]);
    await of.client.executePlan(plan.id, ann);
    await expect(run.result({ timeout: "10s", through: "review" })).rejects.toBeInstanceOf(RunFailed);
    expect(effectsOf(of.world)).toEqual(["payments.charge", "mail.send", "payments.refund"]);
  });
});

describe("as a new run", () => {
  test("of one that was undone is safe, and says where it comes from", async () => {
    const of = await running();
    of.world.fault({ service: "payments", action: "charge", kind: "refuse", code: "card_declined" });
    const run = await of.client.start(purchase, input, { id: "r1" });
    await expect(run.result({ timeout: "10s", through: "review" })).rejects.toBeInstanceOf(RunFailed);
    const plan = await run.plan({ mode: "new_run", id: "r2", input: { id: "p-1", cents: 99 } });
    expect(plan).toMatchObject({ safe: true, request: { type: "start", id: "r2" } });
    await expect(of.client.executePlan(plan.id, ann)).resolves.toMatchObject({ run: "r2" });
    const next = of.client.run("r2");
    await next.result({ timeout: "10s", through: "review" });
    expect(await next.get()).toMatchObject({
      input: { cents: 99 },
      replays: 1,
      replayOf: { mode: "new_run", run: "r1", plan: plan.id, by: "ann", reason: ann.reason },
    });
    expect(effectsOf(of.world)).toEqual(["payments.charge", "mail.send"]);
    await expect(run.plan({ mode: "new_run", input: { id: 1 } })).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });

  test("of one whose effects stand is made only where a person says that it is meant", async () => {
    const of = await running();
    const run = await of.client.start(purchase, input, { id: "r1" });
    await run.result({ timeout: "10s", through: "review" });
    const plan = await run.plan({ mode: "new_run", id: "r2" });
    expect(plan.unsafe).toEqual([
      "charge (row 1) happened and stands: the new run makes it again",
      "mail (row 2) happened and stands: the new run makes it again",
    ]);
    await expect(of.client.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "PLAN_REFUSED" });
    expect(effectsOf(of.world)).toHaveLength(2);
    await of.client.executePlan(plan.id, { ...ann, override: "the customer ordered twice" });
    await of.client.run("r2").result({ timeout: "10s", through: "review" });
    expect(effectsOf(of.world)).toHaveLength(4);
    expect((await of.client.run("r2").get()).replayOf?.reason).toContain("the customer ordered twice");
  });
});

describe("a verb", () => {
  test("that names the revision it was decided on is refused once the run has moved", async () => {
    const of = await running();
    const run = await parkedAtCharge(of);
    const { revision } = await run.get();
    const stale = { ...ann, revision: revision - 1 };
    await expect(run.operator.retry(stale)).rejects.toMatchObject({ code: "STALE_REVISION" });
    await run.operator.retry({ ...ann, revision });
    await run.result({ timeout: "10s", through: "review" });
    expect(of.world.service("payments").counts()).toEqual({ arrivals: 2, effects: 1 });
  });
});

describe("a fork", () => {
  test("begins before a step: what was before is not called again and never undone, the rest is made anew", async () => {
    const of = await running();
    const run = await of.client.start(purchase, input, { id: "r1" });
    await run.result({ timeout: "10s", through: "review" });
    const plan = await run.plan({ mode: "fork", step: "mail", id: "r2" });
    expect(plan.calls).toMatchObject([
      { step: "charge", course: "reuse" },
      { step: "mail", course: "call", operationId: `${of.namespace}/default/r2/mail/1` },
    ]);
    expect(plan.unsafe).toEqual(["mail (row 2) happened and stands: the new run makes it again"]);
    await expect(of.client.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "PLAN_REFUSED" });
    await of.client.executePlan(plan.id, { ...ann, override: "the first one went to the wrong address" });
    const next = of.client.run("r2");
    await next.result({ timeout: "10s", through: "review" });
    expect(effectsOf(of.world)).toEqual(["payments.charge", "mail.send", "mail.send"]);
    expect((await next.get()).output).toMatchObject({ charge: (await run.get()).output?.["charge" as never] });
    expect(await next.get()).toMatchObject({ replays: 1, replayOf: { mode: "fork", run: "r1", by: "ann" } });
    expect((await next.ledger())[0]?.undo).toMatchObject({ state: "kept", reason: expect.stringContaining("run r1") });

    await next.undo({ by: "bob", reason: "enough" });
    await until(async () => (await next.get()).status === "cancelled");
    expect(effectsOf(of.world)).toEqual(["payments.charge", "mail.send", "mail.send"]);
    await run.undo({ by: "bob", reason: "enough" });
    await until(async () => (await run.get()).status === "cancelled");
    expect(effectsOf(of.world)).toEqual(["payments.charge", "mail.send", "mail.send", "payments.refund"]);
  });

  test("of a run whose earlier effects are undone is not made", async () => {
    const of = await running();
    const run = await of.client.start(purchase, input, { id: "r1" });
    await run.result({ timeout: "10s", through: "review" });
    await run.undo({ by: "bob", reason: "enough" });
    await until(async () => (await run.get()).status === "cancelled");
    const plan = await run.plan({ mode: "fork", step: "mail" });
    expect(plan).toMatchObject({ request: null, problem: expect.stringContaining("charge (row 1) is undone") });
    expect((await run.plan({ mode: "fork", step: "charge" })).request).toMatchObject({ type: "fork", seq: 1 });
  });

  test("is made once by one command, and not under the id of another run", async () => {
    const of = await running();
    of.world.fault({ service: "mail", action: "send", kind: "refuse", code: "no_such_address" });
    const run = await of.client.start(purchase, input, { id: "r1" });
    await expect(run.result({ timeout: "10s", through: "review" })).rejects.toBeInstanceOf(RunFailed);
    const taken = await run.plan({ mode: "fork", step: "charge", id: "r1" });
    await expect(of.client.executePlan(taken.id, ann)).rejects.toMatchObject({ code: "RUN_CONFLICT" });
    const plan = await run.plan({ mode: "fork", step: "charge", id: "r2" });
    expect(plan.safe).toBe(true);
    const command = { ...ann, commandId: "c-1" };
    const replayed = await Promise.all([1, 2].map(() => of.client.executePlan(plan.id, command)));
    expect(replayed).toMatchObject([{ run: "r2" }, { run: "r2" }]);
    await of.client.run("r2").result({ timeout: "10s", through: "review" });
    expect(effectsOf(of.world)).toEqual(["payments.charge", "payments.refund", "payments.charge", "mail.send"]);
  });
});

describe("a savepoint", () => {
  const notify = step("notify", {
    input: z.object({ orderId: z.string(), to: z.string(), subject: z.string() }),
    effect: "once",
    onExhausted: "review",
    action: ({ input, services, ...call }) => services.mail.send(input, call).catch(refusalsAreFinal),
    noCompensation: "a mail that was read cannot be unread",
    retry: noRetry,
  });
  const input = z.object({ orderId: z.string(), cents: z.int().positive(), sku: z.string() });
  const machine = setup({
    types: { input: {} as z.infer<typeof input>, context: {} as z.infer<typeof input> },
    actors: { seal, charge, notify },
  }).createMachine({
    id: "order",
    context: ({ input }) => input,
    initial: "reserving",
    states: {
      reserving: {
        invoke: {
          src: "seal",
          input: ({ context }) => ({ orderId: context.orderId, sku: context.sku }),
          onDone: "paying",
        },
      },
      paying: {
        tags: "savepoint",
        invoke: {
          src: "charge",
          input: ({ context }) => ({ orderId: context.orderId, cents: context.cents }),
          onDone: "telling",
        },
      },
      telling: {
        invoke: {
          src: "notify",
          input: ({ context }) => ({ orderId: context.orderId, to: "a@example.com", subject: "thanks" }),
          onDone: "end",
        },
      },
      end: { type: "final" },
    },
  });
  const staged = saga("staged", { version: 1, input }).machine(machine);

  test("is where a parked run goes back to: what came after is undone, and made anew", async () => {
    const of = top([staged]);
    of.world.fault({ service: "mail", action: "send", kind: "rate-limit", retryAfterSeconds: 1 });
    await of.worker();
    const run = await of.client.start(staged, { orderId: "o-1", cents: 100, sku: "A" }, { id: "r1" });
    await until(async () => (await run.get()).status === "needs_review");
    expect((await run.get()).savepoints).toEqual(["order.paying"]);
    const { steps } = await run.unwindPreview({ to: "order.paying" });
    expect(steps).toMatchObject([
      { step: "notify", course: "nothing" },
      { step: "charge", course: "compensate" },
    ]);
    await expect(run.unwindPreview({ to: "order.end" })).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await run.operator.rewind({ by: "ann", reason: "charged the wrong card", to: "order.paying" });
    await run.result({ timeout: "10s", through: "review" });
    expect(effectsOf(of.world)).toEqual([
      "stock.reserve",
      "payments.charge",
      "payments.refund",
      "payments.charge",
      "mail.send",
    ]);
    const charges = of.world.effects().filter(({ action }) => action === "charge");
    expect(charges.map(({ operationId }) => operationId)).toEqual([
      `${of.namespace}/default/r1/charge/1`,
      `${of.namespace}/default/r1/charge/2`,
    ]);
  });
});
