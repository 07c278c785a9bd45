/**
 * A cluster of three masters that share the shards of a shop at work: one of them is killed and its replica takes over, and a
 * shard moves to another master key by key. Nobody is restarted, and nothing is told but the seeds.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { settings } from "../support/fault-plan.ts";
import { owned, waitFor } from "../support/processes.ts";
import { moveSlot, type RedisCluster, startRedisCluster } from "../support/redis-cluster.ts";
import { isFull } from "./scenarios-scene.ts";
import { backWithinMs, doubled, firstThrough, Shop } from "./scenarios-shop.ts";

const shards = 8;
const placedBefore = isFull ? 300 : 20;
/** Shards that move, one after the other. */
const moves = isFull ? shards : 2;

const bounds = {
  REPRISE_LEASE: `${settings.leaseMs}ms`,
  REPRISE_RENEW: `${settings.renewMs}ms`,
  REPRISE_MARGIN: `${settings.marginMs}ms`,
  REPRISE_COMMAND_TIMEOUT: `${settings.commandTimeoutMs}ms`,
};

const everything = owned();
let cluster: RedisCluster;
beforeAll(async () => {
  cluster = everything.own(await startRedisCluster());
}, 60_000);
afterAll(everything.release);

async function open(namespace: string): Promise<Shop> {
  const shop = everything.own(await Shop.open({ namespace, url: cluster.url, server: cluster.url, shards }));
  shop.world.fault({ service: "payments", kind: "slow", ms: 200, times: "always" });
  return shop;
}

async function throughAtLeast(shop: Shop, count: number): Promise<void> {
  const through = async () => (await shop.mailedAt()).size >= count;
  await waitFor(through, { what: `${count} orders to go through`, timeoutMs: 60_000, everyMs: 50 });
}

test("a shard moves to another master under load, key by key: runs go on, no effect is doubled", async () => {
  const shop = await open("moving");
  const workers = await Promise.all([shop.worker(bounds), shop.worker(bounds)]);
  const ordering = shop.keepOrdering(50);
  await throughAtLeast(shop, placedBefore);

  let keys = 0;
  for (let shard = 0; shard < moves; shard += 1) {
    const key = `{reprise:moving:${shard}}:due`;
    const from = await cluster.ownerOf(key, cluster.masters[0]);
    const [to, ...others] = cluster.masters.filter((master) => master !== from);
    if (to === undefined) throw new Error("there is no other master");
    keys += await moveSlot(key, { from, to, others }, async () => {
      // Meanwhile the slot is split: some of its keys are here, some there.
      const placed = ordering.ordered.length;
      await waitFor(() => ordering.ordered.length > placed + 1, { what: "more orders" });
    });
    expect(await cluster.ownerOf(key, to)).toBe(to);
  }
  const movedAt = Date.now();
  const backAfterMs = (await firstThrough(shop, ordering, movedAt)) - movedAt;
  expect(backAfterMs).toBeLessThan(backWithinMs);

  const ordered = await ordering.stop();
  const accepted = ordered.filter(({ code }) => code === null);
  const refused = ordered.flatMap(({ code }) => code ?? []);
  expect(refused.filter((code) => code !== "STORE_UNAVAILABLE")).toEqual([]);
  expect(await shop.restAll(60_000)).toEqual({ completed: accepted.length });
  expect(workers.map(({ isRunning }) => isRunning)).toEqual([true, true]);
  await shop.prove("cluster-move", [
    `${moves} shards with ${keys} keys moved while ${accepted.length} orders were made`,
    `an order placed afterwards went through after ${backAfterMs} ms; ${refused.length} starts were refused meanwhile`,
  ]);
  expect(await doubled(shop)).toEqual([]);
  await shop.close();
});

test("a master of a cluster is killed under load: its replica takes over, runs go on, no effect is doubled", async () => {
  const shop = await open("cluster");
  const workers = await Promise.all([shop.worker(bounds), shop.worker(bounds)]);
  const ordering = shop.keepOrdering(50);
  await throughAtLeast(shop, placedBefore);

  const [first, second] = cluster.masters;
  const killedAt = Date.now();
  await first.kill();
  const isMoved = async () => /role:master/.test(String(await cluster.replica.ask("INFO", "replication")));
  await waitFor(isMoved, { what: "the replica to take over", timeoutMs: 30_000, everyMs: 50 });
  const isWhole = async () => /cluster_state:ok/.test(String(await second.ask("CLUSTER", "INFO")));
  await waitFor(isWhole, { what: "the cluster to be whole", timeoutMs: 30_000, everyMs: 50 });
  const movedAt = Date.now();
  const backAfterMs = (await firstThrough(shop, ordering, movedAt)) - movedAt;
  expect(backAfterMs).toBeLessThan(backWithinMs);
  await waitFor(() => Date.now() - movedAt > 2.5 * settings.leaseMs, { what: "the time in which a pulse is missed" });

  const accepted = (await ordering.stop()).filter(({ code }) => code === null);
  expect(await shop.restAll(60_000)).toEqual({ completed: accepted.length });
  expect(await doubled(shop)).toEqual([]);
  expect(workers.map(({ isRunning }) => isRunning)).toEqual([true, true]);
  for (const { stderr } of workers) expect(stderr, "nobody was taken for dead").not.toContain('"fact":"recovered"');
  await shop.prove("cluster", [
    `the replica took over ${movedAt - killedAt} ms after the kill; an order placed then went through after ${backAfterMs} ms`,
    `${accepted.length} orders completed, 0 restarts`,
  ]);
});
