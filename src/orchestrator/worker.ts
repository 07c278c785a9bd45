/** Composes a worker, and what it stands on. */
import { workerAnswers } from "../admin/index.ts";
import type { NotifyOptions, QueueShare } from "../config.ts";
import { engineWorker, type StepLogSink, systemVitals, type Worker } from "../engine/index.ts";
import { RepriseError } from "../errors.ts";
import { bullmqCanaries, bullmqConsumers, bullmqDeadLetters } from "../queue/index.ts";
import { type Saga, withChildren } from "../saga/index.ts";
import type { BarrierOption } from "../store/index.ts";
import type { Telemetry } from "../telemetry/index.ts";
import { type AdminOptions, type Ground, groundOf } from "./ground.ts";
import { hooksOf, tellerOf } from "./notify.ts";
import { type Base, baseOf, once, type PlaceOptions, portsOf, ticksOf } from "./place.ts";
import { logToStderr } from "./stderr.ts";

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

/** How much of a named step queue a worker takes. */
export type QueueOptions = QueueShare;

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

function adminOf(worker: Worker, base: Base, options: AdminOptions): Ground | null {
  const { namespace, store } = base;
  const side = { namespace, health: () => worker.health(), ping: () => store.now(), metrics: options.metrics ?? null };
  return groundOf(base, options, workerAnswers(side));
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

/** What `/metrics` shows of the telemetry that a worker was given. */
function pageOf(telemetry: Telemetry | undefined): Pick<AdminOptions, "metrics"> {
  if (telemetry === undefined) return {};
  return {
    metrics: async () => ({ text: await telemetry.metricsText(), contentType: telemetry.metricsContentType }),
  };
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
