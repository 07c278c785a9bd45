/**
 * When a notice is sent. Invariants: C1 of one run they go out one after the other, in order; none is passed over. C2 what was not
 * taken is sent again, less and less often, and never given up. C3 a run whose notice is not taken holds up no other one; a
 * receiver that takes nothing is asked by one request at a time, until it takes one.
 */
import { runKey } from "../run/index.ts";
import { type NoticeFate, noticeIn, runOfNotice } from "./notices.ts";

/** How it goes with one receiver. Times are of the sender's monotonic clock. */
interface Course {
  /** One after the other, whatever they were about. */
  readonly failures: number;
  /** It is left alone until then, where it takes nothing. */
  readonly restUntil: number;
  readonly runs: ReadonlyMap<string, { readonly tries: number; readonly againAt: number }>;
}

export const freshCourse: Course = { failures: 0, restUntil: 0, runs: new Map() };

/** Requests to one receiver at once. */
const atOnce = 8;
/** So many failures in a row say that it takes nothing. */
const deafAfter = 5;
const firstAgainMs = 500;
const mostAgainMs = 60_000;
const mostRestMs = 30_000;

/** What to send now, of what is owed (oldest first). `underWay`: runs of which something is being sent. */
export function nextNotices(
  { failures, restUntil, runs }: Course,
  owed: readonly string[],
  underWay: ReadonlySet<string>,
  now: number,
): readonly { readonly run: string; readonly text: string }[] {
  const isDeaf = failures >= deafAfter;
  const room = (isDeaf ? 1 : atOnce) - underWay.size;
  if (room <= 0 || (isDeaf && now < restUntil)) return [];
  const seen = new Set(underWay);
  const next: { readonly run: string; readonly text: string }[] = [];
  for (const text of owed) {
    if (next.length >= room) break;
    const run = runKey(runOfNotice(noticeIn(text)));
    if (seen.has(run)) continue;
    seen.add(run);
    if ((runs.get(run)?.againAt ?? now) <= now) next.push({ run, text });
  }
  return next;
}

/** How it goes on after an answer. `random` is evenly in [0, 1). */
export function afterAnswer(course: Course, run: string, fate: NoticeFate, now: number, random: number): Course {
  const runs = new Map(course.runs);
  if (fate !== "failed") {
    runs.delete(run);
    // It hears again: what was not taken while it did not waits no longer.
    return { failures: 0, restUntil: 0, runs: course.failures >= deafAfter ? new Map() : runs };
  }
  const failures = course.failures + 1;
  const tries = (runs.get(run)?.tries ?? 0) + 1;
  runs.set(run, { tries, againAt: now + pauseAfter(tries, mostAgainMs, random) });
  const restUntil = failures < deafAfter ? 0 : now + pauseAfter(failures - deafAfter + 1, mostRestMs, random);
  return { failures, restUntil, runs };
}

/** Doubles, and is never the same for two. */
function pauseAfter(tries: number, mostMs: number, random: number): number {
  return Math.min(firstAgainMs * 2 ** Math.min(tries - 1, 20), mostMs) * (0.5 + random / 2);
}
