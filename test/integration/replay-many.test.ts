/** Replaying many parked runs: what is safe is done once, what is not is left with the reason, and a bad sign stops the rest. */
import { expect, test } from "vitest";
import { z } from "zod";
import { refusalsAreFinal, step } from "../../sagas/services.ts";
import { type BatchReport, saga } from "../../src/index.ts";
import { type Top, top, until } from "./top.ts";

const Charge = z.object({ orderId: z.string(), cents: z.int().positive() });
const noRetry = { attempts: 1 };

const charge = step("charge", {
  input: Charge,
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  onExhausted: "review",
  action: ({ input, services, ...call }) => services.payments.charge(input, call).catch(refusalsAreFinal),
  compensate: ({ output, services, ...call }) => services.payments.refund(output, call),
  retry: noRetry,
});
const mail = step("mail", {
  input: z.object({ orderId: z.string(), to: z.string(), subject: z.string() }),
  effect: "once",
  action: ({ input, services, ...call }) => services.mail.send(input, call).catch(refusalsAreFinal),
  noCompensation: "a mail that was read cannot be unread",
  retry: noRetry,
});
const purchase = saga("purchase", { version: 1, input: Charge })
  .step(charge, ({ input }) => input)
  .step(mail, ({ input }) => ({ orderId: input.orderId, to: "a@example.com", subject: "thanks" }))
  .build();

const ann = { by: "ann", reason: "the bank is back", ratePerSecond: 200 };

/** So many runs parked because the bank would not charge them, and so many whose mail may be out. */
async function parkedRuns({ client, world, worker }: Top, refused: number, doubtful: number) {
  const bank = world.fault({
    service: "payments",
    action: "charge",
    kind: "rate-limit",
    retryAfterSeconds: 1,
    args: { cents: 1 },
    times: "always",
  });
  if (doubtful > 0) world.fault({ service: "mail", action: "send", kind: "reset-after-apply", times: doubtful });
  await worker();
  const starts = (prefix: string, count: number, cents: number) =>
    Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n}`, input: { orderId: `${prefix}${n}`, cents } }));
  await client.startMany(purchase, [...starts("a", refused, 1), ...starts("z", doubtful, 2)]);
  await until(async () => (await client.reviews({ limit: 100 })).runs.length === refused + doubtful);
  return bank;
}

function counted({ results }: BatchReport) {
  const count = (wanted: string | null) => results.filter((each) => (each?.result ?? null) === wanted).length;
  return { done: count("done"), skipped: count("skipped"), failed: count("failed"), left: count(null) };
}

test("of thirty parked runs the twenty that are safe go on, and ten are left with the reason", async () => {
  const of = top([purchase]);
  const bank = await parkedRuns(of, 20, 10);
  bank.remove();
  const { client, world } = of;
  const batch = await client.replayMany({ filter: { saga: "purchase" }, mode: "resume" });
  expect(batch.items).toHaveLength(30);
  expect(batch.items.filter(({ safe }) => safe)).toHaveLength(20);
  expect(world.service("payments").counts()).toEqual({ arrivals: 30, effects: 10 });

  const report = await client.executeBatch(batch.id, { ...ann, canary: 3 });
  expect(report).toMatchObject({ stopped: null, by: "ann" });
  expect(counted(report)).toEqual({ done: 20, skipped: 10, failed: 0, left: 0 });
  for (const [place, { run }] of batch.items.entries()) {
    if (run.startsWith("z"))
      expect(report.results[place]).toMatchObject({ reason: expect.stringContaining("may have happened") });
  }
  await until(async () => (await client.list({ status: "completed", limit: 100 })).runs.length === 20);
  expect((await client.reviews({ limit: 100 })).runs).toHaveLength(10);
  expect(world.service("payments").counts()).toEqual({ arrivals: 50, effects: 30 });
  expect(world.service("mail").counts()).toEqual({ arrivals: 30, effects: 30 });

  expect(await client.executeBatch(batch.id, { ...ann, by: "bob" })).toEqual(report);
  expect(await client.batch(batch.id)).toEqual(report);
  expect(world.service("payments").counts()).toEqual({ arrivals: 50, effects: 30 });
});

test("canaries that are parked again stop the rest", async () => {
  const of = top([purchase]);
  const bank = await parkedRuns(of, 6, 0);
  const batch = await of.client.replayMany({ filter: { reason: "exhausted" }, mode: "resume" });
  const stopped = await of.client.executeBatch(batch.id, { ...ann, canary: 2 });
  expect(counted(stopped)).toEqual({ done: 2, skipped: 0, failed: 0, left: 4 });
  expect(stopped.stopped).toMatch(/^canary a\d: it is parked: charge was tried/);
  expect(of.world.service("payments").counts()).toEqual({ arrivals: 8, effects: 0 });
  bank.remove();
  const again = await of.client.executeBatch(batch.id, { ...ann, canary: 2 });
  expect(again.stopped).not.toBeNull();
  expect(of.world.service("payments").counts()).toEqual({ arrivals: 8, effects: 0 });
});

test("runs that have ended are undone, and canaries nobody attends to stop the rest", async () => {
  const of = top([purchase]);
  const worker = await of.worker();
  const starts = ["a", "b", "c"].map((id) => ({ id, input: { orderId: id, cents: 1 } }));
  await of.client.startMany(purchase, starts);
  await until(async () => (await of.client.list({ status: "completed" })).runs.length === 3);
  await worker.stop();
  const batch = await of.client.replayMany({ filter: { status: "completed" }, mode: "compensate_only" });
  expect(batch.items.every(({ safe }) => safe)).toBe(true);
  const wanted = { ...ann, canary: 1, canaryWithin: "200ms" } as const;
  const stopped = await of.client.executeBatch(batch.id, wanted);
  expect(stopped.stopped).toContain("nothing has come of it yet");
  expect(counted(stopped)).toEqual({ done: 1, skipped: 0, failed: 0, left: 2 });
  await of.worker();
  const report = await of.client.executeBatch(batch.id, { ...wanted, canaryWithin: "10s" });
  expect(counted(report)).toEqual({ done: 3, skipped: 0, failed: 0, left: 0 });
  await until(async () => (await of.client.list({ status: "cancelled" })).runs.length === 3);
  expect(of.world.effects().filter(({ action }) => action === "refund")).toHaveLength(3);
});

test("a run that has moved since it was selected is left as it is", async () => {
  const of = top([purchase]);
  const bank = await parkedRuns(of, 3, 0);
  const batch = await of.client.replayMany({ filter: {}, mode: "resume" });
  await of.client.run("a1").operator.close({ by: "bob", reason: "the customer has gone" });
  await until(async () => (await of.client.run("a1").get()).status === "failed");
  bank.remove();
  const report = await of.client.executeBatch(batch.id, ann);
  expect(counted(report)).toEqual({ done: 2, skipped: 1, failed: 0, left: 0 });
  const moved = report.results[batch.items.findIndex(({ run }) => run === "a1")];
  expect(moved).toMatchObject({ result: "skipped", reason: expect.stringContaining("STALE_REVISION") });
});

test("two who execute one batch at once do each of its items once", async () => {
  const of = top([purchase]);
  const bank = await parkedRuns(of, 8, 0);
  bank.remove();
  const batch = await of.client.replayMany({ filter: { step: "charge" }, mode: "resume" });
  const reports = await Promise.all(["ann", "bob"].map((by) => of.client.executeBatch(batch.id, { ...ann, by })));
  for (const report of reports) expect(counted(report)).toEqual({ done: 8, skipped: 0, failed: 0, left: 0 });
  await until(async () => (await of.client.list({ status: "completed" })).runs.length === 8);
  expect(of.world.service("payments").counts()).toEqual({ arrivals: 16, effects: 8 });
});

test("one that is suspended stops all who execute it, and is carried out once when it is resumed", async () => {
  const of = top([purchase]);
  const bank = await parkedRuns(of, 40, 0);
  bank.remove();
  const batch = await of.client.replayMany({ filter: { step: "charge" }, mode: "resume" });
  const [one, other] = [of.client, of.replica()];
  const onCall = of.replica();
  const slowly = { ...ann, ratePerSecond: 5 };
  const executed = [one, other].map((client, n) => client.executeBatch(batch.id, { ...slowly, by: `executor ${n}` }));
  await until(async () => counted(await onCall.batch(batch.id)).done >= 3);
  const { suspended } = await onCall.suspendBatch(batch.id, { by: "bob", reason: "it charges the wrong cards" });
  const known = counted(await onCall.batch(batch.id)).done;
  const reports = await Promise.all(executed);
  for (const report of reports) {
    expect(report).toMatchObject({ stopped: "suspended by bob: it charges the wrong cards", suspended });
  }
  // Each of the two had one under way at most.
  const { done, left } = counted(await onCall.batch(batch.id));
  expect(done).toBeLessThanOrEqual(known + 2);
  expect(left).toBeGreaterThan(0);
  await until(async () => (await onCall.list({ status: "completed", limit: 100 })).runs.length === done);
  expect(of.world.service("payments").counts()).toEqual({ arrivals: 40 + done, effects: done });

  for (const client of [one, other]) {
    await expect(client.executeBatch(batch.id, ann)).rejects.toMatchObject({ code: "BATCH_SUSPENDED" });
  }
  expect(of.world.service("payments").counts()).toEqual({ arrivals: 40 + done, effects: done });
  await onCall.resumeBatch(batch.id, { by: "bob", reason: "the cards are right" });
  const rest = await Promise.all([one, other].map((client) => client.executeBatch(batch.id, ann)));
  for (const report of rest) expect(counted(report)).toEqual({ done: 40, skipped: 0, failed: 0, left: 0 });
  await until(async () => (await onCall.list({ status: "completed", limit: 100 })).runs.length === 40);
  expect(of.world.service("payments").counts()).toEqual({ arrivals: 80, effects: 40 });
  const { acts } = await onCall.audit({ by: "bob" });
  expect(acts.map(({ act, reason, about }) => [act, reason, about])).toEqual([
    ["resume_batch", "the cards are right", `batch ${batch.id}`],
    ["suspend_batch", "it charges the wrong cards", `batch ${batch.id}`],
  ]);
});

test("a filter names the step and the reason for which runs are parked, and a limit", async () => {
  const of = top([purchase]);
  await parkedRuns(of, 3, 2);
  const select = async (filter: object, limit = 100) =>
    (await of.client.replayMany({ filter, mode: "compensate_only", limit })).items.map(({ run }) => run).sort();
  expect(await select({ step: "mail" })).toEqual(["z0", "z1"]);
  expect(await select({ reason: "exhausted" })).toEqual(["a0", "a1", "a2"]);
  expect(await select({ saga: "another" })).toEqual([]);
  expect(await select({}, 4)).toHaveLength(4);
  await expect(select({}, 0)).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(of.client.batch("none")).rejects.toMatchObject({ code: "PLAN_GONE" });
});
