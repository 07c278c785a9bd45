/** The witnesses of a scenario over the Redis of the integration tests. */
import { inject } from "vitest";
import type { Store } from "../../src/core/index.ts";
import type { Saga } from "../../src/index.ts";
import { agreedAt, withStoreAt } from "../support/agreed.ts";
import type { CheckReport } from "../support/checker.ts";
import type { Top } from "./top.ts";

/** Small and full sizes of a scenario. */
export const isFull = process.env["REPRISE_SIZE"] === "full";

const place = () => ({ redis: inject("redisUrl"), shards: inject("shards") });

/** Opens the store of a namespace for one look. */
export function withStore<Seen>(namespace: string, look: (store: Store) => Promise<Seen>): Promise<Seen> {
  return withStoreAt(place(), namespace, look);
}

/** World, store and client agree about these runs. */
export function agreed(
  top: Pick<Top, "namespace" | "world">,
  sagas: readonly Saga[],
  ids: readonly string[],
): Promise<CheckReport> {
  return agreedAt(place(), top, sagas, ids);
}
