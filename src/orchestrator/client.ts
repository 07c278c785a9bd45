/** Composes a client, and the look at a deployment that is one for a moment. */
import { type CheckOptions, type CheckReport, type Client, checkRuns, connectedClient } from "../client/index.ts";
import { baseOf, clientOptionsOf, type PlaceOptions, portsOf, ticksOf } from "./place.ts";

export type CreateClientOptions = PlaceOptions;

/**
 * A client: starts runs, waits for them, asks things of them. Connects when it is first used; close it when done.
 *
 * @throws RepriseError CONFIG_INVALID.
 */
export function createClient(options: CreateClientOptions): Client {
  const base = baseOf(options);
  const ticks = ticksOf(base);
  const client = connectedClient({ ...portsOf(base), ticks }, clientOptionsOf(base));
  const unwatch = base.telemetry?.watch(base);
  return {
    ...client,
    close: async () => {
      unwatch?.();
      await client.close();
      await ticks.stop(0);
      await base.close();
    },
  };
}

/**
 * What becomes of every open run when this code, the `sagas` given, is deployed: which go on, which have to move, which would
 * break and where. Reads and writes nothing. What is larger than a few findings a version is told to `onRun`.
 *
 * @throws RepriseError CONFIG_INVALID, STORE_UNAVAILABLE, SHARDS_MISMATCH.
 */
export async function checkDeploy(options: CreateClientOptions & CheckOptions): Promise<CheckReport> {
  const base = baseOf(options, { readOnly: true });
  try {
    return await checkRuns(portsOf(base), clientOptionsOf(base), options);
  } finally {
    await base.close();
  }
}
