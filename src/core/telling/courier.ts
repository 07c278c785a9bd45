/**
 * When a notice is sent. Invariants: C1 of one run they go out one after the other, in order; none is passed over. C2 what was not
 * taken is sent again, less and less often, and never given up. C3 a run whose notice is not taken holds up no other one: what was
 * not tried yet has room that is never taken by what is tried again. C4 a receiver that takes nothing is asked by one request at a
 * time for each of the two; one that is not there is left alone for a while.
 */
import type { NoticeFate, OwedRun } from "./notices.ts";

/** How it goes with one receiver. Times are the store's. */
export interface Hearing {
  /** One after the other, whatever they were about. */
  readonly failures: number;
  /** Of them, those at the end that said that it is not there. */
  readonly away: number;
  /** It is left alone until then. */
  readonly restUntil: number;
  /** When it was there again: what was not taken before waits no longer. */
  readonly backAt: number;
}

export const freshCourse: Hearing = { failures: 0, away: 0, restUntil: 0, backAt: 0 };

/** What is being sent: run -> was it tried before? */
export type UnderWay = ReadonlyMap<string, boolean>;

/** Requests to one receiver at once, and those among them that were tried before. */
const atOnce = 8;
const againAtOnce = 4;
/** So many failures in a row say that it takes nothing, or is not there. */
const deafAfter = 5;
const firstAgainMs = 500;
const mostAgainMs = 600_000;
const mostRestMs = 30_000;

/** What to send now, of what is owed (in the order of `takeNotices`). */
export function nextNotices(
  course: Hearing,
  owed: readonly OwedRun[],
  underWay: UnderWay,
  now: number,
): readonly OwedRun[] {
  if (course.away >= deafAfter && now < course.restUntil) return [];
  const isDeaf = course.failures >= deafAfter;
  const again = [...underWay.values()].filter((isAgain) => isAgain).length;
  const free = owed.filter(({ run }) => !underWay.has(run));
  const late = free.filter(({ failure }) => failure !== null && isDue(failure, course, now));
  const lateNow = late.slice(0, Math.max(0, (isDeaf ? 1 : againAtOnce) - again));
  const room = isDeaf ? 1 - (underWay.size - again) : atOnce - underWay.size - lateNow.length;
  const first = free.filter(({ failure }) => failure === null);
  return [...first.slice(0, Math.max(0, room)), ...lateNow];
}

function isDue({ againAt, at }: NonNullable<OwedRun["failure"]>, { backAt }: Hearing, now: number): boolean {
  return againAt <= now || at < backAt;
}

/** How it goes on after an answer. `random` is evenly in [0, 1). */
export function afterAnswer(course: Hearing, fate: NoticeFate, now: number, random: number): Hearing {
  const { failures, away, restUntil, backAt } = course;
  switch (fate) {
    case "taken":
    case "refused":
      return { failures: 0, away: 0, restUntil: 0, backAt: away < deafAfter ? backAt : now };
    case "failed":
      return { failures: failures + 1, away: 0, restUntil: 0, backAt: away < deafAfter ? backAt : now };
    case "away": {
      const isDeaf = away + 1 >= deafAfter;
      const rest = isDeaf ? now + pauseAfter(away + 2 - deafAfter, mostRestMs, random) : restUntil;
      return { failures: failures + 1, away: away + 1, restUntil: rest, backAt };
    }
  }
}

/** How long a notice that was not taken waits, after so many tries. `random` is evenly in [0, 1). */
export function againAfterMs(tries: number, random: number): number {
  return Math.round(pauseAfter(tries, mostAgainMs, random));
}

/** Doubles, and is never the same for two. */
function pauseAfter(tries: number, mostMs: number, random: number): number {
  return Math.min(firstAgainMs * 2 ** Math.min(tries - 1, 20), mostMs) * (0.5 + random / 2);
}
