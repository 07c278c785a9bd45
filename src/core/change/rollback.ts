/**
 * A store that has forgotten commits it had acknowledged (design section 11). A worker that remembers them says what it
 * knows; owns what becomes of the run then: it is as it is remembered again, where that is more than the store knows, and a
 * person decides whether it goes on, since other processes may have known still more.
 *
 * Invariants: K1 a run that is known to have been further is never gone on with as the store has it. K2 what was known of its
 * calls comes back before anything is judged: what was sent then is not sent as if it never had been. K3 what came back is never
 * replaced by what somebody knew earlier, whatever the revisions are called by now.
 */
import { listingsOf } from "../commit.ts";
import type { Remembered } from "../decision.ts";
import { entryDigest } from "../digest.ts";
import { consume, type Draft, note, putRow } from "../draft.ts";
import { park } from "../people/reviews.ts";
import type { CreateCommand } from "../ports.ts";
import { hasEnded, type Run, type RunRecord } from "../run/index.ts";

/** Does the store know less of a run than is remembered, or something else? */
export function isForgotten(stored: RunRecord, known: Remembered): boolean {
  if (stored.knownTo !== null && known.at <= stored.knownTo) return false;
  if (known.isDenied || stored.revision < known.revision) return true;
  return stored.revision === known.revision && stored.logDigest !== known.digest;
}

/** Takes what is remembered of a run that the store has forgotten in part. */
export function takeRemembered(draft: Draft, known: Remembered): void {
  const { revision } = draft.before.record;
  const run = known.run !== null && known.run.record.revision > revision ? known.run : null;
  if (run !== null) bringBack(draft, known, run);
  const restored = run === null ? "" : "; it is as it was remembered again";
  const message = `the store had forgotten what it acknowledged: it has revision ${revision} of this run, and a worker remembers revision ${known.revision}${restored}. Other processes may have known more: look at what happened outside before it goes on`;
  const evidence = { stored: revision, remembered: known.revision, restored: run !== null };
  draft.record.review = null;
  park(draft, { reason: "store_rollback", message, seq: null, side: null, evidence, verbs: ["retry"] });
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
  });
  for (const row of rows) putRow(draft, row);
  draft.open = record.open;
  note(draft, { what: "restored", note: `revision ${revision}` });
  // Taken by one of the forgotten commits.
  const waiting = new Set(inbox.map(({ commandId }) => commandId));
  for (const entry of draft.inbox.slice()) {
    if (entry.at <= at && !waiting.has(entry.commandId)) consume(draft, entry);
  }
}

/** A run that the store knows nothing of any more, to be created as it is remembered. */
export function recreated({ revision, at: knewAt }: Remembered, run: Run): Omit<CreateCommand, "commandId"> {
  const { record, rows } = run;
  // Of one that has ended nothing is left to decide. Any other is parked when it is there: whoever makes it knows a little more of it.
  const knownTo = hasEnded(record.status) ? knewAt : knewAt - 1;
  const taken = [{ what: "created" }, { what: "restored", note: `revision ${revision}` }] as const;
  const first = { revision: 1, to: record.status, taken } as const;
  const digest = entryDigest(record.hash, first, record.snapshot);
  const at = record.endedAt ?? record.createdAt;
  return {
    record: { ...record, revision: 1, seen: 0, logFrom: 1, logMark: null, knownTo, logDigest: digest },
    rows,
    memberships: listingsOf(record),
    log: { ...first, at, from: null, actor: "memory", fence: 0, digest },
  };
}
