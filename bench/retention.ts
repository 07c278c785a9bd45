/**
 * Very many ended runs expire at once, while a client starts runs at a steady rate: how long `start` takes, beside the same with all
 * of them in the store and nobody deleting; how long the deletion takes; what it leaves behind. Their worker keeps runs for a
 * moment and never looks for them; the one that serves the starts finds all of them over when it looks first.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "../src/index.ts";
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { percentile } from "./stats.ts";
import type { Subject } from "./subject.ts";
import type { Place } from "./subjects/contestant.ts";
import { sagas } from "./subjects/sagas.ts";

/** New runs are started this often. */
const startEveryMs = 25;
/** In one order while runs are deleted: no more than a moment passes unseen after the last. */
const startsAtOnce = 40;
const lookMs = 100;
/** Whose runs expire: part of no other name. */
const tenant = "retired";
const never = 3_600_000;
const keptMs = 1_000;
const sweepMs = 1_000;
/** Nobody waits longer for the last one to be deleted. */
const patienceMs = 600_000;

interface Scene {
  readonly worker: Subject;
  readonly client: Subject;
  readonly place: Place;
}

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const server = await lab.server();
  const place = { url: server.url, namespace: "bench-retention", concurrency };
  const scene = { worker: await lab.warm("reprise"), client: await lab.subject("reprise"), place };
  await makeEnded(scene, size.expiring);
  const bytes = await server.usedBytes();

  await scene.worker.order("serve", { ...place, retention: { retentionSweepMs: never } });
  await startsOf(scene, 0, startsAtOnce); // the process has not started any yet
  const calm = await startsOf(scene, startsAtOnce, size.startsBeside);
  await scene.worker.order("rest", place);

  await scene.worker.order("serve", { ...place, retention: { retentionSweepMs: sweepMs } });
  const watching = watch(place, size.expiring);
  const beside: number[] = [];
  const began = startsAtOnce + size.startsBeside;
  while (!watching.isOver()) beside.push(...(await startsOf(scene, began + beside.length, startsAtOnce)));
  const tookMs = await watching.tookMs;
  await scene.worker.order("rest", place);
  return {
    runsExpired: size.expiring,
    calmStartP50Ms: percentile(calm, 0.5),
    calmStartP99Ms: percentile(calm, 0.99),
    expiryStartP50Ms: percentile(beside, 0.5),
    expiryStartP99Ms: percentile(beside, 0.99),
    expiryStartMaxMs: percentile(beside, 1),
    expiryStarts: beside.length,
    deletionTookMs: tookMs,
    expiredKeysLeft: await server.keysLike(`*${tenant}*`),
    deletionFreedMb: (bytes - (await server.usedBytes())) / 2 ** 20,
  };
}

/** All of them are over when this is done, and none was looked for. */
async function makeEnded({ worker, place }: Scene, count: number): Promise<void> {
  const load = { saga: "held", count, from: 0, tenant } as const;
  await worker.order("fill", place, load);
  await worker.order("drain", { ...place, retention: { retentionMs: keptMs, retentionSweepMs: never } }, load);
  await sleep(keptMs);
}

/** Ms until each start was acknowledged. */
async function startsOf({ client, place }: Scene, from: number, count: number): Promise<readonly number[]> {
  const paced = { firstAt: 0, everyMs: startEveryMs };
  const { took } = await client.order("pace", place, { saga: "held", count, from, paced });
  return took;
}

/** Looks until none is left: from the first that was deleted on. */
function watch({ url, namespace }: Place, count: number) {
  const looking = createClient({ redis: url, namespace, sagas: [sagas.held] });
  let over = false;
  const deleted = async (): Promise<number> => {
    try {
      return await untilDeleted(looking, count);
    } finally {
      over = true;
      await looking.close();
    }
  };
  const tookMs = deleted();
  tookMs.catch(() => undefined); // whoever waits for it is told
  return { tookMs, isOver: () => over };
}

async function untilDeleted(looking: Client, count: number): Promise<number> {
  const began = performance.now();
  let firstAt: number | null = null;
  for (;;) {
    const { due } = await looking.gc({ dryRun: true });
    const now = performance.now();
    if (due < count) firstAt ??= now;
    if (due === 0) return now - (firstAt ?? now);
    if (now - began > patienceMs) throw new Error(`${due} runs that are over were not deleted`);
    await sleep(lookMs);
  }
}

export const retention: Bench = {
  name: "retention",
  goals: {
    runsExpired: null,
    calmStartP50Ms: null,
    calmStartP99Ms: null,
    expiryStartP50Ms: null,
    expiryStartP99Ms: atMost(250, " ms"),
    expiryStartMaxMs: null,
    expiryStarts: null,
    deletionTookMs: null,
    expiredKeysLeft: atMost(0, ""),
    deletionFreedMb: null,
  },
  measure,
};
