/**
 * What is owed for an effect that is not wanted any more: its compensation, or the reason why there is none. Owns that
 * choice (design section 7, step 2) for a run that goes back and for a row that the machine has left alike.
 *
 * Invariants: W1 no compensation runs before every send of the action that could still arrive has arrived or cannot any
 * more, unless the other side knows the key of a late one. W2 a pivot that is unknown is never passed over.
 */
import type { CompensationSpec, StepSpec } from "../../saga/index.ts";
import { type Draft, note, type Place, patchRow, rowAt, specOf, stepOf } from "../draft.ts";
import { askAboutOutput, askAboutUnknown } from "../people/reviews.ts";
import { doubtOf, effectiveClass, mayRepeat, newCall, nextOf } from "../rows.ts";
import type { Row } from "../run/index.ts";
import { closeUndo } from "./closing.ts";
import { findOut, planAgain } from "./find-out.ts";
import { backoffMs, maxProbes } from "./retry.ts";

/** Settling calls beyond the attempts of the retry policy, before a person is asked. */
const maxSettleCalls = 5;

/** What becomes of an effect that happened and is not wanted: undone, left (`keep`, `stays`), or put to a person. */
export function fateOfHappened(row: Row, step: StepSpec): Exclude<Fate, "probe" | "settle"> {
  if (isKept(row, step)) return "keep";
  if (step.compensation === null) return "stays";
  return row.unusable && !step.compensateIfUnknown ? "ask" : "undo";
}

/** An effect that happened. */
export function oweForHappened(draft: Draft, row: Row): void {
  const step = stepOf(draft, row);
  switch (fateOfHappened(row, step)) {
    case "keep":
      return keep(draft, row);
    case "stays":
      return closeUndo(draft, row.seq, "kept", step.noCompensation);
    case "ask":
      return askAboutOutput(draft, row);
    case "undo":
      // That fate is one of a step that has a compensation.
      return owe(draft, row, step.compensation as CompensationSpec);
  }
}

/**
 * What becomes of an effect that may have happened and is not wanted: it is asked about (`probe`), a person is (`ask`), it is
 * left (`keep`, `stays`), undone whether it happened or not (`undo`), or made once more to learn what is to be undone.
 */
export type Fate = "probe" | "ask" | "keep" | "stays" | "undo" | "settle";

export function fateOfUnknown(row: Row, step: StepSpec, now: number): Fate {
  if (step.hasProbe && row.call.probes < maxProbes) return "probe";
  if (step.pivot) return "ask";
  if (isKept(row, step)) return "keep";
  if (step.compensation === null) return "stays";
  if (step.compensateIfUnknown) return "undo";
  return maySettle(row, step, now) ? "settle" : "ask";
}

/** An effect that may have happened, and nobody wants it any more. */
export function oweForUnknown(draft: Draft, row: Row): void {
  const step = stepOf(draft, row);
  switch (fateOfUnknown(row, step, draft.input.now)) {
    case "probe":
      return findOut(draft, actionOf(row));
    case "ask":
      return askAboutUnknown(draft, row);
    case "keep":
      return keep(draft, row);
    case "stays":
      return closeUndo(draft, row.seq, "kept", step.noCompensation);
    case "undo":
      // That fate is one of a step that has a compensation.
      return owe(draft, row, step.compensation as CompensationSpec);
    case "settle":
      return settleByCalling(draft, row);
  }
}

/** Was it left, by a step that wants it kept then? */
function isKept({ abandoned }: Row, { onAbandon }: StepSpec): boolean {
  return abandoned && onAbandon === "keep";
}

function keep(draft: Draft, { seq }: Row): void {
  closeUndo(draft, seq, "kept", "onAbandon: keep");
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
  // A request that would start it later finds it started, and cancelled (`child-run.ts`).
  if (row.kind === "child") return now;
  const step = stepOf(draft, row);
  const until = doubtOf(call) ?? now;
  // A late twin of a call that happened (so was sent) is deduplicated while the other side knows the key.
  const isKeyed = call.state === "succeeded" && effectiveClass(call, step) === "keyed";
  const isKnown = isKeyed && until < (call.firstSentAt as number) + step.keyTtlMs;
  return isKnown ? now : Math.max(now, until);
}

/** May the action be called once more, with the same operation id, only to learn what is to be undone? */
function maySettle({ call }: Row, step: StepSpec, now: number): boolean {
  if (!step.settle || call.attempt >= step.retry.attempts + maxSettleCalls) return false;
  return mayRepeat(call, step, now);
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
