/**
 * One tenant starts very many runs. Single runs of another, over all the time in which the crowd is there, from its first start on: how
 * long until their first (and only) step is on record, beside the same on an empty system. One worker process, settings as they come.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { median, percentile } from "./stats.ts";
import type { Subject } from "./subject.ts";
import type { Place } from "./subjects/contestant.ts";

/** The last single run is started when this share of the crowd has ended: enough are left to be in its way. */
const lastAt = 0.95;
const lookMs = 20;
/** Ids above those of the crowd. */
const firstSingle = 100_000_000;
/** Nobody waits longer for the crowd to have come that far. */
const patienceMs = 1_200_000;

interface Scene {
  readonly worker: Subject;
  /** Starts single runs. */
  readonly client: Subject;
  readonly place: Place;
}

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const { url } = await lab.server();
  const crowd = await lab.subject("reprise");
  const place = { url, namespace: "bench-fairness", concurrency };
  const scene = { worker: await lab.warm("reprise"), client: await lab.subject("reprise"), place };
  await scene.worker.order("serve", place);
  await single(scene, 0); // the process has not started any yet
  const empty: number[] = [];
  for (let number = 1; number <= size.singles; number += 1) empty.push(await single(scene, number));

  const { ended } = scene.worker.progress;
  const crowded: number[] = [];
  const done = () => (scene.worker.progress.ended - ended - runsEach * crowded.length) / size.crowd;
  const load = { saga: "order", count: size.crowd, from: 0, tenant: "crowd" } as const;
  const filling = crowd.order("fill", place, load);
  filling.catch(() => undefined); // awaited below
  for (let number = 0; number < size.singles; number += 1) {
    await until(() => done() >= (lastAt * number) / size.singles);
    crowded.push(await single(scene, size.singles + 1 + number));
  }
  const leftAtLast = Math.round(size.crowd * (1 - done()));
  const { ms: fillMs } = await filling;
  await until(() => done() >= 1);
  await scene.worker.order("rest", place);
  const baseline = median(empty);
  return {
    crowdRuns: size.crowd,
    crowdStartMs: fillMs,
    crowdLeftAtLast: leftAtLast,
    singleOnEmptyMs: baseline,
    singleMedianMs: median(crowded),
    singleP95Ms: percentile(crowded, 0.95),
    singleWorstMs: percentile(crowded, 1),
    singleWorstOverEmptyMs: percentile(crowded, 1) - baseline,
  };
}

/** The first of them opens the connections. */
const runsEach = 2;

/** Ms from its start to its known end. */
async function single({ client, place }: Scene, number: number): Promise<number> {
  const load = { saga: "held", count: runsEach, from: firstSingle + runsEach * number, tenant: "single" } as const;
  const { times } = await client.order("alone", place, load);
  return times.at(-1) ?? Number.NaN;
}

async function until(isSo: () => boolean): Promise<void> {
  for (const began = Date.now(); !isSo(); await sleep(lookMs)) {
    if (Date.now() - began > patienceMs) throw new Error("the crowd does not end");
  }
}

export const fairness: Bench = {
  name: "fairness",
  goals: {
    crowdRuns: null,
    crowdStartMs: null,
    crowdLeftAtLast: null,
    singleOnEmptyMs: null,
    singleMedianMs: null,
    singleP95Ms: null,
    singleWorstMs: null,
    singleWorstOverEmptyMs: atMost(1_000, " ms"),
  },
  measure,
};
