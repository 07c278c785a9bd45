/**
 * Owns: taking nudges out of BullMQ and handing them to the engine. Invariants: C1 a handler's failure is counted and the
 * job removed: the run's truth is in the store, whose due index brings it back. C2 a job that is not one of ours is acked
 * as an orphan and said once (R003). C3 BullMQ's lock only brings back a job that was taken by a process that died before
 * it acquired the run; losing it later is counted, not acted on. C4 BullMQ never decides that a run has failed. C5 each worker
 * shows signs of life of its own loop: who else reads the queue proves nothing of it.
 */
import { type ConnectionOptions, type Job, Worker, type WorkerOptions } from "bullmq";
import type { Consumer, ConsumerFactory, ConsumerOptions, ConsumerSigns } from "../core/index.ts";
import { canaryJob, lanePrefix, parseStepJob, parseWakeJob, poolQueue, stepLane, stepQueue } from "./jobs.ts";
import type { QueueTelemetry } from "./queues.ts";

const lockDurationMs = 5_000;
const stalledIntervalMs = 2_500;
const maxStalledCount = 1_000_000;
/** How soon BullMQ tries again to reach a Redis that is away. */
const retryDelayMs = 1_000;
/** How often loops and connection are looked after. */
const watchMs = 2_500;
/** A connection that leaves a PING unanswered this long is opened again: seen the second time it is looked after. */
const silentMs = 4_000;

/** What every BullMQ worker of a process shares. */
export interface WorkersOptions {
  /** An ioredis client with `maxRetriesPerRequest: null`; each BullMQ worker duplicates it for its blocking read. */
  readonly connection: ConnectionOptions;
  readonly namespace: string;
  readonly queueTelemetry?: QueueTelemetry | undefined;
  readonly onTrouble: (where: string, error: unknown) => void;
}

export interface BullmqConsumersOptions extends WorkersOptions {
  /** Wake-up queues per pool. */
  readonly lanes: number;
}

interface Source {
  readonly name: string;
  readonly lane: number;
  readonly options: Pick<WorkerOptions, "concurrency" | "limiter">;
  /** `null`: the job is an orphan. */
  readonly take: (job: Job) => Promise<void> | null;
}

/** Consumers of wake-ups and step jobs over BullMQ. */
export function bullmqConsumers(options: BullmqConsumersOptions): ConsumerFactory {
  return (wanted) => {
    const sources = sourcesOf(options, wanted);
    return consumerOver(options, () => sources.map((source) => workerOf(options, source)));
  };
}

function sourcesOf({ lanes }: BullmqConsumersOptions, wanted: ConsumerOptions): readonly Source[] {
  const concurrency = Math.max(1, Math.ceil(wanted.concurrency / lanes));
  const wakes = wanted.pools.flatMap((pool) =>
    Array.from({ length: lanes }, (_, lane): Source => {
      const take = (job: Job) => {
        const run = parseWakeJob(job.id);
        return run === null ? null : wanted.onWake(run);
      };
      return { name: poolQueue(pool), lane, options: { concurrency }, take };
    }),
  );
  const steps = wanted.queues.map((queue): Source => {
    const limiter = queue.limit === undefined ? {} : { limiter: limiterOf(queue.limit) };
    const take = (job: Job) => {
      const step = parseStepJob(job.id, queue.name, job.priority);
      return step === null ? null : wanted.onStep(step);
    };
    const { concurrency: atOnce } = queue;
    return { name: stepQueue(queue.name), lane: stepLane, options: { concurrency: atOnce, ...limiter }, take };
  });
  return [...wakes, ...steps];
}

function limiterOf(limit: { readonly max: number; readonly durationMs: number }) {
  return { max: limit.max, duration: limit.durationMs };
}

/** Starts and stops workers together, and looks after them meanwhile. */
export function consumerOver(options: WorkersOptions, open: () => readonly WatchedWorker[]): Consumer {
  const workers: WatchedWorker[] = [];
  let watch: NodeJS.Timeout | null = null;
  let starting: Promise<void> | null = null;
  let stopping: Promise<void> | null = null;

  function run(worker: Worker): void {
    worker.run().catch((error: unknown) => options.onTrouble(`worker of ${worker.name}`, error));
  }

  async function start(): Promise<void> {
    if (stopping !== null) return;
    workers.push(...open());
    await Promise.all(workers.map((worker) => worker.waitUntilReady()));
    if (stopping !== null) return;
    for (const worker of workers) run(worker);
    const isAlive = pulseOf(options.connection);
    watch = setInterval(() => {
      // A loop may end when a fail-over unblocks its read (R035); a half-open connection never tells (R020).
      for (const worker of workers) if (!worker.isRunning()) run(worker);
      if (!isAlive()) options.onTrouble("queue", new Error("the connection was silent and is opened again"));
    }, watchMs);
    watch.unref();
  }

  async function stop(graceMs: number): Promise<void> {
    if (watch !== null) clearInterval(watch);
    await within(graceMs, Promise.all(workers.map((worker) => worker.close())));
  }

  return {
    start: () => {
      starting ??= start();
      return starting;
    },
    stop: (graceMs) => {
      stopping ??= stop(graceMs);
      return stopping;
    },
    signs: () => (stopping === null ? workers.map((worker) => worker.signs()) : []),
  };
}

/** What an ioredis client and cluster have in common, as far as it is needed here. */
interface Pingable {
  readonly status: string;
  ping(): Promise<unknown>;
  disconnect(reconnect: boolean): void;
}

/**
 * Asks the connection whether it is there each time it is called; `false`: it was silent for too long and was reset, so
 * that what hangs on it is sent again. BullMQ watches its blocking reads itself.
 */
function pulseOf(connection: ConnectionOptions): () => boolean {
  const client = connection as unknown as Pingable;
  if (typeof client.ping !== "function") return () => true;
  let askedAt: number | null = null;
  return () => {
    if (askedAt === null) {
      askedAt = performance.now();
      const answered = (): void => {
        askedAt = null;
      };
      client.ping().then(answered, answered);
      return true;
    }
    if (client.status !== "ready" || performance.now() - askedAt < silentMs) return true;
    askedAt = null;
    client.disconnect(true);
    return false;
  };
}

function workerOf(options: BullmqConsumersOptions, source: Source): WatchedWorker {
  const { onTrouble } = options;
  const where = `queue ${source.name}`;
  let orphans = 0;
  const handle = async (job: Job): Promise<void> => {
    if (job.id === canaryJob) return;
    try {
      const taken = source.take(job);
      if (taken !== null) return await taken;
      orphans += 1;
      if (orphans === 1) onTrouble(where, new Error(`job ${String(job.id)} is not one of ours: acknowledged`));
    } catch (error) {
      onTrouble(where, error);
    }
  };
  const own = { ...source.options, removeOnFail: { count: 0 } };
  return openWorker(options, source, handle, own);
}

/**
 * BullMQ's worker, whose loop can be seen going round: it asks for the next job at least every ten seconds while it has room for
 * one. That it runs, or that its connection is named in a list, is no proof of that.
 */
class WatchedWorker extends Worker {
  #aliveAt = performance.now();
  #tookAt: number | null = null;
  #inHand = 0;

  constructor(name: string, handle: (job: Job, token?: string) => Promise<void>, options: WorkerOptions) {
    super(name, (job, token) => this.#handled(job, () => handle(job, token)), options);
  }

  signs(): ConsumerSigns {
    const isFull = this.#inHand >= this.concurrency;
    return { source: this.name, isFull, aliveAt: this.#aliveAt, tookAt: this.#tookAt };
  }

  protected override async moveToActive(token: string, name?: string): Promise<Job> {
    const job = await super.moveToActive(token, name);
    this.#aliveAt = performance.now();
    return job;
  }

  async #handled(job: Job, handle: () => Promise<void>): Promise<void> {
    this.#inHand += 1;
    this.#aliveAt = performance.now();
    if (job.id !== canaryJob) this.#tookAt = this.#aliveAt;
    try {
      await handle();
    } finally {
      this.#inHand -= 1;
      this.#aliveAt = performance.now();
    }
  }
}

/** A worker that is not running yet. Its jobs go when they are done; what becomes of failed ones is said by `own`. */
export function openWorker(
  { connection, namespace, onTrouble, queueTelemetry }: WorkersOptions,
  { name, lane }: { readonly name: string; readonly lane: number },
  handle: (job: Job, token?: string) => Promise<void>,
  own: Pick<WorkerOptions, "concurrency" | "limiter" | "removeOnFail">,
): WatchedWorker {
  const worker = new WatchedWorker(name, handle, {
    ...own,
    connection,
    prefix: lanePrefix(namespace, lane),
    autorun: false,
    lockDuration: lockDurationMs,
    stalledInterval: stalledIntervalMs,
    maxStalledCount,
    runRetryDelay: retryDelayMs,
    removeOnComplete: { count: 0 },
    ...(queueTelemetry === undefined ? {} : { telemetry: queueTelemetry }),
  });
  worker.on("error", (error) => onTrouble(`queue ${name}`, error));
  return worker;
}

/** Resolves with the promise, or when `ms` are over. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, over]);
  clearTimeout(timer);
}
