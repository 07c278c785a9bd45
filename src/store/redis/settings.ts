/** What the server is asked before and while it is used: may it evict, may it forget, is the namespace divided as here. */
import type { Redis } from "ioredis";
import { RepriseError } from "../../errors.ts";
import { sharedKeys } from "../keys.ts";
import type { Wire } from "./wire.ts";

/** Throws STORE_EVICTS where a server would drop keys when memory is short. */
export async function assertKeeps(servers: readonly Redis[], place: string): Promise<void> {
  for (const server of servers) {
    const policy = /^maxmemory_policy:(\S+)/m.exec(await server.info("memory"))?.[1] ?? "unknown";
    if (policy === "noeviction") continue;
    throw new RepriseError(
      "STORE_EVICTS",
      `Redis at ${place} may drop what it has promised to keep: set maxmemory-policy to noeviction (it is ${policy})`,
      { details: { place, policy } },
    );
  }
}

/**
 * Writes the number of shards where there is none yet, unless nothing is to be written. Throws SHARDS_MISMATCH where there is
 * another.
 */
export async function claimShards(wire: Wire, namespace: string, readOnly: boolean): Promise<void> {
  const { meta } = sharedKeys(namespace);
  const shards = String(wire.shards.length);
  const stored = await wire.ask("open", async () => {
    if (!readOnly) await wire.client.hsetnx(meta, "shards", shards);
    return await wire.client.hget(meta, "shards");
  });
  if (stored === shards || (readOnly && stored === null)) return;
  throw new RepriseError(
    "SHARDS_MISMATCH",
    `namespace ${namespace} at ${wire.place} has ${stored} shards, this process was told ${shards}: the number never changes`,
    { details: { namespace, stored: Number(stored), told: wire.shards.length } },
  );
}

/** Is every write on disk before it is acknowledged, on every server? `null`: they do not say. */
export async function syncsAlways(servers: readonly Redis[]): Promise<boolean | null> {
  try {
    const settings = await Promise.all(servers.map((server) => server.config("GET", "append*")));
    return settings.every((flat) => {
      const pairs = flat as readonly string[];
      const of = (name: string) => pairs[pairs.indexOf(name) + 1];
      return of("appendonly") === "yes" && of("appendfsync") === "always";
    });
  } catch (error) {
    if (error instanceof Error && /NOPERM|unknown command/i.test(error.message)) return null;
    throw error;
  }
}
