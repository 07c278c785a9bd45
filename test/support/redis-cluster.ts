/**
 * Owns: a Redis Cluster of a test's own: three masters that share the slots, the first of them with a replica, and moving a
 * slot from one master to another, key by key, as `redis-cli --cluster reshard` does it.
 */
import { waitFor } from "./processes.ts";
import { type RedisServer, startRedisServer } from "./redis-server.ts";

const slots = 16_384;
const migrateMs = 5_000;
/** So few that the slot is split for a while. */
const keysAtOnce = 8;
/** A master that answers nobody for so long is given up. */
const timeouts = ["--cluster-node-timeout", "1500", "--cluster-replica-validity-factor", "0"];

export interface RedisCluster {
  readonly url: string;
  readonly masters: readonly [RedisServer, RedisServer, RedisServer];
  /** Of the first master. */
  readonly replica: RedisServer;
  /** Which of the masters has the slot of a key by now, as one of them sees it. */
  ownerOf(key: string, asked: RedisServer): Promise<RedisServer>;
  stop(): Promise<void>;
}

/** Starts it; resolves when each node serves, and the replica is in step. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const started = await Promise.all([1, 2, 3, 4].map(() => startRedisServer({ cluster: "node", args: timeouts })));
  const [first, second, third, replica] = started as [RedisServer, RedisServer, RedisServer, RedisServer];
  const masters = [first, second, third] as const;
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()));
  };
  try {
    await share(masters);
    for (const other of started.slice(1)) await first.ask("CLUSTER", "MEET", other.host, other.port);
    await follow(replica, first);
    await waitFor(async () => (await Promise.all(started.map(serves))).every(Boolean), {
      what: "the cluster to serve",
      timeoutMs: 30_000,
      everyMs: 100,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: `redis://${started.map(({ host, port }) => `${host}:${port}`).join(",")}?cluster=true`,
    masters,
    replica,
    ownerOf: (key, asked) => ownerOf(started, key, asked),
    stop,
  };
}

async function share(masters: readonly RedisServer[]): Promise<void> {
  for (const [n, master] of masters.entries()) {
    const from = Math.floor((n * slots) / masters.length);
    const to = Math.floor(((n + 1) * slots) / masters.length) - 1;
    await master.ask("CLUSTER", "ADDSLOTSRANGE", from, to);
    await master.ask("CLUSTER", "SET-CONFIG-EPOCH", n + 1);
  }
}

async function follow(replica: RedisServer, master: RedisServer): Promise<void> {
  const id = await idOf(master);
  await waitFor(async () => (await replica.ask("CLUSTER", "REPLICATE", id)) === "OK", {
    what: "the replica to follow",
  });
}

async function serves(server: RedisServer): Promise<boolean> {
  const [cluster, replication] = [await server.ask("CLUSTER", "INFO"), await server.ask("INFO", "replication")];
  const isWhole = /cluster_state:ok/.test(String(cluster)) && /cluster_known_nodes:4/.test(String(cluster));
  return isWhole && !/master_link_status:down/.test(String(replication));
}

async function idOf(server: RedisServer): Promise<string> {
  return String(await server.ask("CLUSTER", "MYID"));
}

async function ownerOf(servers: readonly RedisServer[], key: string, asked: RedisServer): Promise<RedisServer> {
  const slot = Number(await asked.ask("CLUSTER", "KEYSLOT", key));
  const ranges = (await asked.ask("CLUSTER", "SLOTS")) as readonly [number, number, [string, number]][];
  const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
  const owner = servers.find((server) => server.port === port);
  if (owner === undefined) throw new Error(`nobody has slot ${slot}`);
  return owner;
}

/** Moves the slot of a key while it is in use, a few keys at a time; `onPart` is called between them. How many keys moved. */
export async function moveSlot(
  key: string,
  {
    from,
    to,
    others,
  }: { readonly from: RedisServer; readonly to: RedisServer; readonly others: readonly RedisServer[] },
  onPart: () => Promise<void>,
): Promise<number> {
  const slot = Number(await from.ask("CLUSTER", "KEYSLOT", key));
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  await to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId);
  await from.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", toId);
  let moved = 0;
  for (;;) {
    const keys = (await from.ask("CLUSTER", "GETKEYSINSLOT", slot, keysAtOnce)) as readonly string[];
    if (keys.length === 0) break;
    await from.ask("MIGRATE", to.host, to.port, "", 0, migrateMs, "KEYS", ...keys);
    moved += keys.length;
    await onPart();
  }
  for (const server of [to, from, ...others]) await server.ask("CLUSTER", "SETSLOT", slot, "NODE", toId);
  return moved;
}
