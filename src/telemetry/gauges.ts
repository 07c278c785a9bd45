/**
 * What is asked when somebody looks: how much waits in the store, how busy this process is. Invariants: U1 a look never
 * waits longer than `answerMs`, whatever the store does. U2 the store is asked at most once in `keptMs`, however many look.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { askingListing, parkedListing, type SharedRun, type Store } from "../core/index.ts";
import type { Metrics } from "./metrics.ts";

/** What gauges are read from. */
export interface GaugeSource {
  readonly store: Pick<Store, "load" | "noticesOwed" | "listShared" | "durability" | "ledger">;
}

const answerMs = 1_000;
const keptMs = 5_000;
const page = 200;
/** Pages of parked runs that are looked through for unknown outcomes. */
const maxPages = 5;

export class Gauges {
  readonly #metrics: Metrics;
  readonly #sources = new Set<GaugeSource>();
  readonly #lag: IntervalHistogram;
  #asked: { readonly at: number; readonly answer: Promise<void> } | null = null;

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
    this.#lag = monitorEventLoopDelay({ resolution: 20 });
    this.#lag.enable();
  }

  watch(source: GaugeSource): () => void {
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  close(): void {
    this.#lag.disable();
    this.#sources.clear();
  }

  /** Brings them up to date; never rejects. */
  async look(): Promise<void> {
    for (const quantile of [50, 99]) {
      const ms = this.#lag.percentile(quantile) / 1e6 - 20;
      this.#metrics.set("reprise_event_loop_lag_seconds", { quantile: `0.${quantile}` }, Math.max(0, ms) / 1_000);
    }
    this.#lag.reset();
    // Client and worker of a process look at the same place: the first that was told will do.
    const [source] = this.#sources;
    if (source === undefined) return;
    const now = performance.now();
    if (this.#asked === null || now - this.#asked.at > keptMs) {
      this.#asked = { at: now, answer: this.#ask(source) };
    }
    await this.#asked.answer;
  }

  async #ask(source: GaugeSource): Promise<void> {
    const isUp = await inTime(answerMs, this.#read(source));
    this.#metrics.set("reprise_store_up", {}, isUp ? 1 : 0);
  }

  async #read({ store }: GaugeSource): Promise<void> {
    const load = await store.load();
    const metrics = this.#metrics;
    metrics.set("reprise_ticks_due", {}, load.due);
    metrics.set("reprise_backlog_seconds", {}, ageOf(load.oldestDueAt, load.now));
    metrics.set("reprise_runs_parked", {}, load.parked);
    metrics.set("reprise_approvals_waiting", {}, load.asking);
    metrics.clear("reprise_runs_open");
    for (const [key, runs] of openBySaga(load.open)) {
      const [saga = "", version = ""] = key.split("@");
      metrics.set("reprise_runs_open", { saga, version }, runs);
    }
    await this.#readNotices(store, load.now);
    metrics.set("reprise_store_forgetful", {}, (await store.durability()) === "forgetful" ? 1 : 0);
    metrics.set("reprise_unknown_outcome_age_seconds", {}, ageOf(await oldestUnknown(store), load.now));
    metrics.set("reprise_approval_age_seconds", {}, ageOf(await oldestQuestion(store), load.now));
  }

  async #readNotices(store: GaugeSource["store"], now: number): Promise<void> {
    const { hooks } = await store.noticesOwed();
    for (const { hook, owed, oldestAt, lost, failing } of hooks) {
      this.#metrics.set("reprise_notifications_owed", { hook }, owed);
      this.#metrics.set("reprise_notification_age_seconds", { hook }, ageOf(oldestAt, now));
      this.#metrics.set("reprise_notifications_failing", { hook }, failing);
      this.#metrics.set("reprise_notifications_lost", { hook }, lost);
    }
  }
}

/** Structures of one version are told together. */
function openBySaga(
  open: readonly { readonly structure: string; readonly runs: number }[],
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { structure, runs } of open) {
    const key = structure.slice(0, structure.lastIndexOf("#"));
    sums.set(key, (sums.get(key) ?? 0) + runs);
  }
  return sums;
}

async function oldestUnknown(store: GaugeSource["store"]): Promise<number | null> {
  let oldest: number | null = null;
  let cursor: string | null | undefined;
  for (let pages = 0; pages < maxPages && cursor !== null; pages += 1) {
    const query = { listings: [parkedListing], limit: page };
    const found = await store.listShared(cursor === undefined ? query : { ...query, cursor });
    for (const { review } of found.runs) {
      if (review?.reason !== "unknown_outcome") continue;
      oldest = oldest === null ? review.since : Math.min(oldest, review.since);
    }
    cursor = found.cursor;
  }
  return oldest;
}

async function oldestQuestion(store: GaugeSource["store"]): Promise<number | null> {
  const { runs } = await store.listShared({ listings: [askingListing], limit: page });
  // The run that was created first is the one to ask: it is about right, and one ledger is read instead of all.
  const [oldest] = [...runs].sort((a: SharedRun, b: SharedRun) => a.createdAt - b.createdAt);
  if (oldest === undefined) return null;
  const rows = await store.ledger({ tenant: oldest.tenant, id: oldest.id });
  const asked = oldest.asks.flatMap((seq) => rows[seq - 1]?.approval?.since ?? []);
  return asked.length === 0 ? null : Math.min(...asked);
}

function ageOf(at: number | null, now: number): number {
  return at === null ? 0 : Math.max(0, now - at) / 1_000;
}

/** Was it done in time, without failing? */
async function inTime(ms: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const done = work.then(
    () => true,
    () => false,
  );
  return await Promise.race([done, late]).finally(() => clearTimeout(timer));
}
