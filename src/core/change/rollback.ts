/**
 * A store that has forgotten commits it had acknowledged (design section 11). A worker that remembers them says what it
 * knows; owns what becomes of the run then: it is as it is remembered again, where that is more than the store knows, and a
 * person decides whether it goes on, since other processes may have known still more.
 *
 * Invariants: K1 a run that is known to have been further is never gone on with as the store has it. K2 what was known of its
 * calls comes back before anything is judged: what was sent then is not sent as if it never had been; what the store knows
 * beyond that stays. K3 what came back is never replaced by what somebody knew earlier. K4 no revision is given twice: the log
 * goes on above what is remembered, so what is named by a revision (the order of effects, a word to a parent, a notice) never
 * means two things.
 */
import { listingsOf } from "../commit.ts";
import type { Remembered } from "../decision.ts";
import { entryDigest } from "../digest.ts";
import { consume, type Draft, note, patchRow, putRow } from "../draft.ts";
import { park } from "../people/reviews.ts";
import type { CreateCommand } from "../ports.ts";
import { hasEnded, type LogEntry, type Row, type Run, type RunLimit, type RunRecord } from "../run/index.ts";
import { baseOf } from "./log-base.ts";

/** Does the store know less of a run than is remembered, or something else? */
export function isForgotten(stored: RunRecord, known: Remembered): boolean {
  if (stored.knownTo !== null && known.at <= stored.knownTo) return false;
  if (known.isDenied || stored.revision < known.revision) return true;
  return stored.revision === known.revision && stored.logDigest !== known.digest;
}

/** Takes what is remembered of a run that the store has forgotten in part. */
export function takeRemembered(draft: Draft, known: Remembered): void {
  const { revision, knownTo } = draft.before.record;
  // What somebody brought back who knew less may have come to the same revision: it is of an older world than what is known here.
  const isOlder = knownTo !== null && known.at > knownTo;
  const run = known.run !== null && (isOlder || known.run.record.revision > revision) ? known.run : null;
  draft.revision = Math.max(revision, known.revision) + 1;
  draft.lost = lostBetween(draft);
  if (run !== null) bringBack(draft, known, run);
  const restored = run === null ? "" : "; it is as it was remembered again";
  const message = `the store had forgotten what it acknowledged: it has revision ${revision} of this run, and a worker remembers revision ${known.revision}${restored}. Other processes may have known more: look at what happened outside before it goes on`;
  const evidence = { stored: revision, remembered: known.revision, restored: run !== null };
  draft.record.review = null;
  park(draft, { reason: "store_rollback", message, seq: null, side: null, evidence, verbs: ["retry"] });
}

/** In place of the revisions that the store has forgotten: each leaves things as they were. */
function lostBetween({ before, revision, input }: Draft): readonly LogEntry[] {
  const { revision: stored, status, logDigest: digest } = before.record;
  return Array.from({ length: revision - stored - 1 }, (_, at) => ({
    revision: stored + 1 + at,
    at: input.now,
    from: status,
    to: status,
    taken: [{ what: "forgotten" }],
    actor: input.actor,
    fence: input.fence,
    digest,
  }));
}

function bringBack(draft: Draft, { revision, at }: Remembered, { record, rows, inbox }: Run): void {
  const before = { ...draft.record };
  Object.assign(draft.record, record, {
    revision: before.revision,
    logDigest: before.logDigest,
    seen: before.seen,
    logFrom: before.logFrom,
    logMark: before.logMark,
    knownTo: at,
    reviews: Math.max(before.reviews, record.reviews),
    rows: Math.max(before.rows, record.rows),
    limit: askedAgain(record.limit),
  });
  const stored = draft.rows.slice();
  draft.open = record.open;
  for (const row of rows) putRow(draft, withLaterSend(row, stored[row.seq - 1]));
  // Asked for since, in another course of events than the one that goes on: whatever they did is to be undone.
  for (const { seq } of stored.slice(rows.length)) patchRow(draft, seq, { abandoned: true });
  const base = baseOf(draft.record, draft.rows, draft.open, draft.input.now);
  note(draft, { what: "restored", note: `revision ${revision}`, base });
  // Taken by one of the forgotten commits.
  const waiting = new Set(inbox.map(({ commandId }) => commandId));
  for (const entry of draft.inbox.slice()) {
    if (entry.at <= at && !waiting.has(entry.commandId)) consume(draft, entry);
  }
}

/** The line of its turns may have forgotten that it has one: it does nothing more before it has been told so again. */
function askedAgain(limit: RunLimit | null): RunLimit | null {
  return limit?.state === "mine" ? { ...limit, state: "asking", askAt: null } : limit;
}

/** A call that was sent again since is as it is now: that send is no less outside than the others. */
function withLaterSend(row: Row, stored: Row | undefined): Row {
  const isLater = stored?.step === row.step && stored.call.send > row.call.send;
  return isLater ? { ...row, call: stored.call, output: stored.output, unusable: stored.unusable } : row;
}

/**
 * A run that the store knows nothing of any more, to be created as it is remembered. Of one that has ended nothing is left to
 * decide. Any other is created one revision short of what is remembered, so that it is forgotten for who creates it, and parked.
 */
export function recreated(
  { revision: knew, at: knewAt }: Remembered,
  { record, rows }: Run,
): Omit<CreateCommand, "commandId"> {
  const isOver = hasEnded(record.status);
  const knownTo = isOver ? knewAt : knewAt - 1;
  const revision = isOver ? knew + 1 : knew - 1;
  const base = baseOf(record, rows, record.open, knewAt);
  const taken = [{ what: "created" }, { what: "restored", note: `revision ${knew}`, base }] as const;
  const entry = { revision, to: record.status, taken } as const;
  const digest = entryDigest(record.logDigest, entry, record.snapshot);
  const at = record.endedAt ?? record.createdAt;
  return {
    record: { ...record, revision, seen: 0, logFrom: revision, logMark: revision, knownTo, logDigest: digest },
    rows,
    memberships: listingsOf(record),
    log: { ...entry, at, from: null, actor: "memory", fence: 0, digest },
  };
}
