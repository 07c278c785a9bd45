/**
 * The turn from going forward to going back: what happens to each row at the moment a run starts to unwind, and when it
 * must not (after the pivot). Owns steps 1 (quiesce) and 6 (pivot) of design section 7; `unwind.ts` owns the rest.
 */
import type { SagaSpec } from "../../saga/index.ts";
import { stopAction } from "../calls/stop.ts";
import { type Draft, note, patchRow, rowAt } from "../draft.ts";
import { park } from "../people/reviews.ts";
import { hasOutput, staysAt } from "../rows.ts";
import type { Cause, Row, Savepoint, Unwind, Verb } from "../run/index.ts";

/** Has a point of no return been passed? While a run goes back to a savepoint: since then. */
export function pivotHappened({ rows, input, record }: Draft): boolean {
  const to = record.unwind?.to;
  return pivotIn(input.machine.saga, to === undefined ? rows : rows.filter((row) => !staysAt(to, row))) !== null;
}

/** The step that was the point of no return, once it has happened. */
export function pivotIn({ steps }: Pick<SagaSpec, "steps">, rows: readonly Row[]): string | null {
  if (!Object.values(steps).some(({ pivot }) => pivot)) return null;
  return rows.find(({ call, step }) => hasOutput(call) && steps[step]?.pivot === true)?.step ?? null;
}

/** Parks instead of undoing: nothing may be undone any more. */
export function parkAfterPivot(draft: Draft, cause: Cause, seq: number | null, verbs: readonly Verb[]): void {
  draft.record.cause = cause;
  const message = `${cause.message}; a point of no return was passed before, so nothing is undone by itself`;
  const side = seq === null ? null : "action";
  park(draft, { reason: "after_pivot", message, seq, side, evidence: null, verbs });
}

/** Starts to unwind a run that goes forward, or parks it where a pivot has happened. */
export function startUnwind(draft: Draft, cause: Cause): void {
  if (!pivotHappened(draft)) return turnRound(draft, cause, { despitePivot: false });
  // What a person asked for can be withdrawn; a machine that has ended stays so.
  const mayGoOn = cause.kind === "cancelled" || draft.record.snapshot?.status === "active";
  parkAfterPivot(draft, cause, null, mayGoOn ? ["retry"] : []);
}

/** Starts to unwind a run in spite of a pivot: a person has said so. */
export function startUnwindDespitePivot(draft: Draft, cause: Cause): void {
  turnRound(draft, cause, { despitePivot: true });
}

/** Starts to undo what came after a savepoint. */
export function startRewind(
  draft: Draft,
  cause: Cause,
  how: { readonly to: Savepoint; readonly despitePivot: boolean },
) {
  turnRound(draft, cause, how);
}

/** Begins nothing more and undoes nothing; an unwind ends where it is. */
export function startLeaving(draft: Draft, cause: Cause): void {
  const { record } = draft;
  record.review = null;
  record.interruptions = 0;
  if (record.unwind === null) return turnRound(draft, cause, { despitePivot: false, leaves: true });
  const { to: _, ...unwind } = record.unwind;
  record.cause = cause;
  record.unwind = { ...unwind, cause, ends: "cancelled", leaves: true };
  for (const seq of draft.open) stopAction(draft, rowAt(draft, seq));
}

/** How a run that goes back ends. */
export function endsBy({ kind }: Cause): Unwind["ends"] {
  return kind === "cancelled" || kind === "undone" ? "cancelled" : "failed";
}

function turnRound(draft: Draft, cause: Cause, how: Pick<Unwind, "despitePivot" | "to" | "leaves">): void {
  const { now, settings } = draft.input;
  if (how.despitePivot) takeInKept(draft, how.to);
  draft.record.cause = cause;
  draft.record.unwind = { cause, at: now, quiesceUntil: now + settings.quiesceMs, ends: endsBy(cause), ...how };
  draft.record.timers = [];
  note(draft, { what: "unwinding", note: cause.message });
  for (const seq of draft.open) {
    if (staysAt(how.to, rowAt(draft, seq))) continue;
    stopAction(draft, rowAt(draft, seq));
    takeInLate(draft, rowAt(draft, seq));
    tellNoMore(draft, seq);
  }
}

/** What was left because of a pivot is undone after all. (What was not needed for another reason did not happen.) */
function takeInKept(draft: Draft, to: Savepoint | undefined): void {
  for (const row of draft.rows) {
    const isLeft = row.undo?.state === "not_needed" && row.call.state === "succeeded";
    if (isLeft && !staysAt(to, row)) patchRow(draft, row.seq, { undo: null });
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
