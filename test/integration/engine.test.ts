import { describe, expect, test } from "vitest";
import { z } from "zod";
import { order, trip } from "../../sagas/index.ts";
import { RunCancelled, RunFailed, RunNeedsReview, saga, step } from "../../src/index.ts";
import { effectsOf, top, until } from "./top.ts";

const input = { id: "o-1", sku: "A", cents: 4_200, email: "a@example.com" };
const quick = { startWithinMs: 300, barrierMs: 200, abortGraceMs: 100, quiesceMs: 500 };

describe("an order", () => {
  test("completes, and the world saw each effect once, in order", async () => {
    const { client, worker, world, namespace, troubles } = top([order]);
    await worker();
    const run = await client.start(order, input, { id: "r1" });
    const result = await run.result({ timeout: "10s" });
    expect(result).toEqual({ chargeId: expect.any(String), shipmentId: expect.any(String) });
    expect(effectsOf(world)).toEqual(["stock.reserve", "payments.charge", "shipping.ship", "mail.send"]);
    const ledger = await run.ledger();
    expect(ledger.map((row) => row.operationId)).toEqual(world.effects().map((effect) => effect.operationId));
    expect(ledger[1]?.operationId).toBe(`${namespace}/default/r1/chargeCard/1`);
    const log = await run.log();
    expect(log.map((entry) => entry.revision)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(troubles).toEqual([]);
  });

  test("that the carrier refuses is undone in reverse, and the client is told why", async () => {
    const { client, worker, world } = top([order]);
    world.fault({ service: "shipping", action: "ship", kind: "refuse", code: "no_route" });
    await worker();
    const run = await client.start(order, input);
    const error = await run.result({ timeout: "10s" }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RunFailed);
    expect(error).toMatchObject({ code: "RUN_FAILED", rollback: "complete", reason: { step: "ship" } });
    expect(effectsOf(world)).toEqual(["stock.reserve", "payments.charge", "payments.refund", "stock.release"]);
  });

  test("whose charge was applied and not answered is charged once", async () => {
    const { client, worker, world } = top([order]);
    world.fault({ service: "payments", action: "charge", kind: "reset-after-apply" });
    await worker();
    const run = await client.start(order, input);
    await run.result({ timeout: "10s" });
    expect(world.service("payments").counts()).toEqual({ arrivals: 1, effects: 1 });
  });

  test("whose mail nobody can know about is parked, listed, and closed or resolved by one person", async () => {
    const { client, worker, world } = top([order]);
    world.fault({ service: "mail", action: "send", kind: "reset-after-apply" });
    await worker();
    const run = await client.start(order, input, { id: "parked" });
    const error = await run.result({ timeout: "10s" }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RunNeedsReview);
    const { runs } = await client.reviews();
    expect(runs).toMatchObject([{ id: "parked", saga: "order", reason: "unknown_outcome", n: 1 }]);
    expect(runs[0]?.verbs).toContain("resolve");
    await expect(run.operator.skip({ by: "ann", reason: "no" })).rejects.toMatchObject({ code: "VERB_REFUSED" });
    const happened = { as: "happened", evidence: "the server's log" } as const;
    await expect(run.operator.resolve(happened, { by: "ann" })).rejects.toMatchObject({ code: "INPUT_INVALID" });
    const resolved = { ...happened, output: { messageId: "m-1" } };
    await run.operator.resolve(resolved, { by: "ann", review: 1 });
    await expect(run.operator.close({ by: "bob", reason: "late", review: 1 })).rejects.toMatchObject({
      code: "REVIEW_TAKEN",
      message: expect.stringContaining("ann"),
    });
    await run.result({ timeout: "10s", through: "review" });
    await expect(run.operator.close({ by: "bob", reason: "late" })).rejects.toMatchObject({ code: "REVIEW_GONE" });
    expect(world.service("mail").counts()).toEqual({ arrivals: 1, effects: 1 });
  });

  test("that is cancelled during a call is undone, and whose cancel counts is the first one's", async () => {
    const { client, worker, world } = top([order]);
    world.fault({ service: "shipping", action: "ship", kind: "apply-then-hang" });
    await worker({ settings: { ...quick, shutdownMs: 3_000 } });
    const run = await client.start(order, input);
    await world.nextHeld();
    await expect(run.cancel({ reason: "changed my mind", by: "ann" })).resolves.toEqual({
      by: "ann",
      mode: "compensate",
    });
    await expect(run.cancel({ reason: "me too", by: "bob" })).resolves.toEqual({ by: "ann", mode: "compensate" });
    const error = await run.result({ timeout: "15s" }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RunCancelled);
    expect(error).toMatchObject({ rollback: "complete", reason: { kind: "cancelled" } });
    expect(effectsOf(world).slice(-3)).toEqual(["shipping.recall", "payments.refund", "stock.release"]);
    await expect(run.cancel({ reason: "again", by: "cy" })).resolves.toEqual({ by: "ann", mode: "compensate" });
  });

  test("that has completed is not cancelled any more", async () => {
    const { client, worker } = top([order]);
    await worker();
    const run = await client.start(order, input);
    await run.result({ timeout: "10s" });
    await expect(run.cancel({ reason: "late", by: "ann" })).rejects.toMatchObject({ code: "RUN_ENDED" });
  });
});

test("a trip books side by side, and the failing hotel takes the flight with it", async () => {
  const { client, worker, world } = top([trip]);
  world.fault({ service: "hotels", action: "book", kind: "refuse", code: "full" });
  await worker();
  const run = await client.start(trip, { id: "t-1", flight: "LH1", hotel: "Ritz", email: "a@example.com" });
  await expect(run.result({ timeout: "10s" })).rejects.toBeInstanceOf(RunFailed);
  expect(effectsOf(world)).toEqual(["flights.book", "flights.cancel"]);
});

describe("waiting", () => {
  const before = step("before", { input: z.object({}), effect: "none", action: () => null });
  const after = step("after", { input: z.object({}), effect: "none", action: () => null });
  const patient = saga("patient", { version: 1, input: z.object({}), events: { GO: z.object({ who: z.string() }) } })
    .step(before, () => ({}))
    .waitFor("GO")
    .step(after, () => ({}))
    .build();
  const sleepy = saga("sleepy", { version: 1, input: z.object({}) })
    .step(before, () => ({}))
    .wait("2500ms")
    .step(after, () => ({}))
    .build();

  test("a signal that comes before its state is kept, and the same id twice is one signal", async () => {
    const { client, worker } = top([patient]);
    const run = await client.start(patient, {});
    await expect(run.signal("GO", { who: "ann" }, { id: "s1" })).resolves.toBe("accepted");
    await expect(run.signal("GO", { who: "bob" }, { id: "s1" })).resolves.toBe("duplicate");
    await worker();
    await run.result({ timeout: "10s" });
    const events = (await run.log()).flatMap((entry) => entry.taken).filter((taken) => taken.what === "event");
    expect(events).toMatchObject([{ type: "GO", id: "s1", payload: { who: "ann" } }]);
    await expect(run.signal("GO", { who: "cy" })).rejects.toMatchObject({ code: "RUN_ENDED" });
  });

  test("a waiting run holds no worker and goes on within a second of its signal", async () => {
    const { client, worker } = top([patient]);
    await worker({ concurrency: 1 });
    const runs = await Promise.all(["a", "b", "c"].map((id) => client.start(patient, {}, { id })));
    for (const run of runs) await until(async () => (await run.get()).status === "waiting");
    await runs[1]?.signal("GO", { who: "ann" });
    await runs[1]?.result({ timeout: "1s" });
    expect(await runs[0]?.get()).toMatchObject({ status: "waiting", waitingFor: "event" });
  });

  test("a wrong signal is refused before it is sent", async () => {
    const { client } = top([patient]);
    const run = await client.start(patient, {}, { id: "x" });
    const untyped = client.run("x");
    await expect(untyped.signal("STOP", {})).rejects.toMatchObject({ code: "EVENT_UNKNOWN" });
    await expect(untyped.signal("GO", { who: 1 })).rejects.toMatchObject({ code: "EVENT_INVALID" });
    await expect(client.run("nobody").signal("GO", {})).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect((await run.get()).revision).toBe(1);
  });

  test("a timer fires by the store's clock, not before its time and soon after it", async () => {
    const { client, worker } = top([sleepy]);
    await worker();
    const run = await client.start(sleepy, {});
    await run.result({ timeout: "10s" });
    const log = await run.log();
    const fired = log.findIndex((entry) => entry.taken.some((taken) => taken.what === "timer"));
    const waited = (log[fired]?.at ?? 0) - (log[fired - 1]?.at ?? 0);
    expect(waited).toBeGreaterThanOrEqual(2_500);
    expect(waited).toBeLessThan(5_000);
  });

  test("a delayed start begins when it is due", async () => {
    const { client, worker } = top([sleepy, patient]);
    await worker();
    const run = await client.start(patient, {}, { delay: "1s" });
    await run.signal("GO", { who: "ann" });
    await run.result({ timeout: "10s" });
    const [created, begun] = await run.log();
    expect((begun?.at ?? 0) - (created?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  test("watching shows every state it stops in, and ends with the run", async () => {
    const { client, worker } = top([patient]);
    const run = await client.start(patient, {});
    await worker();
    const seen: string[] = [];
    for await (const view of run.watch()) {
      if (seen.at(-1) !== view.status) seen.push(view.status);
      if (view.status === "waiting") await run.signal("GO", { who: "ann" });
    }
    expect(seen.at(-1)).toBe("completed");
    expect(seen).toContain("waiting");
  });

  test("a result that does not come in time is a time-out, and the run goes on", async () => {
    const { client, worker } = top([patient]);
    await worker();
    const run = await client.start(patient, {});
    await expect(run.result({ timeout: "200ms" })).rejects.toMatchObject({ code: "RESULT_TIMEOUT" });
    await run.signal("GO", { who: "ann" });
    await run.result({ timeout: "10s" });
  });
});

describe("several workers", () => {
  test("two workers at once on one run call every step once", async () => {
    const { client, worker, world } = top([order]);
    await Promise.all([worker(), worker()]);
    const ids = Array.from({ length: 20 }, (_, at) => `r${at}`);
    const runs = await Promise.all(ids.map((id) => client.start(order, { ...input, id }, { id })));
    await Promise.all(runs.map((run) => run.result({ timeout: "20s" })));
    expect(world.effects()).toHaveLength(80);
    expect(world.counts().every(({ arrivals, effects }) => arrivals === 1 && effects === 1)).toBe(true);
  });

  test("a worker that stops while it runs lets its calls end and leaves the rest to another", async () => {
    const { client, worker, world } = top([order]);
    world.fault({ service: "payments", action: "charge", kind: "slow", ms: 500, times: "always" });
    const first = await worker();
    const ids = Array.from({ length: 10 }, (_, at) => `r${at}`);
    const runs = await Promise.all(ids.map((id) => client.start(order, { ...input, id }, { id })));
    await until(() => world.service("payments").counts().arrivals === 10);
    await first.stop();
    expect(world.service("shipping").counts().arrivals).toBe(0);
    await worker();
    await Promise.all(runs.map((run) => run.result({ timeout: "20s" })));
    expect(world.service("payments").counts()).toEqual({ arrivals: 10, effects: 10 });
    expect(world.service("mail").counts()).toEqual({ arrivals: 10, effects: 10 });
  });
});

describe("routed steps", () => {
  const render = step("render", {
    input: z.object({ n: z.number() }),
    output: z.object({ worker: z.string() }),
    effect: "keyed",
    queue: "gpu",
    action: ({ services }) => ({ worker: (services as { readonly name: string }).name }),
    compensate: () => undefined,
  });
  const film = saga("film", { version: 1, input: z.object({ n: z.number() }) })
    .step(render, ({ input }) => input)
    .build({ output: ({ results }) => results.render });

  test("run on workers of their queue, and only there", async () => {
    const { client, worker } = top([film]);
    await worker({ services: { name: "driver" } });
    const run = await client.start(film, { n: 1 });
    await until(async () => (await run.ledger())[0]?.call.state === "offered");
    await worker({ pools: [], queues: [{ name: "gpu", concurrency: 2 }], services: { name: "gpu" } });
    await expect(run.result({ timeout: "15s" })).resolves.toEqual({ worker: "gpu" });
    const [row] = await run.ledger();
    expect(row?.call).toMatchObject({ state: "succeeded", send: 1, attempt: 1 });
  });
});

describe("starting", () => {
  test("is idempotent by id: the same input is the same run, another one is a conflict", async () => {
    const { client } = top([order]);
    const first = await client.start(order, input, { id: "x" });
    const again = await client.start(order, { ...input }, { id: "x" });
    expect(again.id).toBe(first.id);
    await expect(client.start(order, { ...input, cents: 1 }, { id: "x" })).rejects.toMatchObject({
      code: "RUN_CONFLICT",
    });
    expect((await client.list()).runs).toHaveLength(1);
  });

  test("refuses what does not fit, naming the path, and writes nothing", async () => {
    const { client } = top([order]);
    const bad = client.start(order, { ...input, cents: -1 });
    await expect(bad).rejects.toMatchObject({ code: "INPUT_INVALID", message: expect.stringContaining("cents") });
    await expect(client.start(order, input, { id: "a:b" })).rejects.toMatchObject({ code: "ID_INVALID" });
    await expect(client.start(order, input, { tenant: "" })).rejects.toMatchObject({ code: "ID_INVALID" });
    await expect(client.start(trip, { id: "t", flight: "f", hotel: "h", email: "a@b.c" })).rejects.toMatchObject({
      code: "SAGA_UNKNOWN",
    });
    const large = { ...input, sku: "x".repeat(2_000_000) };
    await expect(client.start(order, large)).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
    expect((await client.list()).runs).toEqual([]);
  });

  test("many at once says which were there before, and all of them run", async () => {
    const { client, worker, world } = top([order]);
    await client.start(order, { ...input, id: "r3" }, { id: "r3" });
    const starts = Array.from({ length: 40 }, (_, at) => ({ id: `r${at}`, input: { ...input, id: `r${at}` } }));
    const started = await client.startMany(order, [...starts, { id: "r4", input: { ...input, cents: 7 } }]);
    const idsOf = (wanted: string) => started.filter(({ outcome }) => outcome === wanted).map(({ id }) => id);
    expect(idsOf("existed")).toEqual(["r3"]);
    expect(idsOf("conflict")).toEqual(["r4"]);
    expect(idsOf("created")).toHaveLength(39);
    await worker();
    await Promise.all(starts.map(({ id }) => client.run(id, { saga: order }).result({ timeout: "20s" })));
    expect(world.service("payments").counts()).toEqual({ arrivals: 40, effects: 40 });
  });

  test("lists by status and saga, in pages, one tenant apart from another", async () => {
    const { client, worker } = top([order, trip]);
    await worker();
    for (const id of ["a", "b", "c"]) await client.start(order, { ...input, id }, { id });
    await client.start(order, { ...input, id: "z" }, { id: "z", tenant: "acme" });
    await until(async () => (await client.list({ status: "completed" })).runs.length === 3);
    const first = await client.list({ saga: "order", limit: 2 });
    expect(first.runs).toHaveLength(2);
    const second = await client.list({ saga: "order", limit: 2, cursor: first.cursor ?? "" });
    const ids = [...first.runs, ...second.runs].map(({ id }) => id).sort();
    expect(ids).toEqual(["a", "b", "c"]);
    expect(second.cursor).toBeNull();
    expect((await client.list({ saga: "trip" })).runs).toEqual([]);
    expect((await client.list({ tenant: "acme" })).runs.map(({ id }) => id)).toEqual(["z"]);
    await expect(client.list({ limit: 0 })).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });
});

describe("a worker refuses to serve", () => {
  const v = (extra: boolean) => {
    const act = step("act", { input: z.object({}), effect: "none", action: () => null });
    const line = saga("changing", { version: 1, input: z.object({}), events: { GO: z.object({}) } })
      .step(act, () => ({}))
      .waitFor("GO");
    return extra
      ? line.step(step("more", { input: z.object({}), effect: "none", action: () => null }), () => ({})).build()
      : line.build();
  };

  test("a changed structure under the same version while runs of the old one are open, with what changed", async () => {
    const { client, worker } = top([v(false)]);
    await worker();
    const run = await client
      .start(v(false), {}, { id: "x" })
      .catch(() => client.startByName("changing", {}, { id: "x" }));
    await until(async () => (await client.run("x").get()).status === "waiting");
    await expect(worker({ sagas: [v(true)] })).rejects.toMatchObject({
      code: "STRUCTURE_CHANGED",
      message: expect.stringContaining("more"),
    });
    await client.run("x").signal("GO", {});
    await run.result({ timeout: "10s" });
    await worker({ sagas: [v(true)] });
  });

  test("two sagas of one name and version, and a part of a pool", async () => {
    const { worker } = top([order]);
    await expect(worker({ sagas: [v(false), v(true)] })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(worker({ sagas: [order, trip], serve: ["order"] })).rejects.toMatchObject({
      code: "POOL_INCOMPLETE",
      message: expect.stringContaining("trip"),
    });
  });

  test("settings that do not hold together", async () => {
    const { worker } = top([order]);
    await expect(worker({ settings: { marginMs: 100 } })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });
});

test("a client whose Redis is not there fails fast with a name", async () => {
  const { createClient } = await import("../../src/index.ts");
  const client = createClient({ redis: "redis://127.0.0.1:1", sagas: [order], facts: { emit: () => undefined } });
  const began = performance.now();
  await expect(client.start(order, input)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(performance.now() - began).toBeLessThan(5_000);
  await client.close();
  await expect(client.start(order, input)).rejects.toMatchObject({ code: "CLOSED" });
});
