/**
 * Undoing a run that has ended (mode "compensate only"): a completed or failed one goes back and ends `cancelled`, with the
 * cause `undone`. Owns when such a request is taken, when it is refused, and what an earlier unwind left that is taken up.
 *
 * Invariants: N1 a request that comes before the end is kept until then. N2 what was undone, is kept or did not happen is not
 * touched. N3 what a person had left as it was is taken up with everything known of its calls: none is made blindly again.
 */
import type { SagaSpec } from "../../saga/index.ts";
import { planAgain } from "../calls/find-out.ts";
import { consume, type Draft, note, patchCall, patchRow } from "../draft.ts";
import { countReplay, objectionToMoved, ofPlan } from "../people/shown.ts";
import type { InboxBody, InboxEntry, Row, RunStatus, Undo } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import { statusOf } from "../status.ts";
import { pivotIn, startUnwind, startUnwindDespitePivot } from "./unwind-start.ts";

type Asked = Extract<InboxBody, { type: "undo" }>;

/** Is there a request to undo the run? */
export function isToBeUndone({ inbox }: Draft): boolean {
  return inbox.some(({ body }) => body.type === "undo");
}

/** Takes the oldest request, once the run is at its end; `false`: there is nothing to take. */
export function takeUndo(draft: Draft): boolean {
  if (draft.inbox.length === 0 || !hasEnded(statusOf(draft))) return false;
  for (const entry of draft.inbox) if (entry.body.type === "undo") return take(draft, entry, entry.body);
  return false;
}

function take(draft: Draft, entry: InboxEntry, asked: Asked): true {
  const { by } = entry;
  const { reason, despitePivot, plan } = asked;
  const isSpite = despitePivot ? ({ despitePivot } as const) : {};
  consume(draft, entry);
  note(draft, { what: "control", control: "undo", by, reason, ...isSpite, ...ofPlan(plan) });
  const objection =
    objectionToMoved(draft, asked) ?? objectionToUndo(statusOf(draft), draft.rows, draft.input.machine.saga, asked);
  if (objection !== null) {
    note(draft, { what: "refused", note: objection });
    return true;
  }
  countReplay(draft, plan);
  start(draft, by, asked);
  return true;
}

/**
 * Why an ended run is not undone; `null`: nothing is against it. `saga` is asked for its pivots only; without it (`null`) the
 * run's own driver finds out.
 */
export function objectionToUndo(
  status: RunStatus,
  rows: readonly Row[],
  saga: Pick<SagaSpec, "steps"> | null,
  { reason, despitePivot }: Pick<Asked, "reason" | "despitePivot">,
): string | null {
  if (!hasEnded(status)) return `it is ${status} and has not ended: cancel it, or decide on its review`;
  if (status === "cancelled") return "it is cancelled: what there was to undo was undone or left then";
  const pivot = saga === null ? null : pivotIn(saga, rows);
  if (pivot === null) return null;
  if (!despitePivot)
    return `a point of no return was passed (${pivot}), so nothing is undone unless it says despitePivot`;
  return reason.trim() === ""
    ? "a point of no return was passed, and no reason says why it is undone all the same"
    : null;
}

function start(draft: Draft, by: string, { reason, despitePivot }: Asked): void {
  draft.record.endedAt = null;
  for (const row of draft.rows.slice()) {
    if (row.undo?.state === "skipped" || row.undo?.state === "accepted") takeUp(draft, row, row.undo);
  }
  const cause = { kind: "undone", step: null, message: reason, reference: by } as const;
  if (despitePivot) startUnwindDespitePivot(draft, cause);
  else startUnwind(draft, cause);
}

/**
 * An effect that a person had left is undone after all, from where its undoing stood: that is planned again with all its
 * attempts. What may have happened and may not be repeated is found out when its turn comes (`expireRepeat`).
 */
function takeUp(draft: Draft, { seq }: Row, undo: Undo): void {
  if (undo.call === null) return patchRow(draft, seq, { undo: null });
  const place = { seq, side: "undo" } as const;
  patchRow(draft, seq, { undo: { ...undo, reason: null } });
  patchCall(draft, place, { attempt: 0, interruptions: 0, error: null });
  planAgain(draft, place, draft.input.now);
}
