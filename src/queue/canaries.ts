/**
 * Canaries: a job without a meaning in each queue of wake-ups, so that a queue with nothing to do still shows that jobs come through.
 * Invariant: there is one in a queue at a time, however many workers put it there, and whoever takes it is done with it.
 */
import type { Queue } from "bullmq";
import type { Canaries } from "../core/index.ts";
import { canaryJob, poolQueue } from "./jobs.ts";
import { openQueues, type QueuesOptions } from "./queues.ts";

export interface BullmqCanariesOptions extends QueuesOptions {
  readonly pools: readonly string[];
  /** Wake-up queues per pool. */
  readonly lanes: number;
}

/** Canaries over BullMQ, in every lane of these pools. */
export function bullmqCanaries(options: BullmqCanariesOptions): Canaries {
  const queues = openQueues(options);
  const places = options.pools.flatMap((pool) =>
    Array.from({ length: options.lanes }, (_, lane) => ({ lane, name: poolQueue(pool) })),
  );
  return {
    send: async () => {
      const opened = await Promise.all(places.map(({ lane, name }) => queues.open(lane, name)));
      await Promise.all(opened.map(put));
    },
    close: () => queues.close(),
  };
}

async function put(queue: Queue): Promise<void> {
  await queue.add("canary", {}, { jobId: canaryJob, attempts: 1, removeOnComplete: true, removeOnFail: true });
}
