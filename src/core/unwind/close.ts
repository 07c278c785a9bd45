/**
 * Giving up a run, as an answer to a question (`close`) or without one (`kill`): what is open ends `unknown, accepted` with
 * who and why, and nothing is undone any more. Owns that and nothing else. Invariant: after it no row is open, whatever it was doing,
 * but those of runs that it has started and that are killed with it.
 */
import { abortCall, type Draft, patchCall, patchRow, rowAt, stepOf } from "../draft.ts";
import { doubtOf, effectiveClass, rowIsOpen } from "../rows.ts";
import type { Cause, Review, Row, Unwind } from "../run/index.ts";
import { endsBy, pivotHappened } from "./unwind-start.ts";

/** Ends the run; one that had ended before, and came back because of a late result, ends as it had. */
export function close(draft: Draft, { reason: why }: Review, reason: string): null {
  const { record } = draft;
  acceptAll(draft, reason);
  if (why === "late_result" && record.snapshot?.status !== "active") return null;
  if (why === "missing_artifact" && record.snapshot?.status === "done" && record.unwind === null) return null;
  const cause: Cause = record.cause ?? { kind: "closed", step: null, message: reason, reference: null };
  const ends = record.unwind?.ends ?? (record.cancel === null ? endsBy(cause) : "cancelled");
  end(draft, cause, ends);
  return null;
}

/** Ends the run at once, whatever it was doing, because somebody has said so. */
export function kill(draft: Draft, cause: Cause): void {
  draft.record.review = null;
  acceptAll(draft, `killed by ${cause.reference}: ${cause.message}`, (row) => !mayRun(draft, row));
  end(draft, cause, "cancelled", { leaves: true });
}

/** Is it a run that this one has started, and that may still go on? It is killed as well (`leave.ts`). */
function mayRun(draft: Draft, row: Row): boolean {
  const { child } = stepOf(draft, row);
  return child?.detached === false && row.call.state === "unknown" && rowIsOpen(row);
}

function acceptAll(draft: Draft, reason: string, isAccepted: (row: Row) => boolean = () => true): void {
  const { record } = draft;
  const passed = pivotHappened(draft) && record.unwind?.despitePivot !== true;
  for (const { seq } of draft.rows) {
    stopCall(draft, rowAt(draft, seq));
    if (isAccepted(rowAt(draft, seq))) acceptRow(draft, rowAt(draft, seq), reason, passed);
  }
  record.interruptions = 0;
}

function end(draft: Draft, cause: Cause, ends: Unwind["ends"], how: Pick<Unwind, "leaves"> = {}): void {
  const { record, input } = draft;
  const { now } = input;
  record.cause = cause;
  record.unwind = { cause, at: record.unwind?.at ?? now, quiesceUntil: now, ends, despitePivot: false, ...how };
  record.timers = [];
}

/** Calls under way are aborted; what was never sent is withdrawn. */
function stopCall(draft: Draft, row: Row): void {
  const { seq, call } = row;
  const { state } = call;
  if (state !== "planned" && state !== "claiming" && state !== "offered" && state !== "sent") return;
  if (state === "offered") draft.withdraw.push({ seq, send: call.send });
  if (state === "sent") abortCall(draft, { seq, side: "action" });
  if (state === "sent" && call.fence === null) draft.abortPermits.push(seq);
  const nothing = state !== "sent" && doubtOf(call) === null;
  const isNone = effectiveClass(call, stepOf(draft, row)) === "none";
  const end = nothing || isNone ? ("withdrawn" as const) : ("unknown" as const);
  patchCall(draft, { seq, side: "action" }, { state: end, nextAt: null, probeAt: null });
}

function acceptRow(draft: Draft, row: Row, reason: string, passed: boolean): void {
  const { seq, call, undo } = row;
  if (undo?.state === "sent") abortCall(draft, { seq, side: "undo" });
  if (call.state === "unknown") patchCall(draft, { seq, side: "action" }, { probeAt: null, nextAt: null });
  const isEffect = call.state === "unknown" || call.state === "succeeded";
  const stands = isEffect && effectiveClass(call, stepOf(draft, row)) !== "none";
  if (undo === null ? stands : rowIsOpen(row)) {
    const afterPivot = passed && undo === null && call.state === "succeeded";
    const state = afterPivot ? ("not_needed" as const) : ("accepted" as const);
    patchRow(draft, seq, { undo: { ...undo, state, call: undo?.call ?? null, reason } });
  }
  if (row.told === null) patchRow(draft, seq, { told: "nothing" });
  if (row.intent?.state === "undone") patchRow(draft, seq, { intent: { ...row.intent, state: "reused" } });
}
