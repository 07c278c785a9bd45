/**
 * Pages of a listing: newest first, by creation time and then id, over any number of lists. The cursor is the place of
 * the last run shown, so a run that changes lists between two pages is neither lost nor shown twice.
 */

import type {
  ListedBatch,
  ListQuery,
  RunRecord,
  RunStatus,
  RunSummary,
  SharedQuery,
  SharedRun,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { runOf } from "./keys.ts";
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
    (query.saga === undefined || record.saga === query.saga) &&
    Object.entries(query.attributes ?? {}).every(
      ([key, value]) => JSON.stringify(record.attributes[key]) === JSON.stringify(value),
    )
  );
}

/** Newest first. */
export function byPlace(a: Place, b: Place): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt;
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}

/** Of batches; those of one ms by id. */
export function lastToExpireFirst(a: ListedBatch, b: ListedBatch): number {
  return b.expiresAt - a.expiresAt || (a.id < b.id ? -1 : 1);
}

export function pageLimit(query: Pick<ListQuery, "limit">): number {
  return Math.max(1, Math.min(Math.floor(query.limit), maxPageRecords));
}

export function encodeCursor(place: Place): string {
  return Buffer.from(`${place.createdAt}:${place.id}`).toString("base64url");
}

/** Throws CURSOR_INVALID for what `encodeCursor` did not make of a run's place. */
export function decodeCursor(cursor: string): Place {
  return decoded(cursor, /^(\d{1,16}):([A-Za-z0-9_.-]{1,64})$/);
}

/** As `decodeCursor`, of a listing that tenants share: its members are called `<tenant>:<id>`. */
export function decodeSharedCursor(cursor: string): Place {
  return decoded(cursor, /^(\d{1,16}):([A-Za-z0-9_.-]{1,64}:[A-Za-z0-9_.-]{1,64})$/);
}

function decoded(cursor: string, pattern: RegExp): Place {
  const match = pattern.exec(Buffer.from(cursor, "base64url").toString());
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

// ---- listings that tenants share

export function sharedRunOf(record: RunRecord, step: string | null, holder: string | null): SharedRun {
  const { tenant, id, saga, version, hash, status, review, asks, revision, createdAt, parent } = record;
  return { tenant, id, saga, version, hash, status, review, asks, revision, createdAt, parent, step, holder };
}

/** How deep each listing is read for one page: the runs of one tenant may lie far apart. */
export function sharedDepth(query: SharedQuery): number {
  return query.tenant === undefined ? pageLimit(query) + 1 : maxPageRecords + 1;
}

/**
 * The places of one page out of lists that were each read `depth` deep; `next`: where the next page goes on. What is older
 * than the end of a list that has more is left to that page.
 */
export function sharedPlaces(
  lists: readonly (readonly Place[])[],
  { depth, limit, tenant }: { readonly depth: number; readonly limit: number; readonly tenant: string | undefined },
): { readonly places: readonly Place[]; readonly next: Place | null } {
  const ends = lists.flatMap((list) => (list.length < depth ? [] : list.slice(-1)));
  const end = ends.sort(byPlace)[0] ?? null;
  const read = lists.flat().filter((place) => end === null || byPlace(place, end) <= 0);
  const unique = [...new Map(read.map((place) => [place.id, place])).values()].sort(byPlace);
  const wanted = tenant === undefined ? unique : unique.filter(({ id }) => runOf(id).tenant === tenant);
  const places = wanted.slice(0, limit);
  return { places, next: wanted.length > limit ? (places.at(-1) ?? null) : end };
}
