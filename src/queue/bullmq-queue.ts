/**
 * Owns: putting nudges into BullMQ. Does not own: which nudges (the store's answers say so) or what follows from them.
 * Invariants: Q1 a job is removed when it ends, however it ends, so that its id can be used again (a retained one would
 * swallow the next wake-up: L4). Q2 BullMQ never tries again and never delays: retries and timers are core's. Q3 one Queue
 * object per queue and process, all on one connection that is handed in.
 */
import { type ConnectionOptions, type JobsOptions, Queue } from "bullmq";
import type { StepJob, WakeUp, WakeUps } from "../core/index.ts";
import { lanePrefix, poolQueue, stepJobId, stepLane, stepQueue, wakeJobId } from "./jobs.ts";

/** How many jobs go into one pipeline. */
const maxBulk = 1_000;
/** How long a nudge waits for the first connection, and closing for the last answer. */
const connectWithinMs = 1_000;
/** BullMQ keeps a stream of events per queue; nobody reads it. */
const keptEvents = 100;

export interface BullmqWakeUpsOptions {
  /** An ioredis client that fails fast, asked for when the first nudge is sent; it stays the caller's to close. */
  readonly connect: () => ConnectionOptions;
  readonly namespace: string;
  /** Told of errors that belong to no request. */
  readonly onTrouble: (where: string, error: unknown) => void;
}

interface Nudge {
  readonly name: string;
  readonly data: Readonly<Record<string, never>>;
  readonly opts: JobsOptions;
}

/** Wake-ups and step jobs over BullMQ. */
export function bullmqWakeUps(options: BullmqWakeUpsOptions): WakeUps {
  const queues = new Map<string, Queue>();
  const ready = new WeakSet<Queue>();
  let connection: ConnectionOptions | null = null;
  let closing: Promise<void> | null = null;

  function queueOf(lane: number, name: string): Queue {
    const key = `${lane}:${name}`;
    const known = queues.get(key);
    if (known !== undefined) return known;
    connection ??= options.connect();
    const queue = new Queue(name, {
      connection,
      prefix: lanePrefix(options.namespace, lane),
      streams: { events: { maxLen: keptEvents } },
    });
    queue.on("error", (error) => options.onTrouble(`queue ${name}`, error));
    queues.set(key, queue);
    return queue;
  }

  async function add(queue: Queue, nudges: readonly Nudge[]): Promise<void> {
    await readyInTime(queue);
    const [only, ...others] = nudges;
    if (only !== undefined && others.length === 0) return void (await queue.add(only.name, only.data, only.opts));
    for (let from = 0; from < nudges.length; from += maxBulk) await queue.addBulk(nudges.slice(from, from + maxBulk));
  }

  async function addAll(groups: ReadonlyMap<Queue, readonly Nudge[]>): Promise<void> {
    await Promise.all([...groups].map(([queue, nudges]) => add(queue, nudges)));
  }

  /** BullMQ waits for a first connection as long as it takes; whoever sends a nudge shall not. */
  async function readyInTime(queue: Queue): Promise<void> {
    if (ready.has(queue)) return;
    await inTime(queue.waitUntilReady());
    ready.add(queue);
  }

  return {
    wake: (wakeUps) => addAll(grouped(wakeUps, (wakeUp) => queueOf(wakeUp.lane, poolQueue(wakeUp.pool)), wakeNudge)),
    offer: (jobs) => addAll(grouped(jobs, (job) => queueOf(stepLane, stepQueue(job.queue)), stepNudge)),
    close: () => {
      closing ??= Promise.all([...queues.values()].map((queue) => inTime(queue.close()).catch(() => undefined))).then(
        () => undefined,
      );
      return closing;
    },
  };
}

async function inTime(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("Redis is not reachable")), connectWithinMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function grouped<Item>(
  items: readonly Item[],
  queueOf: (item: Item) => Queue,
  nudgeOf: (item: Item) => Nudge,
): ReadonlyMap<Queue, readonly Nudge[]> {
  const groups = new Map<Queue, Nudge[]>();
  for (const item of items) {
    const queue = queueOf(item);
    const group = groups.get(queue);
    if (group === undefined) groups.set(queue, [nudgeOf(item)]);
    else group.push(nudgeOf(item));
  }
  return groups;
}

function wakeNudge(wakeUp: WakeUp): Nudge {
  return nudge("wake", wakeJobId(wakeUp), wakeUp.priority);
}

function stepNudge(job: StepJob): Nudge {
  return nudge("step", stepJobId(job), job.priority);
}

function nudge(name: string, jobId: string, priority: number): Nudge {
  const opts: JobsOptions = { jobId, attempts: 1, removeOnComplete: true, removeOnFail: true };
  return { name, data: {}, opts: priority > 0 ? { ...opts, priority } : opts };
}
