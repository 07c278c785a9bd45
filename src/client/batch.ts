/**
 * Replaying many runs: a frozen selection (`selection.ts`) is executed item by item. Owns: the canary, the rate, and what came
 * of each item. Each item is one plan, executed as any plan is (`replay.ts`).
 *
 * Invariants: B1 what is executed is what was selected: a run that has moved since is left as it is. B2 what is not safe is
 * left out unless a person says why it is meant. B3 executing again goes on where it stopped, and does no item twice. B4 of
 * every item it is said what came of it, and why. B5 right before each item the store is asked if the batch is suspended
 * (`suspension.ts`): once that is acknowledged nothing more is begun, but what was under way is finished and noted.
 */
import { hasEnded, objectionToBatch, type Suspension } from "../core/index.ts";
import { errorCodeOf, RepriseError } from "../errors.ts";
import { redact } from "../redact.ts";
import type { Duration } from "../saga/index.ts";
import { checkedDuration, checkedReason, invalid } from "./checks.ts";
import { type Connection, rereadMs } from "./connection.ts";
import { executePlan } from "./replay.ts";
import type { Batch, BatchItem } from "./selection.ts";

const standardRatePerSecond = 10;
const standardCanaryMs = 30_000;

export interface ExecuteBatchOptions {
  readonly by: string;
  readonly reason: string;
  /** Why also those are executed that are not safe (what cannot be done stays undone). */
  readonly override?: string;
  /** Execute so many first, and stop where one of them is parked again; none unless given. */
  readonly canary?: number;
  /** How long the canaries are watched; 30 seconds unless given. */
  readonly canaryWithin?: Duration;
  /** 10 unless given. */
  readonly ratePerSecond?: number;
  /** Told after each item how many are done with. Must not throw. */
  readonly onProgress?: (done: number) => void;
}

/** What came of one item: `run` is the run that goes on. */
export type ItemResult =
  | { readonly result: "done"; readonly run: string }
  | { readonly result: "skipped" | "failed"; readonly reason: string };

export interface BatchReport extends Batch {
  /** Who executed it first; `null`: nobody has. */
  readonly by: string | null;
  /** By place; `null`: nothing was done about it yet. */
  readonly results: readonly (ItemResult | null)[];
  /** Why this execution left the rest; `null`: nothing was left. */
  readonly stopped: string | null;
  /** While it is, nobody executes it; `null`: it is not. */
  readonly suspended: Suspension | null;
}

/** A batch and what came of it so far. Throws PLAN_GONE. */
export async function readBatch(connection: Connection, id: string): Promise<BatchReport> {
  const kept = await (await connection.store()).getPlan(id);
  if (kept.answer === "ABSENT") throw absentBatch(id);
  // Plans and batches lie in one place; what lies there was put there by `keep` and `noteResult`.
  const batch = kept.body as unknown as Batch;
  if (batch.items === undefined) throw invalid("INPUT_INVALID", "batch", `${id} is the plan of one run`);
  const results = batch.items.map((_, at) => (kept.results[at] ?? null) as ItemResult | null);
  return { ...batch, by: kept.taken?.by ?? null, results, stopped: null, suspended: kept.suspended };
}

/** A batch at a glance. */
export interface BatchSummary extends Pick<Batch, "id" | "mode" | "filter" | "at" | "expiresAt"> {
  readonly by: string | null;
  readonly runs: number;
  /** Of the runs; the others are still to come. */
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  /** `null`: it is not. */
  readonly suspended: Suspension | null;
}

/** The batches that have not expired, the last to expire first. */
export async function listBatches(connection: Connection, limit: number): Promise<readonly BatchSummary[]> {
  const { batches } = await (await connection.store()).listBatches(limit);
  const summaries: BatchSummary[] = [];
  for (const { id } of batches) {
    // One after the other: each may be large. One that expires meanwhile is gone.
    const report = await readBatch(connection, id).catch(ifGone);
    if (report !== null) summaries.push(glanceAt(report));
  }
  return summaries;
}

function ifGone(error: unknown): null {
  if (errorCodeOf(error) === "PLAN_GONE") return null;
  throw error;
}

function glanceAt({ id, mode, filter, at, expiresAt, by, items, results, suspended }: BatchReport): BatchSummary {
  const countOf = (word: ItemResult["result"]) => results.filter((result) => result?.result === word).length;
  const counts = { done: countOf("done"), skipped: countOf("skipped"), failed: countOf("failed") };
  return { id, mode, filter, at, expiresAt, by, runs: items.length, ...counts, suspended };
}

/** Throws PLAN_GONE, BATCH_SUSPENDED, INPUT_INVALID, STORE_UNAVAILABLE: then it is executed again, and goes on. */
export async function executeBatch(
  connection: Connection,
  id: string,
  options: ExecuteBatchOptions,
): Promise<BatchReport> {
  checkedReason(options.reason);
  const { canary = 0, ratePerSecond = standardRatePerSecond } = options;
  if (!(ratePerSecond > 0)) throw invalid("INPUT_INVALID", "ratePerSecond", "it is more than 0");
  const watchMs = checkedDuration(options.canaryWithin ?? standardCanaryMs, "canaryWithin");
  const report = await readBatch(connection, id);
  refuseSuspended(report);
  // One command for all who execute it, so that whoever goes on with it is not another one.
  await (await connection.store()).takePlan({
    ...{ id, by: options.by, commandId: id },
    act: { act: "execute_batch", by: options.by, reason: options.reason, run: null, about: `batch ${id}` },
  });
  const stopped = await new Work(connection, report, options, 1_000 / ratePerSecond).execute(canary, watchMs);
  return { ...(await readBatch(connection, id)), stopped };
}

/** Throws BATCH_SUSPENDED. */
export function refuseSuspended({ id, suspended }: Pick<BatchReport, "id" | "suspended">): void {
  const objection = objectionToBatch(suspended);
  if (suspended === null || objection === null) return;
  const since = new Date(suspended.at).toISOString();
  const todo = `to go on, lift it: reprise batch resume ${id} --reason ...`;
  throw new RepriseError("BATCH_SUSPENDED", `batch ${id} is not executed: ${redact(objection)} (${since}); ${todo}`, {
    details: { batch: id, ...suspended },
  });
}

/** One execution of a batch; an item is named by its place. */
class Work {
  readonly #connection: Connection;
  readonly #batch: Batch;
  readonly #options: ExecuteBatchOptions;
  readonly #everyMs: number;
  readonly #results: (ItemResult | null)[];
  #isFirst = true;

  constructor(connection: Connection, report: BatchReport, options: ExecuteBatchOptions, everyMs: number) {
    this.#connection = connection;
    this.#batch = report;
    this.#options = options;
    this.#everyMs = everyMs;
    this.#results = report.results.slice();
  }

  /** Why the rest is left; `null`: nothing is. */
  async execute(canary: number, watchMs: number): Promise<string | null> {
    const places = [...this.#batch.items.keys()];
    const wanted = places.filter((place) => this.#isWanted(place));
    const canaries = wanted.slice(0, canary);
    return (
      (await this.#leaveOut(places.filter((place) => !this.#isWanted(place)))) ??
      (await this.#doAll(canaries)) ??
      (await this.#watchAll(canaries, watchMs)) ??
      (await this.#doAll(wanted.slice(canary)))
    );
  }

  #isWanted(place: number): boolean {
    return this.#item(place).safe || this.#options.override !== undefined;
  }

  /** Says of what is left out why. */
  async #leaveOut(places: readonly number[]): Promise<string | null> {
    for (const place of places) {
      if (this.#results[place] !== null) continue;
      const objection = await this.#objection();
      if (objection !== null) return objection;
      await this.#note(place, { result: "skipped", reason: this.#item(place).reasons.join("; ") });
    }
    return null;
  }

  async #doAll(places: readonly number[]): Promise<string | null> {
    for (const place of places) {
      if (this.#results[place] !== null) continue;
      await this.#keepRate();
      // As late as can be: whoever suspends it after this finds this one item under way.
      const objection = await this.#objection();
      if (objection !== null) return objection;
      await this.#note(place, await this.#executed(place));
    }
    return null;
  }

  /** Why nothing more is begun by now. Throws PLAN_GONE. */
  async #objection(): Promise<string | null> {
    const told = await (await this.#connection.store()).getSuspension(this.#batch.id);
    if (told.answer === "ABSENT") throw absentBatch(this.#batch.id);
    return objectionToBatch(told.suspended);
  }

  async #keepRate(): Promise<void> {
    const { clock } = this.#connection.ports;
    if (!this.#isFirst) await new Promise<void>((resolve) => clock.after(this.#everyMs, resolve));
    this.#isFirst = false;
  }

  async #executed(place: number): Promise<ItemResult> {
    const { by, reason, override } = this.#options;
    const { plan, safe } = this.#item(place);
    const command = { by, reason, commandId: `${this.#batch.id}.${place}` };
    try {
      const told = safe || override === undefined ? command : { ...command, override };
      const { run } = await executePlan(this.#connection, plan, told);
      return { result: "done", run };
    } catch (error) {
      if (!(error instanceof RepriseError) || isInfrastructure(error)) throw error;
      return { result: isRefusal(error) ? "skipped" : "failed", reason: `${error.code}: ${redact(error.message)}` };
    }
  }

  async #note(place: number, result: ItemResult): Promise<void> {
    await (await this.#connection.store()).noteResult(this.#batch.id, place, { ...result });
    this.#results[place] = result;
    this.#options.onProgress?.(this.#results.filter((each) => each !== null).length);
  }

  #item(place: number): BatchItem {
    return this.#batch.items[place] as BatchItem;
  }

  /** A canary that could not be executed, or is parked again, stops the rest. */
  async #watchAll(canaries: readonly number[], withinMs: number): Promise<string | null> {
    const until = this.#connection.ports.clock.monotonicMs() + withinMs;
    for (const place of canaries) {
      // All of them were done, or could not be.
      const result = this.#results[place] as ItemResult;
      const isDone = result.result === "done";
      const stopped = isDone ? await this.#watch(place, result.run, until) : this.#trouble(place, result.reason);
      if (stopped !== null) return stopped;
    }
    return null;
  }

  #trouble(place: number, problem: string): string {
    return `canary ${this.#item(place).run}: ${problem}`;
  }

  /** Follows what a canary has set going until it has ended, the time is over or the batch is suspended. */
  async #watch(place: number, id: string, until: number): Promise<string | null> {
    const { clock } = this.#connection.ports;
    const { tenant, run, revision } = this.#item(place);
    const trouble = (problem: string) => this.#trouble(place, problem);
    const store = await this.#connection.store();
    const news = await this.#connection.follow({ tenant, id }, () => true);
    try {
      for (;;) {
        const record = await store.read({ tenant, id });
        if (record === null) return trouble("it is not there");
        const left = until - clock.monotonicMs();
        const hasMoved = id !== run || record.revision > revision;
        if (hasMoved && hasEnded(record.status)) return null;
        if (record.review !== null && (hasMoved || left <= 0)) return trouble(`it is parked: ${record.review.message}`);
        if (left <= 0) return hasMoved ? null : trouble("nothing has come of it yet");
        const objection = await this.#objection();
        if (objection !== null) return objection;
        await news.next(Math.min(left, rereadMs));
      }
    } finally {
      news.stop();
    }
  }
}

/** It is executed again when the store is back. */
function isInfrastructure({ code }: RepriseError): boolean {
  return code === "STORE_UNAVAILABLE" || code === "CLOSED";
}

/** Nothing was done, and nothing is wrong with us: the run is left as it lies. */
function isRefusal({ code }: RepriseError): boolean {
  return code.startsWith("PLAN_") || code.startsWith("REVIEW_") || code === "STALE_REVISION" || code === "RUN_ENDED";
}

export function absentBatch(id: string): RepriseError {
  return new RepriseError("PLAN_GONE", `there is no batch ${id}, or it has expired: select anew`, {
    details: { batch: id },
  });
}
