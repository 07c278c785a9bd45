/** Parked runs in the queue `dead-letter`: what BullMQ's own tools see of them, and what a retry by hand does to the world. */
import { Queue } from "bullmq";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { order } from "../../sagas/index.ts";
import { saga, stepsFor } from "../../src/index.ts";
import { redisConnections } from "../../src/redis/index.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { type Top, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });

/** The shop refuses to take it in for a while; a person is to look, and nothing happened. */
const hand = step("hand", {
  input: Id,
  output: z.object({ ref: z.string() }),
  effect: "keyed",
  action: async ({ input, services, ...call }) =>
    (await services.op("desk", { effect: "keyed", query: true }).call("hand", input, call)) as { ref: string },
  compensate: () => undefined,
  retry: { attempts: 1 },
  onExhausted: "review",
  timeout: "2s",
});
const parcel = saga("parcel", { version: 1, input: Id })
  .step(hand, ({ input }) => input)
  .build();

const quick = { deadLetterSweepMs: 300 };

async function deadLettersOf({ namespace }: Top) {
  const connections = redisConnections(inject("redisUrl"));
  const connection = connections.commands();
  await connections.ready(connection);
  const queue = new Queue("dead-letter", { connection, prefix: `{reprise:${namespace}:w0}` });
  onTestFinished(async () => {
    await queue.close();
    connections.close();
  });
  const failed = (id: string) => until(async () => (await queue.getFailed()).find((job) => job.id === id));
  const isEmpty = async () => Object.values(await queue.getJobCounts()).every((count) => count === 0);
  return { queue, failed, isEmpty };
}

describe("a parked run", () => {
  test("that is safe to resume is one failed job; put back it goes on, and the effect is made exactly once", async () => {
    const scene = top([parcel]);
    const { client, worker, world } = scene;
    const { failed, isEmpty } = await deadLettersOf(scene);
    world.fault({ service: "desk", action: "hand", kind: "rate-limit", retryAfterSeconds: 1 });
    await worker();
    const run = await client.start(parcel, { id: "a" }, { id: "r1" });
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_NEEDS_REVIEW" });
    const { review } = await run.get();
    const job = await failed("default~r1~1");
    expect(job.failedReason).toBe(review?.message);
    expect(job.data).toMatchObject({ tenant: "default", id: "r1", saga: "parcel", version: 1, review: 1 });
    expect(world.service("desk").counts()).toMatchObject({ effects: 0 });
    await job.retry();
    await run.result({ timeout: "10s", through: "review" });
    expect(world.service("desk").counts()).toMatchObject({ effects: 1 });
    const verbs = (await run.log()).flatMap(({ taken }) => taken.filter((each) => each.what === "verb"));
    expect(verbs).toMatchObject([{ verb: "retry", review: 1, by: "dead-letter" }]);
    await until(isEmpty);
  });

  test("whose effect nobody knows fails again with the reason, and the world hears nothing of it", async () => {
    const scene = top([order]);
    const { client, worker, world } = scene;
    const { failed } = await deadLettersOf(scene);
    world.fault({ service: "mail", action: "send", kind: "reset-after-apply" });
    await worker();
    const input = { id: "o-1", sku: "A", cents: 4_200, email: "a@example.com" };
    const run = await client.start(order, input, { id: "r1" });
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_NEEDS_REVIEW" });
    const before = { counts: world.counts(), log: await run.log() };
    await (await failed("default~r1~1")).retry();
    await until(async () => (await failed("default~r1~1")).failedReason?.includes("HUMAN_REQUIRED"));
    expect((await failed("default~r1~1")).failedReason).toContain("the other side cannot be asked");
    expect({ counts: world.counts(), log: await run.log() }).toEqual(before);
    expect((await run.get()).review?.n).toBe(1);
  });

  test("that was answered by somebody is shown no more, and its next question is a job of its own", async () => {
    const scene = top([parcel]);
    const { client, worker, world } = scene;
    const { queue, failed, isEmpty } = await deadLettersOf(scene);
    world.fault({ service: "desk", action: "hand", kind: "rate-limit", retryAfterSeconds: 1, times: 2 });
    await worker();
    const run = await client.start(parcel, { id: "a" }, { id: "r1" });
    await failed("default~r1~1");
    await run.operator.retry({ by: "ann", reason: "again", review: 1 });
    await failed("default~r1~2");
    await until(async () => (await queue.getFailedCount()) === 1);
    await run.operator.close({ by: "ann", reason: "enough", review: 2 });
    await until(isEmpty);
  });
});

describe("put back at once", () => {
  test("by two people, one is heard: the effect is made once", async () => {
    const scene = top([parcel]);
    const { client, worker, world } = scene;
    const { failed, isEmpty } = await deadLettersOf(scene);
    world.fault({ service: "desk", action: "hand", kind: "rate-limit", retryAfterSeconds: 1 });
    await worker({ settings: quick });
    await worker({ settings: quick });
    const run = await client.start(parcel, { id: "a" }, { id: "r1" });
    const job = await failed("default~r1~1");
    const asked = await Promise.allSettled([
      job.retry(),
      job.retry(),
      run.operator.retry({ by: "ann", reason: "it is open again", review: 1 }),
    ]);
    expect(asked.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(1);
    await run.result({ timeout: "10s", through: "review" });
    expect(world.service("desk").counts()).toMatchObject({ effects: 1 });
    const verbs = (await run.log()).flatMap(({ taken }) => taken.filter((each) => each.what === "verb"));
    expect(verbs).toHaveLength(1);
    // Where ann was first, the job says so until the next sweep.
    await until(isEmpty);
  });

  test("all of them: those that are safe go on, once each, the others fail again", async () => {
    const scene = top([parcel, order]);
    const { client, worker, world } = scene;
    const { queue, failed } = await deadLettersOf(scene);
    const ids = Array.from({ length: 12 }, (_, at) => `p${at}`);
    world.fault({ service: "desk", action: "hand", kind: "rate-limit", retryAfterSeconds: 1, times: ids.length });
    world.fault({ service: "mail", action: "send", kind: "reset-after-apply" });
    await worker();
    await worker();
    await client.startMany(
      parcel,
      ids.map((id) => ({ id, input: { id } })),
    );
    const unsafe = await client.start(
      order,
      { id: "o-1", sku: "A", cents: 1, email: "a@example.com" },
      { id: "unsafe" },
    );
    await until(async () => (await queue.getFailedCount()) === ids.length + 1);
    await queue.retryJobs();
    await Promise.all(ids.map((id) => client.run(id).result({ timeout: "20s", through: "review" })));
    await until(async () => (await failed("default~unsafe~1")).failedReason?.includes("HUMAN_REQUIRED"));
    await until(async () => (await queue.getFailedCount()) === 1);
    expect(world.service("desk").counts()).toMatchObject({ effects: ids.length });
    expect(world.service("mail").counts()).toEqual({ arrivals: 1, effects: 1 });
    expect((await unsafe.get()).status).toBe("needs_review");
  });
});

describe("the sweep", () => {
  test("shows again what was thrown away while its review is open, and takes away what is over", async () => {
    const scene = top([parcel]);
    const { client, worker, world } = scene;
    const { queue, failed, isEmpty } = await deadLettersOf(scene);
    world.fault({ service: "desk", action: "hand", kind: "rate-limit", retryAfterSeconds: 1 });
    await worker({ settings: quick });
    const run = await client.start(parcel, { id: "a" }, { id: "r1" });
    await failed("default~r1~1");
    await queue.obliterate({ force: true });
    await failed("default~r1~1");
    const left = { tenant: "default", id: "gone", review: 1, message: "of a run that is not there" };
    await queue.add("parcel", left, { jobId: "default~gone~1" });
    await until(async () => (await queue.getFailedCount()) + (await queue.getWaitingCount()) === 1);
    await run.operator.close({ by: "ann", reason: "enough" });
    await until(isEmpty);
  });
});
