/** What only the Redis store promises: how it meets a server that forgets, evicts, freezes, dies or is somebody else's. */
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { OwnerRef, RunRef, Store } from "../../src/core/index.ts";
import { type RedisConnections, redisConnections } from "../../src/redis/connections.ts";
import type { PulsePlace } from "../../src/redis/pulse.ts";
import { type RedisStoreOptions, redisStore } from "../../src/store/index.ts";
import { waitFor } from "../support/processes.ts";
import { aCommit, aCreate, anOfferedRow, aSend, fresh } from "../support/records.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { completed, waiting } from "./suite/five-steps.ts";
import { committed, held, leaseMs } from "./suite/harness.ts";

const lua = new URL("../../src/store/lua/", import.meta.url);
const someRun: RunRef = { tenant: "default", id: "x" };

test("every script is under 60 lines and says its purpose, keys, arguments, answers and invariant", () => {
  for (const file of readdirSync(lua)) {
    const text = readFileSync(new URL(file, lua), "utf8");
    expect(text.split("\n").length, file).toBeLessThanOrEqual(60);
    const headings = file.startsWith("shared.")
      ? ["-- Shared: "]
      : ["-- Purpose: ", "-- KEYS: ", "-- ARGV: ", "-- Answers: ", "-- Invariant: "];
    for (const heading of headings) expect(text, file).toContain(heading);
  }
});

describe.runIf(process.env["REPRISE_CONTRACT"] !== "memory")("a Redis of its own", () => {
  let server: RedisServer;
  let connections: RedisConnections;
  const opened: Store[] = [];
  const open = async (options: Partial<RedisStoreOptions> = {}): Promise<Store> => {
    const store = redisStore({ connections, namespace: fresh("own"), ...options });
    await store.open();
    opened.push(store);
    return store;
  };
  beforeAll(async () => {
    server = await startRedisServer({ appendfsync: "everysec" });
    connections = redisConnections(server.url);
  });
  afterAll(async () => {
    await Promise.all(opened.map((store) => store.close()));
    connections.close();
    await server.stop();
  });

  test("a server that has forgotten the scripts is told them again, in the middle of everything", async () => {
    const store = await open();
    const { lease, record } = await held(store);
    await server.ask("SCRIPT", "FLUSH");
    expect(await store.commit({ lease, commit: aCommit(record), leaseMs })).toMatchObject({ answer: "OK" });
    await server.ask("SCRIPT", "FLUSH");
    const answers = await store.createMany(Array.from({ length: 300 }, () => aCreate()));
    expect(answers.every(({ answer }) => answer === "OK")).toBe(true);
  });

  test("where nobody may list connections no owner is said to live: its death would never be seen", async () => {
    const owner: OwnerRef = { owner: "w-1", serverId: "s", pulse: "7", compared: null };
    await server.ask("ACL", "SETUSER", "blind", "on", ">pw", "~*", "&*", "+@all", "-client|list");
    const blind = redisConnections(server.url.replace("redis://", "redis://blind:pw@"));
    onTestFinished(() => blind.close());
    const namespace = fresh("blind");
    const [store, shut] = [await open({ namespace }), await open({ namespace, connections: blind })];
    await store.hello(owner, []);
    expect(await store.living(["w-1", "w-2"])).toEqual(["w-1"]);
    expect(await shut.living(["w-1", "w-2"])).toEqual([]);
    expect(await (await open({ namespace, pulses: false })).living(["w-1"])).toEqual([]);
  });

  test("whoever asks to hear of it is told when the connection of the commits was opened anew, until it asks no more", async () => {
    const store = await open();
    let times = 0;
    const stop = store.onReconnect(() => {
      times += 1;
    });
    await store.now();
    expect(times).toBe(0);
    const isBack = () =>
      store.now().then(
        () => true,
        () => false,
      );
    await server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await waitFor(async () => times === 1 && (await isBack()));
    stop();
    await server.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await waitFor(isBack);
    expect(times).toBe(1);
  });

  test("all keys of a run carry the hash tag of its shard", async () => {
    const store = await open({ namespace: "tagged", shards: 4 });
    const { lease, record } = await held(store, { id: "one-run" });
    const commit = aCommit(record, { rows: [anOfferedRow(1)], record: { seen: 1 }, consumed: ["event:1"] });
    await store.send(aSend(record, "event:1"));
    await store.send(aSend(record, "event:2"));
    await store.commit({ lease, commit, leaseMs });
    await store.permit({ ...permitOf(record), owner: "gpu" });
    const keys = (await server.ask("KEYS", "*default:one-run*")) as string[];
    const tag = `{reprise:tagged:${store.shardOf(record)}}:`;
    const kinds = ["inbox", "ledger", "log", "permit", "rec", "run", "slots"];
    expect(keys.sort()).toEqual(kinds.map((kind) => `${tag}${kind}:default:one-run`));
  });

  test("the key of an intent carries the hash tag of its own shard, and is removed when it is no longer kept", async () => {
    const store = await open({ namespace: "intents", shards: 4 });
    const owner = { intent: { tenant: "default", hash: "some-hash" }, owner: "a" };
    const claim = { ...owner, argsHash: "x", claimMs: null, keepMs: null, replaces: null, listens: false };
    const key = `{reprise:intents:${store.shardOf({ tenant: "default", id: "some-hash" })}}:intent:default:some-hash`;
    await store.claimIntent(claim);
    expect(await server.ask("KEYS", "{reprise:intents:*intent:*")).toEqual([key]);
    expect(await server.ask("PTTL", key)).toBe(-1);
    await store.publishIntent({ ...owner, became: { state: "succeeded", outcome: 1 }, keepMs: 100 });
    await expect.poll(() => server.ask("EXISTS", key)).toBe(0);
    expect(await store.claimIntent({ ...claim, owner: "b" })).toMatchObject({ answer: "MINE", generation: 1 });
  });

  test("the keys of a line carry the hash tag of its own shard, and nothing of it is left an hour after its last request", async () => {
    const store = await open({ namespace: "lines", shards: 4 });
    const [turn, limit] = [{ tenant: "default", hash: "some-hash" }, 1];
    const key = `{reprise:lines:${store.shardOf({ tenant: "default", id: "some-hash" })}}:turn:default:some-hash`;
    const keys = async () => ((await server.ask("KEYS", "{reprise:lines:*turn:*")) as string[]).sort();
    for (const run of ["a", "b"]) await store.askTurn({ turn, run, startedAt: 1, limit, asked: 1 });
    await store.giveTurn({ turn, run: "a", limit, asked: 1 });
    expect(await keys()).toEqual([`${key}:gone`, `${key}:heard`, `${key}:line`]);
    await store.giveTurn({ turn, run: "b", limit, asked: 1 });
    expect(await keys()).toEqual([`${key}:gone`, `${key}:heard`]);
    for (const name of await keys()) {
      const leftMs = Number(await server.ask("PTTL", name));
      expect(leftMs, name).toBeGreaterThan(3_500_000);
      expect(leftMs, name).toBeLessThanOrEqual(3_600_000);
    }
  });

  test("a completed run of five steps with 200-byte results takes under 4 kB, a waiting one under 3 kB", async () => {
    const store = await open({ namespace: "weighed" });
    const record = await completed(store, "order-o-100000");
    expect(await store.read(record)).toEqual(record);
    await waiting(store, "order-o-100001");
    const [whole, resting] = [await weightOf("order-o-100000"), await weightOf("order-o-100001")];
    expect(whole).toBeLessThan(4_000);
    expect(resting).toBeLessThan(3_000);
  });

  /** Its own keys and its places in the listings and in `due`. */
  const weightOf = async (id: string): Promise<number> => {
    let bytes = 0;
    for (const key of (await server.ask("KEYS", `{reprise:weighed:0}:*:default:${id}`)) as string[]) {
      bytes += Number(await server.ask("MEMORY", "USAGE", key, "SAMPLES", 0));
    }
    const placeBytes = 140; // a member of a large zset, measured
    for (const key of (await server.ask("KEYS", "{reprise:weighed:0}:[bod]*")) as string[]) {
      if (String(await server.ask("TYPE", key)) !== "zset") continue;
      const name = key.includes(":by:") ? id : `default:${id}`;
      if ((await server.ask("ZSCORE", key, name)) !== null) bytes += placeBytes;
    }
    return bytes;
  };

  test("a record that cannot be read, or is not there, is RECORD_CORRUPT and names the run; whoever takes it is told", async () => {
    const store = await open({ namespace: "corrupt" });
    for (const spoil of [["SET", "{oops"], ["SET", "{}"], ["DEL"]] as const) {
      const { lease, record } = await held(store);
      await store.release(lease, 0, null);
      const [command, ...value] = spoil;
      await server.ask(command, `{reprise:corrupt:0}:rec:default:${record.id}`, ...value);
      const corrupt = { code: "RECORD_CORRUPT", message: expect.stringContaining(`default:${record.id}`) };
      await expect(store.read(record)).rejects.toMatchObject(corrupt);
      const acquired = await store.acquire({ run: record, owner: "w", token: "t", leaseMs });
      expect(acquired).toMatchObject({ answer: "CORRUPT", message: corrupt.message });
    }
  });

  test("a record that cannot be read hides no other in a list, and is named there", async () => {
    const store = await open({ namespace: "listed" });
    const [whole, spoilt] = [await held(store), await held(store)];
    await server.ask("SET", `{reprise:listed:0}:rec:default:${spoilt.record.id}`, "{oops");
    const { runs, unreadable } = await store.list({ limit: 10 });
    expect(runs.map(({ id }) => id)).toEqual([whole.record.id]);
    const message = expect.stringMatching(/^the record of run default:.* cannot be read: /);
    expect(unreadable).toEqual([{ tenant: "default", id: spoilt.record.id, message }]);
  });

  test("keys of somebody else under our names are RECORD_CORRUPT, not an outage", async () => {
    const store = await open({ namespace: "foreign" });
    await server.ask("SET", "{reprise:foreign:0}:run:default:x", "not ours");
    await expect(store.read(someRun)).rejects.toMatchObject({ code: "RECORD_CORRUPT" });
  });

  test("another number of shards than the namespace has is refused: SHARDS_MISMATCH", async () => {
    await open({ namespace: "four", shards: 4 });
    await expect(open({ namespace: "four", shards: 2 })).rejects.toMatchObject({ code: "SHARDS_MISMATCH" });
    await expect(open({ namespace: "four", shards: 4 })).resolves.toBeDefined();
  });

  test("a server that evicts is refused: STORE_EVICTS", async () => {
    await server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await expect(open()).rejects.toMatchObject({ code: "STORE_EVICTS" });
    await server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction");
  });

  test("whoever watches is subscribed again after its connection was cut", async () => {
    const store = await open({ namespace: "watched" });
    const heard: number[] = [];
    const stop = await store.watch((_, revision) => heard.push(revision));
    const { lease, record } = await held(store);
    await server.ask("CLIENT", "KILL", "TYPE", "pubsub");
    await expect
      .poll(() => server.ask("PUBSUB", "NUMSUB", "{reprise:watched:0}:moved"))
      .toEqual([expect.anything(), 1]);
    await store.commit({ lease, commit: aCommit(record), leaseMs });
    await expect.poll(() => heard).toEqual([2]);
    await stop();
  });

  test("whoever watches over a connection that fell silent is subscribed again by itself", async () => {
    const proxy = await startTcpProxy({ target: { host: server.host, port: server.port } });
    const throughProxy = redisConnections(proxy.url);
    onTestFinished(async () => {
      throughProxy.close();
      await proxy.close();
    });
    const [deaf, store] = [
      redisStore({ connections: throughProxy, namespace: "deaf" }),
      await open({ namespace: "deaf" }),
    ];
    await deaf.open();
    opened.push(deaf);
    const heard: number[] = [];
    await deaf.watch((_, revision) => heard.push(revision));
    proxy.silence(({ words: [command] }) => command?.toUpperCase() === "SUBSCRIBE");
    const { lease, record } = await held(store);
    let next = await committed(store, lease, record);
    const tryAgain = async () => {
      next = await committed(store, lease, next);
      return heard.length;
    };
    await expect.poll(tryAgain, { timeout: 12_000, interval: 250 }).toBeGreaterThan(0);
    expect(heard).not.toContain(2);
  }, 20_000);

  test("what may be forgotten is said: forgetful, or always once every write is synced", async () => {
    const store = await open();
    expect([await store.durability(), await store.barrier(50)]).toEqual(["forgetful", false]);
    await server.ask("CONFIG", "SET", "appendfsync", "always");
    expect([await store.durability(), await store.barrier(50)]).toEqual(["always", true]);
    await server.ask("CONFIG", "SET", "appendfsync", "everysec");
    expect(await store.durability()).toBe("forgetful");
  });

  test("a barrier is reached with its replica, for many at once, and not without it", async () => {
    const store = await open({ barrier: { replicas: 1 } });
    expect([await store.durability(), await store.barrier(100)]).toEqual(["barrier", false]);
    const replica = await startRedisServer();
    await replica.ask("REPLICAOF", server.host, server.port);
    await expect.poll(() => store.barrier(200), { timeout: 10_000 }).toBe(true);
    const many = await Promise.all(Array.from({ length: 50 }, () => store.barrier(2_000)));
    expect(many.every(Boolean)).toBe(true);
    replica.freeze();
    expect(await store.barrier(200)).toBe(false);
    // A disk that syncs every write is of no use where the server is lost and its replica takes over.
    await server.ask("CONFIG", "SET", "appendfsync", "always");
    expect([await store.durability(), await store.barrier(200)]).toEqual(["barrier", false]);
    await server.ask("CONFIG", "SET", "appendfsync", "everysec");
    replica.thaw();
    await replica.stop();
  });

  test("a frozen server is STORE_UNAVAILABLE within the command's time, and nothing is sent again", async () => {
    const store = await open();
    const { lease, record } = await held(store);
    server.freeze();
    await expect(store.commit({ lease, commit: aCommit(record), leaseMs })).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      cause: expect.anything(),
    });
    server.thaw();
    await expect
      .poll(() =>
        store.log(record).then(
          (entries) => entries.length,
          () => 0,
        ),
      )
      .toBe(2);
  });

  test("owners have a while to register again after a restart; then those that have not are lost", async () => {
    const [mine, other] = [
      await open({ namespace: "p", settleMs: 500 }),
      await open({ namespace: "p", settleMs: 500 }),
    ];
    const places: PulsePlace[] = [];
    const pulse = connections.pulse((place) => places.push(place));
    await expect.poll(() => places.length).toBe(1);
    const before: OwnerRef = { owner: "w-1", ...(places[0] as PulsePlace), compared: null };
    await mine.hello(before, []);
    expect(await other.lostOwners()).toEqual([]);
    await server.restart();
    await expect.poll(() => places.length).toBe(2);
    await expect.poll(() => other.lostOwners().catch(() => "down")).toEqual([]);
    await expect.poll(() => other.lostOwners()).toEqual([before]);
    // (Each store comes back by itself: that the other has does not say that this one has.)
    const again: OwnerRef = { owner: "w-1", ...(places[1] as PulsePlace), compared: null };
    await expect.poll(() => codeOf(mine.hello(again, []))).toBe("nothing was thrown");
    expect(await other.lostOwners()).toEqual([]);
    expect(await mine.lostOwners()).toEqual([]);
    pulse.close();
    await expect.poll(() => other.lostOwners()).toMatchObject([{ owner: "w-1" }]);
    expect(await mine.lostOwners()).toEqual([]);
  });

  test("a server that is down is STORE_UNAVAILABLE at once, and the store goes on when it is back", async () => {
    const store = await open();
    await server.kill();
    await expect.poll(() => codeOf(store.read(someRun))).toBe("STORE_UNAVAILABLE");
    const asked = performance.now();
    expect(await codeOf(store.read(someRun))).toBe("STORE_UNAVAILABLE");
    expect(performance.now() - asked).toBeLessThan(500);
    await server.restart();
    await expect.poll(() => store.read(someRun).catch(() => "down")).toBeNull();
  });

  test("a place where no Redis listens is STORE_UNAVAILABLE and says where", async () => {
    const nowhere = redisConnections({ url: "redis://:secret@127.0.0.1:1", readyWithinMs: 300 });
    const error = await redisStore({ connections: nowhere })
      .open()
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining("127.0.0.1:1") });
    expect(String((error as Error).stack)).not.toContain("secret");
    nowhere.close();
  });

  test("a store can be closed twice and early, and says CLOSED afterwards", async () => {
    const store = redisStore({ connections, namespace: fresh("own") });
    expect(await codeOf(store.read(someRun))).toBe("CLOSED");
    // Those that are no async functions reject too: nobody expects a promise to be thrown at.
    const lease = { run: someRun, owner: "w", token: "t", fence: 1 };
    expect(await codeOf(store.acquire({ run: someRun, owner: "w", token: "t", leaseMs }))).toBe("CLOSED");
    expect(await codeOf(store.commit({ lease, commit: aCommit(aCreate().record), leaseMs }))).toBe("CLOSED");
    const opening = store.open();
    await Promise.all([store.close(), store.close(), opening]);
    expect(await codeOf(store.read(someRun))).toBe("CLOSED");
    expect(await codeOf(store.open())).toBe("CLOSED");
  });
});

function permitOf(run: RunRef) {
  const call = { seq: 1, send: 1, side: "action", token: "p" } as const;
  return { run, ...call, leaseMs, windowMs: 60_000 };
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => "nothing was thrown",
    (error: { code?: string }) => error.code ?? String(error),
  );
}
