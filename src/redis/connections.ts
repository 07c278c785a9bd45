/**
 * Makes every connection to Redis, each with the profile its use needs (design section 4, Connections). Does not own
 * what is said over them. Whoever asks for a connection closes it; `close` ends what is left.
 *
 * 1. A command that may write is sent at most once: no offline queue, no resend after a reconnect, no retry, and a
 *    time-out, all four together (reliability L5, L6, L19). ioredis Cluster has a resend of its own, turned off too.
 * 2. No automatic pipelining: it halves the rate of scripts (design section 12).
 * 3. Every connection has an error listener; no message of ours shows a password.
 * 4. Nobody sticks to a server that has become a replica (R035): behind a name or a balancer the connections to it stay
 *    open, so whoever is refused there connects again, to where the address leads by now.
 */
import type { EventEmitter } from "node:events";
import { performance } from "node:perf_hooks";
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import { RepriseError } from "../errors.ts";
import { openPulse, type Pulse, type PulsePlace } from "./pulse.ts";
import { placeOf, type RedisTarget, readTarget, type SentinelTarget } from "./target.ts";

export interface ConnectionOptions {
  /** See `target.ts`. */
  readonly url: string;
  /** A command that is not answered within this rejects; 1,000 unless given. */
  readonly commandTimeoutMs?: number;
  /** How long to wait for the first readiness; 3,000 unless given. */
  readonly readyWithinMs?: number;
  /** Shown by CLIENT LIST; `reprise` unless given. */
  readonly name?: string;
  readonly username?: string;
  readonly password?: string;
  /** TLS settings beside those of `rediss://`. */
  readonly tls?: NonNullable<RedisOptions["tls"]>;
  /** Cluster and Sentinel: from announced to reachable addresses. */
  readonly natMap?: NonNullable<ClusterOptions["natMap"]>;
  /** Told of connection errors, in one line; they are survived. */
  readonly onTrouble?: (message: string) => void;
}

/** While there is no primary, a connection is not opened anew for each command. */
const leaveEveryMs = 500;

/** All of them were asked in vain. The same each time: ioredis says it, and who logs knows a message by its words. */
const sentinelsAgainMs = 200;

/** A connection with the full set of commands: to one server or to a cluster. */
export type RedisClient = Redis | Cluster;

export interface RedisConnections {
  readonly isCluster: boolean;
  /** For messages: where it is, without user and password. */
  readonly place: string;
  /** The commit profile: fails at once when Redis is not there, never sends twice. For BullMQ queues too. */
  commands(): RedisClient;
  /** Waits for BullMQ's blocking commands as long as it takes. */
  blocking(): RedisClient;
  /** For channels: subscribes again by itself after a reconnect. */
  subscriber(): RedisClient;
  /** A connection to one server, for what is per node (`WAIT`); no command time-out. */
  node(address: { readonly host: string; readonly port: number } | null): Redis;
  /** A connection open for nothing else; calls back after each (re)connect with where it is. */
  pulse(onOpen: (place: PulsePlace) => void): Pulse;
  /** Resolves when the client can be used; rejects with STORE_UNAVAILABLE and the reason when it cannot in time. */
  ready(client: RedisClient): Promise<void>;
  close(): void;
}

/** The connections to one Redis. Nothing is opened before it is asked for. Throws CONFIG_INVALID. */
export function redisConnections(given: string | ConnectionOptions): RedisConnections {
  const options = typeof given === "string" ? { url: given } : given;
  const target = readTarget(options.url);
  const made = new Set<{ disconnect(): void }>();
  const keep = <Client extends RedisClient>(client: Client): Client => {
    made.add(client);
    const events: EventEmitter = client;
    events.once("end", () => made.delete(client));
    events.on("error", (error: Error) => options.onTrouble?.(`${placeOf(target)}: ${error.message}`));
    return client;
  };
  const make = (profile: Profile) => keep(clientOf(target, options, profile));
  return {
    isCluster: target.isCluster,
    place: placeOf(target),
    commands: () => make(onceProfile(options)),
    blocking: () => make(patientProfile),
    subscriber: () => make(patientProfile),
    node: (address) => keep(new Redis({ ...nodeOptions(target, options, address), ...nodeProfile })),
    pulse: (onOpen) => {
      const pulse = openPulse((turn) => {
        const seeds = target.isCluster ? [...mastersOf(made), ...target.hosts] : [null];
        return new Redis(nodeOptions(target, options, seeds[turn % seeds.length] ?? null));
      }, onOpen);
      const handle = { disconnect: () => pulse.close() };
      made.add(handle);
      return pulse;
    },
    ready: (client) => ready(client, placeOf(target), options.readyWithinMs ?? 3_000),
    close: () => {
      for (const client of [...made]) client.disconnect();
      made.clear();
    },
  };
}

/** The masters that clients of a cluster know by now: of the seeds none may be left. */
function mastersOf(made: Iterable<object>): readonly { readonly host: string; readonly port: number }[] {
  for (const client of made) {
    if (!(client instanceof Cluster) || client.status !== "ready") continue;
    return client.nodes("master").flatMap(({ options: { host, port } }) => (host && port ? [{ host, port }] : []));
  }
  return [];
}

/** What a use needs of a connection, for a single server and for the nodes of a cluster alike. */
type Profile = Pick<
  RedisOptions,
  "autoResendUnfulfilledCommands" | "enableOfflineQueue" | "maxRetriesPerRequest" | "commandTimeout" | "socketTimeout"
>;

/**
 * Measured safe (L19): a command that failed was not, and will not be, sent again. A connection on which nothing is heard
 * for two time-outs of a command is opened anew: half open, it would swallow every command to come.
 */
function onceProfile(options: ConnectionOptions): Profile {
  const commandTimeout = options.commandTimeoutMs ?? 1_000;
  return {
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout,
    socketTimeout: 2 * commandTimeout,
  };
}

/** As `onceProfile`, but commands that wait for replicas or the disk take their time. */
const nodeProfile: Profile = {
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
};

/** Only for commands that may be repeated: BullMQ's blocking ones and subscriptions. */
const patientProfile: Profile = { maxRetriesPerRequest: null };

function clientOf(target: RedisTarget, options: ConnectionOptions, profile: Profile): RedisClient {
  if (!target.isCluster) return new Redis({ ...nodeOptions(target, options, null), ...profile });
  const { enableOfflineQueue = true, ...perNode } = profile;
  return new Cluster([...target.hosts], {
    enableOfflineQueue,
    retryDelayOnFailover: enableOfflineQueue ? 100 : 0,
    retryDelayOnClusterDown: enableOfflineQueue ? 100 : 0,
    clusterRetryStrategy: backOffMs,
    redisOptions: { ...sharedOptions(target, options), ...perNode },
    ...(options.natMap === undefined ? {} : { natMap: options.natMap }),
    // A certificate is checked against the announced name, not against an address looked up for it.
    ...(target.usesTls ? { dnsLookup: (address, done) => done(null, address) } : {}),
  });
}

function nodeOptions(
  target: RedisTarget,
  options: ConnectionOptions,
  address: { readonly host: string; readonly port: number } | null,
): Omit<RedisOptions, "replyMapping"> {
  return {
    ...whereIs(target, options, address),
    ...sharedOptions(target, options),
    retryStrategy: backOffMs,
    reconnectOnError: leavesReplica(),
  };
}

function whereIs(
  target: RedisTarget,
  options: ConnectionOptions,
  address: { readonly host: string; readonly port: number } | null,
): Omit<RedisOptions, "replyMapping"> {
  const host = address ?? target.hosts[0] ?? null;
  if (host === null) return { path: target.socketPath ?? "" };
  if (target.sentinel === null || address !== null) return { host: host.host, port: host.port };
  return behindSentinels(target, target.sentinel, options);
}

/**
 * They are asked again at each connect, so whoever loses the primary finds the next one. A primary that was cut off from them
 * takes writes that are thrown away later: only `min-replicas-to-write` prevents that, so nobody subscribes to sentinels.
 */
function behindSentinels(
  { hosts, usesTls }: RedisTarget,
  { name, username, password }: SentinelTarget,
  { tls, readyWithinMs, natMap }: ConnectionOptions,
): Omit<RedisOptions, "replyMapping"> {
  const secure = usesTls || tls !== undefined;
  return {
    sentinels: [...hosts],
    name,
    role: "master",
    sentinelRetryStrategy: () => sentinelsAgainMs,
    sentinelCommandTimeout: readyWithinMs ?? 3_000,
    ...(username === null ? {} : { sentinelUsername: username }),
    ...(password === null ? {} : { sentinelPassword: password }),
    ...(secure ? { enableTLSForSentinelMode: true, sentinelTLS: tls ?? {} } : {}),
    ...(natMap === undefined ? {} : { natMap }),
  };
}

/**
 * Says of each error whether the connection is to be opened anew: where only a primary is of use, a replica has answered.
 * A cluster needs no such thing, its replicas say where the primary is.
 */
function leavesReplica(): (error: Error) => boolean {
  let leftAt = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    const now = performance.now();
    if (!/\b(READONLY|MASTERDOWN)\b/.test(message) || now - leftAt < leaveEveryMs) return false;
    leftAt = now;
    return true;
  };
}

function sharedOptions(target: RedisTarget, options: ConnectionOptions) {
  const username = options.username ?? target.username;
  const password = options.password ?? target.password;
  return {
    connectionName: options.name ?? "reprise",
    connectTimeout: options.readyWithinMs ?? 3_000,
    db: target.db,
    keepAlive: 10_000,
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(target.usesTls || options.tls !== undefined ? { tls: options.tls ?? {} } : {}),
  };
}

/** 50 ms, doubling to 1 s, each drawn from its upper half, so that a crowd does not come back at once. */
function backOffMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times - 1, 8), 1_000) * (0.5 + Math.random() / 2);
}

/** Waits for the first readiness; a wrong password is told at once, anything else when the time is over. */
function ready(client: RedisClient, place: string, withinMs: number): Promise<void> {
  if (client.status === "ready") return Promise.resolve();
  const events: EventEmitter = client;
  return new Promise((resolve, reject) => {
    let last: Error | null = null;
    const settle = (error: Error | null) => {
      clearTimeout(timer);
      events.off("ready", onReady).off("error", onError).off("end", onEnd);
      if (error === null) resolve();
      else reject(error);
    };
    const onReady = () => settle(null);
    const onEnd = () => settle(unreachable(place, last));
    const onError = (error: Error) => {
      last = error;
      if (/NOAUTH|WRONGPASS|NOPERM|invalid password/.test(error.message)) settle(unreachable(place, error));
    };
    const timer = setTimeout(() => settle(unreachable(place, last)), withinMs);
    events.on("ready", onReady).on("error", onError).on("end", onEnd);
  });
}

function unreachable(place: string, cause: Error | null): RepriseError {
  const why = cause?.message ?? "no answer (not started, frozen, or loading its data)";
  return new RepriseError("STORE_UNAVAILABLE", `Redis at ${place} cannot be used: ${why}`, {
    details: { place },
    cause,
  });
}
