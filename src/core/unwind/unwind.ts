/**
 * Going back: after the quiesce, every effect that happened is undone in the order of `unwind-order.ts`, and what may have
 * happened is found out first (design section 7, steps 1 to 5). Owns what the next rows come to; a compensation's own call
 * is judged like any other.
 *
 * Invariants: U1 no compensation runs for what is proven absent, none is skipped for what happened or may have. U2 a row
 * that is not undone holds back every earlier one (in its own region under `parallel-regions`), also while a person is
 * asked about it. U3 nothing is undone once a pivot has happened,
 * unless a person has said so.
 */
import type { StepSpec } from "../../saga/index.ts";
import { closeUndo } from "../calls/closing.ts";
import { findOut } from "../calls/find-out.ts";
import { expireRepeat, oweForHappened, oweForUnknown } from "../calls/owed.ts";
import { type Draft, note, patchCall, rowAt, stepOf } from "../draft.ts";
import { askAbout } from "../people/reviews.ts";
import { isGivenUp, isUndone, staysAt } from "../rows.ts";
import type { Row, Unwind } from "../run/index.ts";
import { leaveAll } from "./leave.ts";
import { visitNext } from "./unwind-order.ts";
import { parkAfterPivot, pivotHappened, tellNoMore } from "./unwind-start.ts";

/** Moves an unwinding run as far as it can go now; answers the rows whose calls may be granted. */
export function goBack(draft: Draft, unwind: Unwind): ReadonlySet<number> {
  for (const seq of draft.open) tellNoMore(draft, seq);
  if (!quiesced(draft, unwind)) return new Set();
  if (unwind.leaves) return leaveAll(draft, unwind);
  if (!unwind.despitePivot && pivotHappened(draft) && owesAnything(draft, unwind)) {
    stopAtPivot(draft, unwind);
    return new Set();
  }
  const pivots = openPivots(draft);
  if (pivots.length === 0) return visitNext(draft, (row) => decideUndo(draft, row));
  for (const row of pivots) decideUndo(draft, row);
  return new Set(pivots.map((row) => row.seq));
}

/** Everything in flight has answered, or its time is over and it is unknown. */
function quiesced(draft: Draft, { quiesceUntil }: Unwind): boolean {
  const flying = draft.open.filter((seq) => isFlying(rowAt(draft, seq)));
  if (flying.length === 0) return true;
  if (draft.input.now < quiesceUntil) return false;
  for (const seq of flying) giveUpOn(draft, rowAt(draft, seq));
  return true;
}

/** Was it sent before the run turned round? (A settling call is made by the unwind itself, which has told the row.) */
export function isFlying({ call, told }: Row): boolean {
  return call.state === "sent" && told === null;
}

function giveUpOn(draft: Draft, { seq, call }: Row): void {
  const place = { seq, side: "action" } as const;
  const message = "no answer before the run was unwound";
  note(draft, { what: "outcome", seq, send: call.send, outcome: "unknown", proof: "class" });
  patchCall(draft, place, { error: { kind: "unknown", code: null, message, attempts: call.attempt } });
  findOut(draft, place);
  tellNoMore(draft, seq);
}

// ---- the pivot

/** Is there an effect about which nothing has been decided yet? */
function owesAnything(draft: Draft, { to }: Unwind): boolean {
  return draft.rows.some(
    (row) =>
      row.undo === null &&
      row.call.firstSentRevision !== null &&
      !staysAt(to, row) &&
      !isUndone(row, stepOf(draft, row)),
  );
}

function stopAtPivot(draft: Draft, unwind: Unwind): void {
  draft.record.unwind = null;
  for (const { seq, call, undo } of draft.rows) {
    if (undo === null && call.state === "succeeded")
      closeUndo(draft, seq, "not_needed", "a point of no return was passed");
  }
  parkAfterPivot(draft, unwind.cause, null, []);
}

/** Pivots that may have been passed: before that is known nothing else is undone. */
function openPivots(draft: Draft): readonly Row[] {
  return draft.open.map((seq) => rowAt(draft, seq)).filter((row) => mayBePivot(row, stepOf(draft, row)));
}

/** Was an open row sent that may have been the point of no return? */
export function mayBePivot({ undo, call }: Row, { pivot }: StepSpec): boolean {
  return pivot && undo === null && call.firstSentRevision !== null;
}

// ---- the next rows

function decideUndo(draft: Draft, row: Row): void {
  if (askAbout(draft, row)) return;
  const { seq, undo, call } = row;
  if (undo !== null) return expireRepeat(draft, { seq, side: "undo" });
  if (call.state === "succeeded") return oweForHappened(draft, row);
  if (isGivenUp(call)) return oweForUnknown(draft, row);
  expireRepeat(draft, { seq, side: "action" });
}
