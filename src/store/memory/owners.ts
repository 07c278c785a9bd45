/** Owners, their pulses and what becomes of their leases, over one memory shard. */
import type { OwnerRef } from "../../core/index.ts";
import { maxLeasesExpired } from "../limits.ts";
import type { Shard } from "./shard.ts";

/** Ends at most `maxLeasesExpired` leases of an owner that is registered as told (or not at all); then forgets it. */
export function expire(shard: Shard, owner: OwnerRef, now: number): { expired: number; more: boolean } {
  const known = shard.owners.get(owner.owner);
  if (known !== undefined && (known.serverId !== owner.serverId || known.pulse !== owner.pulse)) {
    return { expired: 0, more: false };
  }
  return endLeases(shard, owner.owner, "died", now);
}

export function endLeases(
  shard: Shard,
  owner: string,
  mark: "died" | "left",
  now: number,
): { expired: number; more: boolean } {
  const held = [...(shard.held.get(owner) ?? [])].slice(0, maxLeasesExpired);
  const expired = held.filter((member) => endLease(shard, owner, member, mark, now)).length;
  if ((shard.held.get(owner)?.size ?? 0) > 0) return { expired, more: true };
  shard.held.delete(owner);
  shard.owners.delete(owner);
  shard.suspects.delete(owner);
  return { expired, more: false };
}

function endLease(shard: Shard, owner: string, member: string, mark: "died" | "left", now: number): boolean {
  shard.held.get(owner)?.delete(member);
  const lease = shard.cells.get(member)?.lease;
  if (lease?.owner !== owner) return false;
  const suspect = shard.suspects.get(owner);
  lease.mark = mark === "died" && (suspect === undefined || suspect === member) ? "died" : "left";
  lease.until = Math.min(lease.until, now);
  shard.due.set(member, now);
  return true;
}
