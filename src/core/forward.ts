/**
 * Going forward: what a row that is open comes to when nothing is in its way. Owns when the machine is told, when a run
 * turns round because of an outcome, and what becomes of a row that the machine has left.
 *
 * Invariants: F1 the machine hears of a failure only when nothing can be left outside. F2 it hears nothing while the run
 * is paused or parked.
 */

import { endOverdue } from "./bounds/deadlines.ts";
import { askLate, evidenceOf } from "./calls/closing.ts";
import { mayTryAgain } from "./calls/find-out.ts";
import { expireRepeat, oweForHappened, oweForUnknown } from "./calls/owed.ts";
import { hasOpenTools } from "./calls/tools.ts";
import { workThrough } from "./company/batches.ts";
import { awaitsTurn } from "./company/limits.ts";
import { type Draft, isParked, patchRow, rowAt, specOf, stepOf } from "./draft.ts";
import { askPeople } from "./people/approvals.ts";
import { askAbout, askAboutFailed, askAboutOutput, askAboutSize, askAboutUnknown } from "./people/reviews.ts";
import { carryOutWord } from "./people/votes.ts";
import { effectiveClass, hasOutput, isGivenUp, isLastWord, mayRepeat } from "./rows.ts";
import type { Row } from "./run/index.ts";
import { overBudget } from "./size.ts";
import { causeOf, takesFailure, tell } from "./turn.ts";
import { pivotHappened, startUnwind } from "./unwind/unwind-start.ts";

/** Sees to every open row, oldest first. */
export function goForward(draft: Draft): void {
  for (const seq of draft.open) attend(draft, seq);
}

/** Sees to one row, unless the run goes back (`unwind.ts`) or it has closed meanwhile. */
export function attend(draft: Draft, seq: number): void {
  if (draft.record.unwind !== null || !draft.open.includes(seq) || awaitsTurn(draft)) return;
  if (rowAt(draft, seq).abandoned) seeToAbandoned(draft, rowAt(draft, seq));
  if (isParked(draft) || draft.record.paused) return;
  askPeople(draft, seq);
  if (askAbout(draft, rowAt(draft, seq))) return;
  carryOutWord(draft, seq);
  expireRepeat(draft, { seq, side: "action" });
  expireRepeat(draft, { seq, side: "undo" });
  if (stepOf(draft, rowAt(draft, seq)).batch !== undefined) workThrough(draft, seq);
  const { told, abandoned } = rowAt(draft, seq);
  if (told !== null || abandoned) return;
  endOverdue(draft, rowAt(draft, seq));
  announce(draft, rowAt(draft, seq));
}

/** The machine went on without it: what happened is undone at once, what may have happened is found out. */
function seeToAbandoned(draft: Draft, row: Row): void {
  if (row.undo !== null) return;
  if (row.call.state === "succeeded") oweForHappened(draft, row);
  else if (isGivenUp(row.call) && !draft.record.paused) oweForUnknown(draft, row);
}

function announce(draft: Draft, row: Row): void {
  // What an action has asked for belongs to what it did.
  if (hasOpenTools(draft, row.seq)) return;
  switch (row.call.state) {
    case "reused":
    case "succeeded":
      return row.unusable ? askAboutOutput(draft, row) : tellInBudget(draft, row);
    case "not_applied":
      return asksFirst(draft, row) ? askAboutFailed(draft, row) : tellOf(draft, row);
    case "unknown":
      return isGivenUp(row.call) ? turnRound(draft, row) : undefined;
    case "planned":
    case "claiming":
    case "offered":
    case "sent":
    case "withdrawn":
  }
}

/** Whoever asked for it hears what came of it: the machine, or the action it is a tool of (`tools.ts`). */
function tellOf(draft: Draft, row: Row): void {
  if (row.tool === null) return tell(draft, row);
  patchRow(draft, row.seq, { told: hasOutput(row.call) ? "outcome" : "failure" });
}

/** An output with which the run holds too much is recorded; nothing follows from it before somebody has looked. */
function tellInBudget(draft: Draft, row: Row): void {
  const problem = overBudget(draft, draft.record.bytes);
  if (problem === null) tellSuccess(draft, row);
  else askAboutSize(draft, row, problem);
}

function tellSuccess(draft: Draft, row: Row): void {
  tellOf(draft, row);
  const { told, undo } = rowAt(draft, row.seq);
  if (told !== null && undo === null && happenedTwice(draft, row)) askLate(draft, row.seq, "it happened twice");
}

/** Has an older send of a `once` call happened beside the newest? */
function happenedTwice(draft: Draft, row: Row): boolean {
  const evidence = evidenceOf(row.call);
  const isOther = evidence !== null && evidence.send !== row.call.send;
  return isOther && effectiveClass(row.call, stepOf(draft, row)) === "once";
}

/** Does the step want a person to look before its failure counts (and has none looked yet)? */
function asksFirst(draft: Draft, row: Row): boolean {
  const { error, proof } = row.call;
  const { onExhausted, onDeadline } = stepOf(draft, row);
  const policy = error?.kind === "deadline" ? onDeadline : onExhausted;
  return error?.kind !== "fail" && error?.kind !== "rejected" && proof !== "person" && policy === "review";
}

/**
 * Nobody can tell what became of it. The unwind may settle that (design section 7, step 2); a person is asked where a repeat
 * is not safe or was not when it was due, where an `onError` or an action that asked for a tool would run over an unknown
 * effect, and past a pivot.
 */
function turnRound(draft: Draft, row: Row): void {
  const harmless = mayRepeat(row.call, specOf(draft, row, "action"), draft.input.now) && !wasDueTooLate(draft, row);
  if (!harmless || row.tool !== null || takesFailure(draft, row) || pivotHappened(draft))
    return askAboutUnknown(draft, row);
  patchRow(draft, row.seq, { told: "nothing" });
  startUnwind(draft, causeOf(row));
}

/** Given up with attempts left: the next one would have come when the other side may have forgotten the key. */
function wasDueTooLate(draft: Draft, { seq, call }: Row): boolean {
  return !isLastWord(call) && mayTryAgain(draft, { seq, side: "action" });
}
