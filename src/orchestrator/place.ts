/**
 * What client, worker and supervisor are made of: where things are kept, and how they are told apart. Leaves are built first and
 * closed in reverse; nothing is connected before it is used. What is not given in the options is read from the environment.
 */
import { artifactsAt, withArtifacts } from "../artifacts/index.ts";
import { type Config, readConfig, type Settings, withSettings } from "../config.ts";
import type { Artifacts, Facts, Store, Ticks, WakeUps } from "../core/index.ts";
import { systemClock, systemIds } from "../engine/index.ts";
import { RepriseError } from "../errors.ts";
import { bullmqTicks, bullmqWakeUps, type QueueTelemetry } from "../queue/index.ts";
import { type ConnectionOptions, type RedisClient, type RedisConnections, redisConnections } from "../redis/index.ts";
import { isSaga, type Saga, withChildren } from "../saga/index.ts";
import { type BarrierOption, redisStore } from "../store/index.ts";
import { combineFacts, type PlacedTelemetry, type Telemetry } from "../telemetry/index.ts";
import { troubleOf, troublesToStderr } from "./stderr.ts";

/** Where runs are kept, and by what they are told apart; what client and worker must agree on. */
export interface PlaceOptions {
  /**
   * Where values above `settings.artifactThresholdBytes` are kept instead of in Redis (`fileArtifacts`, `s3Artifacts`);
   * or where that is, as REPRISE_ARTIFACTS says it; REPRISE_ARTIFACTS, or nowhere. Client and workers must be given the same.
   */
  readonly artifacts?: Artifacts | string | undefined;
  /** `redis://`, `rediss://`, `redis+sentinel://`, `unix://`, or parts; REDIS_URL unless given. */
  readonly redis?: string | ConnectionOptions | undefined;
  /** Separates installations on one Redis; REPRISE_NAMESPACE, or `default`. */
  readonly namespace?: string | undefined;
  /** Fixed for the life of a namespace; REPRISE_SHARDS, or 1. */
  readonly shards?: number | undefined;
  /** Wake-up queues per pool; REPRISE_LANES, or 1 (4 in a cluster). */
  readonly lanes?: number | undefined;
  /** Every saga this process starts or runs. */
  readonly sagas: readonly Saga[];
  /** Bounds and waits that differ from the environment's, in ms. */
  readonly settings?: Partial<Settings> | undefined;
  /** Told of committed facts and of troubles; troubles go to stderr unless it or `telemetry` with logs is given. Must not throw or wait. */
  readonly facts?: Facts | undefined;
  /** Logs, metrics and traces (`createTelemetry`): one for all clients and workers of a process. It stays yours to close. */
  readonly telemetry?: Telemetry | undefined;
  /** What BullMQ's own spans are made by, e.g. `new BullMQOtel({})` of `bullmq-otel`: they are in the traces of the runs they carry. */
  readonly queueTelemetry?: QueueTelemetry | undefined;
}

export function portsOf({ store, wakeUps, facts, telemetry }: Base) {
  const ports = { store, wakeUps, clock: systemClock, ids: systemIds(), facts };
  const tracing = telemetry?.tracing ?? null;
  return tracing === null ? ports : { ...ports, tracing };
}

export function clientOptionsOf({ namespace, sagas, settings }: Base) {
  const { maxPayloadBytes, maxRunBytes, maxReplays, idsKeptMs } = settings;
  return { namespace, sagas, maxPayloadBytes, maxRunBytes, maxReplays, idsKeptMs };
}

export function ticksOf(base: Base, blocking = once(() => base.connections.blocking())): Ticks {
  const { namespace, onTrouble, queueConnection: connect } = base;
  return bullmqTicks({ connect, blocking, namespace, onTrouble });
}

/** Where things are kept. */
interface Kept {
  readonly config: Config;
  readonly settings: Settings;
  readonly namespace: string;
  readonly lanes: number;
  readonly connections: RedisConnections;
  readonly store: Store;
  readonly facts: Facts;
  readonly onTrouble: (where: string, error: unknown) => void;
}

export interface Base extends Kept {
  readonly sagas: readonly Saga[];
  /** The one connection of everything that puts jobs into queues. */
  readonly queueConnection: () => RedisClient;
  readonly wakeUps: WakeUps;
  readonly telemetry: PlacedTelemetry | null;
  readonly queueTelemetry: QueueTelemetry | undefined;
  readonly close: () => Promise<void>;
}

/** What differs between a worker and somebody who only looks. */
interface Use {
  readonly barrier?: BarrierOption | undefined;
  readonly readOnly?: boolean;
}

export function baseOf(options: PlaceOptions, use: Use = {}): Base {
  const sagas = uniqueSagas(withChildren(uniqueSagas(options.sagas)));
  const namespace = options.namespace ?? readConfig(process.env).namespace;
  const telemetry = options.telemetry?.at({ namespace, sagas }) ?? null;
  const { queueTelemetry } = options;
  const kept = keptIn({ ...options, facts: factsOf(options, telemetry) }, use);
  const { connections, onTrouble } = kept;
  const store = withValuesKept(kept, options);
  const queueConnection = once(() => connections.commands());
  const nudges = bullmqWakeUps({ connect: queueConnection, namespace, onTrouble, queueTelemetry });
  const wakeUps = telemetry?.wakeUps(nudges) ?? nudges;
  const close = async (): Promise<void> => {
    await wakeUps.close();
    await store.close();
    connections.close();
  };
  return { ...kept, store, sagas, queueConnection, wakeUps, telemetry, queueTelemetry, close };
}

/** Whoever is told what happens; what nobody is told goes to stderr, as far as it is a trouble. */
function factsOf({ facts }: PlaceOptions, telemetry: PlacedTelemetry | null): Facts | undefined {
  if (telemetry === null) return facts;
  const isHeard = facts !== undefined || telemetry.log !== null;
  return combineFacts(telemetry.facts, isHeard ? facts : troublesToStderr());
}

/** Also without a place for artifacts: what refers to one is then known as missing, and never taken for a value. */
function withValuesKept({ config, settings, namespace, store }: Kept, options: PlaceOptions): Store {
  const place = options.artifacts ?? config.artifacts;
  const artifacts = typeof place === "string" ? artifactsAt(place, process.env) : place;
  return withArtifacts(store, { artifacts, namespace, thresholdBytes: settings.artifactThresholdBytes });
}

/** Made when it is first asked for. */
export function once<Made>(make: () => Made): () => Made {
  let made: Made | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

export function keptIn(options: Omit<PlaceOptions, "sagas">, { barrier, readOnly = false }: Use): Kept {
  const config = readConfig(process.env);
  const settings = withSettings(config.settings, options.settings ?? {});
  const facts = options.facts ?? troublesToStderr();
  const onTrouble = (where: string, error: unknown) => facts.emit(troubleOf(where, error));
  const connections = redisConnections(connectionOptions(options, config, settings, onTrouble));
  const namespace = options.namespace ?? config.namespace;
  const lanes = options.lanes ?? (connections.isCluster && config.lanes === 1 ? 4 : config.lanes);
  const shards = options.shards ?? config.shards;
  const settleMs = settings.leaseMs;
  const waits = barrier ?? barrierIn(config);
  const store = redisStore({ connections, namespace, shards, lanes, settleMs, readOnly, barrier: waits });
  return { config, settings, namespace, lanes, connections, store, facts, onTrouble };
}

function barrierIn({ barrierOn }: Config): BarrierOption | null {
  return typeof barrierOn === "number" ? { replicas: barrierOn } : barrierOn;
}

function connectionOptions(
  { redis }: Pick<PlaceOptions, "redis">,
  config: Config,
  { commandTimeoutMs }: Settings,
  onTrouble: (where: string, error: unknown) => void,
): ConnectionOptions {
  const given = typeof redis === "string" ? { url: redis } : (redis ?? null);
  const url = given?.url ?? config.redisUrl;
  if (url === null) {
    throw new RepriseError("CONFIG_INVALID", "where is Redis? Give `redis`, or set REDIS_URL (redis://host:6379)");
  }
  return { commandTimeoutMs, onTrouble: (message) => onTrouble("redis", message), ...given, url };
}

/** Two sagas of one name and version would each answer for the other's runs. */
function uniqueSagas(sagas: readonly Saga[]): readonly Saga[] {
  const seen = new Set<string>();
  for (const saga of sagas) {
    if (!isSaga(saga)) throw new RepriseError("CONFIG_INVALID", "sagas holds something that saga() did not make");
    const key = `${saga.name}@${saga.version}`;
    if (seen.has(key))
      throw new RepriseError("CONFIG_INVALID", `two sagas are called ${key}: raise the version of one`);
    seen.add(key);
  }
  return sagas;
}
