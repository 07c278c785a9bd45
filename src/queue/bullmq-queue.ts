/**
 * Owns: putting nudges into BullMQ. Does not own: which nudges (the store's answers say so) or what follows from them.
 * Invariants: Q1 a job is removed when it ends, however it ends, so that its id can be used again (a retained one would
 * swallow the next wake-up: L4). Q2 BullMQ never tries again and never delays: retries and timers are core's.
 */
import type { JobsOptions, Queue } from "bullmq";
import type { StepJob, WakeUp, WakeUps } from "../core/index.ts";
import { poolQueue, stepJobId, stepLane, stepQueue, wakeJobId } from "./jobs.ts";
import { openQueues, type QueuesOptions } from "./queues.ts";

/** How many jobs go into one pipeline. */
const maxBulk = 1_000;

interface Nudge {
  readonly name: string;
  readonly data: Readonly<Record<string, never>>;
  readonly opts: JobsOptions;
}

/** Wake-ups and step jobs over BullMQ. */
export function bullmqWakeUps(options: QueuesOptions): WakeUps {
  const queues = openQueues(options);

  async function add(queue: Queue, nudges: readonly Nudge[]): Promise<void> {
    await queues.ready(queue);
    const [only, ...others] = nudges;
    if (only !== undefined && others.length === 0) return void (await queue.add(only.name, only.data, only.opts));
    for (let from = 0; from < nudges.length; from += maxBulk) await queue.addBulk(nudges.slice(from, from + maxBulk));
  }

  async function step(name: string): Promise<Queue> {
    const queue = queues.of(stepLane, stepQueue(name));
    await queues.ready(queue);
    return queue;
  }

  async function addAll(groups: ReadonlyMap<Queue, readonly Nudge[]>): Promise<void> {
    await Promise.all([...groups].map(([queue, nudges]) => add(queue, nudges)));
  }

  return {
    wake: (wakeUps) => addAll(grouped(wakeUps, (wakeUp) => queues.of(wakeUp.lane, poolQueue(wakeUp.pool)), wakeNudge)),
    offer: (jobs) => addAll(grouped(jobs, (job) => queues.of(stepLane, stepQueue(job.queue)), stepNudge)),
    pauseQueue: async (queue) => await (await step(queue)).pause(),
    resumeQueue: async (queue) => await (await step(queue)).resume(),
    isQueuePaused: async (queue) => await (await step(queue)).isPaused(),
    close: () => queues.close(),
  };
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
