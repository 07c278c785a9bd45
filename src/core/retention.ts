/**
 * How long what has ended is kept. Owns when a run may be deleted; deleting it is the store's (`purge`).
 *
 * Invariants: R0 two runs never share operation ids: the other side would take the second one's calls for the first one's. So an id
 * that somebody gave, from which they are made, is not free again when its run is deleted. R1 only a run that has ended is ever deleted, and only after the time that its last commit said. R2 a run that is
 * taken up again is kept. R3 what a process remembers of a run is no evidence of a forgetful store once the run may be gone.
 */
import { decodeTime, isValid } from "ulid";
import type { Commit } from "./commit.ts";
import type { Draft } from "./draft.ts";
import { hasEnded, type RunRecord, type RunRef } from "./run/index.ts";

/** The listing of runs that may be deleted, by when. Shared by all tenants. */
export const expiringListing = "expiring";

/** From when on the run may be deleted; `null`: it has not ended, or is kept for ever. */
export function keepUntilOf({ record, input: { machine, settings, now } }: Draft): number | null {
  if (!hasEnded(record.status)) return null;
  const { retentionMs } = machine.saga;
  const ms = retentionMs === undefined ? settings.retentionMs : retentionMs;
  return ms === null ? null : now + ms;
}

/** The listings of a commit, and what it does to the run's place among those that expire. */
export function withExpiry(
  lists: Pick<Commit, "leave" | "join">,
  { before }: Pick<Draft, "before">,
  keepUntil: number | null,
): Pick<Commit, "leave" | "join"> {
  if (keepUntil !== null) return { ...lists, join: [...lists.join, expiringListing] };
  return hasEnded(before.record.status) ? { ...lists, leave: [...lists.leave, expiringListing] } : lists;
}

/** Must its id be remembered? One that was made for it comes up once, and that of a child only with its parent's. */
export function isIdKept({ id, createdAt, parent }: RunRecord): boolean {
  return parent === null && !(isValid(id) && decodeTime(id) === createdAt);
}

/** The run that this one is kept for, as long as that is there: its parent, which looks after it. */
export function keptFor({ tenant, parent }: RunRecord): RunRef | null {
  return parent === null || parent.detached ? null : { tenant, id: parent.run };
}

/** May what is remembered of a run be of one that was deleted? `stored`: what has its id now; `null`: nothing. */
export function mayBePurged(
  keepUntil: number | null,
  stored: Pick<RunRecord, "createdAt"> | null,
  now: number,
): boolean {
  return keepUntil !== null && (stored === null ? now >= keepUntil : stored.createdAt >= keepUntil);
}
