/**
 * How long a run's log becomes. Owns: when an entry says where the machine stood (a base), and which entries are dropped.
 *
 * Invariants: L1 the log begins at revision 1 or at an entry with a base, so that it explains the run from there on and its
 * chain of digests can be verified. L2 at least the newest `logEntries` are kept, and fewer than twice as many and one. L3 a
 * base is part of what its entry's digest is of.
 */
import type { Draft } from "../draft.ts";
import { isAwaited } from "../rows.ts";
import type { LogBase, LogEntry, Row, RunRecord, StartTimer, Timer } from "../run/index.ts";

/** Where a machine stands. */
export function baseOf(record: RunRecord, rows: readonly Row[], open: readonly number[], now: number): LogBase {
  const newest = new Map(rows.flatMap((row) => (isUsed(row) ? [[row.step, row.seq] as const] : [])));
  return {
    after: record.logDigest,
    snapshot: record.snapshot,
    rows: rows.length,
    waits: open.filter((seq) => isAwaited(rows[seq - 1] as Row)),
    used: [...newest.values()].sort((a, b) => a - b),
    timers: record.timers.map((timer) => unset(timer, now)),
  };
}

function isUsed({ told, tool }: Row): boolean {
  return told === "outcome" && tool === null;
}

/** A timer with what is left of its time. */
export function unset({ id, at, event }: Timer, now: number): StartTimer {
  return { id, delayMs: Math.max(0, at - now), event };
}

/** The base that an entry has; `null`: none. */
export function baseIn({ taken }: Pick<LogEntry, "taken">): LogBase | null {
  for (const each of taken) {
    const isBase = each.what === "stood" || each.what === "migrated" || each.what === "restored";
    if (isBase && each.base !== undefined) return each.base;
  }
  return null;
}

/** Gives the entry about to be written a base, where it is time for one, and lets go of what lies before an older one. */
export function keepLogShort(draft: Draft): void {
  const { before, record, taken, input, revision } = draft;
  if (baseIn({ taken }) !== null) {
    record.logMark = revision;
    return;
  }
  const oldest = record.logMark ?? record.logFrom;
  // The digest of an entry that is written while values are missing is of no snapshot.
  if (revision - oldest < input.settings.logEntries || before.missing !== undefined) return;
  record.logFrom = oldest;
  record.logMark = revision;
  taken.unshift({ what: "stood", base: baseOf(before.record, before.rows, before.record.open, input.now) });
}
