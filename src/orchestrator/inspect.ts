/** Composes what `reprise doctor` sees of an installation. */
import { connectedClient } from "../client/index.ts";
import type { Installation } from "../core/index.ts";
import { errorCodeOf } from "../errors.ts";
import { inspectServers } from "../redis/index.ts";
import { straysIn } from "../store/index.ts";
import { baseOf, clientOptionsOf, type PlaceOptions, portsOf } from "./place.ts";

/** How closely an installation is looked at. */
export interface InspectOptions extends PlaceOptions {
  /** Keys on each Redis that are passed at most, looking for those that nothing accounts for. */
  readonly maxKeys: number;
}

/**
 * What there is to see of an installation, also where its settings are so bad that nothing else would open it; `findingsIn` says what is
 * wrong with it. Writes nothing.
 *
 * @throws RepriseError CONFIG_INVALID, STORE_UNAVAILABLE.
 */
export async function inspectPlace(options: InspectOptions): Promise<Omit<Installation, "node" | "isProduction">> {
  const base = baseOf(options, { readOnly: true });
  const { config, connections, namespace, lanes, queueConnection } = base;
  try {
    const client = queueConnection();
    await connections.ready(client);
    const servers = await inspectServers(client);
    const { registeredShards, ...keys } = await straysIn(client, { namespace, lanes, maxKeys: options.maxKeys });
    const configured = base.store.shards;
    return {
      servers,
      keys,
      shards: { configured, registered: registeredShards },
      fleet: await fleetAt({ ...options, shards: registeredShards ?? configured }),
      allowsForgetful: config.allowForgetfulStore,
    };
  } finally {
    await base.close();
  }
}

/** `null`: the store is not opened as it is set. */
async function fleetAt(options: PlaceOptions): Promise<Installation["fleet"]> {
  const base = baseOf(options, { readOnly: true });
  const client = connectedClient(portsOf(base), clientOptionsOf(base));
  try {
    return await client.workers();
  } catch (error) {
    if (errorCodeOf(error) === "STORE_EVICTS") return null;
    throw error;
  } finally {
    await client.close();
    await base.close();
  }
}
