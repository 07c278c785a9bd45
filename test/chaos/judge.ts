/**
 * The verdict on a round, from its books and from the store as it is in the end: what breaks an invariant, whether the round
 * was worth anything, and what is told of it. Owns nothing of how the round was played.
 */
import { type LogEntry, type RunRef, runKey, type Store } from "../../src/core/index.ts";
import { type ClientEvent, check } from "../support/checker.ts";
import { faultConnections } from "../support/fault-connect.ts";
import type { Point } from "../support/fault-plan.ts";
import { waitFor } from "../support/processes.ts";
import type { Books, Mishap, Said } from "./books.ts";
import type { Job } from "./load.ts";
import type { Asked } from "./options.ts";
import { everything } from "./sagas.ts";
import type { StorePair } from "./store-pair.ts";
import { runIn, timelineOf } from "./timeline.ts";
import { type Acked, namespace, type TakenOver, tenant } from "./words.ts";

export interface JudgeParts {
  readonly asked: Asked;
  readonly jobs: readonly Job[];
  readonly books: Books;
  readonly store: StorePair;
  /** Runs that did not come to rest in time. */
  readonly late: readonly string[];
  readonly missed: readonly Point[];
  readonly isLeft: (id: string) => boolean;
}

export interface Violation {
  readonly what: string;
  readonly timeline: readonly string[];
}

export interface Verdict {
  readonly violations: readonly Violation[];
  /** Why the round proves nothing. */
  readonly voids: readonly string[];
  readonly byStatus: Readonly<Record<string, number>>;
  readonly crashPoints: Readonly<Record<string, number>>;
  /** Of runs in the hands of a worker that died: until another one moved them. */
  readonly recoveryMs: readonly number[];
  /** Calls whose grant the store has acknowledged, forgotten, and was not reminded of. */
  readonly forgottenSends: number;
  /** Runs that the store had forgotten in part, and somebody remembered. */
  readonly restored: number;
  readonly arrivals: number;
  readonly effects: number;
  readonly checks: readonly string[];
  readonly expected: number;
}

const enough = 0.95;
const terminal = ["completed", "failed", "cancelled"] as const;
const harnessTimeoutMs = 10_000;
const readsAtOnce = 40;

export async function judge(parts: JudgeParts): Promise<Verdict> {
  const { books, store: pair } = parts;
  const connections = faultConnections(pair.primary.url, namespace, harnessTimeoutMs);
  const { store } = connections;
  try {
    await opened(store);
    const mishaps = books.mishaps();
    const history = claimed(books.history(), mishaps, parts.asked);
    const runs = await allRuns(store);
    const logs = new Map<string, readonly LogEntry[]>();
    await each(runs, async (run) => {
      const [record, log] = await Promise.all([store.read(run), store.log(run)]);
      logs.set(run.id, log);
      books.found({ record, log });
    });
    const started = new Set(history.flatMap(({ op, run }) => (op === "start" ? [run.id] : [])));
    const client: ClientEvent[] = [...history];
    const strangers: string[] = [];
    const ids = new Set(runs.map(({ id }) => id));
    for (const run of runs) {
      if (started.has(run.id)) continue;
      // A child is accepted by its parent's word.
      client.push({ op: "start", run, outcome: "info" });
      if (!ids.has(run.id.slice(0, run.id.lastIndexOf(".")))) strangers.push(`I1: nobody has started ${runKey(run)}`);
    }
    const jobs = await jobsOf(pair);
    const world = books.world();
    const report = await check({
      namespace,
      sagas: everything.map(({ spec }) => spec),
      world,
      store,
      client,
      queued: (run) => Promise.resolve(jobs.get(run.id) ?? 0),
    });
    const acked = books.acked();
    const forgotten = forgottenCommits(acked, logs);
    const told = [
      ...report.violations,
      ...strangers,
      ...parts.late.map((late) => `I11: ${late}`),
      ...(parts.asked.together ? [] : forgotten.map(tellForgotten)),
      ...mishaps.flatMap(diedByItself),
    ];
    // Of runs that store and processes forgot together nobody can know: that is counted, and published.
    const families = new Set(parts.asked.together ? forgotten.map(({ id }) => familyOf(id)) : []);
    const said = told.filter((what) => !families.has(familyOf(runIn(what) ?? "")));
    const violations: Violation[] = [];
    for (const what of said)
      violations.push({ what, timeline: await timelineOf(what, { books, store, world, acked }) });
    const crashPoints: Record<string, number> = {};
    for (const { point, signal } of books.hits()) {
      if (signal === "SIGKILL") crashPoints[point] = (crashPoints[point] ?? 0) + 1;
    }
    const byStatus = await statusesOf(store, parts.jobs);
    return {
      violations,
      voids: voidsOf(parts, byStatus),
      byStatus,
      crashPoints,
      recoveryMs: recoveries(mishaps, books.taken()),
      forgottenSends: forgotten.reduce((sum, { sends }) => sum + sends, 0),
      restored: [...logs.values()].filter((log) => isRestored(log)).length,
      arrivals: report.arrivals,
      effects: report.effects,
      checks: [...report.checks, "I11", "I12"],
      expected: expectedOf(parts),
    };
  } finally {
    await connections.close();
  }
}

/** What was acknowledged shortly before the store lost its memory is not claimed: nobody can hold it to it. */
function claimed(history: readonly Said[], mishaps: readonly Mishap[], { fsync }: Asked): readonly ClientEvent[] {
  const losses = mishaps.flatMap(({ lost, what }) =>
    lost === undefined || (what === "power loss" && fsync === "always") ? [] : [lost],
  );
  return history.map(({ at, ...event }) =>
    event.op !== "start" && losses.some(({ from, until }) => at >= from && at <= until)
      ? { ...event, outcome: "info" }
      : event,
  );
}

/** A machine that is busy may not answer at once. */
export async function opened(store: Store): Promise<void> {
  const isOpen = () => store.open().then(() => true);
  await waitFor(isOpen, { timeoutMs: 60_000, everyMs: 250, what: "the store to be opened" });
}

async function allRuns(store: Store): Promise<readonly RunRef[]> {
  const runs: RunRef[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ tenant, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    runs.push(...page.runs.map(({ id }) => ({ tenant, id })));
    if (page.cursor === null) return runs;
    cursor = page.cursor;
  }
}

/** Wake-ups that lie in the queue, by run. */
async function jobsOf({ primary }: StorePair): Promise<ReadonlyMap<string, number>> {
  const keys = (await primary.ask("KEYS", `{reprise:${namespace}:w*}:pool-*:${tenant}~*`)) as readonly string[];
  const jobs = new Map<string, number>();
  for (const key of keys) {
    const [, id] = /~([^~:]+)\.\d+$/.exec(key) ?? [];
    if (id !== undefined) jobs.set(id, (jobs.get(id) ?? 0) + 1);
  }
  return jobs;
}

// ---- what was acknowledged

/** Commits that a worker was told are written, and that are neither there nor known to have been. */
export function forgottenCommits(
  acked: readonly Acked[],
  logs: ReadonlyMap<string, readonly LogEntry[]>,
): readonly Acked[] {
  return acked.filter(({ id, revision, digest, at }) => {
    const log = logs.get(id) ?? [];
    // What was done once more in the same way has the same digest, and another time.
    const isThere = log.some((entry) => entry.revision === revision && entry.digest === digest && entry.at === at);
    return !isThere && !isRestored(log);
  });
}

function isRestored(log: readonly LogEntry[]): boolean {
  return log.some(({ taken }) =>
    taken.some((each) => each.what === "restored" || (each.what === "parked" && (each.note ?? "").includes("store"))),
  );
}

/** A run, what it has started, and what has started it, go by one name. */
function familyOf(id: string): string {
  return id.split(".")[0] ?? id;
}

function tellForgotten({ id, revision, owner }: Acked): string {
  return `I12: ${runKey({ tenant, id })}: revision ${revision} was acknowledged to ${owner}, is not there, and nobody was told`;
}

/** A worker that ended without being killed, or before it could reach the store. */
function diedByItself({ what, note, pid }: Mishap): readonly string[] {
  const isExpected = note === "SIGKILL" || note === "in good order" || (note ?? "").startsWith("code 3");
  return what === "worker ended" && !isExpected ? [`worker ${pid} ended by itself: ${note}`] : [];
}

// ---- what the round was worth

async function statusesOf(store: Store, jobs: readonly Job[]): Promise<Record<string, number>> {
  const byStatus: Record<string, number> = {};
  await each(jobs, async ({ id }) => {
    const status = (await store.read({ tenant, id }))?.status ?? "absent";
    byStatus[status] = (byStatus[status] ?? 0) + 1;
  });
  return byStatus;
}

/** Some at once. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += readsAtOnce)
    await Promise.all(items.slice(from, from + readsAtOnce).map(work));
}

/** Runs that nothing but a person's no, or a fault of the harness, keeps from completing. */
function expectedOf({ jobs, books }: JudgeParts): number {
  const stopped = new Set(
    books.history().flatMap(({ op, run, decision }) => (op === "cancel" || decision?.is === "reject" ? [run.id] : [])),
  );
  return jobs.filter(({ id, refuse }) => !refuse && !stopped.has(id)).length;
}

function voidsOf(parts: JudgeParts, byStatus: Readonly<Record<string, number>>): readonly string[] {
  const { missed } = parts;
  const completed = byStatus["completed"] ?? 0;
  const parked = byStatus["needs_review"] ?? 0;
  const expected = expectedOf(parts) - parked;
  return [
    ...(completed < enough * expected ? [`${completed} runs completed, of ${expected} that should have`] : []),
    ...(missed.length > 0 ? [`nobody died at ${missed.join(", ")}`] : []),
    ...terminal.filter((status) => (byStatus[status] ?? 0) === 0).map((status) => `no run is ${status}`),
  ];
}

/** From the death of a worker until somebody else had a run that was in its hands. */
function recoveries(mishaps: readonly Mishap[], taken: readonly TakenOver[]): readonly number[] {
  const diedAt = new Map<string, number>();
  for (const { what, owner, at } of mishaps) {
    if ((what === "kill" || what === "crash") && owner !== undefined) diedAt.set(owner, at);
  }
  const first = new Map<string, number>();
  for (const { id, from, at } of taken) {
    // Whoever has it after somebody who gave it back untouched is told of the same death again.
    const died = diedAt.get(from);
    if (died === undefined) continue;
    const key = `${id} ${from}`;
    const ms = Math.max(0, at - died);
    first.set(key, Math.min(ms, first.get(key) ?? ms));
  }
  return [...first.values()].sort((a, b) => a - b);
}
