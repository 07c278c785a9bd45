/**
 * A word about a call: from this driver, from the worker of a named queue, or from one that had lost the run. Owns which
 * send it is about, and what a word is worth that comes too late. `outcome.ts` owns what follows from an answer in time.
 *
 * Invariants: S1 a word about an older send never settles a newer one; that it happened is kept as evidence. S2 an effect
 * that turns up after it was believed not to be there is never lost: undone by a running unwind, else put to a person.
 */

import { callAt, type Draft, note, type Place, patchCall, patchRow, rowAt, specOf, stepOf } from "../draft.ts";
import { callOf, effectiveClass, isFinal } from "../rows.ts";
import type { Call, CallResult, Row } from "../run/index.ts";
import { askLate, evidenceOf, type Happened, happened, keepEvidence } from "./closing.ts";
import { defective, failed, interrupt, takeBack } from "./outcome.ts";
import { windowMs } from "./retry.ts";
import { hasSpoken } from "./senders.ts";

type HappenedResult = Extract<CallResult, { readonly kind: "succeeded" | "unusable" }>;

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
  if (row === undefined || call === null) return noteLate(draft, word);
  if (isOver(word, row)) return afterwards(draft, word, row, call);
  hasSpoken(draft, word, word.send, word.result);
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
    case "claiming":
      return whilePlanned(draft, word);
    case "reused":
    case "succeeded":
    case "not_applied":
    case "withdrawn":
      return afterwards(draft, word, row, call);
  }
}

/** A compensation that a person has skipped or given up is not made again, whatever is said about it. */
function isOver({ side }: Word, { undo }: Row): boolean {
  return side === "undo" && (undo?.state === "skipped" || undo?.state === "accepted");
}

function answer(draft: Draft, word: Word): void {
  const { result, proof } = word;
  switch (result.kind) {
    case "succeeded":
    case "unusable":
      return happened(draft, word, happenedBy(word, result, "newest"));
    case "not_called":
      return takeBack(draft, word, result.reason);
    case "defect":
      return defective(draft, word, result.message);
    case "suspended":
      return interrupt(draft, word, false, result.reason);
    case "not_applied":
    case "unknown":
      return failed(draft, word, result, proof);
  }
}

/** It was being found out; a word that says nothing new does not begin that anew. */
function belated(draft: Draft, word: Word): void {
  const { kind } = word.result;
  if (kind === "unknown" || kind === "defect" || kind === "suspended") noteLate(draft, word);
  else answer(draft, word);
}

/** It waits for a repeat, and the newest send, given up as unknown, is heard of after all. */
function whilePlanned(draft: Draft, word: Word): void {
  noteLate(draft, word);
  const { result } = word;
  if (isHappened(result)) return happened(draft, word, happenedBy(word, result, "newest"));
  if (result.kind === "not_applied" || result.kind === "not_called") patchCall(draft, word, { deadline: null });
}

function olderSend(draft: Draft, word: Word): void {
  noteLate(draft, word);
  const { result } = word;
  if (!isHappened(result)) return;
  const { state } = callAt(draft, word);
  const how = happenedBy(word, result, "older");
  if (state === "planned" || state === "unknown") return happened(draft, word, how);
  keepEvidence(draft, word, { ...how, send: word.send });
}

/** A word on a call that was thought to be over: it counts where it says that there is an effect after all. */
function afterwards(draft: Draft, word: Word, row: Row, { state }: Call): void {
  noteLate(draft, word);
  const { result, side } = word;
  if (!isHappened(result)) return;
  if (state === "succeeded") return again(draft, word, row, result);
  if (effectiveClass(callAt(draft, word), specOf(draft, row, side)) === "none") return;
  happened(draft, word, happenedBy(word, result, "older"));
  if (side === "action" && row.undo?.state !== "accepted" && row.undo?.state !== "done") contradict(draft, row);
}

/** The machine (or the unwind) may have gone on without the effect. */
function contradict(draft: Draft, { seq, told, abandoned }: Row): void {
  const { unwind, endedAt } = draft.record;
  if (endedAt !== null) return askLate(draft, seq, "it turned up after the run had ended");
  // The unwind takes it in; what the machine was not told it is told; what it has left is undone at once.
  if (unwind !== null) return patchRow(draft, seq, { undo: null });
  if (told !== null && !abandoned) askLate(draft, seq, "it turned up after the run had gone on without it");
}

/** Two sends of one `once` call have happened, so something was believed proven that was not. */
function again(draft: Draft, word: Word, row: Row, result: HappenedResult): void {
  const isOnce = word.side === "action" && effectiveClass(row.call, stepOf(draft, row)) === "once";
  if (!isOnce || word.send === row.call.send || evidenceOf(row.call)?.send === word.send) return;
  keepEvidence(draft, word, { ...happenedBy(word, result, "older"), send: word.send });
  if (row.told !== null && row.undo === null && draft.record.unwind === null)
    askLate(draft, word.seq, "it happened twice");
}

/** What is offered and answered was sent: at the earliest when it was offered, at the latest now. */
function markSent(draft: Draft, word: Word): void {
  const { firstSentAt, sentAt } = callAt(draft, word);
  const { now, settings } = draft.input;
  const spec = specOf(draft, rowAt(draft, word.seq), word.side);
  const deadline = now + windowMs(settings, spec);
  patchCall(draft, word, { state: "sent", firstSentAt: firstSentAt ?? sentAt, deadline, nextAt: null });
}

function isHappened(result: CallResult): result is HappenedResult {
  return result.kind === "succeeded" || result.kind === "unusable";
}

/** A compensation has no output that anybody reads. */
function happenedBy({ side, proof }: Word, result: HappenedResult, which: Happened["which"]): Happened {
  if (side === "undo") return { output: null, unusable: null, proof, which };
  return { output: result.output, unusable: result.kind === "unusable" ? result.problem : null, proof, which };
}

function noteLate(draft: Draft, { seq, send, result }: Word): void {
  note(draft, { what: "late", seq, send, outcome: result.kind });
}
