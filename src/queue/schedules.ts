/**
 * Schedules as BullMQ job schedulers in the queue `schedules`. Owns that they tick, and nothing else: a job says "look at schedule
 * X". Invariants: M1 one job scheduler for each schedule, named like it, so that any number of processes that set it at once, again
 * and again, leave one job waiting. M2 one that ticks as it should is left alone: setting it anew would begin its time anew.
 */
import type { ConnectionOptions, Job, JobSchedulerJson, Queue, RepeatOptions } from "bullmq";
import type { Consumer, Schedule, Ticks } from "../core/index.ts";
import { consumerOver, openWorker } from "./consumer.ts";
import { scheduleQueue, stepLane } from "./jobs.ts";
import { openQueues, type QueuesOptions } from "./queues.ts";

/** Ticks looked at by one process at once. */
const concurrency = 10;
/** One whose next tick is this long over has lost its job. */
const lostMs = 30_000;
/** Job schedulers asked for at once. */
const pageSize = 1_000;

type Ticking = Pick<Schedule, "id" | "timing">;

export interface BullmqTicksOptions extends QueuesOptions {
  /** An ioredis client with `maxRetriesPerRequest: null`, asked for when it starts. */
  readonly blocking: () => ConnectionOptions;
}

/** Ticks over BullMQ. */
export function bullmqTicks(options: BullmqTicksOptions): Ticks {
  const queues = openQueues(options);
  let consumer: Consumer | null = null;
  let stopped = false;

  const queue = (): Promise<Queue> => queues.open(stepLane, scheduleQueue);

  return {
    keep: async (schedules) => {
      const opened = await queue();
      const known = new Map((await all(opened)).map((scheduler) => [scheduler.key, scheduler]));
      for (const schedule of schedules) if (!ticks(known.get(schedule.id), schedule)) await set(opened, schedule);
      const wanted = new Set(schedules.map(({ id }) => id));
      for (const id of known.keys()) if (!wanted.has(id)) await opened.removeJobScheduler(id);
    },
    set: async (schedule) => {
      const opened = await queue();
      const known = await opened.getJobScheduler(schedule.id);
      if (!ticks(known, schedule)) await set(opened, schedule);
    },
    remove: async (id) => {
      await (await queue()).removeJobScheduler(id);
    },
    start: async (onTick) => {
      if (stopped || consumer !== null) return;
      const workers = { ...options, connection: options.blocking() };
      const handle = async ({ name }: Job) => await onTick(name);
      const source = { name: scheduleQueue, lane: stepLane };
      const own = { concurrency, removeOnFail: { count: 0 } };
      consumer = consumerOver(workers, () => [openWorker(workers, source, handle, own)]);
      await consumer.start();
    },
    stop: async (graceMs) => {
      stopped = true;
      await consumer?.stop(graceMs);
      await queues.close();
    },
  };
}

async function all(queue: Queue): Promise<readonly JobSchedulerJson[]> {
  const found: JobSchedulerJson[] = [];
  for (let from = 0; ; from += pageSize) {
    const page = await queue.getJobSchedulers(from, from + pageSize - 1, true);
    found.push(...page);
    if (page.length < pageSize) return found;
  }
}

/** Does it tick as it should? By this process's clock: it is no more than a hint. */
function ticks(known: JobSchedulerJson | undefined, { timing }: Ticking): boolean {
  if (known === undefined || known.next === undefined || known.next < Date.now() - lostMs) return false;
  if ("everyMs" in timing) return Number(known.every) === timing.everyMs;
  return known.pattern === timing.cron && known.tz === timing.timeZone;
}

async function set(queue: Queue, { id, timing }: Ticking): Promise<void> {
  const repeat: RepeatOptions =
    "everyMs" in timing ? { every: timing.everyMs } : { pattern: timing.cron, tz: timing.timeZone };
  const opts = { attempts: 1, removeOnComplete: true, removeOnFail: true };
  await queue.upsertJobScheduler(id, repeat, { name: id, data: {}, opts });
}
