/**
 * What grows with the number of runs: what Redis keeps of them, what a script is handed at once, how many connections a
 * process opens. Each on a redis-server of its own, because the server is what is counted.
 */
import { afterAll, expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { faultConnections } from "../support/fault-connect.ts";
import { harnessTimeoutMs, tenant } from "../support/fault-plan.ts";
import { sagas } from "../support/fault-sagas.ts";
import { Stage } from "../support/fault-stage.ts";
import { owned, waitFor } from "../support/processes.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import type { Play } from "./scenarios-play.ts";
import { sagas as scenarioSagas } from "./scenarios-sagas.ts";
import { isFull, Scene } from "./scenarios-scene.ts";
import { callsPerOrder, Shop } from "./scenarios-shop.ts";

/** R043: 100,000 steps in full. */
const orders = isFull ? 25_000 : 1_000;
/** What a completed order may take in Redis, its log, ledger and listings in it. */
const bytesPerOrder = 4_000;
/** What may be taken once, whatever was done: scripts, streams, buffers. */
const bytesOnce = 1_500_000;
/** Events that BullMQ keeps for a queue: 100, in whole nodes of a stream. */
const eventsPerQueue = 200;

/** R046: more than the 8,000 elements that Lua unpacks. */
const crowd = isFull ? 10_000 : 9_000;
const cancels = 100;
const errands = 20;
const concurrency = 20;
const owner = "one-process";

/** R047. */
const signalled = 1_000;
const atOnce = 50;
const connectionsPerProcess = 10;

const everything = owned();
afterAll(everything.release);

test(`R043 ${orders * callsPerOrder} steps leave ${bytesPerOrder} bytes a run, no job, and streams of a bounded length`, async () => {
  const redis = everything.own(await startRedisServer());
  const shop = everything.own(
    await Shop.open({ namespace: "r043", url: redis.url, server: redis.url, witness: false }),
  );
  await shop.worker();
  await shop.orderMany(1);
  await shop.restAll(30_000);
  const before = await usedMemory(redis);
  await shop.orderMany(orders);
  expect(await shop.restAll(isFull ? 900_000 : 60_000)).toEqual({ completed: orders + 1 });
  await waitFor(async () => (await queueKeys(redis, "r043")).every((key) => !key.includes("~")), {
    what: "no job to be left",
    timeoutMs: 30_000,
  });
  const taken = (await usedMemory(redis)) - before;
  expect(taken).toBeLessThan(bytesOnce + orders * bytesPerOrder);
  const streams = await streamLengths(redis);
  expect(streams.length).toBeGreaterThan(0);
  expect(Math.max(...streams)).toBeLessThan(eventsPerQueue);
  const arrivals = (await shop.entries()).filter(({ kind }) => kind === "arrival");
  expect(arrivals).toHaveLength((orders + 1) * callsPerOrder);
  await shop.prove("R043", [
    `${Math.round(taken / orders)} bytes a run after ${arrivals.length} steps`,
    `streams of ${streams.join(", ")} entries, no job left`,
  ]);
}, 1_200_000);

test(`R046 ${crowd} runs in the hands of one process overstrain no script: not while it lives, and not when it dies`, async () => {
  const scene = everything.own(await Scene.open());
  const [play, first, next] = await Promise.all([scene.play("r046"), scene.worker(), scene.worker()]);
  const { ids, die } = await oneProcessHolds(scene, play);
  await first.serve(play.namespace);
  const errandIds = await play.startAtOnce("errand", "e", errands);
  const cancelledIds = await play.startAtOnce("vigil", "c", cancels);
  await inTurns(cancelledIds, (id) => play.client.run(id, { tenant }).cancel({ reason: "enough", by: "the test" }));
  const statuses = async (of: readonly string[]) => (await play.restAll(of)).map(({ status }) => status);
  expect(await statuses(errandIds)).toEqual(errandIds.map(() => "completed"));
  expect(await statuses(cancelledIds)).toEqual(cancelledIds.map(() => "cancelled"));
  expect((await runningIn(play)).sort()).toEqual([...ids].sort());
  expect(await first.terminate()).toEqual({ code: 0, signal: null });

  expect(await die()).toEqual({ leases: crowd, jobs: crowd });
  await next.serve(play.namespace, { concurrency });
  const areFree = async () => (await leasesIn(scene, play)) === 0 && (await jobsIn(scene, play)) <= concurrency;
  await waitFor(areFree, { what: "its leases to end and its jobs to be stalled", timeoutMs: 60_000, everyMs: 100 });
  expect(await next.terminate()).toEqual({ code: 0, signal: null });
  expect(await play.counts("errand")).toMatchObject({ arrivals: errands, effects: errands });
  expect(await failedScripts(scene.redis)).toBe(0);
  expect(first.child.stderr + next.child.stderr).not.toMatch(/unpack|user_script|RECORD_CORRUPT/);
  await play.prove("R046", {
    checks: [
      `${crowd} leases and jobs of one process listed and let go, ${cancels} runs cancelled beside them; no script failed`,
    ],
  });
}, 300_000);

test(`R047 ${signalled} starts and ${signalled} signals through one client are made over the connections of the first`, async () => {
  const stage = everything.own(await Stage.open({ witness: false }));
  const room = await stage.room("r047");
  const worker = await stage.worker();
  const ofHarness = (await connections(stage.redis)).length;
  await worker.serve("r047");
  const redis = { url: stage.redis.url, name: "one-client" };
  const client = everything.own(createClient({ redis, namespace: "r047", sagas: Object.values(sagas) }));
  const ofClient = async () =>
    (await connections(stage.redis)).filter((line) => line.includes(" name=one-client ")).length;
  const ids = Array.from({ length: signalled }, (_, at) => `r${at + 1}`);
  const start = async (id: string) => {
    await client.start(sagas.signalled, { id, refuse: false }, { id, tenant });
    room.history.push({ op: "start", run: { tenant, id }, outcome: "ok" });
  };
  const signal = (id: string) => client.run(id, { tenant, saga: sagas.signalled }).signal("GO", {});
  const result = (id: string) => client.run(id, { tenant, saga: sagas.signalled }).result({ timeout: "60s" });
  const first = "first";
  await start(first);
  await Promise.all([result(first), signal(first)]); // who waits subscribes
  const atFirst = await ofClient();
  const counted: number[] = [];
  for (const ask of [start, signal, result]) {
    await inTurns(ids, ask, async () => void counted.push(await ofClient()));
  }
  expect(new Set(counted)).toEqual(new Set([atFirst]));
  const ofWorker = (await connections(stage.redis)).length - ofHarness - atFirst;
  expect(atFirst).toBeGreaterThan(0);
  expect(Math.max(atFirst, ofWorker)).toBeLessThanOrEqual(connectionsPerProcess);
  const made = stage.world.counts();
  expect(made).toHaveLength(2 * (signalled + 1));
  expect(made.filter(({ effects }) => effects !== 1)).toEqual([]);
  const report = await room.check();
  expect(report.violations).toEqual([]);
  const { arrivals, effects, checks } = report;
  leaveEvidence("R047", {
    arrivals,
    effects,
    checks: [
      `the client held ${atFirst} connections at each of ${counted.length} moments, the worker ${ofWorker}`,
      ...checks,
    ],
  });
});

interface Holder {
  readonly ids: readonly string[];
  /** Its pulse ends, and its jobs lie there without a lock; says how many leases and jobs it leaves. */
  readonly die: () => Promise<{ readonly leases: number; readonly jobs: number }>;
}

/** A crowd of runs, all leased by one process that has a pulse. */
async function oneProcessHolds({ redis }: Scene, { client, store, namespace }: Play): Promise<Holder> {
  const ids = Array.from({ length: crowd }, (_, at) => `v${at + 1}`);
  const { wakeUps, pulse, close } = everything.own(faultConnections(redis.url, namespace, harnessTimeoutMs));
  const beating = await new Promise<{ close(): void }>((resolve, reject) => {
    const opened = pulse((place) => {
      store.hello({ owner, ...place, compared: null }, []).then(() => resolve(opened), reject);
    });
  });
  const input = (id: string) => ({ id, tenant, input: { id, mischief: "none" as const } });
  await client.startMany(scenarioSagas.vigil, ids.map(input));
  const leaseMs = 3_600_000;
  await inTurns(ids, (id) => store.acquire({ run: { tenant, id }, owner, token: `token-of-${id}`, leaseMs }));
  const die = async () => {
    beating.close();
    await wakeUps.wake(ids.map((id) => ({ run: { tenant, id }, wake: 1, pool: "default", lane: 0, priority: 0 })));
    const take = "for _ = 1, ARGV[1] do redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT') end";
    await redis.ask("EVAL", take, 2, `${queueOf(namespace)}:wait`, `${queueOf(namespace)}:active`, crowd);
    await close();
    return { leases: await leasesIn({ redis }, { namespace }), jobs: await jobsIn({ redis }, { namespace }) };
  };
  return { ids, die };
}

/** The leases of the one process that are left. */
async function leasesIn({ redis }: Pick<Scene, "redis">, { namespace }: Pick<Play, "namespace">): Promise<number> {
  return Number(await redis.ask("SCARD", `{reprise:${namespace}:0}:held:${owner}`));
}

/** Jobs that some process has taken, or had. */
async function jobsIn({ redis }: Pick<Scene, "redis">, { namespace }: Pick<Play, "namespace">): Promise<number> {
  return Number(await redis.ask("LLEN", `${queueOf(namespace)}:active`));
}

/** Asks for all of them, some at once, and looks around after each lot. */
async function inTurns(
  ids: readonly string[],
  ask: (id: string) => Promise<unknown>,
  look: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  for (let from = 0; from < ids.length; from += atOnce) {
    await Promise.all(ids.slice(from, from + atOnce).map(ask));
    await look();
  }
}

/** The ids of every run of the play that goes on, page by page. */
async function runningIn({ client }: Play): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = null, isLast = false; !isLast; isLast = cursor === null) {
    const page = await client.list({ tenant, status: "running", limit: 1_000, ...(cursor === null ? {} : { cursor }) });
    ids.push(...page.runs.map(({ id }) => id));
    cursor = page.cursor;
  }
  return ids;
}

// ---- what the server says of itself

async function usedMemory(redis: RedisServer): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(String(await redis.ask("INFO", "memory")))?.[1]);
}

async function connections(redis: RedisServer): Promise<readonly string[]> {
  return String(await redis.ask("CLIENT", "LIST"))
    .trimEnd()
    .split("\n");
}

/** How many scripts were refused for anything but not being known yet. */
async function failedScripts(redis: RedisServer): Promise<number> {
  const commands = String(await redis.ask("INFO", "commandstats"));
  const failed = [...commands.matchAll(/^cmdstat_eval(?:sha)?:.*failed_calls=(\d+)/gm)].map((match) =>
    Number(match[1]),
  );
  const unknown = /^errorstat_NOSCRIPT:count=(\d+)/m.exec(String(await redis.ask("INFO", "errorstats")))?.[1] ?? 0;
  return failed.reduce((sum, count) => sum + count, 0) - Number(unknown);
}

async function streamLengths(redis: RedisServer): Promise<readonly number[]> {
  const streams = await keysOf(redis, "TYPE", "stream");
  return await Promise.all(streams.map(async (key) => Number(await redis.ask("XLEN", key))));
}

function queueOf(namespace: string): string {
  return `{reprise:${namespace}:w0}:pool-default`;
}

const queueKeys = (redis: RedisServer, namespace: string) => keysOf(redis, "MATCH", `${queueOf(namespace)}:*`);

async function keysOf(redis: RedisServer, ...filter: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (let cursor = "0", isLast = false; !isLast; isLast = cursor === "0") {
    const page = (await redis.ask("SCAN", cursor, ...filter, "COUNT", 10_000)) as [string, string[]];
    cursor = page[0];
    for (const key of page[1]) found.add(key);
  }
  return [...found];
}
