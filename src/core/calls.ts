/**
 * What becomes of a call when something is learnt of it: the table of design section 6 ("came back / outcome recorded /
 * then"). Owns the judgement of actions and compensations alike; `turn.ts` owns what the machine makes of it, `unwind.ts`
 * which compensation is next.
 *
 * Invariants: C1 the outcome is written to the row whatever the machine makes of it. C2 a `once` call is never planned
 * again unless nothing happened was *proven*. C3 the machine hears of a failure only when nothing can be left outside.
 * C4 an answer to an older send never settles a newer one; that it happened is kept as evidence.
 */
import type { CallSpec, Json } from "../saga/index.ts";
import type { Side } from "./draft.ts";
import {
  callOf,
  type Draft,
  effectiveClass,
  note,
  park,
  patchCall,
  patchRow,
  rowAt,
  specOf,
  stepOf,
} from "./draft.ts";
import { backoffMs, nextProbeAt } from "./retry.ts";
import type { Call, CallResult, Failure, Proof, Row, Verb } from "./run.ts";
import { causeOf, oweUndo, takesFailure, tell } from "./turn.ts";
import { pivotHappened, startUnwind } from "./unwind-start.ts";

/** Owner deaths during one call before its run is parked. */
export const poisonLimit = 3;
const notDurableRetryMs = 1_000;

/** A worker (this one, a remote one, or a fenced-out one) reports what became of send number `send`. */
export function settle(draft: Draft, seq: number, send: number, side: Side, result: CallResult, proof: Proof): void {
  const call = callOf(rowAt(draft, seq), side);
  if (call === null || isFinal(call)) return lateWord(draft, seq, send, side, result);
  if (send !== call.send) return olderSend(draft, seq, send, side, result);
  if (call.state === "planned") return plannedWord(draft, seq, send, side, result);
  switch (result.kind) {
    case "succeeded":
      return succeed(draft, seq, side, result.output, proof);
    case "unusable":
      return succeedUnusable(draft, seq, side, result.output, result.problem, proof);
    case "not_called":
      return takeBack(draft, seq, side, result.reason);
    case "defect":
      return defect(draft, seq, side, result.message);
    case "not_applied":
      return notApplied(draft, seq, side, failureOf(call, result), result);
    case "unknown":
      return unknown(draft, seq, side, failureOf(call, result), result);
  }
}

function isFinal(call: Call): boolean {
  return call.state === "succeeded" || call.state === "not_applied" || call.state === "withdrawn";
}

function failureOf(call: Call, result: Extract<CallResult, { kind: "not_applied" | "unknown" }>): Failure {
  const kind = result.reason === "error" ? result.kind : result.reason;
  return { kind, code: result.code, message: result.message, attempts: call.attempt };
}

/** The row waits for its next attempt, and the last send (given up as unknown) answers after all. */
function plannedWord(draft: Draft, seq: number, send: number, side: Side, result: CallResult): void {
  if (result.kind === "succeeded") return succeed(draft, seq, side, result.output, "late");
  note(draft, { what: "late", seq, send, outcome: result.kind });
}

/** An answer to an older send: that it happened is evidence, anything else says nothing about the newer one. */
function olderSend(draft: Draft, seq: number, send: number, side: Side, result: CallResult): void {
  note(draft, { what: "late", seq, send, outcome: result.kind });
  if (result.kind !== "succeeded") return;
  const call = callOf(rowAt(draft, seq), side);
  if (call?.state === "planned" || call?.state === "unknown") return succeed(draft, seq, side, result.output, "late");
  patchCall(draft, seq, side, { evidence: { send, output: result.output } });
}

/** A word on a call that was thought to be over: it reopens the run where it contradicts what was assumed. */
function lateWord(draft: Draft, seq: number, send: number, side: Side, result: CallResult): void {
  note(draft, { what: "late", seq, send, outcome: result.kind });
  const row = rowAt(draft, seq);
  const call = callOf(row, side);
  if (result.kind !== "succeeded" || side === "undo" || call === null || call.state === "succeeded") return;
  if (stepOf(draft, row).effect === "none") return;
  patchCall(draft, seq, side, { state: "succeeded", proof: "late", doubtUntil: null, probeAt: null });
  patchRow(draft, seq, { output: result.output, told: true, undo: null });
  if (draft.record.unwind !== null && draft.record.endedAt === null) return;
  park(draft, {
    reason: "late_result",
    message: `${row.step} was taken as not applied, but a worker that had lost the run reports that it happened`,
    seq,
    side,
    evidence: result.output,
    verbs: ["retry", "close"],
  });
}

// ---- it happened

/**
 * The call happened and its output is known. `doubtUntil` is kept: until then a late twin of an earlier send could still
 * arrive, and where the other side does not deduplicate it the compensation waits for it (`undoNotBefore`).
 */
export function succeed(draft: Draft, seq: number, side: Side, output: Json, proof: Proof): void {
  const done = { state: "succeeded", proof, nextAt: null, probeAt: null, interruptions: 0 } as const;
  const { send } = patchedCall(draft, seq, side, done);
  note(draft, { what: "outcome", seq, send, outcome: "succeeded", proof });
  draft.record.interruptions = 0;
  if (side === "undo") return undoDone(draft, seq);
  patchRow(draft, seq, { output });
  if (rowAt(draft, seq).abandoned) oweUndo(draft, seq);
  tell(draft, seq);
}

function succeedUnusable(draft: Draft, seq: number, side: Side, output: Json, problem: string, proof: Proof): void {
  if (side === "undo") return succeed(draft, seq, side, null, proof);
  const { attempt } = patchedCall(draft, seq, side, {});
  const error: Failure = { kind: "unusable_output", code: null, message: problem, attempts: attempt };
  patchCall(draft, seq, side, { error });
  patchRow(draft, seq, { unusable: true });
  succeed(draft, seq, side, output, proof);
}

function undoDone(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  if (row.undo === null) return;
  patchRow(draft, seq, { undo: { ...row.undo, state: "done" } });
  note(draft, { what: "undo", seq, state: "done" });
}

// ---- it did not happen

/** The grant was never used, which is proof: the row is planned again as if it had not been granted. */
function takeBack(draft: Draft, seq: number, side: Side, reason: string): void {
  const call = patchedCall(draft, seq, side, {});
  const first = call.doubtUntil === null && call.firstSentAt === call.sentAt;
  note(draft, { what: "taken_back", seq });
  patchCall(draft, seq, side, {
    state: "planned",
    attempt: call.attempt - 1,
    nextAt: reason === "store_not_durable" ? draft.input.now + notDurableRetryMs : draft.input.now,
    deadline: call.doubtUntil,
    proof: "take_back",
    probeAt: null,
    ...(first ? { firstSentAt: null, firstSentRevision: null, sentAt: null } : {}),
  });
  markUndo(draft, seq, side, "owed");
  if (side === "action") stopIfGone(draft, seq);
}

function notApplied(
  draft: Draft,
  seq: number,
  side: Side,
  error: Failure,
  result: { readonly final: boolean; readonly retryAfterMs: number | null },
): void {
  const { call, spec } = sides(draft, seq, side);
  const clears = result.final && effectiveClass(call, spec) !== "once";
  const doubtUntil = clears ? null : call.doubtUntil;
  patchCall(draft, seq, side, { error, doubtUntil, interruptions: 0 });
  draft.record.interruptions = 0;
  noteOutcome(draft, seq, call, "not_applied", "answer");
  if (!result.final && mayTryAgain(draft, seq, side)) return again(draft, seq, side, result.retryAfterMs);
  if (doubtUntil !== null) return findOut(draft, seq, side);
  closeNotApplied(draft, seq, side, "answer");
}

/** Nothing happened, finally: the machine (or the unwind) is told. */
export function closeNotApplied(draft: Draft, seq: number, side: Side, proof: Proof): void {
  patchCall(draft, seq, side, { state: "not_applied", proof, nextAt: null, doubtUntil: null, probeAt: null });
  if (side === "undo") return haltUndo(draft, seq);
  const row = rowAt(draft, seq);
  if (stepOf(draft, row).onExhausted === "review" && row.call.error?.kind !== "fail" && goesForward(draft, row)) {
    return parkExhausted(draft, row);
  }
  tell(draft, seq);
}

function parkExhausted(draft: Draft, row: Row): void {
  const message = `${row.step} was tried ${row.call.attempt} times and not applied: ${row.call.error?.message ?? ""}`;
  park(draft, { reason: "exhausted", message, seq: row.seq, side: "action", evidence: null, verbs: ["retry", "resolve", "close"] });
}

// ---- nobody knows

function unknown(
  draft: Draft,
  seq: number,
  side: Side,
  error: Failure,
  result: { readonly final: boolean; readonly retryAfterMs: number | null },
): void {
  const { call, spec } = sides(draft, seq, side);
  if (effectiveClass(call, spec) === "none") return notApplied(draft, seq, side, error, result);
  const kept = call.evidence as { readonly output?: Json } | null;
  if (kept?.output !== undefined) return succeed(draft, seq, side, kept.output, "late");
  noteOutcome(draft, seq, call, "unknown", "answer");
  patchCall(draft, seq, side, { error, interruptions: 0 });
  draft.record.interruptions = 0;
  doubt(draft, seq, side, result.final, result.retryAfterMs);
}

/** The owner of the lease under which it was sent is gone: what became of the call is judged by its class. */
export function interrupt(draft: Draft, seq: number, side: Side, ownerDied: boolean): void {
  const { call, spec } = sides(draft, seq, side);
  const interruptions = call.interruptions + (ownerDied ? 1 : 0);
  const error: Failure = { kind: "interrupted", code: null, message: "the worker was lost during the call", attempts: call.attempt };
  note(draft, { what: "interrupted", seq });
  patchCall(draft, seq, side, { error, interruptions, attempt: call.attempt - 1 });
  if (interruptions >= poisonLimit) return poison(draft, seq, side);
  if (effectiveClass(call, spec) === "none") return planAgain(draft, seq, side, draft.input.now);
  doubt(draft, seq, side, false, 0);
}

function poison(draft: Draft, seq: number, side: Side): void {
  const { row, call, spec } = sides(draft, seq, side);
  const none = effectiveClass(call, spec) === "none";
  patchCall(draft, seq, side, none ? { state: "planned", nextAt: draft.input.now } : unknownNow(call, null));
  markUndo(draft, seq, side, "owed");
  const message = `${row.step} was running when its worker died, ${poisonLimit} times in a row`;
  const verbs: readonly Verb[] = none || mayRepeat(draft, seq, side, draft.input.now) ? ["retry", "resolve", "close"] : resolveVerbs(call, spec, side);
  park(draft, { reason: "poison", message, seq, side, evidence: null, verbs });
}

/** An effect that may have happened: repeat where that is safe (a probe is asked once before), else find out. */
function doubt(draft: Draft, seq: number, side: Side, final: boolean, retryAfterMs: number | null): void {
  const { call, spec } = sides(draft, seq, side);
  const doubtUntil = Math.max(call.doubtUntil ?? 0, call.deadline ?? 0);
  patchCall(draft, seq, side, { doubtUntil });
  const { now } = draft.input;
  const delay = call.error?.kind === "interrupted" ? 0 : delayMs(draft, call, spec, retryAfterMs);
  if (final || !mayTryAgain(draft, seq, side) || !mayRepeat(draft, seq, side, now + delay)) return findOut(draft, seq, side);
  if (!spec.hasProbe) return planAgain(draft, seq, side, now + delay);
  patchCall(draft, seq, side, { ...unknownNow(call, now), nextAt: now + delay });
  markUndo(draft, seq, side, "sent");
}

function unknownNow(call: Call, probeAt: number | null): Partial<Call> {
  return { state: "unknown", probes: 0, probeAt, nextAt: null, deadline: Math.max(call.doubtUntil ?? 0, call.deadline ?? 0) };
}

/** No repeat is safe (or none is left): ask the other side as often as the policy says, then a person. */
export function findOut(draft: Draft, seq: number, side: Side): void {
  const { call, spec } = sides(draft, seq, side);
  patchCall(draft, seq, side, unknownNow(call, spec.hasProbe ? draft.input.now : null));
  markUndo(draft, seq, side, "sent");
  if (!spec.hasProbe) giveUp(draft, seq, side);
}

/** A probe has answered. `absent` counts only when it was asked past the deadline (a late twin could still land). */
export function probed(
  draft: Draft,
  seq: number,
  side: Side,
  answer: { readonly answer: "happened" | "absent" | "cannot_tell"; readonly output: Json; readonly unusable: boolean; readonly note: string | null },
): void {
  const call = callOf(rowAt(draft, seq), side);
  if (call === null || call.state !== "unknown" || call.probeAt === null) return;
  note(draft, { what: "probed", seq, answer: answer.answer });
  if (answer.answer === "happened" && answer.unusable) {
    return succeedUnusable(draft, seq, side, answer.output, answer.note ?? "unusable", "probe");
  }
  if (answer.answer === "happened") return succeed(draft, seq, side, answer.output, "probe");
  const { now } = draft.input;
  if (call.nextAt !== null) return planAgain(draft, seq, side, Math.max(call.nextAt, now));
  const deadline = call.deadline ?? now;
  if (answer.answer === "absent" && call.probeAt >= deadline) return provenAbsent(draft, seq, side, "probe");
  const probes = call.probes + 1;
  const probeAt = nextProbeAt(probes, now, deadline);
  patchCall(draft, seq, side, { probes, probeAt });
  if (probeAt === null) giveUp(draft, seq, side);
}

/** Proven: nothing happened. The next attempt may be made, under a fresh key where the step says so. */
export function provenAbsent(draft: Draft, seq: number, side: Side, proof: Proof): void {
  const { row, call } = sides(draft, seq, side);
  noteOutcome(draft, seq, call, "not_applied", proof);
  patchCall(draft, seq, side, { doubtUntil: null, probeAt: null, proof, interruptions: 0 });
  if (side === "action" && draft.record.unwind !== null) return closeNotApplied(draft, seq, side, proof);
  if (row.abandoned || call.error?.kind === "fail" || !mayTryAgain(draft, seq, side)) return closeNotApplied(draft, seq, side, proof);
  const fresh = side === "action" && stepOf(draft, row).freshKeyAfterAbsent;
  if (fresh) patchCall(draft, seq, side, { generation: call.generation + 1, firstSentAt: null });
  planAgain(draft, seq, side, draft.input.now + (call.error?.kind === "interrupted" ? 0 : delayMs(draft, call, specOf(draft, row, side), null)));
}

/** It cannot be found out. Going forward a person is asked, unless unwinding settles it; going back the unwind decides. */
function giveUp(draft: Draft, seq: number, side: Side): void {
  patchCall(draft, seq, side, { probeAt: null, nextAt: null });
  if (side === "undo") return haltUndo(draft, seq);
  const row = rowAt(draft, seq);
  if (draft.record.unwind !== null) return;
  const { call, spec } = sides(draft, seq, side);
  const unsafe = effectiveClass(call, spec) === "once" || !mayRepeat(draft, seq, side, draft.input.now);
  if (row.abandoned || unsafe || takesFailure(draft, row) || pivotHappened(draft)) return parkUnknown(draft, seq, side);
  patchRow(draft, seq, { told: true });
  startUnwind(draft, causeOf(rowAt(draft, seq)), "failed");
}

/** Parks because of an outcome nobody can know. */
export function parkUnknown(draft: Draft, seq: number, side: Side): void {
  const { row, call, spec } = sides(draft, seq, side);
  const what = side === "action" ? row.step : `the compensation of ${row.step}`;
  const message = `${what} was sent and may have happened: ${call.error?.message ?? "no answer"}. It is not sent again until somebody says what happened`;
  park(draft, { reason: "unknown_outcome", message, seq, side, evidence: call.evidence, verbs: resolveVerbs(call, spec, side) });
}

function resolveVerbs(call: Call, spec: CallSpec, side: Side): readonly Verb[] {
  const verbs: Verb[] = spec.hasProbe ? ["probe", "resolve"] : ["resolve"];
  if (effectiveClass(call, spec) !== "once") verbs.push("retry");
  if (side === "undo") verbs.push("skip");
  return [...verbs, "close"];
}

// ---- trying again

/** Are there attempts left, and does anybody still want the answer? */
function mayTryAgain(draft: Draft, seq: number, side: Side): boolean {
  const { row, call, spec } = sides(draft, seq, side);
  if (side === "action" && (row.abandoned || draft.record.unwind !== null)) return false;
  return call.attempt < spec.retry.attempts;
}

/** Is a repeat at `at` harmless by class? For `keyed`: while the other side surely still knows the key. */
export function mayRepeat(draft: Draft, seq: number, side: Side, at: number): boolean {
  const { call, spec } = sides(draft, seq, side);
  switch (effectiveClass(call, spec)) {
    case "none":
    case "idempotent":
      return true;
    case "keyed":
      return at + spec.timeoutMs < (call.firstSentAt ?? at) + spec.keyTtlMs;
    case "once":
      return false;
  }
}

function again(draft: Draft, seq: number, side: Side, retryAfterMs: number | null): void {
  const { call, spec } = sides(draft, seq, side);
  planAgain(draft, seq, side, draft.input.now + delayMs(draft, call, spec, retryAfterMs));
}

/** Wants another grant at `at`. */
export function planAgain(draft: Draft, seq: number, side: Side, at: number): void {
  patchCall(draft, seq, side, { state: "planned", nextAt: at, probeAt: null });
  markUndo(draft, seq, side, "owed");
}

function delayMs(draft: Draft, call: Call, spec: CallSpec, retryAfterMs: number | null): number {
  return retryAfterMs ?? backoffMs(spec.retry, Math.max(1, call.attempt), draft.input.random);
}

// ---- small

function stopIfGone(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  const { unwind } = draft.record;
  if (unwind === null && !row.abandoned) return;
  const state = row.call.firstSentAt === null ? "withdrawn" : "not_applied";
  if (row.call.doubtUntil === null) patchCall(draft, seq, "action", { state, nextAt: null });
  else patchCall(draft, seq, "action", { ...unknownNow(row.call, draft.input.now), deadline: row.call.doubtUntil });
}

function defect(draft: Draft, seq: number, side: Side, message: string): void {
  const row = rowAt(draft, seq);
  planAgain(draft, seq, side, draft.input.now);
  const { attempt } = patchedCall(draft, seq, side, {});
  patchCall(draft, seq, side, { attempt: attempt - 1 });
  note(draft, { what: "defect", note: message });
  park(draft, { reason: "defect", message: `${row.step}: ${message}`, seq, side, evidence: null, verbs: ["retry", "close"] });
}

/** A compensation that cannot be made, or whose outcome nobody knows: the unwind halts here. */
export function haltUndo(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  const call = row.undo?.call ?? null;
  if (row.undo === null || call === null) return;
  const spec = specOf(draft, row, "undo");
  patchRow(draft, seq, { undo: { ...row.undo, state: "halted" } });
  note(draft, { what: "undo", seq, state: "halted" });
  const unclear = call.state === "unknown";
  const verbs: readonly Verb[] = unclear ? resolveVerbs(call, spec, "undo") : ["retry", "resolve", "skip", "close"];
  const fate = unclear ? "may or may not have been undone" : "could not be undone";
  const message = `${row.step} ${fate}: ${call.error?.message ?? "no answer"}`;
  park(draft, { reason: "halted", message, seq, side: "undo", evidence: call.evidence, verbs });
}

function markUndo(draft: Draft, seq: number, side: Side, state: "owed" | "sent"): void {
  const row = rowAt(draft, seq);
  if (side === "undo" && row.undo !== null && row.undo.state !== state) patchRow(draft, seq, { undo: { ...row.undo, state } });
}

function goesForward(draft: Draft, row: Row): boolean {
  return draft.record.unwind === null && !row.abandoned && !row.told;
}

function noteOutcome(draft: Draft, seq: number, call: Call, outcome: "not_applied" | "unknown", proof: Proof): void {
  note(draft, { what: "outcome", seq, send: call.send, outcome, proof });
}

function sides(draft: Draft, seq: number, side: Side): { readonly row: Row; readonly call: Call; readonly spec: CallSpec } {
  const row = rowAt(draft, seq);
  const call = callOf(row, side);
  if (call === null) throw new RangeError(`row ${seq} has no compensation`);
  return { row, call, spec: specOf(draft, row, side) };
}

function patchedCall(draft: Draft, seq: number, side: Side, patch: Partial<Call>): Call {
  const call = callOf(patchCall(draft, seq, side, patch), side);
  if (call === null) throw new RangeError(`row ${seq} has no compensation`);
  return call;
}
