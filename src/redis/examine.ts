/** What the servers say of themselves: version, settings, memory, replicas, time. Asks on one connection each; changes nothing. */
import { performance } from "node:perf_hooks";
import type { Cluster, Redis } from "ioredis";

export interface ExaminedServer {
  readonly address: string;
  readonly version: string;
  readonly policy: string;
  /** `null`: CONFIG is forbidden. */
  readonly appendonly: string | null;
  readonly appendfsync: string | null;
  readonly usedBytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
  readonly replicas: number;
}

/** The same, and what only somebody who looks closely asks for. */
export interface InspectedServer extends ExaminedServer {
  readonly role: string;
  /** Replicas without which it takes no write; `null`: CONFIG is forbidden. */
  readonly minReplicas: number | null;
  /** What the machine has. */
  readonly machineBytes: number;
  /** Could it write its last piece of the AOF? */
  readonly aofWrites: boolean;
  /** Its clock against that of this process, half of the way there and back taken off; positive: it is ahead. */
  readonly skewMs: number;
  /** Of some PINGs one after the other. */
  readonly medianMs: number;
  readonly worstMs: number;
}

const pings = 15;

/** Every master of a cluster, or the one server. */
export async function examineServers(client: Redis | Cluster): Promise<readonly ExaminedServer[]> {
  return await Promise.all(serversOf(client).map(examine));
}

/** One after the other, so that none is measured while another is asked. */
export async function inspectServers(client: Redis | Cluster): Promise<readonly InspectedServer[]> {
  const inspected: InspectedServer[] = [];
  for (const server of serversOf(client)) inspected.push(await inspect(server));
  return inspected;
}

function serversOf(client: Redis | Cluster): readonly Redis[] {
  return "nodes" in client ? client.nodes("master") : [client];
}

async function examine(server: Redis): Promise<ExaminedServer> {
  const [info, memory, replication, config] = await Promise.all([
    server.info("server"),
    server.info("memory"),
    server.info("replication"),
    server.config("GET", "append*").catch(() => null),
  ]);
  const pairs = (config ?? []) as readonly string[];
  const setting = (name: string): string | null => pairs[pairs.indexOf(name) + 1] ?? null;
  return {
    address: addressOf(server),
    version: fieldOf(info, "redis_version") ?? "?",
    policy: fieldOf(memory, "maxmemory_policy") ?? "?",
    appendonly: config === null ? null : setting("appendonly"),
    appendfsync: config === null ? null : setting("appendfsync"),
    usedBytes: Number(fieldOf(memory, "used_memory") ?? 0),
    maxBytes: Number(fieldOf(memory, "maxmemory") ?? 0),
    replicas: Number(fieldOf(replication, "connected_slaves") ?? 0),
  };
}

/** Behind Sentinel it is whoever is the primary by now: it is called by the name that leads there. */
function addressOf({ options: { host, port, path, sentinels, name } }: Redis): string {
  if (Array.isArray(sentinels) && sentinels.length > 0) return `${name ?? "?"} (Sentinel)`;
  return path ?? `${host ?? "?"}:${port ?? "?"}`;
}

async function inspect(server: Redis): Promise<InspectedServer> {
  const examined = await examine(server);
  const [memory, replication, persistence] = await Promise.all([
    server.info("memory"),
    server.info("replication"),
    server.info("persistence"),
  ]);
  const config = (await server.config("GET", "min-*-to-write").catch(() => null)) as readonly string[] | null;
  return {
    ...examined,
    appendonly: examined.appendonly ?? (fieldOf(persistence, "aof_enabled") === "1" ? "yes" : "no"),
    role: fieldOf(replication, "role") ?? "?",
    minReplicas: config === null ? null : Number(config[1] ?? 0),
    machineBytes: Number(fieldOf(memory, "total_system_memory") ?? 0),
    aofWrites: (fieldOf(persistence, "aof_last_write_status") ?? "ok") === "ok",
    ...(await measure(server)),
  };
}

async function measure(server: Redis): Promise<Pick<InspectedServer, "skewMs" | "medianMs" | "worstMs">> {
  const took: number[] = [];
  for (let n = 0; n < pings; n += 1) {
    const from = performance.now();
    await server.ping();
    took.push(performance.now() - from);
  }
  const [sentAt, from] = [Date.now(), performance.now()];
  const [seconds, micros] = await server.time();
  const serverMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
  const sorted = took.sort((a, b) => a - b).map((ms) => Math.round(ms * 100) / 100);
  return {
    skewMs: Math.round(serverMs - sentAt - (performance.now() - from) / 2),
    medianMs: sorted[Math.floor(pings / 2)] ?? 0,
    worstMs: sorted.at(-1) ?? 0,
  };
}

function fieldOf(info: string, name: string): string | null {
  return new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1] ?? null;
}
