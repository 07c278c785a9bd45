/**
 * A run that is stopped: nothing is begun and nothing undone, what is out is found out, and then it ends with everything as it
 * is, on record. Owns what becomes of each row.
 *
 * Invariants: V1 no call is made, but that runs which it has started are stopped (or killed) as well; the other side is asked as
 * often as the policy says. V2 no person is asked: what nobody can
 * tell is accepted as unknown. V3 an effect that is there and could be undone is `skipped`, so the roll-back is `partial`.
 */
import type { CompensationSpec } from "../../saga/index.ts";
import { closeUndo } from "../calls/closing.ts";
import { findOut } from "../calls/find-out.ts";
import { fateOfHappened, owe } from "../calls/owed.ts";
import { stopPlanned } from "../calls/stop.ts";
import { type Draft, patchRow, rowAt, stepOf } from "../draft.ts";
import { doubtOf, effectiveClass, isGivenUp } from "../rows.ts";
import type { Call, Row, Undo, Unwind } from "../run/index.ts";

/** Closes every row about which all is known that will be. Nothing may be granted. */
export function leaveAll(draft: Draft, { cause }: Unwind): ReadonlySet<number> {
  const reason = `stopped by ${cause.reference}: ${cause.message}`;
  const passedOn = new Set<number>();
  for (const { seq } of draft.rows.slice()) {
    const { undo } = rowAt(draft, seq);
    if (isPassedOn(draft, rowAt(draft, seq))) passedOn.add(seq);
    else if (undo === null) leaveEffect(draft, rowAt(draft, seq), reason);
    else leaveUndoing(draft, seq, undo, reason);
  }
  return passedOn;
}

/** Is it a run that it has started, or may have, and that may still go on? */
function isPassedOn(draft: Draft, row: Row): boolean {
  const { child, compensation } = stepOf(draft, row);
  if (child === null || child.detached) return false;
  const call = row.undo?.call;
  if (call !== undefined) return call?.state === "planned" || call?.state === "sent";
  if (!isGivenUp(row.call)) return false;
  // What is not detached is undone.
  owe(draft, row, compensation as CompensationSpec);
  return true;
}

function leaveEffect(draft: Draft, row: Row, reason: string): void {
  const { seq, call } = row;
  if (call.state === "unknown" && isGivenUp(call)) return accept(draft, seq, null, reason);
  // A defect has kept it from being repeated: what an earlier send did is found out.
  if (call.state === "planned") return stopPlanned(draft, row);
  const step = stepOf(draft, row);
  if (call.state !== "succeeded" || effectiveClass(call, step) === "none") return;
  const stays = fateOfHappened(row, step) === "keep" || fateOfHappened(row, step) === "stays";
  closeUndo(draft, seq, stays ? "kept" : "skipped", stays ? step.noCompensation : reason);
}

/** What is owed is left; what is out is waited for. */
function leaveUndoing(draft: Draft, seq: number, undo: Undo, reason: string): void {
  if (undo.state !== "owed" && undo.state !== "sent" && undo.state !== "halted") return;
  const { call } = undo;
  if (call === null) return closeUndo(draft, seq, "skipped", reason);
  if (call.state === "planned" && doubtOf(call) !== null) return findOut(draft, { seq, side: "undo" });
  if (call.state === "planned" || call.state === "not_applied") return closeUndo(draft, seq, "skipped", reason);
  if (isGivenUp(call)) accept(draft, seq, call, reason);
}

function accept(draft: Draft, seq: number, call: Call | null, reason: string): void {
  patchRow(draft, seq, { undo: { ...rowAt(draft, seq).undo, state: "accepted", call, reason } });
}
