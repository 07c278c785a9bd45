/**
 * BullMQ's Queue objects, to put jobs in. Invariants: O1 one per queue and user of it, all on one connection that is handed
 * in. O2 nobody waits longer than `connectWithinMs` for a first connection, or for the last answer when it is closed.
 */
import { type ConnectionOptions, Queue } from "bullmq";
import { lanePrefix } from "./jobs.ts";

const connectWithinMs = 1_000;
/** BullMQ keeps a stream of events per queue; nobody reads it. */
const keptEvents = 100;

export interface QueuesOptions {
  /** An ioredis client that fails fast, asked for when the first job is added; it stays the caller's to close. */
  readonly connect: () => ConnectionOptions;
  readonly namespace: string;
  /** Told of errors that belong to no request. */
  readonly onTrouble: (where: string, error: unknown) => void;
}

export interface Queues {
  of(lane: number, name: string): Queue;
  /** BullMQ waits for a first connection as long as it takes; whoever adds a job shall not. */
  ready(queue: Queue): Promise<void>;
  close(): Promise<void>;
}

export function openQueues(options: QueuesOptions): Queues {
  const queues = new Map<string, Queue>();
  const ready = new WeakSet<Queue>();
  let connection: ConnectionOptions | null = null;
  let closing: Promise<void> | null = null;

  function opened(lane: number, name: string): Queue {
    connection ??= options.connect();
    const queue = new Queue(name, {
      connection,
      prefix: lanePrefix(options.namespace, lane),
      streams: { events: { maxLen: keptEvents } },
    });
    queue.on("error", (error) => options.onTrouble(`queue ${name}`, error));
    return queue;
  }

  return {
    of: (lane, name) => {
      const key = `${lane}:${name}`;
      const queue = queues.get(key) ?? opened(lane, name);
      queues.set(key, queue);
      return queue;
    },
    ready: async (queue) => {
      if (ready.has(queue)) return;
      await inTime(queue.waitUntilReady());
      ready.add(queue);
    },
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
