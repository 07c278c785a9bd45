/** What the store needs of connections; `src/redis` makes them, the composition root hands them in. */
import type { EventEmitter } from "node:events";
import type { Cluster, Redis } from "ioredis";

export type StoreClient = Redis | Cluster;

export interface StoreConnections {
  readonly isCluster: boolean;
  /** For messages: where it is, without user and password. */
  readonly place: string;
  /** The commit profile (design section 4, Connections): never sends a command twice. */
  commands(): StoreClient;
  subscriber(): StoreClient;
  /** A connection to one server, for what blocks it; `null`: the only one. */
  node(address: { readonly host: string; readonly port: number } | null): Redis;
  /** Resolves when the client can be used; rejects with STORE_UNAVAILABLE. */
  ready(client: StoreClient): Promise<void>;
}

/** The servers that hold data: every master of a cluster, or the one server. */
export function serversOf(client: StoreClient): readonly Redis[] {
  return "nodes" in client ? client.nodes("master") : [client];
}

/** Calls back when the connection is ready again; of a cluster, also when there is one to another node. */
export function onReopened(client: StoreClient, listener: () => void): void {
  // An emitter types each of its clients' events apart; these two have no arguments that are read.
  const events: EventEmitter = client;
  events.on("ready", listener);
  if ("nodes" in client) events.on("+node", listener);
}
