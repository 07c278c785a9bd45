/**
 * Calls nobody wants any more, because the machine has left the state that invoked them or the run goes back: what was not
 * sent is withdrawn, what may be outside is found out.
 */

import { abortCall, type Draft, note, patchCall, patchRow, stepOf } from "../draft.ts";
import { doubtOf, effectiveClass } from "../rows.ts";
import type { Row } from "../run/index.ts";
import { closeNotApplied } from "./closing.ts";
import { findOut } from "./find-out.ts";

/** Stops a row's action, as far as it can be stopped. */
export function stopAction(draft: Draft, row: Row): void {
  switch (row.call.state) {
    case "planned":
    case "claiming":
      return stopPlanned(draft, row);
    case "offered":
      return withdrawOffer(draft, row);
    case "sent":
      return abortSent(draft, row);
    case "unknown":
      // No repeat is waited for, and how often its worker died no longer matters: it is not called for its own sake.
      return patchCall(draft, { seq: row.seq, side: "action" }, { nextAt: null, interruptions: 0 });
    case "reused":
      return forgetLoss(draft, row);
    case "succeeded":
    case "not_applied":
    case "withdrawn":
  }
}

/** A planned call is not made any more; what earlier sends of it did is still to be found out. */
export function stopPlanned(draft: Draft, { seq, call }: Row): void {
  const place = { seq, side: "action" } as const;
  if (doubtOf(call) !== null) return findOut(draft, place);
  note(draft, { what: "withdrawn", seq });
  if (call.firstSentAt !== null) return closeNotApplied(draft, place, call.proof ?? "answer");
  patchCall(draft, place, { state: "withdrawn", nextAt: null });
}

/** An offered row that nobody has taken (if somebody has, the commit is refused and decided again with it as sent). */
function withdrawOffer(draft: Draft, { seq, call }: Row): void {
  const place = { seq, side: "action" } as const;
  draft.withdraw.push({ seq, send: call.send });
  note(draft, { what: "withdrawn", seq });
  if (call.doubtUntil !== null) return findOut(draft, place);
  patchCall(draft, place, { state: "withdrawn", nextAt: null });
}

/** That its owner has undone what it went by is of no concern any more. */
function forgetLoss(draft: Draft, { seq, intent }: Row): void {
  if (intent?.state === "undone") patchRow(draft, seq, { intent: { ...intent, state: "reused" } });
}

/** Its signal is aborted wherever it runs; a call without effect is dropped at once. */
function abortSent(draft: Draft, row: Row): void {
  const { seq, call } = row;
  abortCall(draft, { seq, side: "action" });
  if (call.fence === null) draft.abortPermits.push(seq);
  if (effectiveClass(call, stepOf(draft, row)) === "none") closeNotApplied(draft, { seq, side: "action" }, "class");
}
