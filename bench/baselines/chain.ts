/**
 * Baseline `chain`: what people do with BullMQ alone. One bare job per step; the processor does the step and adds the
 * next job. No checkpoint, no ledger, no schema, nothing that could be undone.
 */
import { type Job, Queue, QueueEvents, Worker } from "bullmq";
import type { Contestant, Load, Place } from "../subjects/contestant.ts";
import { connectionTo } from "../subjects/redis.ts";
import { type OrderInput, orderInput, perform, stepNames } from "../subjects/work.ts";

interface StepData {
  readonly input: OrderInput;
  readonly step: number;
  /** Of the step before. */
  readonly result: unknown;
}

const options = { removeOnComplete: true, removeOnFail: true } as const;

function jobOf(input: OrderInput, step: number, result: unknown) {
  const data: StepData = { input, step, result };
  return { name: "step", data, opts: { ...options, jobId: `${input.id}-${step}` } };
}

function queueAt(place: Place): Queue<StepData> {
  return new Queue(place.namespace, { connection: connectionTo(place.url) });
}

/** The whole baseline. */
async function processStep(queue: Queue<StepData>, { data: { input, step } }: Job<StepData>): Promise<unknown> {
  const result = await perform(stepNames[step] ?? "", { orderId: input.id, cents: input.cents });
  if (step + 1 < stepNames.length) {
    const { name, data, opts } = jobOf(input, step + 1, result);
    await queue.add(name, data, opts);
  }
  return result;
}

function workerAt(place: Place, queue: Queue<StepData>): Worker<StepData> {
  const { concurrency, url } = place;
  return new Worker(place.namespace, (job) => processStep(queue, job), { connection: connectionTo(url), concurrency });
}

async function fill(place: Place, { count, from }: Load): Promise<void> {
  const queue = queueAt(place);
  for (let at = from; at < from + count; at += 1_000) {
    const size = Math.min(1_000, from + count - at);
    await queue.addBulk(Array.from({ length: size }, (_, index) => jobOf(orderInput(at + index), 0, null)));
  }
  await queue.close();
}

async function drain(place: Place, { count }: Load): Promise<() => Promise<void>> {
  const queue = queueAt(place);
  const worker = workerAt(place, queue);
  let ended = 0;
  await new Promise<void>((resolve) => {
    worker.on("completed", (job) => {
      if (job.data.step === stepNames.length - 1) ended += 1;
      if (ended === count) resolve();
    });
  });
  return () => rest(worker, queue);
}

async function rest(worker: Worker<StepData>, queue: Queue<StepData>): Promise<void> {
  await worker.close();
  await queue.close();
}

async function alone(place: Place, { count, from }: Load): Promise<readonly number[]> {
  const queue = queueAt(place);
  const events = new QueueEvents(place.namespace, { connection: connectionTo(place.url) });
  await events.waitUntilReady();
  const waiting = new Map<string, () => void>();
  events.on("completed", ({ jobId }) => waiting.get(jobId)?.());
  const times: number[] = [];
  for (let number = from; number < from + count; number += 1) {
    const { name, data, opts } = jobOf(orderInput(number), 0, null);
    const last = `${data.input.id}-${stepNames.length - 1}`;
    const began = performance.now();
    const ended = new Promise<void>((resolve) => waiting.set(last, resolve));
    await queue.add(name, data, opts);
    await ended;
    times.push(performance.now() - began);
    waiting.delete(last);
  }
  await events.close();
  await queue.close();
  return times;
}

async function serve(place: Place): Promise<() => Promise<void>> {
  const queue = queueAt(place);
  const worker = workerAt(place, queue);
  await worker.waitUntilReady();
  return () => rest(worker, queue);
}

export const chain: Contestant = { fill, drain, alone, serve };
