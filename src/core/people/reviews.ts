/**
 * What a person is asked, and what they may answer. A review follows from the rows: while one is open the others wait, and
 * come up when it is answered; so no question is lost, and one that answers itself (`closing.ts`) is taken back.
 *
 * Invariant: V0 every review has a verb that leads out of it: `close` always does, and where the run still goes forward so
 * do `compensate`, which turns it round instead of answering, and `rewind`, which does so as far as a savepoint.
 */

import { poisonLimit } from "../calls/outcome.ts";
import { sendersInWords } from "../calls/senders.ts";
import { type Draft, note, type Place, rowAt, specOf, stepOf } from "../draft.ts";
import { callOf, isImpatient, mayRepeat, type Side } from "../rows.ts";
import type { Call, Review, ReviewReason, Row, RowIntent, Verb } from "../run/index.ts";
import { sizeOf } from "../size.ts";

/**
 * Parks the run for a person; the first reason stands until a verb is taken, and the others come up again after it. `verbs`
 * are those that answer the question.
 */
export function park(draft: Draft, { verbs, ...review }: Omit<Review, "n" | "since">): void {
  const { record } = draft;
  if (record.review !== null) return;
  const back: readonly Verb[] = record.savepoints.length > 0 ? ["rewind", "compensate"] : ["compensate"];
  const ways: readonly Verb[] = goesForward(draft) ? [...back, "close"] : ["close"];
  const n = record.reviews + 1;
  record.reviews = n;
  record.review = { ...review, verbs: [...new Set([...verbs, ...ways])], n, since: draft.input.now };
  note(draft, { what: "parked", note: `${review.reason}: ${review.message}` });
}

/** Can it be turned round? Not when it goes back, nor when it has come to its good end: that is undone afterwards. */
function goesForward({ record: { unwind, snapshot, cause } }: Draft): boolean {
  return unwind === null && (snapshot?.status !== "done" || cause !== null);
}

/** Why a call is not made or asked about before a person has spoken. */
export function isStuck(call: Call): boolean {
  return isPoisoned(call) || isDefective(call);
}

function isPoisoned({ state, interruptions }: Call): boolean {
  return (state === "planned" || state === "unknown") && interruptions >= poisonLimit;
}

function isDefective({ state, error }: Call): boolean {
  return state === "planned" && error?.kind === "defect";
}

/** Parks where a call of the row is stuck, or its undoing has halted; `true`: this row needs a person. */
export function askAbout(draft: Draft, row: Row): boolean {
  if (isStuck(row.call)) return askStuck(draft, row, "action", row.call);
  if (isLeftToPerson(row)) return askAboutExpired(draft, row);
  if (row.intent !== null && askAboutIntent(draft, row, row.intent)) return true;
  const call = row.undo?.call ?? null;
  if (call !== null && isStuck(call)) return askStuck(draft, row, "undo", call);
  if (row.undo?.state !== "halted") return false;
  if (call === null) askAboutLate(draft, row, row.undo.reason);
  else askAboutHalted(draft, row, call);
  return true;
}

/** Nobody has decided in time on what a person is to look at then. */
export function isLeftToPerson({ approval, call }: Row): boolean {
  return approval?.state === "expired" && approval.onExpire === "review" && call.state === "planned";
}

/** `retry` asks anew, `resolve` (as absent) says that it is not carried out. */
function askAboutExpired(draft: Draft, { seq, step, approval }: Row): true {
  const message = `nobody has decided on ${step} in time: ${approval?.question}`;
  const verbs: readonly Verb[] = ["retry", "resolve"];
  park(draft, { reason: "approval_expired", message, seq, side: "action", evidence: null, verbs });
  return true;
}

function askStuck(draft: Draft, row: Row, side: Side, call: Call): true {
  const reason: ReviewReason = isPoisoned(call) ? "poison" : "defect";
  const what = nameOf(row, side);
  const why = reason === "poison" ? `its worker died ${poisonLimit} times in a row during it` : whyOf(call);
  ask(draft, { seq: row.seq, side }, reason, `${what}: ${why}`, verbsFor(draft, row, side));
  return true;
}

function askAboutHalted(draft: Draft, row: Row, call: Call): void {
  const fate = call.state === "unknown" ? "may or may not have been undone" : "could not be undone";
  const message = `${row.step} ${fate}: ${whyUnknown(call)}`;
  ask(draft, { seq: row.seq, side: "undo" }, "halted", message, verbsFor(draft, row, "undo"));
}

function askAboutLate(draft: Draft, row: Row, why: string | null): void {
  const { compensation } = stepOf(draft, row);
  const message = `${row.step} happened, but ${why}`;
  const verbs: readonly Verb[] = compensation === null ? ["skip"] : ["retry", "skip"];
  ask(draft, { seq: row.seq, side: "action" }, "late_result", message, verbs);
}

/** An outcome nobody can know. */
export function askAboutUnknown(draft: Draft, row: Row): void {
  const why = whyUnknown(row.call);
  const message = `${row.step} was sent and may have happened: ${why}. It is not sent again until somebody says what happened`;
  ask(draft, { seq: row.seq, side: "action" }, "unknown_outcome", message, verbsFor(draft, row, "action"));
}

/** Parks where the row does not come by its intent, or has lost it. */
function askAboutIntent(draft: Draft, row: Row, intent: RowIntent): boolean {
  const { seq, step, call, input, tool } = row;
  const { state, owner, theirs, key } = intent;
  const place = { seq, side: "action" } as const;
  const which = `the intent ${JSON.stringify(key)}`;
  const evidence = { owner, intent: key, input, theirs };
  if (state === "conflict" && call.state === "claiming" && tool === null) {
    const message = `${step} was not sent: ${owner} has ${which} with other arguments`;
    park(draft, { reason: "intent_conflict", message, ...place, evidence, verbs: ["retry", "resolve"] });
    return true;
  }
  if (isImpatient(row)) {
    const message = `${step} was not sent: ${owner} has ${which} and has not come to an end`;
    park(draft, { reason: "intent_busy", message, ...place, evidence, verbs: ["retry", "resolve"] });
    return true;
  }
  if (state !== "undone") return false;
  const message = `${step} went by what ${owner} had done under ${which}, and that was undone since`;
  park(draft, { reason: "intent_undone", message, ...place, evidence, verbs: ["resolve"] });
  return true;
}

/** Retries or time used up where the step wants a person to look (`onExhausted: "review"`, `onDeadline: "review"`). */
export function askAboutFailed(draft: Draft, { seq, step, call }: Row): void {
  const reason = call.error?.kind === "deadline" ? "deadline" : "exhausted";
  const message = `${step} was tried ${call.attempt} times and not applied: ${whyOf(call)}`;
  ask(draft, { seq, side: "action" }, reason, message, ["retry", "resolve"]);
}

/** It happened, and its output fits nothing. */
export function askAboutOutput(draft: Draft, { seq, step, call }: Row): void {
  const message = `${step} succeeded, but its output does not fit its schema: ${whyOf(call)}`;
  ask(draft, { seq, side: "action" }, "defect", message, ["retry", "resolve"]);
}

/** It happened, and with its output the run holds too much. `retry` looks again, `resolve` puts a smaller one in its place. */
export function askAboutSize(draft: Draft, { seq, step, output }: Row, problem: string): void {
  const message = `${step} succeeded and its output (${sizeOf(output)} bytes) is recorded, but ${problem}`;
  const verbs: readonly Verb[] = ["retry", "resolve"];
  park(draft, { reason: "defect", message, seq, side: "action", evidence: null, verbs });
}

function ask(draft: Draft, { seq, side }: Place, reason: ReviewReason, message: string, verbs: readonly Verb[]): void {
  const row = rowAt(draft, seq);
  const evidence = row.unusable ? row.output : (callOf(row, side)?.evidence ?? null);
  park(draft, { reason, message, seq, side, evidence, verbs });
}

/** What may be done about a call: asked about where that helps, called again only where that cannot do harm. */
function verbsFor(draft: Draft, row: Row, side: Side): readonly Verb[] {
  const call = callOf(row, side);
  const spec = specOf(draft, row, side);
  const verbs: Verb[] = [];
  if (call?.state === "unknown" && spec.hasProbe) verbs.push("probe");
  verbs.push("resolve");
  if (call !== null && (call.state !== "unknown" || mayRepeat(call, spec, draft.input.now))) verbs.push("retry");
  if (side === "undo") verbs.push("skip");
  return verbs;
}

function nameOf(row: Row, side: Side): string {
  return side === "action" ? row.step : `the compensation of ${row.step}`;
}

function whyUnknown(call: Call): string {
  const held = sendersInWords(call);
  return held === null ? whyOf(call) : `${whyOf(call)}; ${held}`;
}

function whyOf({ error }: Call): string {
  return error?.message ?? "no answer";
}
