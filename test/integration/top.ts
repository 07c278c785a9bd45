/** Client and workers over the Redis of the integration tests: one server, or a cluster. */
import { inject } from "vitest";
import type { PlaceOptions, Saga } from "../../src/index.ts";
import type { FakeWorld } from "../../src/testing/index.ts";
import { type Top, topAt } from "../support/top.ts";

export { effectsOf, type Top, until } from "../support/top.ts";

/** A client and a world; everything is stopped when the test has finished. */
export function top(
  sagas: readonly Saga[],
  world?: FakeWorld,
  place: Pick<PlaceOptions, "artifacts" | "lanes"> = {},
): Top {
  return topAt({ redis: inject("redisUrl"), shards: inject("shards"), ...place }, sagas, world);
}
