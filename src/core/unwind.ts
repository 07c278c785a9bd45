/**
 * Going back: after the quiesce, every effect that happened is undone in strict reverse of the order of first `sent`, one
 * at a time, and what may have happened is found out first (design section 7, steps 1 to 5). Owns which row is next and
 * what an unknown row comes to; a compensation's own call is judged in `calls.ts` like any other.
 *
 * Invariants: U1 no compensation runs for what is proven absent, none is skipped for what happened or may have. U2 a row
 * that is not finished holds back every earlier one (in its own region under `parallel-regions`). U3 nothing is undone
 * once a pivot has happened.
 */
import { findOut, mayRepeat, parkUnknown, planAgain } from "./calls.ts";
import { type Draft, effectiveClass, newCall, note, park, patchCall, patchRow, rowAt, specOf, stepOf } from "./draft.ts";
import { backoffMs, maxProbes } from "./retry.ts";
import type { Row, UndoState } from "./run.ts";
import { undoNotBefore } from "./turn.ts";
import { parkAfterPivot, pivotHappened } from "./unwind-start.ts";

/** Settling calls beyond the attempts of the retry policy, before a person is asked. */
const maxSettleCalls = 5;

/** Moves an unwinding run as far as it can go now. */
export function stepUnwind(draft: Draft): void {
  if (!quiesced(draft)) return;
  if (pivotHappened(draft)) return stopAtPivot(draft);
  if (draft.rows.some((row) => stepOf(draft, row).pivot && row.call.state === "unknown")) return settleUnknowns(draft);
  settleUnknowns(draft);
  for (const row of undoOrder(draft)) {
    if (isFinished(draft, row) || isHeldBack(draft, row)) continue;
    decideUndo(draft, row);
  }
}

/** Everything in flight has answered, or its time is over and it is unknown. */
function quiesced(draft: Draft): boolean {
  const { unwind } = draft.record;
  const flying = draft.rows.filter((row) => row.call.state === "sent" && !isSettling(row));
  if (unwind === null || flying.length === 0) return true;
  if (draft.input.now < unwind.quiesceUntil) return false;
  for (const row of flying) {
    if (effectiveClass(row.call, specOf(draft, row, "action")) === "none") leaveUnanswered(draft, row);
    else findOutInUnwind(draft, row);
  }
  return true;
}

function leaveUnanswered(draft: Draft, row: Row): void {
  patchCall(draft, row.seq, "action", { state: "not_applied", proof: "class", nextAt: null });
  patchRow(draft, row.seq, { told: true });
}

function findOutInUnwind(draft: Draft, row: Row): void {
  patchCall(draft, row.seq, "action", {
    doubtUntil: Math.max(row.call.doubtUntil ?? 0, row.call.deadline ?? 0),
    error: { kind: "unknown", code: null, message: "no answer before the run was unwound", attempts: row.call.attempt },
  });
  patchRow(draft, row.seq, { told: true });
  note(draft, { what: "outcome", seq: row.seq, send: row.call.send, outcome: "unknown", proof: "class" });
  findOut(draft, row.seq, "action");
}

/** An action called once more by the unwind, to learn what is to be undone. */
function isSettling(row: Row): boolean {
  return row.told && (row.call.state === "planned" || row.call.state === "sent");
}

function stopAtPivot(draft: Draft): void {
  const { unwind } = draft.record;
  if (unwind === null) return;
  draft.record.unwind = null;
  for (const row of draft.rows) {
    if (row.undo === null && row.call.state === "succeeded") setUndo(draft, row, "not_needed", "a point of no return was passed");
  }
  parkAfterPivot(draft, unwind.cause, null, ["close"]);
}

// ---- unknown rows

function settleUnknowns(draft: Draft): void {
  for (const row of draft.rows) {
    const cannotTell = row.call.state === "unknown" && row.call.probeAt === null && row.undo === null;
    if (cannotTell && !isHeldBack(draft, row)) settleUnknown(draft, row);
  }
}

function settleUnknown(draft: Draft, row: Row): void {
  const step = stepOf(draft, row);
  const spec = specOf(draft, row, "action");
  if (spec.hasProbe && row.call.probes < maxProbes) return findOut(draft, row.seq, "action");
  if (step.compensation !== null && step.compensateIfUnknown) return owe(draft, row);
  if (step.compensation === null) return setUndo(draft, row, "kept", step.noCompensation);
  if (!maySettle(draft, row)) return parkUnknown(draft, row.seq, "action");
  patchRow(draft, row.seq, { told: true });
  planAgain(draft, row.seq, "action", draft.input.now + backoffMs(spec.retry, 1, draft.input.random));
}

/** May the action be called once more, with the same operation id, only to learn what is to be undone? */
function maySettle(draft: Draft, row: Row): boolean {
  const step = stepOf(draft, row);
  if (!step.settle || row.call.attempt >= step.retry.attempts + maxSettleCalls) return false;
  return effectiveClass(row.call, step) !== "once" && mayRepeat(draft, row.seq, "action", draft.input.now);
}

// ---- order

/** Rows with something sent, newest first. */
function undoOrder(draft: Draft): readonly Row[] {
  return draft.rows.filter((row) => row.call.firstSentRevision !== null).sort(later);
}

function later(a: Row, b: Row): number {
  return (b.call.firstSentRevision ?? 0) - (a.call.firstSentRevision ?? 0) || b.seq - a.seq;
}

/** Does a later row that is not finished hold this one back? */
function isHeldBack(draft: Draft, row: Row): boolean {
  if (row.call.firstSentRevision === null) return false;
  const apart = draft.input.machine.saga.unwind === "parallel-regions";
  return draft.rows.some(
    (other) =>
      other.seq !== row.seq &&
      other.call.firstSentRevision !== null &&
      later(other, row) < 0 &&
      !isFinished(draft, other) &&
      !(apart && areSiblings(other, row)),
  );
}

/** In two regions of the same entry of one parallel state, not nested any deeper: neither has to wait for the other. */
function areSiblings(a: Row, b: Row): boolean {
  if (a.region.length === 0 || a.region.length !== b.region.length || a.regionEntry !== b.regionEntry) return false;
  const last = a.region.length - 1;
  const [ra, rb] = [a.region[last] ?? "", b.region[last] ?? ""];
  const sameParents = a.region.every((region, i) => i === last || region === b.region[i]);
  return sameParents && ra !== rb && ra.slice(0, ra.lastIndexOf(".")) === rb.slice(0, rb.lastIndexOf("."));
}

function isFinished(draft: Draft, row: Row): boolean {
  const { call, undo } = row;
  if (undo !== null) return undo.state !== "owed" && undo.state !== "sent" && undo.state !== "halted";
  if (call.state === "not_applied" || call.state === "withdrawn") return true;
  return call.state === "succeeded" && stepOf(draft, row).effect === "none";
}

// ---- what is owed

function decideUndo(draft: Draft, row: Row): void {
  if (row.call.state !== "succeeded" || row.undo !== null) return;
  const step = stepOf(draft, row);
  if (step.compensation === null) return setUndo(draft, row, "kept", step.noCompensation);
  if (row.unusable && !step.compensateIfUnknown) return parkUnreadable(draft, row);
  owe(draft, row);
}

function parkUnreadable(draft: Draft, row: Row): void {
  const message = `${row.step} happened and is to be undone, but its output does not fit its schema`;
  const verbs = ["resolve", "retry", "close"] as const;
  park(draft, { reason: "defect", message, seq: row.seq, side: "action", evidence: row.output, verbs });
}

function owe(draft: Draft, row: Row): void {
  const step = stepOf(draft, row);
  if (step.compensation === null) return;
  const call = newCall(step.compensation.effect, undoNotBefore(draft, row));
  patchRow(draft, row.seq, { undo: { state: "owed", call, reason: null }, told: true });
}

function setUndo(draft: Draft, row: Row, state: UndoState, reason: string | null): void {
  patchRow(draft, row.seq, { undo: { state, call: null, reason }, told: true });
  note(draft, reason === null ? { what: "undo", seq: row.seq, state } : { what: "undo", seq: row.seq, state, note: reason });
}

/** May this row's compensation (or settling call) be granted now, as far as the order goes? */
export function isNext(draft: Draft, seq: number): boolean {
  return !isHeldBack(draft, rowAt(draft, seq));
}

