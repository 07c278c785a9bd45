/** The three witnesses of a scenario in process: the world handed to its workers, the store, and what its client started. */
import { expect } from "vitest";
import type { RunRef, Store } from "../../src/core/index.ts";
import type { Saga } from "../../src/index.ts";
import { redisConnections } from "../../src/redis/index.ts";
import { redisStore } from "../../src/store/index.ts";
import { type CheckReport, check } from "./checker.ts";
import type { Place, Top } from "./top.ts";

/** Opens the store of a namespace for one look. */
export async function withStoreAt<Seen>(
  { redis, shards }: Place,
  namespace: string,
  look: (store: Store) => Promise<Seen>,
): Promise<Seen> {
  const connections = redisConnections({ url: redis, commandTimeoutMs: 5_000 });
  const store = redisStore({ connections, namespace, shards });
  try {
    await store.open();
    return await look(store);
  } finally {
    await store.close();
    connections.close();
  }
}

/** World, store and client agree about these runs. */
export async function agreedAt(
  place: Place,
  { namespace, world }: Pick<Top, "namespace" | "world">,
  sagas: readonly Saga[],
  ids: readonly string[],
): Promise<CheckReport> {
  const runs: readonly RunRef[] = ids.map((id) => ({ tenant: "default", id }));
  const client = runs.map((run) => ({ op: "start", run, outcome: "ok" }) as const);
  const specs = sagas.map(({ spec }) => spec);
  const report = await withStoreAt(place, namespace, (store) =>
    check({ namespace, sagas: specs, world: world.entries(), store, client }),
  );
  expect(report.violations).toEqual([]);
  return report;
}
