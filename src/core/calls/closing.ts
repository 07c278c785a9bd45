/**
 * The last word on a call: it happened, or it did not. Owns what is written then, and that a question which a person was
 * asked about it is taken back. What the machine or the unwind makes of it is theirs.
 *
 * Invariant: the outcome is written to the row whatever the machine makes of it.
 */
import type { Json } from "../../saga/index.ts";
import { callAt, type Draft, note, type Place, patchCall, patchRow, putRow, rowAt, stepOf } from "../draft.ts";
import { doubtOf, effectiveClass, later } from "../rows.ts";
import type { Call, Failure, Proof, ReviewReason, Undo } from "../run/index.ts";
import { countChange } from "../size.ts";

/** How it is known that a call happened. */
export interface Happened {
  readonly output: Json;
  /** Why the output cannot be used; `null`: it fits. */
  readonly unusable: string | null;
  readonly proof: Proof;
  /** Which of its sends happened: the newest one, an older one, or (a probe, a person) nobody knows which. */
  readonly which: "newest" | "older" | "some";
}

export function happened(draft: Draft, place: Place, how: Happened): void {
  const call = callAt(draft, place);
  note(draft, { what: "outcome", seq: place.seq, send: call.send, outcome: "succeeded", proof: how.proof });
  draft.record.interruptions = 0;
  answerReview(draft, place);
  patchCall(draft, place, {
    state: "succeeded",
    proof: how.proof,
    // It may have been taken for never sent; now it has its place in the order of effects.
    firstSentAt: call.firstSentAt ?? draft.input.now,
    firstSentRevision: call.firstSentRevision ?? draft.revision,
    deadline: null,
    fence: null,
    nextAt: null,
    probeAt: null,
    doubtUntil: twinsUntil(call, how.which),
    senders: [],
    interruptions: 0,
    error: how.unusable === null ? call.error : unusableOutput(call, how.unusable),
  });
  if (place.side === "undo") return closeUndo(draft, place.seq, "done", null);
  countChange(draft, rowAt(draft, place.seq).output, how.output);
  patchRow(draft, place.seq, { output: how.output, unusable: how.unusable !== null });
}

/** What a send is known to have done while nobody waits for a word on that: it counts when the newest one has answered. */
export interface Evidence {
  /** The send; the newest one's number where a probe has seen the effect. */
  readonly send: number;
  readonly output: Json;
  readonly unusable: string | null;
}

export function keepEvidence(draft: Draft, place: Place, { send, output, unusable }: Evidence): void {
  patchCall(draft, place, { evidence: { send, output, unusable } });
}

export function evidenceOf({ evidence }: Call): Evidence | null {
  // Only `keepEvidence` writes it.
  return evidence as unknown as Evidence | null;
}

/** Until when another send of the same call may still arrive, though one is known to have happened. */
function twinsUntil(call: Call, which: Happened["which"]): number | null {
  switch (which) {
    case "newest":
      return call.doubtUntil;
    case "older":
      // Whatever it is taken for, the newest one has a deadline as long as nobody has said that it did nothing.
      return later(call.doubtUntil, call.deadline);
    case "some":
      return call.doubtUntil === null ? null : doubtOf(call);
  }
}

function unusableOutput(call: Call, problem: string): Failure {
  return { kind: "unusable_output", code: null, message: problem, attempts: call.attempt };
}

/** Nothing happened, and it is not tried again. */
export function closeNotApplied(draft: Draft, place: Place, proof: Proof): void {
  patchCall(draft, place, {
    state: "not_applied",
    proof,
    deadline: null,
    fence: null,
    nextAt: null,
    probeAt: null,
    doubtUntil: null,
    senders: [],
  });
  if (place.side === "undo") return haltUndo(draft, place.seq);
  const row = rowAt(draft, place.seq);
  const pending = row.undo?.state === "owed" || row.undo?.state === "halted";
  const unwinding = draft.record.unwind !== null && row.undo === null;
  if (effectiveClass(row.call, stepOf(draft, row)) === "none" || !(pending || unwinding)) return;
  answerReview(draft, { seq: place.seq, side: "undo" });
  closeUndo(draft, place.seq, "not_needed", "it did not happen");
}

/** A compensation that cannot be made, or whose outcome nobody knows: the unwind halts here. */
export function haltUndo(draft: Draft, seq: number): void {
  // Only a row that has a compensation can halt.
  const undo = rowAt(draft, seq).undo as Undo;
  patchRow(draft, seq, { undo: { ...undo, state: "halted" } });
  note(draft, { what: "undo", seq, state: "halted" });
}

/** An effect that nobody counted with: a row that is halted without a call is what `reviews.ts` asks about as late. */
export function askLate(draft: Draft, seq: number, reason: string): void {
  patchRow(draft, seq, { undo: { state: "halted", call: null, reason } });
  note(draft, { what: "undo", seq, state: "halted", note: reason });
}

/** Says what the unwind made of a row, finally. */
export function closeUndo(
  draft: Draft,
  seq: number,
  state: "done" | "not_needed" | "kept" | "skipped",
  reason: string | null,
): void {
  const row = rowAt(draft, seq);
  const call = row.undo?.call ?? null;
  putRow(draft, { ...row, undo: { ...row.undo, state, call, reason: reason ?? row.undo?.reason ?? null } });
  note(draft, reason === null ? { what: "undo", seq, state } : { what: "undo", seq, state, note: reason });
}

/** The reviews that ask what became of a call, or what to do since it did not happen. */
const asking: ReadonlySet<ReviewReason> = new Set([
  "unknown_outcome",
  "poison",
  "halted",
  "exhausted",
  "deadline",
  "after_pivot",
  "intent_busy",
  "intent_conflict",
]);

/** What a person was asked about this call is known now. */
export function answerReview(draft: Draft, { seq, side }: Place): void {
  const { review } = draft.record;
  if (review === null || review.seq !== seq || review.side !== side || !asking.has(review.reason)) return;
  draft.record.review = null;
  if (review.reason === "after_pivot") draft.record.cause = null;
}
