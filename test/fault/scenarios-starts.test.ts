/**
 * Starts and wake-ups that come more than once or not at all: one id is one run whoever asks for it and however often, and a
 * job that the queue does not take keeps no run from going on.
 */
import { setTimeout as pass } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createClient, saga, stepsFor } from "../../src/index.ts";
import { lanePrefix, poolQueue } from "../../src/queue/jobs.ts";
import { loadScripts } from "../../src/store/scripts.ts";
import { FakeWorld, type WorldClient, worldClient } from "../../src/testing/index.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/top.ts";
import { Here, isFull } from "./scenarios-here.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterAll(() => here.close());

/** The world, and whether it can be reached at all. */
interface Outside {
  readonly world: WorldClient;
  readonly isDown: () => boolean;
}

const { step } = stepsFor<Outside>();
const Id = z.object({ id: z.string() });
const pollMs = 200;
const patient = { attempts: 1_000, backoff: "fixed", initial: pollMs, max: pollMs, jitter: false } as const;

/** Files a ticket, which the other side deduplicates by key. */
function ticket<const Name extends string>(name: Name) {
  return step(name, {
    input: Id,
    effect: "keyed",
    action: async ({ input, services, ...call }) => {
      if (services.isDown()) throw Object.assign(new Error("unavailable"), { status: 503 });
      await services.world.op("tickets", { effect: "keyed" }).call("file", input, call);
    },
    noCompensation: "a ticket stays",
    retry: patient,
  });
}

/** One more letter at each request: after a time-out a person is asked. */
const letter = step("letter", {
  input: Id,
  effect: "once",
  action: async ({ input, services, ...call }) => {
    await services.world.op("letters", { effect: "once" }).call("post", input, call);
  },
  noCompensation: "a letter stays",
});

const toId = ({ input: { id } }: { readonly input: { readonly id: string } }) => ({ id });
const order = saga("order", { version: 1, input: Id }).step(ticket("order"), toId).build();
const loan = saga("loan", { version: 1, input: Id }).step(ticket("loan"), toId).build();
const mailing = saga("mailing", { version: 1, input: Id }).step(letter, toId).step(ticket("file"), toId).build();
const sagas = [order, loan, mailing];

function open() {
  const top = here.top(sagas, new FakeWorld());
  const outage = { isOn: false, calls: 0 };
  const isDown = () => {
    outage.calls += 1;
    return outage.isOn;
  };
  const services: Outside = { world: worldClient(top.world), isDown };
  const settings = { sweepMs: 100, shutdownMs: 3_000 };
  return { ...top, outage, serve: () => top.worker({ services, settings }) };
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `r${at + 1}`);

describe("a start", () => {
  test("R030 of a hundred at once, fifty of them twice, makes fifty runs and says which were there", async () => {
    const top = open();
    const ids = numbered(50);
    const started = await top.client.startMany(
      order,
      [...ids, ...ids].map((id) => ({ id, input: { id } })),
    );
    const said = (outcome: string) => started.flatMap((one) => (one.outcome === outcome ? [one.id] : []));
    expect([said("created").sort(), said("existed").sort()]).toEqual([[...ids].sort(), [...ids].sort()]);
    await top.serve();
    await Promise.all(ids.map((id) => top.client.run(id).result({ timeout: "20s" })));
    expect(top.world.service("tickets").counts()).toEqual({ arrivals: 50, effects: 50 });
    await here.prove("R030", { top, sagas, runs: ids }, { checks: ["50 created, 50 existed, 50 tickets"] });
  });

  test("R032 of one id from two replicas at the same time is one run, for two hundred of two hundred ids", async () => {
    const top = open();
    const ids = numbered(200);
    const replicas = [top.client, top.replica()];
    await top.serve();
    const pairs = await Promise.all(
      ids.map((id) => Promise.all(replicas.map((client) => client.start(order, { id }, { id })))),
    );
    expect(pairs.every(([one, other], at) => one?.id === ids[at] && other?.id === ids[at])).toBe(true);
    await Promise.all(ids.map((id) => top.client.run(id).result({ timeout: "60s" })));
    expect((await top.client.list({ limit: 1_000 })).runs).toHaveLength(200);
    expect(top.world.service("tickets").counts()).toEqual({ arrivals: 200, effects: 200 });
    await here.prove("R032", { top, sagas, runs: ids }, { checks: ["200 pairs of starts, 200 runs, 200 tickets"] });
  });

  test("R033 three times within ten milliseconds files one ticket", async () => {
    const top = open();
    await top.serve();
    const began = performance.now();
    const starts = [1, 2, 3].map(() => top.client.start(order, { id: "r1" }, { id: "r1" }));
    expect(performance.now() - began).toBeLessThan(10);
    await Promise.all(starts.map(async (run) => (await run).result({ timeout: "20s" })));
    expect(top.world.service("tickets").counts()).toEqual({ arrivals: 1, effects: 1 });
    await here.prove("R033", { top, sagas, runs: ["r1"] }, { checks: ["three starts, one ticket"] });
  });

  test("R118 whose connection is cut before it is answered, and that is made again, is one run", async () => {
    const top = open();
    await top.serve();
    const proxy = await startTcpProxy({ target: { host: here.redis.host, port: here.redis.port } });
    onTestFinished(() => proxy.close());
    const caller = () => createClient({ ...here.place, redis: proxy.url, namespace: top.namespace, sagas });
    const callers = [caller(), caller()] as const;
    onTestFinished(() => Promise.all(callers.map((client) => client.close())).then(() => undefined));
    const { sha } = loadScripts(1).create;
    await top.client.start(order, { id: "r0" }, { id: "r0" }); // from now on the server knows the script
    const cut = proxy.dropReply(({ words }) => words.includes(sha), { times: 1 });
    const first = callers[0].start(order, { id: "r1" }, { id: "r1" });
    await cut.hit;
    const again = callers[1].start(order, { id: "r1" }, { id: "r1" });
    const outcomes = await Promise.allSettled([first, again]);
    expect(outcomes[1]).toMatchObject({ status: "fulfilled", value: { id: "r1" } });
    const ids = ["r0", "r1"];
    await Promise.all(ids.map((id) => top.client.run(id).result({ timeout: "20s" })));
    expect((await top.client.list()).runs.map(({ id }) => id).toSorted()).toEqual(ids);
    expect([cut.hits, top.world.service("tickets").counts()]).toEqual([1, { arrivals: 2, effects: 2 }]);
    const checks = [`its answer lost (${outcomes[0].status}), started again: one run, one ticket`];
    await here.prove("R118", { top, sagas, runs: ids }, { checks });
  });

  test("R083 of another saga under an id that is taken is refused, and the run that has it goes on", async () => {
    const top = open();
    await top.serve();
    top.world.fault({ service: "tickets", kind: "hang-before-apply" });
    const first = await top.client.start(order, { id: "7" }, { id: "7" });
    const held = await top.world.nextHeld();
    const error: unknown = await top.client.start(loan, { id: "7" }, { id: "7" }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "RUN_CONFLICT" });
    held.release();
    await first.result({ timeout: "20s" });
    expect(top.world.effects().map(({ operationId: id }) => id.split("/").at(-2))).toEqual(["order"]);
    const refusal = { code: "RUN_CONFLICT", message: String((error as Error).message) };
    await here.prove("R083", { top, sagas, runs: ["7"] }, { checks: ["the first one completed"], refusal });
  });
});

describe("a wake-up", () => {
  test("R026 comes under an id of its own: jobs of the run that the queue retains from before are in nobody's way", async () => {
    const top = open();
    top.world.fault({ service: "letters", kind: "apply-then-500" });
    await top.serve();
    const run = await top.client.start(mailing, { id: "r1" }, { id: "r1" });
    await run.result({ timeout: "20s" }).catch(() => undefined);
    await until(async () => (await here.jobsOf(top.namespace, "r1")).length === 0);
    const queue = `${lanePrefix(top.namespace, 0)}:${poolQueue("default")}`;
    const next = Number(await here.redis.ask("HGET", `{reprise:${top.namespace}:0}:run:default:r1`, "w"));
    expect(next).toBeGreaterThan(1);
    for (let wake = 1; wake < next; wake += 1) {
      await here.redis.ask("HSET", `${queue}:default~r1.${wake}`, "name", "wake", "data", "{}", "opts", "{}");
      await here.redis.ask("ZADD", `${queue}:completed`, String(wake), `default~r1.${wake}`);
    }
    await run.operator.resolve({ as: "happened", evidence: "the outbox" }, { by: "ann" });
    await run.result({ timeout: "20s", through: "review" });
    expect(top.world.service("letters").counts()).toEqual({ arrivals: 1, effects: 1 });
    expect(top.world.service("tickets").counts()).toEqual({ arrivals: 1, effects: 1 });
    await here.prove("R026", { top, sagas, runs: ["r1"] }, { checks: ["earlier jobs retained, resolved, completed"] });
  });

  const runs = isFull ? 200 : 40;
  const outageMs = isFull ? 60_000 : 3_000;

  test(`R028 of ${runs} runs whose other side is away for ${outageMs / 1_000} s: all drain, and nothing is left behind`, async () => {
    const top = open();
    const ids = numbered(runs);
    top.outage.isOn = true;
    await top.serve();
    await top.client.startMany(
      order,
      ids.map((id) => ({ id, input: { id } })),
    );
    await pass(outageMs);
    expect(top.world.service("tickets").counts()).toEqual({ arrivals: 0, effects: 0 });
    top.outage.isOn = false;
    await Promise.all(ids.map((id) => top.client.run(id).result({ timeout: "60s" })));
    expect(top.world.service("tickets").counts()).toEqual({ arrivals: runs, effects: runs });
    // Each was tried at once, then every 200 ms, and once more when the outage was over.
    expect(top.outage.calls).toBeLessThanOrEqual(runs * (outageMs / pollMs + 2));
    expect(top.outage.calls).toBeGreaterThan(runs);
    await until(async () => (await here.jobsOf(top.namespace, "*")).length === 0);
    const left = await here.redis.ask("KEYS", `{reprise:${top.namespace}:w*}:*:de:*`);
    expect(left).toEqual([]);
    await here.prove("R028", { top, sagas, runs: ids }, { checks: [`${top.outage.calls} calls, no job left`] });
  }, 180_000);
});
