/**
 * Selecting many runs to be replayed: a frozen selection with one plan a run, kept in the store until it is executed
 * (`batch.ts`). Owns which runs are selected. Invariant: selecting changes no run.
 */
import type { ReplayPlan, ReviewReason, RunRef, RunStatus, RunSummary } from "../core/index.ts";
import type { Duration } from "../saga/index.ts";
import { checkedId, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { judgedRun } from "./judged.ts";
import { checkedExpiry, keep, planRun } from "./plan.ts";
import { defaultTenant } from "./start.ts";

const standardExpiryMs = 86_400_000;
/** Runs that one batch may select. */
const maxItems = 1_000;
const pageSize = 200;

/** Which runs; what is not named is not asked for. */
export interface BatchFilter {
  /** `default` unless given. */
  readonly tenant?: string;
  readonly saga?: string;
  /** `needs_review` unless given. */
  readonly status?: RunStatus;
  /** Why they are parked. */
  readonly reason?: ReviewReason;
  /** The step that they are parked for. */
  readonly step?: string;
}

export interface BatchOptions {
  readonly filter: BatchFilter;
  readonly mode: "resume" | "compensate_only" | "new_run";
  /** Newest first; 1,000 unless given, which is the most. */
  readonly limit?: number;
  /** Until when it may be executed; a day from now unless given. */
  readonly expiresIn?: Duration;
  /** Told after each plan how many of how many are made. */
  readonly onProgress?: (done: number, runs: number) => void;
}

/** One run of a batch, and what is planned for it. */
export interface BatchItem {
  readonly tenant: string;
  readonly run: string;
  readonly plan: string;
  /** Of the run, when it was selected. */
  readonly revision: number;
  readonly safe: boolean;
  /** Why it is not safe, or cannot be done; empty where it is safe. */
  readonly reasons: readonly string[];
}

/** A frozen selection. */
export interface Batch {
  readonly id: string;
  readonly mode: BatchOptions["mode"];
  readonly filter: BatchFilter;
  readonly items: readonly BatchItem[];
  /** Runs that were found and cannot be read. */
  readonly unreadable: readonly RunRef[];
  readonly at: number;
  readonly expiresAt: number;
}

/** Throws INPUT_INVALID, ID_INVALID. */
export async function replayMany(connection: Connection, options: BatchOptions): Promise<Batch> {
  const { filter, mode, limit = maxItems } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > maxItems) {
    throw invalid("INPUT_INVALID", "limit", `it is a whole number from 1 to ${maxItems}`);
  }
  const at = await connection.storeNow();
  const expiresAt = at + checkedExpiry(options.expiresIn, standardExpiryMs);
  const { runs, unreadable } = await selected(connection, filter, limit);
  const items: BatchItem[] = [];
  for (const run of runs) {
    const made = await planRun(connection, run, { mode }, expiresAt);
    items.push(itemOf(made));
    options.onProgress?.(items.length, runs.length);
  }
  const batch: Batch = { id: connection.ports.ids.next(), mode, filter, items, unreadable, at, expiresAt };
  await keep(connection, batch.id, batch, expiresAt, true);
  return batch;
}

function itemOf({ tenant, run, id, revision, safe, problem, unsafe }: ReplayPlan): BatchItem {
  return { tenant, run, plan: id, revision, safe, reasons: problem === null ? unsafe : [problem] };
}

async function selected(connection: Connection, filter: BatchFilter, limit: number) {
  const store = await connection.store();
  const { saga, status = "needs_review" } = filter;
  const tenant = checkedId(filter.tenant ?? defaultTenant, "the tenant");
  const query = { tenant, status, limit: pageSize, ...(saga === undefined ? {} : { saga }) };
  const runs: RunRef[] = [];
  const unreadable: RunRef[] = [];
  for (let cursor: string | null | undefined; cursor !== null && runs.length < limit; ) {
    const page = await store.list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    for (const { id } of page.unreadable) unreadable.push({ tenant, id });
    for (const run of page.runs) if (runs.length < limit && (await matches(connection, run, filter))) runs.push(run);
    cursor = page.cursor;
  }
  return { runs, unreadable };
}

async function matches(connection: Connection, run: RunSummary, { reason, step }: BatchFilter): Promise<boolean> {
  if (reason !== undefined && run.review?.reason !== reason) return false;
  if (step === undefined) return true;
  const seq = run.review?.seq ?? null;
  if (seq === null) return false;
  const { rows } = await judgedRun(connection, run);
  return rows[seq - 1]?.step === step;
}
