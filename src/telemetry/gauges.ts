/**
 * What is asked when somebody looks: how much waits in the store, how busy this process is. Invariants: U1 a look never
 * waits longer than `answerMs`, whatever the store does. U2 the store is asked at most once in `keptMs`, however many look.
 * U3 what was not answered is not known: none stays as it was last. U4 a store that answers is up, whatever it has to say.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { askingListing, parkedListing, type SharedRun, type Store } from "../core/index.ts";
import type { MetricName } from "./catalogue.ts";
import type { Metrics } from "./metrics.ts";

/** What gauges are read from. */
export interface GaugeSource {
  readonly store: Pick<Store, "load" | "noticesOwed" | "listShared" | "durability" | "ledger">;
}

const answerMs = 1_000;
const keptMs = 5_000;
const page = 200;
const ofLoad = [
  ...["reprise_ticks_due", "reprise_backlog_seconds", "reprise_runs_parked", "reprise_approvals_waiting"],
  "reprise_runs_open",
] as const satisfies readonly MetricName[];
const ofNotices = [
  ...["reprise_notifications_owed", "reprise_notification_age_seconds", "reprise_notifications_failing"],
  "reprise_notifications_lost",
] as const satisfies readonly MetricName[];
const ofOthers = [
  ...["reprise_store_forgetful", "reprise_unknown_outcome_age_seconds", "reprise_approval_age_seconds"],
] as const satisfies readonly MetricName[];
const ofStore = [...ofLoad, ...ofNotices, ...ofOthers];
/** Pages of parked and of asking runs that are looked through for the oldest: 1,000 of each. */
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
    // One halt among many good moments is no hundredth of them.
    const worst = Math.max(0, this.#lag.max / 1e6 - 20) / 1_000;
    this.#metrics.set("reprise_event_loop_lag_seconds", { quantile: "1" }, worst);
    this.#lag.reset();
    // Client and worker of a process look at the same place: the first that was told will do.
    const [source] = this.#sources;
    if (source === undefined) {
      this.#asked = null;
      return this.#metrics.forget([...ofStore, "reprise_store_up"]);
    }
    const now = performance.now();
    if (this.#asked === null || now - this.#asked.at > keptMs) {
      this.#asked = { at: now, answer: this.#ask(source) };
    }
    await this.#asked.answer;
  }

  async #ask({ store }: GaugeSource): Promise<void> {
    const metrics = this.#metrics;
    const by = performance.now() + answerMs;
    const load = await inTime(by, () => store.load());
    metrics.set("reprise_store_up", {}, load === null ? 0 : 1);
    if (load === null) return metrics.forget(ofStore);
    metrics.set("reprise_ticks_due", {}, load.due);
    metrics.set("reprise_backlog_seconds", {}, ageOf(load.oldestDueAt, load.now));
    metrics.set("reprise_runs_parked", {}, load.parked);
    metrics.set("reprise_approvals_waiting", {}, load.asking);
    metrics.forget(["reprise_runs_open"]);
    for (const [key, runs] of openBySaga(load.open)) {
      const [saga = "", version = ""] = key.split("@");
      metrics.set("reprise_runs_open", { saga, version }, runs);
    }
    const one = async (name: MetricName, read: () => Promise<number>): Promise<void> => {
      const value = await inTime(by, read);
      if (value === null) metrics.forget([name]);
      else metrics.set(name, {}, value);
    };
    await Promise.all([
      this.#readNotices(store, load.now, by),
      one("reprise_store_forgetful", async () => ((await store.durability()) === "forgetful" ? 1 : 0)),
      one("reprise_unknown_outcome_age_seconds", async () => ageOf(await oldestUnknown(store), load.now)),
      one("reprise_approval_age_seconds", async () => ageOf(await oldestQuestion(store), load.now)),
    ]);
  }

  async #readNotices(store: GaugeSource["store"], now: number, by: number): Promise<void> {
    const owing = await inTime(by, () => store.noticesOwed());
    this.#metrics.forget(ofNotices);
    for (const { hook, owed, oldestAt, lost, failing } of owing?.hooks ?? []) {
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
  for await (const { review } of runsIn(store, parkedListing)) {
    if (review?.reason !== "unknown_outcome") continue;
    oldest = oldest === null ? review.since : Math.min(oldest, review.since);
  }
  return oldest;
}

async function oldestQuestion(store: GaugeSource["store"]): Promise<number | null> {
  // The run that was created first is the one to ask: it is about right, and one ledger is read instead of all.
  let oldest: SharedRun | null = null;
  for await (const run of runsIn(store, askingListing)) {
    if (oldest === null || run.createdAt < oldest.createdAt) oldest = run;
  }
  if (oldest === null) return null;
  const rows = await store.ledger({ tenant: oldest.tenant, id: oldest.id });
  const asked = oldest.asks.flatMap((seq) => rows[seq - 1]?.approval?.since ?? []);
  return asked.length === 0 ? null : Math.min(...asked);
}

async function* runsIn(store: GaugeSource["store"], listing: string): AsyncGenerator<SharedRun> {
  let cursor: string | null | undefined;
  for (let pages = 0; pages < maxPages && cursor !== null; pages += 1) {
    const query = { listings: [listing], limit: page };
    const found = await store.listShared(cursor === undefined ? query : { ...query, cursor });
    yield* found.runs;
    cursor = found.cursor;
  }
}

function ageOf(at: number | null, now: number): number {
  return at === null ? 0 : Math.max(0, now - at) / 1_000;
}

/** `null`: it failed, or there was no answer until then (of `performance.now`). */
async function inTime<Answer>(by: number, ask: () => Promise<Answer>): Promise<Answer | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, by - performance.now()), null);
  });
  const answered = ask().catch(() => null);
  return await Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
