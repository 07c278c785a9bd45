/** Reprise as a contestant: by its public door, with the settings it comes with. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient, createWorker, type Fact, type Worker } from "reprise";
import type { Contestant, Load, Place } from "./contestant.ts";
import type { Entered } from "./orders.ts";
import { allSagas, type Services, sagas } from "./sagas.ts";
import { told, untold } from "./telemetry.ts";
import { timers } from "./timers.ts";
import { orderInput } from "./work.ts";

const batch = 10_000;

/** Statuses after which nothing is left to do for a worker. */
const over: readonly string[] = ["completed", "failed", "waiting"];

function clientAt({ url, namespace }: Place): Client {
  return createClient({ redis: url, namespace, sagas: allSagas });
}

function workerAt(place: Place, services: Services, onFact: (fact: Fact) => void): Worker {
  const { url, namespace, concurrency, tells } = place;
  const own = { redis: url, namespace, concurrency, sagas: allSagas, services, facts: { emit: onFact } };
  return createWorker(tells === undefined ? own : { ...own, telemetry: told(tells) });
}

function complain(fact: Fact): void {
  if (fact.fact === "trouble") console.error(`${fact.where}: ${fact.message}`);
}

async function fill(place: Place, { saga, count, from }: Load): Promise<void> {
  const client = clientAt(place);
  for (let at = from; at < from + count; at += batch) {
    const inputs = Array.from({ length: Math.min(batch, from + count - at) }, (_, index) => orderInput(at + index));
    const starts = inputs.map((input) => ({ id: input.id, input }));
    await client.startMany(sagas[saga], starts);
  }
  await client.close();
}

async function drain(place: Place, { count }: Load): Promise<() => Promise<void>> {
  let worker: Worker | null = null;
  let ended = 0;
  await new Promise<void>((resolve, reject) => {
    worker = workerAt(place, { entered: () => undefined, hold: false }, (fact) => {
      complain(fact);
      if (fact.fact !== "committed" || !over.includes(fact.record.status)) return;
      ended += 1;
      if (ended === count) resolve();
    });
    worker.start().catch(reject);
  });
  return async () => {
    await worker?.stop();
    untold();
  };
}

async function alone(place: Place, { saga, count, from }: Load): Promise<readonly number[]> {
  const client = clientAt(place);
  const times: number[] = [];
  for (let number = from; number < from + count; number += 1) {
    const input = orderInput(number);
    const began = performance.now();
    const run = await client.start(sagas[saga], input, { id: input.id });
    await run.result();
    times.push(performance.now() - began);
  }
  await client.close();
  return times;
}

async function serve(place: Place, hold: boolean): Promise<() => Promise<void>> {
  const entered = (run: string) => void process.send?.({ entered: run, atMs: monotonicMs() } satisfies Entered);
  const worker = workerAt(place, { entered, hold }, (fact) => {
    complain(fact);
    timers.hear(fact);
  });
  await worker.start();
  return () => worker.stop();
}

async function pace(place: Place, { saga, count, from, paced }: Load): Promise<readonly number[]> {
  const client = clientAt(place);
  const everyMs = paced?.everyMs ?? 0;
  const times: number[] = [];
  const began = monotonicMs();
  const starts: Promise<unknown>[] = [];
  for (let number = from; number < from + count; number += 1) {
    await sleep(Math.max(0, began + (number - from) * everyMs - monotonicMs()));
    const input = orderInput(number);
    times.push(monotonicMs());
    starts.push(client.start(sagas[saga], input, { id: input.id }));
  }
  await Promise.all(starts);
  await client.close();
  return times;
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export const reprise: Contestant = { fill, drain, alone, serve, pace, lateness: (paced) => timers.lateness(paced) };
