/**
 * Owns: showing parked runs as failed jobs of the queue `dead-letter`, so that the tooling of queues sees them. Does not own:
 * which ones, nor what a retry by hand comes to: the engine says so.
 *
 * Invariants: M1 one job for each review: its id is the review, and a job that is there is not added again (L4). M2 a job
 * fails with the review's message when it is taken for the first time, and with the reason of a refusal when it was put back
 * by hand. M3 only what had failed before was put back by hand: a worker that died over a job (stalled) asks for nothing.
 * M4 nothing here says anything about a run; a job that is lost is added again.
 */
import { setTimeout as pass } from "node:timers/promises";
import { type ConnectionOptions, type Job, type JobsOptions, type Queue, WaitingError } from "bullmq";
import type { Consumer, DeadLetter, DeadLetterRef, DeadLetters, LetterFate } from "../core/index.ts";
import { consumerOver, openWorker } from "./consumer.ts";
import { deadLetterQueue, letterJobId, parseLetterJob, stepLane } from "./jobs.ts";
import { openQueues, type QueuesOptions } from "./queues.ts";

/** Letters looked at by one process at once. */
const concurrency = 10;
/** A letter for another worker is kept this long: whoever put it back takes it again as likely as not. */
const passOnMs = 100;
/** Where a letter may be: shown, or on its way there. */
const places = ["failed", "wait", "prioritized", "delayed", "active"] as const;

export interface BullmqDeadLettersOptions extends QueuesOptions {
  /** An ioredis client with `maxRetriesPerRequest: null`, asked for when it starts. */
  readonly blocking: () => ConnectionOptions;
}

/** Parked runs as failed jobs over BullMQ. */
export function bullmqDeadLetters(options: BullmqDeadLettersOptions): DeadLetters {
  const queues = openQueues(options);
  let consumer: Consumer | null = null;
  let stopped = false;

  const queue = (): Promise<Queue> => queues.open(stepLane, deadLetterQueue);

  return {
    add: async (letters) => {
      if (letters.length > 0) await (await queue()).addBulk(letters.map(jobOf));
    },
    remove: async (letters) => {
      const from = await queue();
      // One that is being looked at stays; it goes by itself, or the next time.
      await Promise.all(letters.map((letter) => from.remove(letterJobId(letter))));
    },
    list: async (from, limit) => {
      const ids = await (await queue()).getRanges([...places], from, from + limit - 1);
      return ids.map(parseLetterJob).filter((letter) => letter !== null);
    },
    start: async (resume) => {
      if (stopped || consumer !== null) return;
      const workers = { ...options, connection: options.blocking() };
      const source = { name: deadLetterQueue, lane: stepLane };
      consumer = consumerOver(workers, () => [openWorker(workers, source, handler(resume), { concurrency })]);
      await consumer.start();
    },
    stop: async (graceMs) => {
      stopped = true;
      await consumer?.stop(graceMs);
      await queues.close();
    },
  };
}

function jobOf(letter: DeadLetter) {
  const { run, review, saga, version, reason, message, since, verbs } = letter;
  const opts: JobsOptions = { jobId: letterJobId(letter), attempts: 1, stackTraceLimit: 1, timestamp: since };
  return { name: saga, data: { ...run, saga, version, review, reason, message, since, verbs }, opts };
}

function handler(resume: (letter: DeadLetterRef) => Promise<LetterFate>) {
  return async (job: Job, token?: string): Promise<void> => {
    const letter = parseLetterJob(job.id);
    if (letter === null) throw failure("this job stands for no parked run of Reprise");
    if (!isPutBack(job)) throw failure(String((job.data as Partial<DeadLetter>).message ?? "this run is parked"));
    const fate = await resume(letter);
    switch (fate.is) {
      case "done":
        return;
      case "refused":
        throw failure(fate.reason);
      case "elsewhere":
        await pass(passOnMs);
        await job.moveToWait(token ?? "");
        throw new WaitingError();
    }
  };
}

/** Has it failed before? Counted by BullMQ when a job fails, not when its worker dies; the trace stays when that is reset. */
function isPutBack(job: Job): boolean {
  return job.attemptsMade > 0 || (job.stacktrace ?? []).length > 0;
}

/** Where it was thrown is of no use to whoever reads it. */
function failure(message: string): Error {
  const error = new Error(message);
  error.stack = message;
  return error;
}
