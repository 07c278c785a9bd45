/** What is asked about the runs of all tenants, over memory shards. */
import { openListing, type Run, type Serving, type SharedPage, type SharedQuery } from "../../core/index.ts";
import {
  byPlace,
  decodeSharedCursor,
  encodeCursor,
  type Place,
  pageLimit,
  sharedPlaces,
  sharedRunOf,
} from "../cursor.ts";
import type { Cell } from "./cell.ts";
import type { Shard } from "./shard.ts";

export function listShared(shards: readonly Shard[], query: SharedQuery, timeOf: (shard: Shard) => number): SharedPage {
  const after = query.cursor === undefined ? null : decodeSharedCursor(query.cursor);
  const all = shards
    .flatMap((shard) => query.listings.flatMap((listing) => [...(shard.listings.get(listing) ?? [])]))
    .map(([id, createdAt]): Place => ({ id, createdAt }))
    .filter((place) => after === null || byPlace(after, place) < 0);
  const page = { depth: Number.POSITIVE_INFINITY, limit: pageLimit(query), tenant: query.tenant };
  const { places, next } = sharedPlaces([all], page);
  const found = places.flatMap(({ id: member }) =>
    shards.flatMap((shard) => {
      const cell = shard.cells.get(member);
      return cell === undefined ? [] : [{ cell, now: timeOf(shard) }];
    }),
  );
  const runs = found.flatMap(({ cell, now }) => {
    const { record } = cell.run;
    return cell.problem === null ? [sharedRunOf(record, stepOf(cell.run), holderOf(cell, now))] : [];
  });
  const unreadable = found.flatMap(({ cell: { problem, run } }) => {
    const { tenant, id } = run.record;
    return problem === null ? [] : [{ tenant, id, message: problem }];
  });
  return { runs, unreadable, cursor: next === null ? null : encodeCursor(next) };
}

function stepOf({ record: { review }, rows }: Run): string | null {
  return rows[(review?.seq ?? 0) - 1]?.step ?? null;
}

function holderOf({ lease }: Cell, now: number): string | null {
  return lease !== null && lease.until > now ? lease.owner : null;
}

export function serving(shards: readonly Shard[], serves: ReadonlyMap<string, readonly string[]>): Serving {
  const prefix = openListing("");
  const listings = shards.flatMap((shard) => [...shard.listings]);
  const open = listings.filter(([key, runs]) => key.startsWith(prefix) && runs.size > 0);
  const owners = new Set(shards.flatMap((shard) => [...shard.owners.keys()]));
  return {
    open: [...new Set(open.map(([key]) => key.slice(prefix.length)))],
    owners: [...owners].map((owner) => ({ owner, serves: serves.get(owner) ?? [] })),
  };
}
