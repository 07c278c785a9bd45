/**
 * A store that has forgotten commits it had acknowledged (design section 11). A worker that remembers them says what it
 * knows; owns what becomes of the run then: what is remembered of its calls is in its ledger again, beside what the store
 * knows, and a person decides whether it goes on, since other processes may have known still more.
 *
 * Invariants: K1 a run that is known to have been further is never gone on with as the store has it. K2 what was known of its
 * calls comes back before anything is judged: what was sent then is not sent as if it never had been; what the store knows
 * beyond that stays (`two-courses.ts`), also where the run has gone on since. K3 what came back is never replaced by what
 * somebody knew earlier. K4 no revision is given twice: the log goes on above what is remembered, so what is named by a
 * revision (the order of effects, a word to a parent, a notice) never means two things. K5 it does not matter who of those that
 * remember something comes first, or how far the run has gone on before the next one comes.
 */
import { stopAction } from "../calls/stop.ts";
import { listingsOf } from "../commit.ts";
import type { Remembered } from "../decision.ts";
import { entryDigest } from "../digest.ts";
import { consume, type Draft, note, putRow } from "../draft.ts";
import { park } from "../people/reviews.ts";
import type { CreateCommand } from "../ports.ts";
import {
  type Budget,
  hasEnded,
  type LogEntry,
  type Row,
  type Run,
  type RunLimit,
  type RunRecord,
} from "../run/index.ts";
import { countChange } from "../size.ts";
import { baseOf } from "./log-base.ts";
import { joined } from "./two-courses.ts";

/** Does the store know less of a run than is remembered, or something else? */
export function isForgotten(stored: RunRecord, known: Remembered): boolean {
  if (isBack(stored, known)) return false;
  if (known.isDenied || stored.revision < known.revision) return true;
  return stored.revision === known.revision && stored.logDigest !== known.digest;
}

/**
 * Has it come back already, with somebody who knew as much or more? By time, which goes on in every world, and by revision: two
 * commits may bear one time, and the clock of a server that has taken over may be behind.
 */
function isBack({ knownTo }: RunRecord, { at, revision }: Remembered): boolean {
  return knownTo !== null && at <= knownTo.at && revision <= knownTo.revision;
}

/** Takes what is remembered of a run that the store has forgotten in part. */
export function takeRemembered(draft: Draft, known: Remembered): void {
  const stored = draft.before.record.revision;
  draft.revision = Math.max(stored, known.revision) + 1;
  draft.lost = lostBetween(draft);
  const restored = known.run === null ? null : bringBack(draft, known, known.run);
  const message = `the store had forgotten what it acknowledged: it has revision ${stored} of this run, and a worker remembers revision ${known.revision}${inWords(restored)}. Other processes may have known more: look at what happened outside before it goes on`;
  const evidence = { stored, remembered: known.revision, restored: restored !== null };
  draft.record.review = null;
  draft.record.limit = askedAgain(draft.record.limit);
  park(draft, { reason: "store_rollback", message, seq: null, side: null, evidence, verbs: ["retry"] });
}

/** `run`: it goes on from where it is remembered. `calls`: from where the store has it. */
type Restored = "run" | "calls" | null;

function inWords(restored: Restored): string {
  if (restored === null) return "";
  return restored === "run"
    ? "; it is as it was remembered again"
    : "; it has gone on from there in another way, and what that worker knows of its calls is in its ledger again";
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

function bringBack(draft: Draft, known: Remembered, run: Run): Restored {
  const { knownTo } = draft.record;
  const { at, revision } = known;
  const theirs = comesBack(draft.before, run);
  const [goesOn, other] = theirs ? [run, draft.before] : [draft.before, run];
  if (theirs) takeCourse(draft, run, at);
  takeRows(draft, goesOn.rows, other.rows);
  Object.assign(draft.record, {
    budgets: usedInBoth(draft.record.budgets, other.record.budgets),
    reviews: Math.max(draft.before.record.reviews, run.record.reviews),
    knownTo: {
      at: Math.max(at, knownTo?.at ?? at),
      revision: Math.max(revision, knownTo?.revision ?? revision),
      as: draft.revision,
    },
  });
  const base = baseOf(draft.record, draft.rows, draft.open, draft.input.now);
  note(draft, { what: "restored", note: `revision ${revision}`, base });
  return theirs ? "run" : "calls";
}

/**
 * Does the run go on from where it is remembered, or from where the store has it? What has turned round does not go forward
 * again. Where somebody else has brought it back before, and it has gone on since, that was a person's word. Else the course
 * counts that is further.
 */
function comesBack({ record: stored, rows }: Run, { record: remembered, rows: known }: Run): boolean {
  const turned = remembered.unwind !== null;
  if (turned !== (stored.unwind !== null)) return turned;
  const { knownTo } = stored;
  const isOlder = knownTo !== null && knownTo.as !== remembered.knownTo?.as;
  if (isOlder) return stored.revision === knownTo.as;
  return known.length === rows.length ? remembered.revision > stored.revision : known.length > rows.length;
}

/** The run stands where it is remembered. */
function takeCourse(draft: Draft, { record, inbox }: Run, at: number): void {
  const { revision, logDigest, seen, logFrom, logMark } = draft.record;
  Object.assign(draft.record, record, { revision, logDigest, seen, logFrom, logMark });
  // Taken by one of the forgotten commits.
  const waiting = new Set(inbox.map(({ commandId }) => commandId));
  for (const entry of draft.inbox.slice()) {
    if (entry.at <= at && !waiting.has(entry.commandId)) consume(draft, entry);
  }
}

function takeRows(draft: Draft, goesOn: readonly Row[], other: readonly Row[]): void {
  const rows = joined(goesOn, other);
  draft.rows.length = 0;
  draft.open = [];
  draft.record.rows = rows.length;
  for (const row of rows) putRow(draft, row);
  for (const row of rows) {
    const before = goesOn[row.seq - 1];
    countChange(draft, before?.input ?? null, row.input);
    countChange(draft, before?.output ?? null, row.output);
    // Nobody waits for what is taken from the other course: it is not to be made again.
    const isLeft = draft.record.unwind !== null || row.abandoned || row.told !== null;
    if (isLeft && row.call !== before?.call) stopAction(draft, row);
  }
}

function usedInBoth(goesOn: RunRecord["budgets"], other: RunRecord["budgets"]): RunRecord["budgets"] {
  const used = ([name, budget]: [string, Budget]) =>
    [name, { ...budget, used: Math.max(budget.used, other[name]?.used ?? 0) }] as const;
  return Object.fromEntries(Object.entries(goesOn).map(used));
}

/** The line of its turns may have forgotten that it has one: it does nothing more before it has been told so again. */
function askedAgain(limit: RunLimit | null): RunLimit | null {
  return limit?.state === "mine" ? { ...limit, state: "asking", askAt: null } : limit;
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
  const revision = isOver ? knew + 1 : knew - 1;
  const knownTo = { at: knewAt, revision: isOver ? knew : knew - 1, as: revision };
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
