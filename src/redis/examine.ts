/** What the servers say of themselves: version, settings, memory, replicas. Asks on one connection each; changes nothing. */
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

/** Every master of a cluster, or the one server. */
export async function examineServers(client: Redis | Cluster): Promise<readonly ExaminedServer[]> {
  return await Promise.all(("nodes" in client ? client.nodes("master") : [client]).map(examine));
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
  const { host, port, path } = server.options;
  return {
    address: path ?? `${host ?? "?"}:${port ?? "?"}`,
    version: fieldOf(info, "redis_version") ?? "?",
    policy: fieldOf(memory, "maxmemory_policy") ?? "?",
    appendonly: config === null ? null : setting("appendonly"),
    appendfsync: config === null ? null : setting("appendfsync"),
    usedBytes: Number(fieldOf(memory, "used_memory") ?? 0),
    maxBytes: Number(fieldOf(memory, "maxmemory") ?? 0),
    replicas: Number(fieldOf(replication, "connected_slaves") ?? 0),
  };
}

function fieldOf(info: string, name: string): string | null {
  return new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1] ?? null;
}
