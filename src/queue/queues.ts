/**
 * BullMQ's Queue objects, to put jobs in. Invariants: O1 one per queue and user of it, all on one connection that is handed
 * in. O2 nobody waits longer than `connectWithinMs` for a connection, or for the last answer when it is closed. O3 a queue that could
 * not be opened is no queue: the next one who wants it opens it anew.
 */
import { type ConnectionOptions, Queue, type Telemetry } from "bullmq";
import { lanePrefix } from "./jobs.ts";

const connectWithinMs = 1_000;
/** BullMQ keeps a stream of events per queue; nobody reads it. */
const keptEvents = 100;

/** What BullMQ makes its own spans by (`bullmq-otel`). */
export type QueueTelemetry = Telemetry;

export interface QueuesOptions {
  /** An ioredis client that fails fast, asked for when the first job is added; it stays the caller's to close. */
  readonly connect: () => ConnectionOptions;
  readonly namespace: string;
  /** What BullMQ's own spans are made by. */
  readonly queueTelemetry?: QueueTelemetry | undefined;
  /** Told of errors that belong to no request. */
  readonly onTrouble: (where: string, error: unknown) => void;
}

export interface Queues {
  /** A queue that can be used. One that could not be opened is opened anew the next time. */
  open(lane: number, name: string): Promise<Queue>;
  close(): Promise<void>;
}

export function openQueues(options: QueuesOptions): Queues {
  const queues = new Map<string, Promise<Queue>>();
  const connected = once(() => connectionOf(options.connect()));
  let closing: Promise<void> | null = null;

  async function opened(lane: number, name: string): Promise<Queue> {
    const { connection, ready } = connected();
    await inTime(ready());
    const queue = new Queue(name, {
      connection,
      prefix: lanePrefix(options.namespace, lane),
      streams: { events: { maxLen: keptEvents } },
      ...(options.queueTelemetry === undefined ? {} : { telemetry: options.queueTelemetry }),
    });
    queue.on("error", (error) => options.onTrouble(`queue ${name}`, error));
    // Nobody waits for a first connection as long as BullMQ does.
    await inTime(queue.waitUntilReady());
    return queue;
  }

  return {
    open: (lane, name) => {
      const key = `${lane}:${name}`;
      const known = queues.get(key);
      if (known !== undefined) return known;
      const queue = opened(lane, name);
      queues.set(key, queue);
      queue.catch(() => queues.delete(key));
      return queue;
    },
    close: () => {
      const closed = async (queue: Promise<Queue>) => await inTime((await queue).close()).catch(() => undefined);
      closing ??= Promise.allSettled([...queues.values()].map(closed)).then(() => undefined);
      return closing;
    },
  };
}

/** What an ioredis client says of itself. */
interface Client {
  readonly status?: string;
  once?(event: "ready", listener: () => void): unknown;
}

/**
 * BullMQ asks a connection at once, is refused while it is not open (a cluster takes a moment), and takes that for its last word:
 * such a queue would never work.
 */
function connectionOf(connection: ConnectionOptions): {
  readonly connection: ConnectionOptions;
  readonly ready: () => Promise<void>;
} {
  const client = connection as Client;
  let opening: Promise<void> | null = null;
  const ready = async (): Promise<void> => {
    if (client.status === undefined || client.status === "ready") return;
    opening ??= new Promise((resolve) => client.once?.("ready", resolve));
    await opening;
    opening = null;
  };
  return { connection, ready };
}

function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

async function inTime(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("Redis is not reachable")), connectWithinMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
