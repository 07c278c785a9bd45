/**
 * A word about a call: from this driver, from the worker of a named queue, or from one that had lost the run. Owns which
 * send it is about, and what a word is worth that comes too late. `outcome.ts` owns what follows from an answer in time.
 *
 * Invariants: S1 a word about an older send never settles a newer one; that it happened is kept as evidence. S2 an effect
 * that turns up after it was believed not to be there is never lost: undone by a running unwind, else put to a person.
 */
import { askLate, type Happened, happened } from "./closing.ts";
import { callAt, type Draft, note, type Place, patchCall, patchRow, rowAt, specOf, stepOf } from "./draft.ts";
import { defective, failed, keepEvidence, takeBack } from "./outcome.ts";
import { windowMs } from "./retry.ts";
import { callOf, effectiveClass, isFinal } from "./rows.ts";
import type { CallResult, Row } from "./run.ts";

export interface Word extends Place {
  readonly send: number;
  readonly result: CallResult;
  /** `late`: from a worker that had lost the run, or had given the call up. */
  readonly proof: "answer" | "late";
}

/** Takes a word about a call. */
export function settle(draft: Draft, word: Word): void {
  const row = draft.rows[word.seq - 1];
  const call = row === undefined ? null : callOf(row, word.side);
  if (row === undefined || call === null || isOver(word, row.undo?.state ?? null)) return afterwards(draft, word);
  if (word.send !== call.send && !isFinal(call)) return olderSend(draft, word);
  switch (call.state) {
    case "offered":
      markSent(draft, word);
      return answer(draft, word);
    case "sent":
      return answer(draft, word);
    case "unknown":
      return belated(draft, word);
    case "planned":
      return whilePlanned(draft, word);
    case "succeeded":
    case "not_applied":
    case "withdrawn":
      return afterwards(draft, word);
  }
}

/** A compensation that a person has skipped or given up is not made again, whatever is said about it. */
function isOver({ side }: Word, undo: string | null): boolean {
  return side === "undo" && (undo === "skipped" || undo === "accepted");
}

function answer(draft: Draft, word: Word): void {
  const { result, proof } = word;
  switch (result.kind) {
    case "succeeded":
    case "unusable":
      return happened(draft, word, happenedBy(word, "newest"));
    case "not_called":
      return takeBack(draft, word, result.reason);
    case "defect":
      return defective(draft, word, result.message);
    case "not_applied":
    case "unknown":
      return failed(draft, word, result, proof);
  }
}

/** It was being found out; a word that says nothing new does not begin that anew. */
function belated(draft: Draft, word: Word): void {
  const { kind } = word.result;
  if (kind === "unknown" || kind === "defect") noteLate(draft, word);
  else answer(draft, word);
}

/** It waits for a repeat, and the newest send, given up as unknown, is heard of after all. */
function whilePlanned(draft: Draft, word: Word): void {
  noteLate(draft, word);
  const { kind } = word.result;
  if (isHappened(word.result)) return happened(draft, word, happenedBy(word, "newest"));
  if (kind === "not_applied" || kind === "not_called") patchCall(draft, word, { deadline: null });
}

function olderSend(draft: Draft, word: Word): void {
  noteLate(draft, word);
  if (!isHappened(word.result)) return;
  const { state } = callAt(draft, word);
  const how = happenedBy(word, "older");
  if (state === "planned" || state === "unknown") return happened(draft, word, how);
  keepEvidence(draft, word, word.send, how);
}

/** A word on a call that was thought to be over: it counts where it says that there is an effect after all. */
function afterwards(draft: Draft, word: Word): void {
  noteLate(draft, word);
  const row = draft.rows[word.seq - 1];
  const call = row === undefined ? null : callOf(row, word.side);
  if (row === undefined || call === null || !isHappened(word.result)) return;
  if (call.state === "succeeded") return again(draft, word);
  if (effectiveClass(call, specOf(draft, row, word.side)) === "none") return;
  happened(draft, word, happenedBy(word, "older"));
  if (word.side === "action" && row.undo?.state !== "accepted") contradict(draft, row);
}

/** The machine (or the unwind) may have gone on without the effect. */
function contradict(draft: Draft, { seq, told, abandoned }: Row): void {
  const { unwind, endedAt } = draft.record;
  if (endedAt !== null) return askLate(draft, seq, "it turned up after the run had ended");
  // The unwind takes it in; what the machine was not told it is told; what it has left is undone at once.
  if (unwind !== null) return patchRow(draft, seq, { undo: null });
  if (told && !abandoned) askLate(draft, seq, "it turned up after the run had gone on without it");
}

/** Two sends of one `once` call have happened, so something was believed proven that was not. */
function again(draft: Draft, word: Word): void {
  const row = rowAt(draft, word.seq);
  const isOnce = word.side === "action" && effectiveClass(row.call, stepOf(draft, row)) === "once";
  if (!isOnce || word.send === row.call.send || row.call.evidence !== null) return;
  keepEvidence(draft, word, word.send, happenedBy(word, "older"));
  if (row.told && row.undo === null && (draft.record.unwind === null || draft.record.endedAt !== null)) {
    askLate(draft, word.seq, "it happened twice");
  }
}

/** What is offered and answered was sent: at the earliest when it was offered, at the latest now. */
function markSent(draft: Draft, word: Word): void {
  const { firstSentAt, sentAt } = callAt(draft, word);
  const { now, settings } = draft.input;
  const spec = specOf(draft, rowAt(draft, word.seq), word.side);
  const deadline = now + windowMs(settings, spec);
  patchCall(draft, word, { state: "sent", firstSentAt: firstSentAt ?? sentAt, deadline, nextAt: null });
}

function isHappened({ kind }: CallResult): boolean {
  return kind === "succeeded" || kind === "unusable";
}

/** Only asked of words that say so. A compensation has no output that anybody reads. */
function happenedBy({ result, side, proof }: Word, which: Happened["which"]): Happened {
  const known = result.kind === "succeeded" || result.kind === "unusable" ? result : null;
  const unusable = known?.kind === "unusable" && side === "action" ? known.problem : null;
  return { output: side === "action" ? (known?.output ?? null) : null, unusable, proof, which };
}

function noteLate(draft: Draft, { seq, send, result }: Word): void {
  note(draft, { what: "late", seq, send, outcome: result.kind });
}
