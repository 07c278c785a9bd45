/**
 * The turn from going forward to going back: what happens to each row at the moment a run starts to unwind, and when it
 * must not (after the pivot). Owns steps 1 (quiesce) and 6 (pivot) of design section 7; `unwind.ts` owns the rest.
 */
import { type Draft, note, park, patchCall, patchRow, stepOf } from "./draft.ts";
import type { Cause, Row, Unwind, Verb } from "./run.ts";

/** Has a point of no return been passed? */
export function pivotHappened(draft: Draft): boolean {
  return draft.rows.some((row) => row.call.state === "succeeded" && stepOf(draft, row).pivot);
}

/** Parks instead of undoing: nothing may be undone any more. */
export function parkAfterPivot(draft: Draft, cause: Cause, seq: number | null, verbs: readonly Verb[]): void {
  draft.record.cause = cause;
  const message = `${cause.message}; a point of no return was passed before, so nothing is undone by itself`;
  park(draft, { reason: "after_pivot", message, seq, side: seq === null ? null : "action", evidence: null, verbs });
}

/** Starts to unwind, or parks where a pivot has happened. Does nothing while it unwinds already. */
export function startUnwind(draft: Draft, cause: Cause, ends: Unwind["ends"]): void {
  if (draft.record.unwind !== null) return;
  if (pivotHappened(draft)) return parkAfterPivot(draft, cause, null, cause.kind === "cancelled" ? ["retry", "close"] : ["close"]);
  const { now, settings } = draft.input;
  draft.record.cause = cause;
  draft.record.unwind = { cause, at: now, quiesceUntil: now + settings.quiesceMs, ends };
  draft.record.timers = [];
  note(draft, { what: "unwinding", note: cause.message });
  for (const row of draft.rows) quiesce(draft, row);
}

function quiesce(draft: Draft, row: Row): void {
  const { call } = row;
  switch (call.state) {
    case "planned":
      return stopPlanned(draft, row);
    case "offered":
      return withdrawOffer(draft, row);
    case "sent":
      draft.abort.add(`action:${row.seq}`);
      if (call.fence === null) draft.abortPermits.push(row.seq);
      return;
    case "unknown":
      patchCall(draft, row.seq, "action", { nextAt: null });
      patchRow(draft, row.seq, { told: true });
      return;
    case "succeeded":
    case "not_applied":
    case "withdrawn":
      if (!row.told) patchRow(draft, row.seq, { told: true });
  }
}

/** A planned call is not made any more; what an earlier send of it did is still to be found out. */
export function stopPlanned(draft: Draft, row: Row): void {
  const { call } = row;
  const { now } = draft.input;
  if (call.doubtUntil === null) {
    patchCall(draft, row.seq, "action", { state: call.firstSentAt === null ? "withdrawn" : "not_applied", nextAt: null });
    note(draft, { what: "withdrawn", seq: row.seq });
    return;
  }
  patchCall(draft, row.seq, "action", { state: "unknown", nextAt: null, deadline: call.doubtUntil, probes: 0, probeAt: now });
}

/** An offered row that nobody has taken: withdrawn, unless the store says that it has a permit. */
export function withdrawOffer(draft: Draft, row: Row): void {
  draft.withdraw.push({ seq: row.seq, send: row.call.send });
  const doubt = row.call.doubtUntil;
  if (doubt === null) patchCall(draft, row.seq, "action", { state: "withdrawn", nextAt: null });
  else patchCall(draft, row.seq, "action", { state: "unknown", deadline: doubt, probes: 0, probeAt: draft.input.now });
  note(draft, { what: "withdrawn", seq: row.seq });
}
