/**
 * Deadlines: of a row, from when it was asked for until it is over; and of the run as a whole. Owns what becomes of either
 * when one has passed. (That a call which is out ends with its row's deadline is a matter of its time-out: `grant.ts`.)
 *
 * Invariants: E1 never early: time is the store's. E2 past its deadline a row gets no further grant, and is told as failed
 * only when nothing can be left outside. E3 nothing passes while the run is paused, parked or goes back: a person, or the
 * unwind, has it then. E4 the deadline of a run is passed once.
 */
import { closeNotApplied } from "../calls/closing.ts";
import { findOut } from "../calls/find-out.ts";
import { type Draft, isParked, note, patchCall, stepOf } from "../draft.ts";
import { isStuck, park } from "../people/reviews.ts";
import { doubtOf, isOverdue } from "../rows.ts";
import type { Call, Failure, Row } from "../run/index.ts";
import { startUnwind } from "../unwind/unwind-start.ts";

/** A row of which somebody waits to hear is not called any more once its time is over; what it may have done is found out. */
export function endOverdue(draft: Draft, row: Row): void {
  if (!isOverdue(row, draft.input.now)) return;
  const { seq, call } = row;
  switch (call.state) {
    case "planned":
    case "claiming":
      return giveUpCall(draft, row);
    case "offered":
      draft.withdraw.push({ seq, send: call.send });
      note(draft, { what: "withdrawn", seq });
      return giveUpCall(draft, row);
    case "not_applied":
      // It would have been tried again.
      if (failedByTime(draft, row)) sayMissed(draft, row);
      return;
    case "sent":
    case "unknown":
    case "succeeded":
    case "withdrawn":
    case "reused":
  }
}

function giveUpCall(draft: Draft, row: Row): void {
  const { seq, call } = row;
  const place = { seq, side: "action" } as const;
  if (doubtOf(call) !== null) return findOut(draft, place);
  sayMissed(draft, row);
  closeNotApplied(draft, place, call.proof ?? "class");
}

function failedByTime(draft: Draft, row: Row): boolean {
  const { error, proof, attempt } = row.call;
  const isDecided = error?.kind === "fail" || error?.kind === "deadline" || error?.kind === "rejected";
  return !isDecided && proof !== "person" && attempt < stepOf(draft, row).retry.attempts;
}

function sayMissed(draft: Draft, { seq, call }: Row): void {
  note(draft, { what: "deadline", seq });
  patchCall(draft, { seq, side: "action" }, { error: missed(call) });
}

function missed({ error, attempt }: Call): Failure {
  const before = error === null ? "" : `; before that: ${error.message}`;
  return { kind: "deadline", code: null, message: `it was not over by its deadline${before}`, attempts: attempt };
}

/** When a row is to be looked at because of its deadline. */
export function overdueTime(draft: Draft, { dueBy, told, abandoned, call }: Row): number {
  const isWaited = told === null && !abandoned && !isStuck(call);
  const mayBeBegun = call.state === "planned" || call.state === "claiming" || call.state === "offered";
  return dueBy !== null && isWaited && mayBeBegun && isOnItsWay(draft) ? dueBy : Number.POSITIVE_INFINITY;
}

// ---- the run

/** Does it go forward, by itself? */
export function isOnItsWay(draft: Draft): boolean {
  const { unwind, paused, snapshot } = draft.record;
  return unwind === null && !paused && !isParked(draft) && snapshot?.status !== "done";
}

/** A run that was not over in time turns round, or a person is asked, as its saga says. */
export function passDeadline(draft: Draft): void {
  const { record, input } = draft;
  if (record.deadlineAt === null || input.now < record.deadlineAt || !isOnItsWay(draft)) return;
  record.deadlineAt = null;
  note(draft, { what: "deadline", seq: null });
  const message = "it was not over by its deadline";
  if (input.machine.saga.deadline?.then !== "review") {
    return startUnwind(draft, { kind: "deadline", step: null, message, reference: null });
  }
  park(draft, { reason: "deadline", message, seq: null, side: null, evidence: null, verbs: ["retry"] });
}

/** When the run is to be looked at because of its deadline. */
export function deadlineTime(draft: Draft): number {
  return isOnItsWay(draft) ? (draft.record.deadlineAt ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}
