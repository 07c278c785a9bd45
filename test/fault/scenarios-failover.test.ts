/**
 * Redis changes its role under a shop at work: a planned fail-over to a replica, and a primary that is a replica for a
 * while. Connections to the demoted server stay open, as they do behind a name or a balancer: it reads, and refuses to
 * write. Nobody may stick to it, nothing may happen outside that is not written down, and nobody is restarted.
 */
import { afterAll, expect, test } from "vitest";
import { settings } from "../support/fault-plan.ts";
import { type Child, owned, waitFor } from "../support/processes.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { isFull } from "./scenarios-scene.ts";
import { backWithinMs, doubled, firstThrough, Shop } from "./scenarios-shop.ts";

const replicaForMs = isFull ? 20_000 : 4_000;
/** A call that was granted just before may begin this much later, and not after (`startWithinMs`). */
const startWithinMs = 2_000;
/** How soon a client knows that it cannot write: the time-out of a command, on a busy machine. */
const refusedWithinMs = 1_500;
/** What a worker may write to its log, whatever happens: lines a second, beside one of each kind. */
const linesPerSecond = 2;
const kindsOfLines = 20;

/** So short that leases lapse, and a pulse that is not where it is looked for is missed, while a test lasts. */
const shortBounds = {
  REPRISE_LEASE: `${settings.leaseMs}ms`,
  REPRISE_RENEW: `${settings.renewMs}ms`,
  REPRISE_MARGIN: `${settings.marginMs}ms`,
  REPRISE_COMMAND_TIMEOUT: `${settings.commandTimeoutMs}ms`,
};

/** Longer where nobody may be taken for dead: a busy machine takes its time until a pulse has moved to another server. */
const patientMs = 2.5 * settings.leaseMs;
const patientBounds = { ...shortBounds, REPRISE_LEASE: `${patientMs}ms` };

const everything = owned();
afterAll(everything.release);

test("R035 a replica that is promoted is used within 15 s by workers nobody touched, and no effect is doubled", async () => {
  const [old, promoted] = await pair();
  let primary = old;
  const proxy = everything.own(await startTcpProxy({ target: () => ({ host: primary.host, port: primary.port }) }));
  const shop = everything.own(await Shop.open({ namespace: "r035", url: proxy.url, server: old.url }));
  shop.world.fault({ service: "payments", kind: "slow", ms: 200, times: "always" });
  const workers = await Promise.all([shop.worker(patientBounds), shop.worker(patientBounds)]);
  const ordering = shop.keepOrdering(50);
  await waitFor(async () => (await shop.mailedAt()).size >= 10, {
    what: "ten orders to go through",
    timeoutMs: 30_000,
  });

  await old.ask("FAILOVER", "TO", promoted.host, promoted.port);
  await waitFor(async () => (await roleOf(old)) === "slave" && (await roleOf(promoted)) === "master", {
    what: "the fail-over",
  });
  await shop.lookAt(promoted.url);
  primary = promoted; // for new connections: those to the old primary stay open
  const movedAt = Date.now();
  const backAfterMs = (await firstThrough(shop, ordering, movedAt)) - movedAt;
  expect(backAfterMs).toBeLessThan(backWithinMs);
  await waitFor(() => Date.now() - movedAt > 1.5 * patientMs, { what: "the time in which a pulse is missed" });

  const accepted = (await ordering.stop()).filter(({ code }) => code === null);
  expect(await shop.restAll(60_000)).toEqual({ completed: accepted.length });
  expect(await doubled(shop)).toEqual([]);
  expect(workers.map(({ isRunning }) => isRunning)).toEqual([true, true]);
  for (const { stderr } of workers) expect(stderr, "nobody was taken for dead").not.toContain('"fact":"recovered"');
  await shop.prove("R035", [
    `an order placed after the fail-over went through ${backAfterMs} ms after it`,
    `${accepted.length} orders completed, 0 restarts`,
  ]);
});

test("R038 while Redis is a replica nothing new happens outside, starts fail at once by name, and all resume alone", async () => {
  const redis = everything.own(await startRedisServer());
  const shop = everything.own(await Shop.open({ namespace: "r038", url: redis.url, server: redis.url }));
  shop.world.fault({ service: "payments", kind: "slow", ms: 200, times: "always" });
  const workers = await Promise.all([shop.worker(shortBounds), shop.worker(shortBounds)]);
  const ordering = shop.keepOrdering(50);
  await waitFor(async () => (await shop.mailedAt()).size >= 10, {
    what: "ten orders to go through",
    timeoutMs: 30_000,
  });

  const saidBefore = linesOf(workers);
  await redis.ask("REPLICAOF", "127.0.0.1", 1); // nobody answers there: it keeps its data
  const from = Date.now(); // (a slow machine takes a while to make it one)
  const reads: Read[] = [];
  while (Date.now() - from < replicaForMs) reads.push(await readOne(shop, "o-1"));
  const until = Date.now();
  const said = linesOf(workers).map((lines, at) => lines - (saidBefore[at] ?? 0));
  await redis.ask("REPLICAOF", "NO", "ONE");
  const backAfterMs = (await firstThrough(shop, ordering, until)) - until;

  const ordered = await ordering.stop();
  const refused = ordered.filter(({ at }) => at > from + 100 && at < until - refusedWithinMs);
  expect(refused.length).toBeGreaterThan(20);
  expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(["STORE_UNAVAILABLE"]));
  expect(Math.max(...refused.map(({ at, answeredAt }) => answeredAt - at))).toBeLessThan(refusedWithinMs);
  expect(reads.filter(({ code }) => code !== null && code !== "STORE_UNAVAILABLE")).toEqual([]);
  expect(Math.max(...reads.map(({ tookMs }) => tookMs))).toBeLessThan(refusedWithinMs);

  const accepted = ordered.filter(({ code }) => code === null);
  expect(await shop.restAll(60_000)).toEqual({ completed: accepted.length });
  expect(await doubled(shop)).toEqual([]);
  const arrivals = (await shop.entries()).filter(({ kind }) => kind === "arrival").map(({ at }) => Date.parse(at));
  expect(arrivals.filter((at) => at > from + startWithinMs && at < until)).toEqual([]);
  const bound = kindsOfLines + (linesPerSecond * (until - from)) / 1_000;
  for (const lines of said) expect(lines, lastWords(workers)).toBeLessThan(bound);
  expect(workers.map(({ isRunning }) => isRunning)).toEqual([true, true]);
  await shop.prove("R038", [
    `replica for ${until - from} ms: ${refused.length} starts refused, ${reads.length} reads, ${said.join(" and ")} lines logged`,
    `an order placed afterwards went through after ${backAfterMs} ms; ${accepted.length} orders completed`,
  ]);
});

/** A primary and its replica, in step. */
async function pair(): Promise<readonly [RedisServer, RedisServer]> {
  const primary = everything.own(await startRedisServer());
  const replica = everything.own(await startRedisServer({ args: ["--replicaof", `${primary.host} ${primary.port}`] }));
  const isInStep = async () => String(await replica.ask("INFO", "replication")).includes("master_link_status:up");
  await waitFor(isInStep, { what: "the replica to be in step", timeoutMs: 30_000 });
  return [primary, replica];
}

async function roleOf(server: RedisServer): Promise<string | undefined> {
  return /^role:(\w+)/m.exec(String(await server.ask("INFO", "replication")))?.[1];
}

interface Read {
  readonly code: string | null;
  readonly tookMs: number;
}

async function readOne(shop: Shop, id: string): Promise<Read> {
  const began = performance.now();
  const code = await shop.client
    .run(id)
    .get()
    .then(
      () => null,
      (error: unknown) => String((error as { readonly code?: unknown }).code ?? error),
    );
  const tookMs = performance.now() - began;
  await new Promise((resolve) => setTimeout(resolve, 20));
  return { code, tookMs };
}

function linesOf(workers: readonly Child[]): readonly number[] {
  return workers.map(({ stderr }) => stderr.split("\n").length - 1);
}

function lastWords(workers: readonly Child[]): string {
  return workers.map(({ stderr }) => stderr.slice(-3_000)).join("\n\n");
}
