/**
 * What a person decides about a parked run. Owns the meaning of the five verbs; the store's slot `review:<n>` decides who
 * was first. Invariant: V1 a verb that the review does not allow changes nothing but the log. V2 no verb makes a `once`
 * call again unless the person states that nothing happened.
 */
import { decodeInput, decodeOutput, type Json, toJson } from "../saga/index.ts";
import { mayRepeat, planAgain, provenAbsent, succeed } from "./calls.ts";
import { callOf, type Draft, effectiveClass, newCall, note, park, patchCall, patchRow, rowAt, rowIsOpen, type Side, specOf, stepOf } from "./draft.ts";
import { maxProbes } from "./retry.ts";
import type { Cause, InboxEntry, Review, VerbCommand } from "./run.ts";
import { pivotHappened, startUnwind } from "./unwind-start.ts";

/** Takes a verb on the open review; the run goes on, ends, or is parked again under the next number. */
export function takeVerb(draft: Draft, entry: InboxEntry, command: VerbCommand): void {
  const { review } = draft.record;
  if (review === null || entry.slot !== `review:${review.n}`) return;
  note(draft, { what: "verb", verb: command.verb, review: review.n, by: entry.by, payload: payloadOf(command) });
  const refusal = review.verbs.includes(command.verb) ? null : `${command.verb} is not allowed here`;
  draft.record.review = null;
  const problem = refusal ?? carryOut(draft, review, command, entry.by);
  if (problem !== null) parkAgain(draft, review, problem);
}

function payloadOf(command: VerbCommand): Json {
  const checked = toJson(command);
  return checked.ok ? checked.value : null;
}

function parkAgain(draft: Draft, review: Review, problem: string): void {
  const { n, since, ...same } = review;
  park(draft, { ...same, message: `${review.message} (after review ${n}: ${problem})` });
}

/** `null`: done. Else why it could not be. */
function carryOut(draft: Draft, review: Review, command: VerbCommand, by: string): string | null {
  switch (command.verb) {
    case "probe":
      return probeNow(draft, review);
    case "resolve":
      return resolve(draft, review, command);
    case "retry":
      return retry(draft, review, command.input);
    case "skip":
      return skip(draft, review, command.reason, by);
    case "close":
      return close(draft, command.reason, by);
  }
}

function probeNow(draft: Draft, review: Review): string | null {
  const at = placeOf(draft, review);
  if (at === null) return "there is no call to ask about";
  patchCall(draft, at.seq, at.side, { state: "unknown", probes: maxProbes - 1, probeAt: draft.input.now, nextAt: null });
  unhalt(draft, at.seq, at.side);
  return null;
}

function resolve(draft: Draft, review: Review, command: Extract<VerbCommand, { verb: "resolve" }>): string | null {
  const at = placeOf(draft, review);
  if (at === null) return "there is no call to resolve";
  if (command.as === "absent") return resolveAbsent(draft, at.seq, at.side);
  const checked = at.side === "undo" ? null : decodeOutput(stepOf(draft, rowAt(draft, at.seq)), command.output);
  if (checked !== null && !checked.ok) return `the output does not fit: ${checked.problem}`;
  patchRow(draft, at.seq, { unusable: false, reference: command.reference });
  succeed(draft, at.seq, at.side, at.side === "undo" ? null : command.output, "person");
  return null;
}

function resolveAbsent(draft: Draft, seq: number, side: Side): string | null {
  const call = callOf(rowAt(draft, seq), side);
  if (call?.state === "succeeded") return "it is recorded as succeeded";
  if (side === "undo") return retryUndo(draft, seq);
  if (call?.state !== "not_applied") provenAbsent(draft, seq, side, "person");
  return null;
}

function retry(draft: Draft, review: Review, input: Json | undefined): string | null {
  const at = placeOf(draft, review);
  if (at === null) return goOn(draft, review);
  const row = rowAt(draft, at.seq);
  if (review.reason === "late_result") return undoLate(draft, at.seq);
  if (at.side === "undo") return input === undefined ? retryUndo(draft, at.seq) : "a compensation takes no other input";
  const recorded = row.call.state === "succeeded" || (review.reason === "defect" && row.call.state === "not_applied");
  if (recorded) return readAgain(draft, at.seq);
  const problem = input === undefined ? null : changeInput(draft, at.seq, input);
  if (problem !== null) return problem;
  const clean = row.call.state === "not_applied" || row.call.state === "planned";
  if (!clean && !mayRepeat(draft, at.seq, "action", draft.input.now)) return "it may have happened: say first whether it did";
  if (review.reason === "after_pivot") draft.record.cause = null;
  patchCall(draft, at.seq, "action", { attempt: 0, interruptions: 0 });
  planAgain(draft, at.seq, "action", draft.input.now);
  return null;
}

/** A review about no row: the transition is tried again by whoever drives next; a taken cancel is withdrawn. */
function goOn(draft: Draft, review: Review): string | null {
  if (review.reason === "after_pivot") {
    draft.record.cause = null;
    draft.record.cancel = null;
  }
  draft.record.interruptions = 0;
  return null;
}

function changeInput(draft: Draft, seq: number, input: Json): string | null {
  const row = rowAt(draft, seq);
  if (row.call.doubtUntil !== null) return "an earlier send may have happened with the old input: resolve it first";
  const checked = decodeInput(stepOf(draft, row), input);
  if (!checked.ok) return `the input does not fit: ${checked.problem}`;
  patchRow(draft, seq, { input });
  return null;
}

/** The recorded output is read again, by mended code; nothing is called. */
function readAgain(draft: Draft, seq: number): string | null {
  const row = rowAt(draft, seq);
  const checked = decodeOutput(stepOf(draft, row), row.output);
  if (row.unusable && !checked.ok) return `the output still does not fit: ${checked.problem}`;
  patchRow(draft, seq, { unusable: false });
  return null;
}

function retryUndo(draft: Draft, seq: number): string | null {
  const row = rowAt(draft, seq);
  const call = row.undo?.call ?? null;
  if (row.undo === null || call === null) return "there is no compensation";
  const spec = specOf(draft, row, "undo");
  const fresh = { attempt: 0, interruptions: 0, doubtUntil: null, generation: call.generation };
  patchCall(draft, seq, "undo", effectiveClass(call, spec) === "once" ? fresh : { attempt: 0, interruptions: 0 });
  planAgain(draft, seq, "undo", draft.input.now);
  return null;
}

/** An effect that turned up after the run had ended is undone. */
function undoLate(draft: Draft, seq: number): string | null {
  const step = stepOf(draft, rowAt(draft, seq));
  if (step.compensation === null) return `the step has no compensation (${step.noCompensation ?? ""}): close it`;
  const call = newCall(step.compensation.effect, draft.input.now);
  patchRow(draft, seq, { undo: { state: "owed", call, reason: "late result" } });
  return null;
}

function skip(draft: Draft, review: Review, reason: string, by: string): string | null {
  const at = placeOf(draft, review);
  const row = at === null ? null : rowAt(draft, at.seq);
  if (row === null || row.undo === null) return "there is no compensation to skip";
  patchRow(draft, row.seq, { undo: { ...row.undo, state: "skipped", reason: `${by}: ${reason}` } });
  note(draft, { what: "undo", seq: row.seq, state: "skipped", note: reason });
  return null;
}

/** Gives up: what is open ends `unknown, accepted`; the run ends without undoing anything more. */
function close(draft: Draft, reason: string, by: string): string | null {
  const { now } = draft.input;
  for (const row of draft.rows) accept(draft, row.seq, `${by}: ${reason}`);
  const cause: Cause = draft.record.cause ?? { kind: "closed", step: null, message: reason, reference: by };
  draft.record.cause = cause;
  const ends = draft.record.cancel !== null || draft.record.unwind?.ends === "cancelled" ? "cancelled" : "failed";
  draft.record.unwind = { cause, at: draft.record.unwind?.at ?? now, quiesceUntil: now, ends };
  draft.record.timers = [];
  return null;
}

function accept(draft: Draft, seq: number, reason: string): void {
  const row = rowAt(draft, seq);
  const { state } = row.call;
  if (state === "planned" && row.call.firstSentRevision === null) {
    patchCall(draft, seq, "action", { state: "withdrawn", nextAt: null });
    return;
  }
  if (state === "offered") draft.withdraw.push({ seq, send: row.call.send });
  const owes = row.call.firstSentRevision !== null && stepOf(draft, row).effect !== "none" && state !== "not_applied";
  if (state === "planned" || state === "offered") patchCall(draft, seq, "action", { state: "unknown", nextAt: null, probeAt: null });
  if (!rowIsOpen(rowAt(draft, seq)) && row.undo !== null) return;
  if (state === "succeeded" && row.undo === null && pivotHappened(draft)) {
    patchRow(draft, seq, { told: true, undo: { state: "not_needed", call: null, reason: "a point of no return was passed" } });
    return;
  }
  const undo = owes && row.undo?.state !== "done" ? ({ state: "accepted", call: row.undo?.call ?? null, reason } as const) : row.undo;
  patchRow(draft, seq, { told: true, undo });
}

function placeOf(draft: Draft, review: Review): { readonly seq: number; readonly side: Side } | null {
  if (review.seq === null || review.side === null || draft.rows[review.seq - 1] === undefined) return null;
  return { seq: review.seq, side: review.side };
}

function unhalt(draft: Draft, seq: number, side: Side): void {
  const row = rowAt(draft, seq);
  if (side === "undo" && row.undo?.state === "halted") patchRow(draft, seq, { undo: { ...row.undo, state: "sent" } });
}

/** What a cancel comes to: an unwind, or nothing while one is under way. */
export function takeCancel(draft: Draft, entry: InboxEntry, reason: string, mode: "compensate" | "stop" | "kill"): void {
  note(draft, { what: "control", control: "cancel", by: entry.by, reason });
  draft.record.cancel = { mode, reason, by: entry.by, at: entry.at };
  if (draft.record.unwind !== null) return;
  draft.record.review = null;
  startUnwind(draft, { kind: "cancelled", step: null, message: reason, reference: entry.by }, "cancelled");
}
