/** Reprise as a contestant: by its public door, with the settings it comes with. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient, createWorker, type Fact, type Worker } from "reprise";
import type { Contestant, Load, Pace, Place } from "./contestant.ts";
import type { Entered } from "./orders.ts";
import { progress } from "./progress.ts";
import { allSagas, type Services, sagas } from "./sagas.ts";
import { told } from "./telemetry.ts";
import { timers } from "./timers.ts";
import { orderInput } from "./work.ts";

const batch = 10_000;

/** Statuses after which nothing is left to do for a worker. */
const over: readonly string[] = ["completed", "failed", "waiting"];

function clientAt(place: Place): Client {
  return createClient(placeOf(place));
}

function placeOf({ url, namespace, shards }: Place) {
  return { redis: url, namespace, shards, sagas: allSagas };
}

function workerAt(place: Place, services: Services, onFact: (fact: Fact) => void): Worker {
  const { concurrency, tells, retention = {} } = place;
  const own = { ...placeOf(place), concurrency, services, settings: retention, facts: { emit: onFact } };
  const telemetry = tells === undefined ? undefined : told(tells);
  return createWorker(telemetry === undefined ? own : { ...own, telemetry });
}

function complain(fact: Fact): void {
  if (fact.fact === "trouble") console.error(`${fact.where}: ${fact.message}`);
}

async function fill(place: Place, { saga, count, from, tenant }: Load): Promise<void> {
  const client = clientAt(place);
  for (let at = from; at < from + count; at += batch) {
    const inputs = Array.from({ length: Math.min(batch, from + count - at) }, (_, index) => orderInput(at + index));
    const starts = inputs.map((input) => ({ id: input.id, input, ...ownedBy(tenant) }));
    await client.startMany(sagas[saga], starts);
  }
  await client.close();
}

function ownedBy(tenant: string | undefined): { readonly tenant?: string } {
  return tenant === undefined ? {} : { tenant };
}

function isOver(fact: Fact): boolean {
  return fact.fact === "committed" && over.includes(fact.record.status);
}

async function drain(place: Place, { count }: Load): Promise<() => Promise<void>> {
  let worker: Worker | null = null;
  let ended = 0;
  await new Promise<void>((resolve, reject) => {
    worker = workerAt(place, { entered: () => undefined, hold: false }, (fact) => {
      complain(fact);
      if (!isOver(fact)) return;
      ended += 1;
      if (ended === count) resolve();
    });
    worker.start().catch(reject);
  });
  return async () => await worker?.stop();
}

async function alone(place: Place, { saga, count, from, tenant }: Load): Promise<readonly number[]> {
  const client = clientAt(place);
  const times: number[] = [];
  for (let number = from; number < from + count; number += 1) {
    const input = orderInput(number);
    const began = performance.now();
    const run = await client.start(sagas[saga], input, { id: input.id, ...ownedBy(tenant) });
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
    if (isOver(fact)) progress.noteEnd();
  });
  await worker.start();
  return () => worker.stop();
}

async function pace(place: Place, { saga, count, from, paced }: Load): Promise<Pace> {
  const client = clientAt(place);
  const everyMs = paced?.everyMs ?? 0;
  const askedAt: number[] = [];
  const began = monotonicMs();
  const starts: Promise<number>[] = [];
  for (let number = from; number < from + count; number += 1) {
    await sleep(Math.max(0, began + (number - from) * everyMs - monotonicMs()));
    const input = orderInput(number);
    const at = monotonicMs();
    askedAt.push(at);
    starts.push(client.start(sagas[saga], input, { id: input.id }).then(() => monotonicMs() - at));
  }
  const took = await Promise.all(starts);
  await client.close();
  return { askedAt, took };
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export const reprise: Contestant = { fill, drain, alone, serve, pace, lateness: (paced) => timers.lateness(paced) };
