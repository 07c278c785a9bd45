/**
 * The turn from going forward to going back: what happens to each row at the moment a run starts to unwind, and when it
 * must not (after the pivot). Owns steps 1 (quiesce) and 6 (pivot) of design section 7; `unwind.ts` owns the rest.
 */
import { type Draft, note, park, patchRow, rowAt } from "./draft.ts";
import type { Cause, Row, Unwind, Verb } from "./run.ts";
import { stopAction } from "./stop.ts";

/** Has a point of no return been passed? */
export function pivotHappened(draft: Draft): boolean {
  const { steps } = draft.input.machine.saga;
  return draft.rows.some((row) => row.call.state === "succeeded" && steps[row.step]?.pivot === true);
}

/** Parks instead of undoing: nothing may be undone any more. */
export function parkAfterPivot(draft: Draft, cause: Cause, seq: number | null, verbs: readonly Verb[]): void {
  draft.record.cause = cause;
  const message = `${cause.message}; a point of no return was passed before, so nothing is undone by itself`;
  const side = seq === null ? null : "action";
  park(draft, { reason: "after_pivot", message, seq, side, evidence: null, verbs });
}

/** Starts to unwind a run that goes forward, or parks it where a pivot has happened. */
export function startUnwind(draft: Draft, cause: Cause, ends: Unwind["ends"]): void {
  if (pivotHappened(draft)) {
    return parkAfterPivot(draft, cause, null, cause.kind === "cancelled" ? ["retry", "close"] : ["close"]);
  }
  const { now, settings } = draft.input;
  draft.record.cause = cause;
  draft.record.unwind = { cause, at: now, quiesceUntil: now + settings.quiesceMs, ends };
  draft.record.timers = [];
  note(draft, { what: "unwinding", note: cause.message });
  for (const seq of draft.open) {
    stopAction(draft, rowAt(draft, seq));
    takeInLate(draft, rowAt(draft, seq));
    tellNoMore(draft, seq);
  }
}

/** An effect that turned up late, about which nobody has decided: it is undone with the others. */
function takeInLate(draft: Draft, { seq, undo }: Row): void {
  if (undo?.state === "halted" && undo.call === null) patchRow(draft, seq, { undo: null });
}

/** The machine hears nothing any more. (What is still out there is told apart by not having been told.) */
export function tellNoMore(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  if (row.told === null && row.call.state !== "sent") patchRow(draft, seq, { told: "nothing" });
}
