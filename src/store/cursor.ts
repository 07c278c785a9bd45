/**
 * Pages of a listing: newest first, by creation time and then id, over any number of lists. The cursor is the place of
 * the last run shown, so a run that changes lists between two pages is neither lost nor shown twice.
 */

import type { ListQuery, RunRecord, RunStatus, RunSummary } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { maxPageRecords } from "./limits.ts";

/** Where a run stands in a listing. */
export interface Place {
  readonly createdAt: number;
  readonly id: string;
}

const statuses: readonly RunStatus[] = [
  "running",
  "waiting",
  "paused",
  "needs_review",
  "unwinding",
  "completed",
  "failed",
  "cancelled",
];

/** The narrowest listings that hold what is asked for. */
export function listingsFor(query: ListQuery): readonly string[] {
  const wanted = query.status === undefined ? statuses : [query.status];
  return wanted.map((status) => (query.saga === undefined ? `status:${status}` : `saga:${query.saga}:${status}`));
}

/** Does the record still answer the query? Membership and record are read one after the other. */
export function answers(record: RunRecord, query: ListQuery): boolean {
  return (
    (query.status === undefined || record.status === query.status) &&
    (query.saga === undefined || record.saga === query.saga)
  );
}

/** Newest first. */
export function byPlace(a: Place, b: Place): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt;
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}

export function pageLimit(query: ListQuery): number {
  return Math.max(1, Math.min(Math.floor(query.limit), maxPageRecords));
}

export function encodeCursor(place: Place): string {
  return Buffer.from(`${place.createdAt}:${place.id}`).toString("base64url");
}

/** Throws CURSOR_INVALID for what `encodeCursor` did not make. */
export function decodeCursor(cursor: string): Place {
  const match = /^(\d{1,16}):([A-Za-z0-9_.-]{1,64})$/.exec(Buffer.from(cursor, "base64url").toString());
  if (match?.[1] !== undefined && match[2] !== undefined) return { createdAt: Number(match[1]), id: match[2] };
  throw new RepriseError(
    "CURSOR_INVALID",
    "this cursor was not made by a list of this store: start from the first page",
  );
}

export function summaryOf(record: RunRecord): RunSummary {
  return {
    tenant: record.tenant,
    id: record.id,
    saga: record.saga,
    version: record.version,
    status: record.status,
    rollback: record.rollback,
    waitingFor: record.waitingFor,
    review: record.review,
    createdAt: record.createdAt,
    endedAt: record.endedAt,
    revision: record.revision,
  };
}
