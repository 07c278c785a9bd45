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

  async function add({ lane, name, nudges }: Load): Promise<void> {
    const queue = await queues.open(lane, name);
    const [only, ...others] = nudges;
    if (only !== undefined && others.length === 0) return void (await queue.add(only.name, only.data, only.opts));
    for (let from = 0; from < nudges.length; from += maxBulk) await queue.addBulk(nudges.slice(from, from + maxBulk));
  }

  const step = (name: string): Promise<Queue> => queues.open(stepLane, stepQueue(name));

  async function addAll(loads: readonly Load[]): Promise<void> {
    await Promise.all(loads.map(add));
  }

  return {
    wake: (wakeUps) => addAll(loadsOf(wakeUps, ({ lane, pool }) => ({ lane, name: poolQueue(pool) }), wakeNudge)),
    offer: (jobs) => addAll(loadsOf(jobs, ({ queue }) => ({ lane: stepLane, name: stepQueue(queue) }), stepNudge)),
    pauseQueue: async (queue) => await (await step(queue)).pause(),
    resumeQueue: async (queue) => await (await step(queue)).resume(),
    isQueuePaused: async (queue) => await (await step(queue)).isPaused(),
    close: () => queues.close(),
  };
}

interface Place {
  readonly lane: number;
  readonly name: string;
}

/** What goes into one queue. */
interface Load extends Place {
  readonly nudges: Nudge[];
}

function loadsOf<Item>(
  items: readonly Item[],
  placeOf: (item: Item) => Place,
  nudgeOf: (item: Item) => Nudge,
): readonly Load[] {
  const loads = new Map<string, Load>();
  for (const item of items) {
    const place = placeOf(item);
    const key = `${place.lane}:${place.name}`;
    const load = loads.get(key) ?? { ...place, nudges: [] };
    load.nudges.push(nudgeOf(item));
    loads.set(key, load);
  }
  return [...loads.values()];
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
