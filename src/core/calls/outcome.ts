/**
 * What follows from the answer to the newest send of a call: the table of design section 6 ("came back / outcome recorded
 * / then"), actions and compensations alike. `settle.ts` owns which send a word is about.
 *
 * Invariants: C1 the outcome is recorded before anything follows from it. C2 that an older send happened outweighs whatever
 * the newest one says. C3 nothing is closed as not applied while a send is in doubt.
 */
import { takeBackGrant } from "../bounds/budgets.ts";
import { callAt, type Draft, note, type Place, patchCall, rowAt, specOf } from "../draft.ts";
import { doubtOf, effectiveClass } from "../rows.ts";
import type { Call, CallResult, Failure, Proof } from "../run/index.ts";
import { answerReview, closeNotApplied, evidenceOf, happened } from "./closing.ts";
import { delayMs, doubt, findOut, giveUp, isWanted, mayTryAgain, planAgain } from "./find-out.ts";
import { stopPlanned } from "./stop.ts";

/** Owner deaths during one call (or before any, for the run) before a person is asked. */
export const poisonLimit = 3;
const notDurableRetryMs = 1_000;

type Failed = Extract<CallResult, { kind: "not_applied" | "unknown" }>;

/** The call said that it failed. */
export function failed(draft: Draft, place: Place, result: Failed, proof: Proof): void {
  if (result.kind === "not_applied") patchCall(draft, place, { deadline: null });
  if (takeEvidence(draft, place)) return;
  const call = callAt(draft, place);
  answerReview(draft, place);
  draft.record.interruptions = 0;
  patchCall(draft, place, { error: failureOf(call, result), interruptions: 0 });
  if (result.kind === "not_applied" || classAt(draft, place) === "none") return notApplied(draft, place, result, proof);
  noteOutcome(draft, place, "unknown", proof);
  if (result.final) findOut(draft, place);
  else doubt(draft, place, delayMs(draft, place, result.retryAfterMs));
}

function failureOf(call: Call, { kind, reason, code, message }: Failed): Failure {
  return { kind: reason === "error" ? kind : reason, code, message, attempts: call.attempt };
}

function notApplied(draft: Draft, place: Place, { final, retryAfterMs }: Failed, proof: Proof): void {
  noteOutcome(draft, place, "not_applied", proof);
  // "Nothing is left" is about the operation, so about its earlier sends too; but `once` has no operation to speak of.
  const clears = final && classAt(draft, place) !== "once";
  const doubtUntil = clears ? null : callAt(draft, place).doubtUntil;
  patchCall(draft, place, { deadline: null, doubtUntil });
  if (!final && mayTryAgain(draft, place)) {
    return planAgain(draft, place, draft.input.now + delayMs(draft, place, retryAfterMs));
  }
  if (doubtUntil === null) closeNotApplied(draft, place, proof);
  else findOut(draft, place);
}

/** The grant was never used, which is proof: the call is planned again as if this grant had not been given. */
export function takeBack(draft: Draft, place: Place, reason: string): void {
  note(draft, { what: "taken_back", seq: place.seq });
  answerReview(draft, place);
  const call = callAt(draft, place);
  const uncounted = call.state === "unknown" && call.error?.kind === "interrupted";
  const never = call.doubtUntil === null && call.firstSentAt === call.sentAt;
  const wait = reason === "store_not_durable" ? notDurableRetryMs : 0;
  patchCall(draft, place, {
    state: "planned",
    attempt: uncounted ? call.attempt : call.attempt - 1,
    nextAt: draft.input.now + wait,
    probeAt: null,
    deadline: null,
    fence: null,
    proof: "take_back",
    error: wait === 0 ? call.error : notDurable(call),
    ...(never ? { firstSentAt: null, firstSentRevision: null, sentAt: null } : {}),
  });
  if (never && place.side === "action") takeBackGrant(draft, rowAt(draft, place.seq));
  if (takeEvidence(draft, place)) return;
  if (!isWanted(draft, place)) stopPlanned(draft, rowAt(draft, place.seq));
}

function notDurable({ attempt }: Call): Failure {
  const message = "the store could not promise in time to remember that it is sent";
  return { kind: "not_applied", code: "store_not_durable", message, attempts: attempt - 1 };
}

const lostWorker = "the worker was lost during the call";

/** It was broken off: the owner of the lease (or permit) under which it was sent is gone, or it cannot go on now. Does not count as an attempt. */
export function interrupt(draft: Draft, place: Place, ownerDied: boolean, message = lostWorker): void {
  note(draft, { what: "interrupted", seq: place.seq });
  const call = callAt(draft, place);
  const attempt = call.attempt - 1;
  // What is said to another run calls nobody's code, so it is not what kills workers; and it is said until it is heard.
  const counts = ownerDied && rowAt(draft, place.seq).kind !== "child";
  const interruptions = call.interruptions + (counts ? 1 : 0);
  patchCall(draft, place, {
    attempt,
    interruptions,
    error: { kind: "interrupted", code: null, message, attempts: attempt },
  });
  if (takeEvidence(draft, place)) return;
  if (classAt(draft, place) === "none") return repeatAtOnce(draft, place);
  if (interruptions >= poisonLimit) giveUp(draft, place);
  else doubt(draft, place, 0);
}

/** Nothing changes outside. (Where nobody wants it any more it was dropped before: `stop.ts`.) */
function repeatAtOnce(draft: Draft, place: Place): void {
  patchCall(draft, place, { deadline: null });
  planAgain(draft, place, draft.input.now);
}

/** The engine could not make the call because of a defect (an input that does not fit): it was not made. */
export function defective(draft: Draft, place: Place, message: string): void {
  note(draft, { what: "defect", note: message });
  const call = callAt(draft, place);
  const attempt = call.attempt - 1;
  const error: Failure = { kind: "defect", code: null, message, attempts: attempt };
  patchCall(draft, place, { attempt, deadline: null, error });
  planAgain(draft, place, draft.input.now);
  if (!isWanted(draft, place) && doubtOf(callAt(draft, place)) === null) stopPlanned(draft, rowAt(draft, place.seq));
}

/** The newest send brought nothing, but the effect is known to have happened. */
function takeEvidence(draft: Draft, place: Place): boolean {
  const evidence = evidenceOf(callAt(draft, place));
  if (evidence === null) return false;
  const { output, unusable } = evidence;
  happened(draft, place, { output, unusable, proof: "late", which: "older" });
  return true;
}

function noteOutcome(draft: Draft, { seq, side }: Place, outcome: "not_applied" | "unknown", proof: Proof): void {
  const { send } = callAt(draft, { seq, side });
  note(draft, { what: "outcome", seq, send, outcome, proof });
}

function classAt(draft: Draft, place: Place) {
  return effectiveClass(callAt(draft, place), specOf(draft, rowAt(draft, place.seq), place.side));
}
