/** `reprise doctor` against redis-servers of its own: one as it should be, and one with everything set wrong. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { order } from "../../sagas/index.ts";
import { createClient, createWorker } from "../../src/index.ts";
import { cli } from "../support/cli.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { startSentinels } from "../support/sentinels.ts";
import { shapeOf } from "../support/shape.ts";

// A folder without a configuration above it.
const cwd = mkdtempSync(join(tmpdir(), "reprise-doctor-"));
let good: RedisServer;
let bad: RedisServer;

beforeAll(async () => {
  good = await startRedisServer();
  bad = await startRedisServer({
    args: [
      "--appendonly",
      "no",
      "--maxmemory-policy",
      "allkeys-lru",
      "--maxmemory",
      "1mb",
      "--min-replicas-to-write",
      "1",
    ],
  });
});
afterAll(async () => {
  await good.stop();
  await bad.stop();
  rmSync(cwd, { recursive: true });
});

/** On a machine that is busy, PINGs take long, which is found as it should be: it is looked at again. */
async function doctor(redis: Pick<RedisServer, "url">, ...argv: readonly string[]) {
  for (let tries = 1; ; tries += 1) {
    const { code, stdout, stderr } = await cli(["doctor", "--redis", redis.url, "--json", ...argv], { cwd });
    const report = JSON.parse(stdout);
    if (tries === 5 || !idsIn(report).includes("redis_latency")) return { code, stderr, report };
  }
}
const idsIn = (report: { readonly data: { readonly findings: readonly { readonly id: string }[] } }) =>
  report.data.findings.map(({ id }) => id);

test("a server that is as it should be, with runs and a worker, has no finding, and nothing is written to it", async () => {
  const empty = await doctor(good);
  expect([empty.code, idsIn(empty.report), await good.ask("DBSIZE")]).toEqual([0, [], 0]);
  const place = { redis: good.url, namespace: "shop", sagas: [order] };
  const client = createClient(place);
  const worker = createWorker({ ...place, services: {} });
  const input = { id: "o-1", sku: "A", cents: 4_200, email: "ada@example.org" };
  await client.start(order, input, { id: "open" });
  await client.schedules.put({ id: "nightly", saga: order, input, cron: "0 3 * * *" });
  await client.pauseSaga("order", { by: "ann", reason: "a test" });
  await worker.start();
  await vi.waitFor(async () => expect((await client.workers()).workers[0]?.heartbeat).toBeTruthy());
  const served = await doctor(good, "--namespace", "shop");
  await worker.stop();
  await client.close();
  expect([served.code, idsIn(served.report)]).toEqual([0, []]);
  expect(served.report.data).toMatchObject({ ok: true, workers: 1, keys: { isWhole: true, strays: [] } });
  expect(served.report.data.keys.looked).toBeGreaterThan(10);
  expect(shapeOf(served.report)).toMatchSnapshot("DoctorReport");
});

test("bad settings are found, told with what to do, and refused for production", async () => {
  const { code, report, stderr } = await doctor(bad);
  expect([code, stderr]).toEqual([9, ""]);
  expect(idsIn(report)).toEqual(["redis_evicts", "redis_aof", "redis_replicas_short", "redis_memory"]);
  expect(shapeOf(report)).toMatchSnapshot("DoctorReport with findings");
  const refused = await doctor(bad, "--production");
  expect([refused.code, refused.stderr]).toEqual([7, "Not safe for production.\n"]);
  const text = await cli(["doctor", "--redis", bad.url, "--no-color"], { cwd });
  expect(text.stdout).toContain("what to do  CONFIG SET maxmemory-policy noeviction");
  const warned = await doctor(good, "--production");
  expect([warned.code, idsIn(warned.report)]).toEqual([9, ["redis_replicas"]]);
});

test("runs that nobody serves, another number of shards, and keys that nothing accounts for are found", async () => {
  const client = createClient({ redis: good.url, namespace: "left", shards: 2, sagas: [order] });
  const input = { id: "o-1", sku: "A", cents: 4_200, email: "ada@example.org" };
  await client.start(order, input, { id: "open" });
  await client.close();
  await good.ask("SET", "{reprise:left:0}:ledger:default:gone", "x");
  await good.ask("SET", "{reprise:left:7}:due", "x");
  await good.ask("SET", "{reprise:left:0}:junk", "x");
  await good.ask("SET", "{reprise:left:w3}:pool-default:meta", "x");
  const { code, report } = await doctor(good, "--namespace", "left");
  expect([code, idsIn(report)]).toEqual([9, ["shards_mismatch", "unserved", "orphan_keys"]]);
  expect(report.data.keys.strays).toEqual([
    { key: "{reprise:left:0}:junk", why: "no key of this version of Reprise" },
    { key: "{reprise:left:0}:ledger:default:gone", why: "its run is not there" },
    { key: "{reprise:left:7}:due", why: "shard 7 of 2" },
    { key: "{reprise:left:w3}:pool-default:meta", why: "lane 3 of 1: no worker reads it" },
  ]);
});

test("a primary behind Sentinel is called by its name, and a replica that nothing waits for is found", async () => {
  const primary = await startRedisServer();
  onTestFinished(() => primary.stop());
  const replica = await startRedisServer({ args: ["--replicaof", "127.0.0.1", String(primary.port)] });
  onTestFinished(() => replica.stop());
  const sentinels = await startSentinels(primary);
  onTestFinished(() => sentinels.stop());
  const { code, report } = await doctor(sentinels);
  expect([code, idsIn(report), report.data.findings[0]?.about]).toEqual([
    9,
    ["redis_wait"],
    "Redis at main (Sentinel)",
  ]);
  const direct = await doctor(replica);
  expect([direct.code, idsIn(direct.report)]).toEqual([9, ["redis_role"]]);
});

test("a Redis that is not there is said to be", async () => {
  const { code, stderr } = await cli(["doctor", "--redis", "redis://127.0.0.1:1"], { cwd });
  expect([code, stderr]).toEqual([6, expect.stringContaining("STORE_UNAVAILABLE")]);
});
