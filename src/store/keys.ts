/**
 * Names: which shard a run is in and what its keys are called (design section 4). Every key of a shard carries one hash
 * tag, so that a script touches one slot. Ids are checked here, before they become part of a key.
 */

import {
  askingListing,
  expiringListing,
  idPattern,
  openListing,
  parkedListing,
  type RunRef,
  runKey,
  unreadableListing,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";

const namespacePattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** Refuses with ID_INVALID what is not `[A-Za-z0-9_.-]{1,64}`. */
export function assertId(id: string, what: "id" | "tenant"): void {
  if (typeof id === "string" && idPattern.test(id)) return;
  throw new RepriseError("ID_INVALID", `the ${what} of a run is 1 to 64 characters of A-Z a-z 0-9 _ . -`, {
    details: { what, got: String(id).slice(0, 80) },
  });
}

/** Refuses with CONFIG_INVALID a namespace that could not stand in a hash tag, or an impossible number of shards. */
export function assertPlace(namespace: string, shards: number, lanes: number): void {
  if (!namespacePattern.test(namespace)) {
    throw new RepriseError("CONFIG_INVALID", "a namespace is 1 to 64 characters of A-Z a-z 0-9 _ . -", {
      details: { namespace: namespace.slice(0, 80) },
    });
  }
  for (const [name, count] of Object.entries({ shards, lanes })) {
    if (Number.isInteger(count) && count >= 1 && count <= 1_024) continue;
    throw new RepriseError("CONFIG_INVALID", `${name} is a whole number from 1 to 1,024`, {
      details: { [name]: count },
    });
  }
}

/** `<tenant>:<id>`, both checked. */
export function memberOf(run: RunRef): string {
  assertId(run.tenant, "tenant");
  assertId(run.id, "id");
  return runKey(run);
}

/** The way back from {@link memberOf}. */
export function runOf(member: string): RunRef {
  const colon = member.indexOf(":");
  return { tenant: member.slice(0, colon), id: member.slice(colon + 1) };
}

/** Which shard `<tenant>:<id>` is in: FNV-1a with a final mix. Never to be changed: it says where runs are found. */
export function shardOfMember(member: string, shards: number): number {
  if (shards === 1) return 0;
  let hash = 0x811c9dc5;
  for (let at = 0; at < member.length; at += 1) hash = Math.imul(hash ^ member.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % shards;
}

/** Where a plan or a batch lies: told by its id alone. */
export function planPlace(id: string): RunRef {
  return { tenant: "plan", id };
}

/** What fairness is about: a tenant in a pool. Pools are not restricted to id characters, so they come last. */
export function shareOf(tenant: string, pool: string): string {
  return `${tenant}:${pool}`;
}

/** A listing's name within its shard: some are of all tenants, the others are of one. */
export function listingKey(tenant: string, listing: string): string {
  return isShared(listing) ? listing : `by:${tenant}:${listing}`;
}

/** What a run is called in that listing. */
export function listingMember(run: RunRef, listing: string): string {
  return isShared(listing) ? runKey(run) : run.id;
}

function isShared(listing: string): boolean {
  return (
    listing === parkedListing ||
    listing === askingListing ||
    listing === unreadableListing ||
    listing === expiringListing ||
    listing.startsWith(openListing(""))
  );
}

/** Names of the keys that belong to the namespace, not to a shard. */
export interface SharedKeys {
  readonly meta: string;
  readonly sagas: string;
  /** What each owner serves. */
  readonly serves: string;
  /** Sagas whose runs nobody drives. */
  readonly paused: string;
}

export function sharedKeys(namespace: string): SharedKeys {
  const tag = `{reprise:${namespace}}:`;
  return { meta: `${tag}meta`, sagas: `${tag}sagas`, serves: `${tag}serves`, paused: `${tag}paused` };
}

/** Names of the keys of one shard that belong to no run. `prefix` stands before every other name. */
export interface ShardKeys {
  readonly prefix: string;
  readonly due: string;
  readonly clock: string;
  readonly queued: string;
  /** Shares whose starts wait for room, and shares whose due runs do, the next to be served first. */
  readonly fair: string;
  readonly fairLate: string;
  readonly owners: string;
  readonly suspects: string;
  /** Structures that runs were ever started in. */
  readonly structures: string;
  /** Ids of runs that were deleted, by when they are free again. */
  readonly gone: string;
  /** Sagas of which runs were put on the shelf. */
  readonly shelves: string;
  /** Whoever was ever to be told of runs, and how much of it was lost. What is owed to one: {@link boxKeys}. */
  readonly hooks: string;
  readonly barrier: string;
  /** What people have done. */
  readonly audit: string;
  /** Batches by when they expire. */
  readonly batches: string;
  readonly channel: string;
}

export function shardKeys(namespace: string, shard: number): ShardKeys {
  const prefix = `{reprise:${namespace}:${shard}}:`;
  return {
    prefix,
    due: `${prefix}due`,
    clock: `${prefix}clock`,
    queued: `${prefix}queued`,
    fair: `${prefix}fair`,
    fairLate: `${prefix}fair-late`,
    owners: `${prefix}owners`,
    suspects: `${prefix}suspects`,
    structures: `${prefix}structures`,
    gone: `${prefix}gone`,
    shelves: `${prefix}shelves`,
    hooks: `${prefix}hooks`,
    barrier: `${prefix}barrier`,
    audit: `${prefix}audit`,
    batches: `${prefix}batches`,
    channel: `${prefix}moved`,
  };
}

/** Where what is owed to a hook lies (`lua/shared.notices.lua`), and who takes it. */
export function boxKeys({ prefix }: Pick<ShardKeys, "prefix">, hook: string) {
  return {
    box: `${prefix}box:${hook}`,
    runs: `${prefix}boxed:${hook}`,
    turns: `${prefix}telling:${hook}`,
    tried: `${prefix}tried:${hook}`,
    taker: `${prefix}teller:${hook}`,
  };
}
