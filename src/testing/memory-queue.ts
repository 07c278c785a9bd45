/**
 * Nudges in memory, with the manners of the BullMQ queue: one job per id until it ends, first come first served within a
 * priority, taken by at most `concurrency` handlers at once, removed when its handler ends, however it ends. Virtual
 * clock friendly: jobs are handed over by a timer of no length, in a fixed order.
 */
import type {
  Clock,
  Consumer,
  ConsumerFactory,
  ConsumerOptions,
  ConsumerSigns,
  RunRef,
  StepJob,
  WakeUp,
  WakeUps,
} from "../core/index.ts";

type Content = { readonly wake: RunRef } | { readonly step: StepJob };

interface Job {
  readonly id: string;
  readonly queue: string;
  readonly priority: number;
  readonly order: number;
  readonly content: Content;
}

interface Reader {
  readonly queue: string;
  readonly concurrency: number;
  readonly handle: (content: Content) => Promise<void>;
  readonly active: Set<Job>;
  open: boolean;
  tookAt: number | null;
}

export interface MemoryQueue {
  readonly wakeUps: WakeUps;
  readonly consumers: ConsumerFactory;
  /** Jobs that are queued or in a handler's hands. */
  size(): number;
  /** Ends a consumer as if its process had died: its handlers are forgotten, its jobs go back to their queues. */
  crash(consumer: Consumer): void;
}

/** A queue in this process's memory. */
export function memoryQueue(options: { readonly clock: Clock }): MemoryQueue {
  const queue = new Queue(options.clock);
  return {
    wakeUps: {
      wake: async (wakeUps) => {
        for (const wakeUp of wakeUps)
          queue.add(`pool ${wakeUp.pool}`, wakeId(wakeUp), wakeUp.priority, { wake: wakeUp.run });
      },
      offer: async (jobs) => {
        for (const step of jobs) queue.add(`step ${step.queue}`, stepId(step), step.priority, { step });
      },
      pauseQueue: async (name) => queue.pause(`step ${name}`, true),
      resumeQueue: async (name) => queue.pause(`step ${name}`, false),
      isQueuePaused: async (name) => queue.isPaused(`step ${name}`),
      close: async () => undefined,
    },
    consumers: (wanted) => queue.consumer(wanted),
    size: () => queue.size(),
    crash: (consumer) => queue.crash(consumer),
  };
}

function wakeId({ run, wake }: WakeUp): string {
  return `${run.tenant}~${run.id}.${wake}`;
}

function stepId({ run, seq, send, side }: StepJob): string {
  return `${run.tenant}~${run.id}.${seq}.${send}.${side}`;
}

class Queue {
  readonly #clock: Clock;
  readonly #ids = new Set<string>();
  readonly #waiting: Job[] = [];
  readonly #paused = new Set<string>();
  readonly #readers = new Map<Consumer, readonly Reader[]>();
  #order = 0;
  #pumping = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(queue: string, jobId: string, priority: number, content: Content): void {
    const id = `${queue} ${jobId}`;
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    this.#order += 1;
    this.#waiting.push({ id, queue, priority, order: this.#order, content });
    this.#pumpSoon();
  }

  size(): number {
    return this.#ids.size;
  }

  pause(queue: string, paused: boolean): void {
    if (paused) this.#paused.add(queue);
    else this.#paused.delete(queue);
    this.#pumpSoon();
  }

  isPaused(queue: string): boolean {
    return this.#paused.has(queue);
  }

  consumer(options: ConsumerOptions): Consumer {
    const readers = readersOf(options);
    let stopped = false;
    const consumer: Consumer = {
      start: async () => {
        if (stopped || this.#readers.has(consumer)) return;
        this.#readers.set(consumer, readers);
        this.#pumpSoon();
      },
      stop: async (graceMs) => {
        stopped = true;
        for (const reader of readers) reader.open = false;
        await this.#drained(readers, graceMs);
        this.#readers.delete(consumer);
      },
      signs: () => readers.filter(({ open }) => open).map((reader) => this.#signsOf(reader)),
    };
    return consumer;
  }

  crash(consumer: Consumer): void {
    for (const reader of this.#readers.get(consumer) ?? []) {
      reader.open = false;
      this.#waiting.push(...reader.active);
      reader.active.clear();
    }
    this.#readers.delete(consumer);
    this.#pumpSoon();
  }

  /** Its readers are asked whenever something happens: there is no loop that could have stopped. */
  #signsOf({ queue, active, concurrency, tookAt }: Reader): ConsumerSigns {
    return { source: queue, isFull: active.size >= concurrency, aliveAt: this.#clock.monotonicMs(), tookAt };
  }

  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    this.#clock.after(0, () => {
      this.#pumping = false;
      for (const readers of this.#readers.values()) for (const reader of readers) this.#feed(reader);
    });
  }

  #feed(reader: Reader): void {
    while (reader.open && !this.isPaused(reader.queue) && reader.active.size < reader.concurrency) {
      const job = this.#next(reader.queue);
      if (job === null) return;
      reader.active.add(job);
      reader.tookAt = this.#clock.monotonicMs();
      const done = () => this.#done(reader, job);
      reader.handle(job.content).then(done, done);
    }
  }

  /** BullMQ takes jobs without a priority first, then the smallest number. */
  #next(queue: string): Job | null {
    const mine = this.#waiting.filter((job) => job.queue === queue);
    const first = mine.sort((a, b) => a.priority - b.priority || a.order - b.order)[0];
    if (first === undefined) return null;
    this.#waiting.splice(this.#waiting.indexOf(first), 1);
    return first;
  }

  #done(reader: Reader, job: Job): void {
    if (!reader.active.delete(job)) return;
    this.#ids.delete(job.id);
    this.#pumpSoon();
  }

  /** Resolves when the readers' handlers have ended, or the grace is over. */
  async #drained(readers: readonly Reader[], graceMs: number): Promise<void> {
    const end = this.#clock.monotonicMs() + graceMs;
    while (readers.some((reader) => reader.active.size > 0) && this.#clock.monotonicMs() < end) {
      await new Promise<void>((resolve) => {
        this.#clock.after(1, resolve);
      });
    }
  }
}

function readersOf(options: ConsumerOptions): readonly Reader[] {
  const shared = () => ({ active: new Set<Job>(), open: true, tookAt: null });
  const pools = options.pools.map((pool) => ({
    queue: `pool ${pool}`,
    concurrency: options.concurrency,
    handle: async (content: Content) => ("wake" in content ? await options.onWake(content.wake) : undefined),
    ...shared(),
  }));
  const steps = options.queues.map(({ name, concurrency }) => ({
    queue: `step ${name}`,
    concurrency,
    handle: async (content: Content) => ("step" in content ? await options.onStep(content.step) : undefined),
    ...shared(),
  }));
  return [...pools, ...steps];
}
