/**
 * The composition root: introduces the rooms to each other. Leaves are built first and closed in reverse; nothing is
 * connected before it is used. What is not given in the options is read from the environment, what is wrong there is
 * refused at once.
 */
import {
  type Admin,
  type AdminAddress,
  type AdminAnswers,
  type AdminPlace,
  adminServer,
  type MetricsPage,
  supervisorAnswers,
  workerAnswers,
} from "./admin/index.ts";
import { artifactsAt, withArtifacts } from "./artifacts/index.ts";
import { type CheckOptions, type CheckReport, type Client, checkRuns, connectedClient } from "./client/index.ts";
import { type Config, type NotifyOptions, type QueueShare, readConfig, type Settings, withSettings } from "./config.ts";
import {
  type Alert,
  type Artifacts,
  defaultThresholds,
  type Fact,
  type Facts,
  type Installation,
  idPattern,
  type NoticeHook,
  noticeKinds,
  type Store,
  type Thresholds,
  type Ticks,
  type WakeUps,
} from "./core/index.ts";
import {
  engineWorker,
  type StepLine,
  type StepLogSink,
  systemClock,
  systemIds,
  systemVitals,
  type TellHook,
  type Worker,
} from "./engine/index.ts";
import { errorCodeOf, RepriseError } from "./errors.ts";
import { type Idempotency, type IdempotencyTimes, idempotencyOf, readTimes } from "./idempotency/index.ts";
import {
  bullmqCanaries,
  bullmqConsumers,
  bullmqDeadLetters,
  bullmqTicks,
  bullmqWakeUps,
  type QueueTelemetry,
} from "./queue/index.ts";
import { redact, redactValue } from "./redact.ts";
import {
  type ConnectionOptions,
  examineServers,
  inspectServers,
  type RedisClient,
  type RedisConnections,
  redisConnections,
} from "./redis/index.ts";
import { isSaga, type Saga, withChildren } from "./saga/index.ts";
import { type BarrierOption, redisStore, straysIn } from "./store/index.ts";
import { lookAt, type SupervisorHealth, Watchman, type Webhook, webhook } from "./supervisor/index.ts";
import { combineFacts, type PlacedTelemetry, type Telemetry } from "./telemetry/index.ts";
import { post } from "./webhook/index.ts";

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

export type CreateClientOptions = PlaceOptions;

export interface CreateWorkerOptions extends PlaceOptions {
  /** What it is called where workers are listed; REPRISE_WORKER_NAME, or `<host>-<pid>`. It need not be unique. */
  readonly name?: string | undefined;
  /** Handed to every step as `services`. */
  readonly services?: unknown;
  /** Runs driven at once; REPRISE_CONCURRENCY, or 50. */
  readonly concurrency?: number | undefined;
  /** Pools whose runs it drives; REPRISE_POOLS, or `default`. */
  readonly pools?: readonly string[] | undefined;
  /** Names of the sagas it serves; all of those given unless said. It must be all of a pool's. */
  readonly serve?: readonly string[] | undefined;
  /** Named step queues it works on; REPRISE_QUEUES, or none. */
  readonly queues?: readonly QueueOptions[] | undefined;
  /**
   * Webhooks that are told when runs end, park or wait, by the name under which it is owed to them. All workers of a namespace are to
   * be given the same: what a worker commits that does not know a hook is never told to it.
   */
  readonly notify?: Readonly<Record<string, NotifyOptions>> | undefined;
  /** What a `once` step waits for where what Redis acknowledged may be lost; REPRISE_BARRIER_ON, or nothing. */
  readonly barrier?: BarrierOption | undefined;
  /** Run `once` steps on a Redis that may forget about a second of what it acknowledged. */
  readonly allowForgetfulStore?: boolean | undefined;
  /** Receives what steps log; one JSON line each to stderr unless given. */
  readonly log?: StepLogSink | undefined;
  /**
   * Where `/livez`, `/readyz`, `/startupz` and `/metrics` are answered, from before `start` has checked anything until it has stopped;
   * REPRISE_ADMIN_PORT and REPRISE_ADMIN_HOST, or nowhere.
   */
  readonly admin?: AdminOptions | undefined;
}

export interface AdminOptions extends Partial<AdminPlace> {
  /** What `/metrics` shows beside the worker's own: a registry's page. */
  readonly metrics?: (() => Promise<MetricsPage>) | undefined;
  /** Told where it listens. */
  readonly onOpen?: ((address: AdminAddress) => void) | undefined;
}

/** Where requests are remembered (the same place as runs, or another), and for how long. */
export interface CreateIdempotencyOptions
  extends Pick<PlaceOptions, "redis" | "namespace" | "shards" | "settings" | "facts">,
    IdempotencyTimes {
  /** What a claim waits for where what Redis acknowledged may be lost; REPRISE_BARRIER_ON, or nothing. */
  readonly barrier?: BarrierOption | undefined;
  /** Take a Redis that may forget about a second of claims: their requests would be carried out again. */
  readonly allowForgetfulStore?: boolean | undefined;
}

/** How much of a named step queue a worker takes. */
export type QueueOptions = QueueShare;

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

/**
 * A worker: drives runs and performs calls until it is stopped. It installs no signal handlers and never exits the
 * process.
 *
 * @throws RepriseError CONFIG_INVALID, POOL_INCOMPLETE; `start` throws the rest.
 */
export function createWorker(options: CreateWorkerOptions): Worker {
  const base = baseOf(options, { barrier: options.barrier });
  const { config, connections, namespace, lanes, onTrouble, telemetry, queueTelemetry } = base;
  const pools = options.pools ?? config.pools;
  const queues = options.queues ?? config.queues;
  const blocking = once(() => connections.blocking());
  const { notify = {} } = options;
  const letters = bullmqDeadLetters({ connect: base.queueConnection, blocking, namespace, onTrouble });
  const worker = engineWorker(
    {
      ports: portsOf(base),
      consumers: (wanted) => {
        const consumers = bullmqConsumers({ connection: blocking(), namespace, lanes, onTrouble, queueTelemetry });
        return (telemetry?.consumers(consumers) ?? consumers)(wanted);
      },
      pulse: (onOpen) => connections.pulse(onOpen),
      deadLetters: { letters, sagas: base.sagas },
      ticks: ticksOf(base, blocking),
      tell: tellerOf(notify),
      vitals: systemVitals({ name: options.name ?? config.workerName, version: config.version }),
      canaries: bullmqCanaries({ connect: base.queueConnection, namespace, pools, lanes, onTrouble }),
    },
    {
      namespace,
      sagas: servedBy(base.sagas, pools, queues, options.serve),
      pools,
      queues,
      concurrency: options.concurrency ?? config.concurrency,
      services: options.services,
      settings: base.settings,
      allowForgetfulStore: options.allowForgetfulStore ?? config.allowForgetfulStore,
      log: options.log ?? telemetry?.log ?? logToStderr,
      hooks: hooksOf(notify),
    },
  );
  const unwatch = telemetry?.watch(base);
  return standing(worker, adminOf(worker, base, { ...pageOf(options.telemetry), ...options.admin }), async () => {
    unwatch?.();
    await base.close();
  });
}

/** Who wants to hear. A name becomes part of what things are called in the store. */
function hooksOf(notify: Readonly<Record<string, NotifyOptions>>): readonly NoticeHook[] {
  const problems = Object.entries(notify).flatMap(([name, { url }]) => {
    if (!idPattern.test(name)) return [`notify.${name}: a name is 1 to 64 characters of A-Z a-z 0-9 _ . -`];
    return /^https?:\/\/./.test(url) ? [] : [`notify.${name}.url is no http(s) URL`];
  });
  if (problems.length > 0) throw new RepriseError("CONFIG_INVALID", problems.join("; "), { details: { problems } });
  return Object.entries(notify).map(([name, { on, sagas, tenants }]) => {
    return { name, on: on ?? noticeKinds, sagas: sagas ?? null, tenants: tenants ?? null };
  });
}

function tellerOf(notify: Readonly<Record<string, NotifyOptions>>): TellHook {
  return async (hook, id, body, signal) => {
    const { url, secret = null } = notify[hook] as NotifyOptions; // hooks are made of it
    const refusal = await post({ url, secret }, { id, body }, signal);
    if (refusal === null) return { fate: "taken", why: "" };
    return { fate: refusal.status === goneStatus ? "refused" : "failed", why: refusal.why };
  };
}

/** By it alone a receiver says that it never wants to be sent this again. */
const goneStatus = 410;

/** What `/metrics` shows of the telemetry that a worker was given. */
function pageOf(telemetry: Telemetry | undefined): Pick<AdminOptions, "metrics"> {
  if (telemetry === undefined) return {};
  return {
    metrics: async () => ({ text: await telemetry.metricsText(), contentType: telemetry.metricsContentType }),
  };
}

function adminOf(worker: Worker, base: Base, options: AdminOptions): Ground | null {
  const { namespace, store } = base;
  const side = { namespace, health: () => worker.health(), ping: () => store.now(), metrics: options.metrics ?? null };
  return groundOf(base, options, workerAnswers(side));
}

function groundOf({ config }: Base, options: AdminOptions, answers: AdminAnswers): Ground | null {
  const port = options.port ?? config.adminPort;
  if (port === null) return null;
  const { host = config.adminHost, onOpen } = options;
  const admin: Admin = adminServer({ port, host }, answers);
  const open = async (): Promise<void> => {
    const address = await admin.open();
    onOpen?.(address);
  };
  return { open, close: () => admin.close() };
}

/** What is there before a worker starts, and until it has stopped. */
interface Ground {
  open(): Promise<void>;
  close(): Promise<void>;
}

/** The same worker; what it stands on is closed when it has stopped, whoever stopped it. */
function standing(worker: Worker, ground: Ground | null, close: () => Promise<void>): Worker {
  const closed = worker.ended.then(async (asked) => {
    await close();
    await ground?.close();
    return asked;
  });
  // Whoever stops it is told; where nobody does, there is nobody to tell.
  closed.catch(() => undefined);
  return {
    id: worker.id,
    start: async () => {
      await ground?.open();
      await worker.start();
    },
    stop: async () => {
      await worker.stop();
      await closed;
    },
    ended: closed,
    health: () => worker.health(),
  };
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

/** Where a supervisor looks, and whom it tells. */
export interface CreateSupervisorOptions extends PlaceOptions {
  /** What it is called; REPRISE_WORKER_NAME, or `<host>-<pid>`. */
  readonly name?: string | undefined;
  /** From when on something is told. */
  readonly thresholds?: Partial<Thresholds> | undefined;
  /** Told alerts, signed with `secret`; REPRISE_ALERT_WEBHOOK and REPRISE_ALERT_SECRET, or nobody. */
  readonly webhook?: { readonly url: string; readonly secret?: string | undefined } | undefined;
  /** Told each alert once; a JSON line on stderr unless given. Must not throw or wait. */
  readonly onAlert?: ((alert: Alert) => void) | undefined;
  /** How often it looks; 5,000 unless given, and at most. */
  readonly everyMs?: number | undefined;
  readonly admin?: AdminOptions | undefined;
}

/** Watches over a namespace from outside of its workers. */
export interface Supervisor {
  readonly id: string;
  /** Looks, and goes on looking. Throws CONFIG_INVALID (the admin port), STORE_UNAVAILABLE, SHARDS_MISMATCH, STORE_EVICTS. */
  start(): Promise<void>;
  stop(): Promise<void>;
  health(): SupervisorHealth;
}

/**
 * A supervisor: tells when workers are gone or take nothing, when runs cannot advance, when outcomes, questions and parked runs pile
 * up, and when Redis is not as it was. It changes nothing but its own heartbeat.
 *
 * @throws RepriseError CONFIG_INVALID.
 */
export function createSupervisor(options: CreateSupervisorOptions): Supervisor {
  const base = baseOf(options);
  const { config, store, namespace, onTrouble } = base;
  const client = connectedClient(portsOf(base), clientOptionsOf(base));
  const { name, host, pid, version } = systemVitals({
    name: options.name ?? config.workerName,
    version: config.version,
  });
  const id = systemIds().next();
  const hook = webhookOf(options, base);
  const onAlert = options.onAlert ?? alertToStderr;
  const watchman = new Watchman(
    {
      clock: systemClock,
      look: () => lookAt(client, () => examineServers(base.queueConnection())),
      beat: (heartbeat) => store.beat(heartbeat),
      tell: (alert) => {
        onAlert(alert);
        // A supervisor that was started anew counts from its own beginning.
        hook?.send(`${id}:${alert.id}`, { namespace, ...alert, id: `${id}:${alert.id}` });
      },
      trouble: onTrouble,
    },
    {
      ...{ id, name, host, pid, version },
      everyMs: options.everyMs ?? 5_000,
      thresholds: checkedThresholds(options.thresholds ?? {}),
    },
  );
  const ground = groundOf(
    base,
    options.admin ?? {},
    supervisorAnswers(namespace, () => watchman.health()),
  );
  let stopping: Promise<void> | null = null;
  const stop = async (): Promise<void> => {
    await watchman.stop();
    await hook?.stop(2_000);
    await store.goodbye(id).catch((error: unknown) => onTrouble("goodbye", error));
    await client.close();
    await base.close();
    await ground?.close();
  };
  return {
    id,
    health: () => watchman.health(),
    start: async () => {
      await ground?.open();
      await store.open();
      watchman.start();
    },
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

function checkedThresholds(given: Partial<Thresholds>): Thresholds {
  const problems = Object.entries(given).flatMap(([name, value]) => {
    if (!(name in defaultThresholds))
      return [`alerts.${name} is not one of ${Object.keys(defaultThresholds).join(", ")}`];
    return Number.isFinite(value) && value >= 0 ? [] : [`alerts.${name} is not a number from 0: ${String(value)}`];
  });
  if (problems.length === 0) return { ...defaultThresholds, ...given };
  throw new RepriseError("CONFIG_INVALID", problems.join("; "), { details: { problems } });
}

function webhookOf({ webhook: given }: CreateSupervisorOptions, { config, onTrouble }: Base): Webhook | null {
  const url = given?.url ?? config.alertWebhook;
  if (url === null) return null;
  const secret = given === undefined ? config.alertSecret : (given.secret ?? null);
  return webhook({ url, secret, clock: systemClock, onTrouble: (error) => onTrouble("webhook", error) });
}

function alertToStderr(alert: Alert): void {
  const level = alert.state === "firing" ? "error" : "info";
  console.error(JSON.stringify({ level, alert: alert.state, ...alert }, redactValue));
}

// ---- what all are made of

function portsOf({ store, wakeUps, facts, telemetry }: Base) {
  const ports = { store, wakeUps, clock: systemClock, ids: systemIds(), facts };
  const tracing = telemetry?.tracing ?? null;
  return tracing === null ? ports : { ...ports, tracing };
}

function clientOptionsOf({ namespace, sagas, settings }: Base) {
  const { maxPayloadBytes, maxRunBytes, maxReplays, idsKeptMs } = settings;
  return { namespace, sagas, maxPayloadBytes, maxRunBytes, maxReplays, idsKeptMs };
}

function ticksOf(base: Base, blocking = once(() => base.connections.blocking())): Ticks {
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

interface Base extends Kept {
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

function baseOf(options: PlaceOptions, use: Use = {}): Base {
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
function once<Made>(make: () => Made): () => Made {
  let made: Made | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

function keptIn(options: Omit<PlaceOptions, "sagas">, { barrier, readOnly = false }: Use): Kept {
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

/**
 * The sagas whose runs or routed steps come to this worker. Whoever serves a pool serves all of it: its wake-ups come to
 * every worker of it.
 */
function servedBy(
  sagas: readonly Saga[],
  pools: readonly string[],
  queues: readonly QueueOptions[],
  serve: readonly string[] | undefined,
): readonly Saga[] {
  const unknown = serve?.filter((name) => !sagas.some((saga) => saga.name === name)) ?? [];
  if (unknown.length > 0) {
    throw new RepriseError("POOL_INCOMPLETE", `no saga is called ${unknown.join(", ")}`, { details: { unknown } });
  }
  const wanted = sagas.filter((saga) => pools.includes(saga.spec.pool));
  // Whoever serves a saga serves what it runs as children.
  const served = withChildren(sagas.filter((saga) => serve?.includes(saga.name))).map(({ spec }) => spec);
  const missing = serve === undefined ? [] : wanted.filter(({ spec }) => !served.includes(spec));
  if (missing.length === 0) return sagas.filter((saga) => wanted.includes(saga) || isRoutedTo(saga, queues));
  const names = missing.map((saga) => `${saga.name} (pool ${saga.spec.pool})`);
  throw new RepriseError("POOL_INCOMPLETE", `a worker serves all sagas of a pool; missing: ${names.join(", ")}`, {
    details: { missing: missing.map((saga) => saga.name) },
  });
}

function isRoutedTo(saga: Saga, queues: readonly QueueOptions[]): boolean {
  return Object.values(saga.spec.steps).some((step) => queues.some((queue) => queue.name === step.queue));
}

// ---- where troubles go when nobody asks for them

/** One trouble is not repeated within this. */
const quietMs = 10_000;
const maxRemembered = 1_000;

function troublesToStderr(): Facts {
  const said = new Map<string, number>();
  return {
    emit: (fact) => {
      const line = lineOf(fact);
      if (line === null) return;
      const now = systemClock.monotonicMs();
      if (now - (said.get(line) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
      if (said.size >= maxRemembered) said.clear();
      said.set(line, now);
      console.error(line);
    },
  };
}

function lineOf(fact: Fact): string | null {
  switch (fact.fact) {
    case "committed":
    case "created":
    case "existed":
    case "acquired":
    case "call":
    case "fenced":
    case "stale":
    case "lease_lost":
    case "purged":
    case "notified":
      return null;
    case "structure_replaced":
      return JSON.stringify({ level: "info", ...fact });
    case "saga_paused":
    case "saga_resumed":
      return null;
    case "budget":
    case "schemas_changed":
    case "unserved":
    case "recovered":
    case "trouble":
      return JSON.stringify({ level: "warn", ...fact });
  }
}

function troubleOf(where: string, error: unknown): Fact {
  return { fact: "trouble", where, message: redact(error instanceof Error ? error.message : String(error)) };
}

function logToStderr({ level, message, facts, run, step, operationId }: StepLine): void {
  const line = { level, message, ...facts, run: run.id, tenant: run.tenant, step, operationId };
  console.error(JSON.stringify(line, redactValue));
}
