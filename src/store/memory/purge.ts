/** Deleting runs over memory shards: the counterpart of `lua/expired.lua` and `lua/purge.lua`. */
import { expiringListing, hasEnded, isIdKept, keptFor, listingsOf, type RunRef } from "../../core/index.ts";
import { listingKey, listingMember } from "../keys.ts";
import { purgeAgainMs } from "../limits.ts";
import type { Cell } from "./cell.ts";
import type { Shard } from "./shard.ts";

export interface Purge {
  readonly limit: number;
  readonly idsKeptMs: number | null;
  /** In any shard. */
  readonly isThere: (run: RunRef) => boolean;
  readonly now: number;
}

export function purge(shard: Shard, { limit, idsKeptMs, isThere, now }: Purge) {
  forgetFree(shard, limit, now);
  const members = expired(shard, limit, now);
  const cells = members.flatMap((member) => shard.cells.get(member) ?? []);
  const free = cells.filter(({ run }) => {
    const parent = keptFor(run.record);
    return parent === null || !isThere(parent);
  });
  const gone = free.filter((cell) => isAtRest(shard, cell));
  const freeAt = idsKeptMs === null ? Number.POSITIVE_INFINITY : now + idsKeptMs;
  for (const cell of gone) remove(shard, cell, freeAt);
  return {
    purged: gone.map(({ run: { record } }) => ({ tenant: record.tenant, id: record.id })),
    more: members.length >= limit,
  };
}

export function countExpiring(shard: Shard, now: number): { readonly due: number; readonly later: number } {
  const times = [...(shard.listings.get(expiringListing)?.values() ?? [])];
  const due = times.filter((at) => at <= now).length;
  return { due, later: times.length - due };
}

function expired(shard: Shard, limit: number, now: number): readonly string[] {
  const listing = shard.listings.get(expiringListing) ?? new Map<string, number>();
  const due = [...listing].filter(([, at]) => at <= now).sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
  const members = due.slice(0, limit).map(([member]) => member);
  for (const member of members) listing.set(member, now + purgeAgainMs);
  return members;
}

function isAtRest(shard: Shard, { run, lease, member }: Cell): boolean {
  return hasEnded(run.record.status) && lease === null && !shard.due.has(member);
}

function forgetFree({ gone }: Shard, limit: number, now: number): void {
  const free = [...gone].filter(([, at]) => at <= now);
  for (const [member] of free.slice(0, limit)) gone.delete(member);
}

function remove(shard: Shard, { run: { record }, member }: Cell, freeAt: number): void {
  for (const listing of [...listingsOf(record), expiringListing]) {
    shard.listings.get(listingKey(record.tenant, listing))?.delete(listingMember(record, listing));
  }
  shard.cells.delete(member);
  if (isIdKept(record)) shard.gone.set(member, freeAt);
}
