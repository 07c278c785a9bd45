/** Composes what makes the requests of a service idempotent that is no saga. */
import { systemClock, systemIds } from "../engine/index.ts";
import { type Idempotency, type IdempotencyTimes, idempotencyOf, readTimes } from "../idempotency/index.ts";
import type { BarrierOption } from "../store/index.ts";
import { keptIn, type PlaceOptions } from "./place.ts";

/** Where requests are remembered (the same place as runs, or another), and for how long. */
export interface CreateIdempotencyOptions
  extends Pick<PlaceOptions, "redis" | "namespace" | "shards" | "settings" | "facts">,
    IdempotencyTimes {
  /** What a claim waits for where what Redis acknowledged may be lost; REPRISE_BARRIER_ON, or nothing. */
  readonly barrier?: BarrierOption | undefined;
  /** Take a Redis that may forget about a second of claims: their requests would be carried out again. */
  readonly allowForgetfulStore?: boolean | undefined;
}

/**
 * Makes the requests of a service idempotent that is no saga: the first answer to a key is kept and replayed. Connects when
 * it is first used; close it when done.
 *
 * @throws RepriseError CONFIG_INVALID.
 */
export function createIdempotency(options: CreateIdempotencyOptions = {}): Idempotency {
  const { config, settings, connections, store } = keptIn(options, { barrier: options.barrier });
  const { barrierMs, maxPayloadBytes, commandTimeoutMs } = settings;
  const idempotency = idempotencyOf(
    { store, clock: systemClock, ids: systemIds() },
    {
      ...readTimes(options, commandTimeoutMs),
      barrierMs,
      maxPayloadBytes,
      allowForgetfulStore: options.allowForgetfulStore ?? config.allowForgetfulStore,
    },
  );
  return {
    run: (...request) => idempotency.run(...request),
    close: async () => {
      await idempotency.close();
      connections.close();
    },
  };
}
