/**
 * Very many timers fall due at a steady rate, while new runs are started at a steady rate: how long from the start of a new
 * one to its first step, beside the same with no timer due; how late the timers are, and that each fired once and none early.
 * One worker process: when it cannot keep up, what is due waits, in Redis and not in the queue, and new runs do not.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab, Server } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { percentile } from "./stats.ts";
import type { Subject } from "./subject.ts";
import type { Place } from "./subjects/contestant.ts";
import { makeTimedRuns } from "./timed-runs.ts";

/** New runs are started this often. */
const startEveryMs = 25;
const warmUpRuns = 200;
/** So much time there is for making a run, and at least as much altogether. */
const makingMs = { each: 2, least: 3_000 } as const;
/** Ids above those of the timers. */
const firstStart = 100_000_000;
/** Nobody waits longer for the last timer. */
const patienceMs = 900_000;

interface Scene {
  readonly server: Server;
  readonly worker: Subject;
  readonly client: Subject;
  readonly place: Place;
}

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const server = await lab.server();
  const [worker, client] = [await lab.subject("reprise"), await lab.subject("reprise")];
  const scene = { server, worker, client, place: { url: server.url, namespace: "bench", concurrency } };
  const starts = Math.max(20, Math.ceil(size.timersMs / startEveryMs / 4));
  await warmUp(scene);
  await worker.order("serve", scene.place);
  const quiet = await startsBeside(scene, firstStart, starts);
  await worker.order("rest", scene.place);

  const paced = {
    firstAt: Date.now() + makingMs.least + makingMs.each * size.timers,
    everyMs: size.timersMs / size.timers,
  };
  await makeTimedRuns(scene.place, size.timers, paced);
  if (Date.now() > paced.firstAt) throw new Error("the runs could not be made before the first was due");
  const emptyBytes = await server.usedBytes();
  await worker.order("serve", scene.place);
  await sleep(paced.firstAt - Date.now());
  const crowded = await startsUntilFired(scene, size.timers, firstStart + starts);
  const { times: late, rssMb } = await worker.order("lateness", scene.place, {
    saga: "timed",
    count: size.timers,
    from: 0,
    paced,
  });

  const fired = firedTimers(worker);
  return {
    timersDue: size.timers,
    dueInMs: size.timersMs,
    startP50Ms: percentile(crowded.delays, 0.5),
    startP99Ms: percentile(crowded.delays, 0.99),
    startP99ToQuiet: percentile(crowded.delays, 0.99) / percentile(quiet, 0.99),
    startsBeside: crowded.delays.length,
    lateP50Ms: percentile(late, 0.5),
    lateMaxMs: percentile(late, 1),
    firedEarly: late.filter((ms) => ms < 0).length,
    firedTwice: fired.length - new Set(fired).size + late.length - size.timers,
    timersTookMs: crowded.tookMs,
    timersRedisGrowthMb: (crowded.mostBytes - emptyBytes) / 2 ** 20,
    timersWorkerRssMb: rssMb,
  };
}

/** A process that has not worked yet is slow at first. */
async function warmUp({ worker, place }: Scene): Promise<void> {
  const load = { saga: "held", count: warmUpRuns, from: 2 * firstStart } as const;
  await worker.order("fill", place, load);
  await worker.order("drain", place, load);
}

/** Ms from the start of each to its first step. */
async function startsBeside({ worker, client, place }: Scene, from: number, count: number): Promise<readonly number[]> {
  const paced = { firstAt: 0, everyMs: startEveryMs };
  const { times } = await client.order("pace", place, { saga: "held", count, from, paced });
  const entered = () => new Map(worker.entered.map(({ entered: run, atMs }) => [run, atMs]));
  const ids = times.map((_, index) => `o-${from + index}`);
  for (const began = Date.now(); ids.some((id) => !entered().has(id)); await sleep(100)) {
    if (Date.now() - began > patienceMs) throw new Error("a new run did not begin");
  }
  const seen = entered();
  return times.map((began, index) => (seen.get(ids[index] as string) as number) - began);
}

/** New runs all the time until every timer has fired; also what Redis held at most. */
async function startsUntilFired(scene: Scene, timers: number, from: number) {
  const count = 1_000 / startEveryMs;
  const delays: number[] = [];
  let mostBytes = 0;
  const began = Date.now();
  while (new Set(firedTimers(scene.worker)).size < timers) {
    delays.push(...(await startsBeside(scene, from + delays.length, count)));
    mostBytes = Math.max(mostBytes, await scene.server.usedBytes());
    if (Date.now() - began > patienceMs) throw new Error("a timer did not fire");
  }
  return { delays, mostBytes, tookMs: Date.now() - began };
}

/** Of each step that followed a timer, its run. */
function firedTimers(worker: Subject): readonly string[] {
  return worker.entered.map(({ entered }) => entered).filter((run) => Number(run.slice(2)) < firstStart);
}

export const timers: Bench = {
  name: "timers",
  goals: {
    timersDue: null,
    dueInMs: null,
    startP50Ms: null,
    startP99Ms: atMost(2_000, " ms"),
    startP99ToQuiet: null,
    startsBeside: null,
    lateP50Ms: null,
    lateMaxMs: null,
    firedEarly: atMost(0, ""),
    firedTwice: atMost(0, ""),
    timersTookMs: null,
    timersRedisGrowthMb: null,
    timersWorkerRssMb: null,
  },
  measure,
};
