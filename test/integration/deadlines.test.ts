/** Deadlines of a step and of a run over a real Redis: what has happened by then is found out, and what then is as declared. */
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { type RunHandle, saga, stepsFor } from "../../src/index.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { effectsOf, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const Input = z.object({ id: z.string() });
const deadlineMs = 1_500;
/** Enough for a full machine to come to where the run waits. */
const runDeadlineMs = 4_000;

const book = step("book", {
  input: Input,
  output: z.object({ ref: z.string() }),
  effect: "keyed",
  action: async ({ input, services, ...call }) => {
    await services.op("trips", { effect: "keyed" }).call("book", input, call);
    return { ref: input.id };
  },
  compensate: async ({ input, services, ...call }) => {
    await services.op("trip-cancellations", { effect: "keyed", direction: "undo" }).call("cancel", input, call);
  },
});

/** In a cluster nothing of it is different. */
const inCluster = inject("redisUrl").includes("cluster=true");

/** Refused each time, and tried again for longer than it may take. */
function seat<const Then extends "fail" | "review">(onDeadline: Then) {
  return step("seat", {
    input: Input,
    effect: "keyed",
    action: async ({ input, services, ...call }) => {
      await services.op("seats", { effect: "keyed" }).call("take", input, call);
    },
    noCompensation: "a seat is free",
    retry: { attempts: 1_000, backoff: "fixed", initial: "200ms", max: "200ms", jitter: false },
    deadline: deadlineMs,
    onDeadline,
  });
}

const toId = ({ input }: { readonly input: z.infer<typeof Input> }) => input;
const failing = saga("failing", { version: 1, input: Input }).step(book, toId).step(seat("fail"), toId).build();
const asking = saga("asking", { version: 1, input: Input }).step(book, toId).step(seat("review"), toId).build();
const waiting = (name: string, afterMs: number, then: "compensate" | "review") =>
  saga(name, {
    version: 1,
    input: Input,
    events: { PAID: z.object({}) },
    deadline: { after: afterMs, then },
  })
    .step(book, toId)
    .waitFor("PAID")
    .build();
const turning = waiting("turning", runDeadlineMs, "compensate");
const parking = waiting("parking", runDeadlineMs, "review");
const unhurried = waiting("unhurried", 600_000, "compensate");
const sagas = [failing, asking, turning, parking, unhurried];

/** Ms from the start of the run to the entry of its log in which the deadline has passed. */
async function passedAfter(run: Pick<RunHandle, "log">): Promise<number> {
  const log = await run.log();
  const passed = log.filter(({ taken }) => taken.some(({ what }) => what === "deadline"));
  expect(passed).toHaveLength(1);
  return (passed[0]?.at ?? 0) - (log[0]?.at ?? 0);
}

describe.skipIf(inCluster)("a step that is not over by its deadline", () => {
  test("fails, however many attempts it has left, and what was done before is undone", async () => {
    const { client, worker, world } = top(sagas);
    await worker();
    world.fault({ service: "seats", kind: "rate-limit", retryAfterSeconds: 0, times: "always" });
    const run = await client.start(failing, { id: "r1" }, { id: "r1" });
    await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect((await run.get()).cause).toMatchObject({
      kind: "step_failed",
      step: "seat",
      message: expect.stringContaining("deadline"),
    });
    expect(await passedAfter(run)).toBeGreaterThanOrEqual(deadlineMs);
    expect(effectsOf(world)).toEqual(["trips.book", "trip-cancellations.cancel"]);
    expect(world.service("seats").counts().arrivals).toBeGreaterThan(1);
  });

  test("is parked where a person is to decide, and goes on when told so, with all its time", async () => {
    const { client, worker, world } = top(sagas);
    await worker();
    world.fault({ service: "seats", kind: "rate-limit", retryAfterSeconds: 0, times: "always" });
    const run = await client.start(asking, { id: "r1" }, { id: "r1" });
    await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ code: "RUN_NEEDS_REVIEW" });
    expect((await run.get()).review).toMatchObject({ reason: "deadline" });
    world.clearFaults();
    await run.operator.retry({ by: "ann", reason: "there are seats again" });
    await run.result({ timeout: "20s", through: "review" });
    expect(effectsOf(world)).toEqual(["trips.book", "seats.take"]);
  });
});

describe.skipIf(inCluster)("a run that is not over by its deadline", () => {
  test("turns round, although nobody was there when it passed", async () => {
    const { client, worker, world } = top(sagas);
    const first = await worker();
    const run = await client.start(turning, { id: "r1" }, { id: "r1" });
    await until(async () => (await run.get()).status === "waiting");
    await first.stop();
    await worker();
    await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect((await run.get()).cause).toMatchObject({ kind: "deadline", step: null });
    expect(await passedAfter(run)).toBeGreaterThanOrEqual(runDeadlineMs);
    expect(effectsOf(world)).toEqual(["trips.book", "trip-cancellations.cancel"]);
  });

  test("is parked where a person is to decide, and may go on without one", async () => {
    const { client, worker, world } = top(sagas);
    await worker();
    const run = await client.start(parking, { id: "r1" }, { id: "r1" });
    await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ code: "RUN_NEEDS_REVIEW" });
    expect(await passedAfter(run)).toBeGreaterThanOrEqual(runDeadlineMs);
    await run.operator.retry({ by: "ann", reason: "the customer has asked for a day more" });
    await until(async () => (await run.get()).status === "waiting");
    await run.signal("PAID", {});
    await run.result({ timeout: "20s" });
    expect(effectsOf(world)).toEqual(["trips.book"]);
  });

  test("that ends in time is left alone", async () => {
    const { client, worker, world } = top(sagas);
    await worker();
    const run = await client.start(unhurried, { id: "r1" }, { id: "r1" });
    await run.signal("PAID", {});
    await run.result({ timeout: "20s" });
    expect((await run.log()).flatMap(({ taken }) => taken).filter(({ what }) => what === "deadline")).toEqual([]);
    expect(effectsOf(world)).toEqual(["trips.book"]);
  });
});
