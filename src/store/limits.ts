/**
 * The store's bounds and waits, by name, unit last. Both adapters use the same ones (design section 5, Defaults).
 */

/** A run handed out is not handed out again before this; doubled each time while nobody acquires it. */
export const wakeGraceMs = 5_000;
export const maxWakeGraceMs = 60_000;

/**
 * Wake-ups of one tenant that stand in the queue of a pool; further starts wait in `due:<share>`. Another tenant's run stands behind
 * them: of 1,000 it was delayed by two to four seconds on a busy machine, of 150 by a tenth to a half, and the crowd itself lost
 * nothing. More than `maxDueQueued`, whose runs count here too: a start does not wait for timers.
 */
export const maxWakeUpsQueued = 150;

/**
 * Wake-ups of one pool that the sweep has handed out to runs which come due again (timers, back-offs), not taken up yet: a
 * new run stands behind no more of them in the queue. The others wait in `late:<share>`.
 */
export const maxDueQueued = 100;

/** What one shard hands out before it waits: shards share the queue, so its part, but never less than keeps a worker at work. */
export interface QueueRoom {
  readonly maxWakeUpsQueued: number;
  readonly maxDueQueued: number;
}

export function queueRoomOf(shards: number): QueueRoom {
  const part = (most: number) => Math.max(Math.ceil(most / shards), most / 10);
  return { maxWakeUpsQueued: part(maxWakeUpsQueued), maxDueQueued: part(maxDueQueued) };
}

/** Members of backlogs that one `due` passes over because their runs were taken up in another way. */
export const maxPassedOver = 1_000;

/** Consumed slots remembered per run, at least; beyond `maxSlotsTaken` the oldest are forgotten down to this. */
export const slotsKept = 9_000;
export const maxSlotsTaken = 10_000;

/** Events and pause requests a run keeps that no state has taken yet. Verbs, cancels and outcomes always get in. */
export const maxEntriesWaiting = 1_000;

/** Waiters and reusers remembered of one intent; whoever comes later asks again from time to time. */
export const maxIntentListeners = 100;

/** Longest name of an owner of an intent. */
export const maxIntentOwnerChars = 200;

/** A run that has given its turn is remembered this long, lest a request that was held up takes another for it. */
export const turnForgottenMs = 3_600_000;

/** Schedules of one namespace. */
export const maxSchedules = 1_000;

/** Runs of a line that one answer names: of its owners, and of those who wait. */
export const maxTurnsShown = 10;

/** Most runs of one key at once. */
export const maxTurnLimit = 1_000;

/** Leases that one `expire` ends in one shard. */
export const maxLeasesExpired = 100;

/** Notices past the most that are kept which one `take_notices` drops in one shard. */
export const maxNoticesLost = 1_000;

/** A run that was to be deleted and could not be is looked at again after this. */
export const purgeAgainMs = 3_600_000;

/** Records that one page of `list` reads at most. */
export const maxPageRecords = 1_000;

/** From this hand-out on, each whose number is a power of two comes under a new wake number. */
export const firstFreshHandOut = 4;

/**
 * Does the n-th hand-out of a run take a new wake number? The price is a second job, which is harmless, but a run that
 * nobody serves must not gather one a minute.
 */
export function isFresh(handOuts: number): boolean {
  return handOuts >= firstFreshHandOut && Number.isInteger(Math.log2(handOuts));
}

/** When the n-th hand-out of a run since it was last acquired is looked at again. */
export function graceMs(handOuts: number): number {
  return Math.min(wakeGraceMs * 2 ** Math.min(handOuts - 1, 10), maxWakeGraceMs);
}
