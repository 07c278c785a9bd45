/**
 * What is owed for an effect that is not wanted any more: its compensation, or the reason why there is none. Owns that
 * choice (design section 7, step 2) for a run that goes back and for a row that the machine has left alike.
 *
 * Invariants: W1 no compensation runs before every send of the action that could still arrive has arrived or cannot any
 * more, unless the other side knows the key of a late one. W2 a pivot that is unknown is never passed over.
 */
import type { CompensationSpec } from "../saga/index.ts";
import { closeUndo } from "./closing.ts";
import { type Draft, note, type Place, patchRow, rowAt, specOf, stepOf } from "./draft.ts";
import { findOut, planAgain } from "./find-out.ts";
import { backoffMs, maxProbes } from "./retry.ts";
import { askAboutOutput, askAboutUnknown } from "./reviews.ts";
import { doubtOf, effectiveClass, mayRepeat, newCall, nextOf } from "./rows.ts";
import type { Row } from "./run.ts";

/** Settling calls beyond the attempts of the retry policy, before a person is asked. */
const maxSettleCalls = 5;

/** An effect that happened. */
export function oweForHappened(draft: Draft, row: Row): void {
  const step = stepOf(draft, row);
  if (keepAbandoned(draft, row)) return;
  if (step.compensation === null) return closeUndo(draft, row.seq, "kept", step.noCompensation);
  if (row.unusable && !step.compensateIfUnknown) return askAboutOutput(draft, row);
  owe(draft, row, step.compensation);
}

/** An effect that may have happened, and the other side cannot (or was not asked to) tell. */
export function oweForUnknown(draft: Draft, row: Row): void {
  const step = stepOf(draft, row);
  if (step.hasProbe && row.call.probes < maxProbes) return findOut(draft, actionOf(row));
  if (step.pivot) return askAboutUnknown(draft, row);
  if (keepAbandoned(draft, row)) return;
  if (step.compensation === null) return closeUndo(draft, row.seq, "kept", step.noCompensation);
  if (step.compensateIfUnknown) return owe(draft, row, step.compensation);
  if (!maySettle(draft, row)) return askAboutUnknown(draft, row);
  settleByCalling(draft, row);
}

function keepAbandoned(draft: Draft, row: Row): boolean {
  if (!row.abandoned || stepOf(draft, row).onAbandon === "compensate") return false;
  closeUndo(draft, row.seq, "kept", "onAbandon: keep");
  return true;
}

/** Its compensation is wanted, from when no late send can undo the undoing. */
export function owe(draft: Draft, row: Row, compensation: CompensationSpec): void {
  const call = newCall(compensation.effect, undoNotBefore(draft, row));
  patchRow(draft, row.seq, { undo: { state: "owed", call, reason: null } });
  note(draft, { what: "undo", seq: row.seq, state: "owed" });
}

/** At once, or when the last send that could still arrive has arrived or cannot any more. */
function undoNotBefore(draft: Draft, row: Row): number {
  const { call } = row;
  const { now } = draft.input;
  const step = stepOf(draft, row);
  const until = doubtOf(call) ?? now;
  // A late twin of a call that happened (so was sent) is deduplicated while the other side knows the key.
  const isKeyed = call.state === "succeeded" && effectiveClass(call, step) === "keyed";
  const isKnown = isKeyed && until < (call.firstSentAt as number) + step.keyTtlMs;
  return isKnown ? now : Math.max(now, until);
}

/** May the action be called once more, with the same operation id, only to learn what is to be undone? */
function maySettle(draft: Draft, row: Row): boolean {
  const step = stepOf(draft, row);
  if (!step.settle || row.call.attempt >= step.retry.attempts + maxSettleCalls) return false;
  return mayRepeat(row.call, specOf(draft, row, "action"), draft.input.now);
}

function settleByCalling(draft: Draft, row: Row): void {
  const { retry } = stepOf(draft, row);
  const delay = backoffMs(retry, row.call.attempt - retry.attempts + 1, draft.input.random);
  patchRow(draft, row.seq, { told: "nothing" });
  planAgain(draft, actionOf(row), draft.input.now + delay);
}

function actionOf({ seq }: Row): Place {
  return { seq, side: "action" };
}

/** Keys expire: a planned repeat of a call in doubt that is harmless no more is found out instead. */
export function expireRepeat(draft: Draft, place: Place): void {
  const row = rowAt(draft, place.seq);
  const call = place.side === "action" ? row.call : (row.undo?.call ?? null);
  if (call?.state !== "planned" || doubtOf(call) === null || nextOf(call) > draft.input.now) return;
  if (!mayRepeat(call, specOf(draft, row, place.side), draft.input.now)) findOut(draft, place);
}
