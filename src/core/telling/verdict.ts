/**
 * What may safely be done with a run as it lies there: a judgement of every call, and one of the whole (design section 8).
 * Three questions in this order: is what is needed there; are the calls journaled; is a repeat proven harmless? Where the
 * last one has no answer, nothing automatic goes on. Reads only; the engine's own rules (`find-out.ts`, `unwind.ts`) act.
 *
 * Invariant: J1 a call is never judged safer here than the engine would treat it.
 */
import { decodeInput, type EffectClass, type StepSpec } from "../../saga/index.ts";
import { MissingArtifact, missingIn, missingInWords } from "../artifacts.ts";
import { fateOfUnknown } from "../calls/owed.ts";
import { sendersInWords } from "../calls/senders.ts";
import { childInWords } from "../company/child-run.ts";
import { operationId } from "../ids.ts";
import type { Machine } from "../machine/port.ts";
import { isAsking } from "../people/approvals.ts";
import { isStuck } from "../people/reviews.ts";
import { callOf, doubtOf, effectiveClass, inputOf, mayRepeat, type Side, waitsForChild } from "../rows.ts";
import type { Call, CallState, LogEntry, Review, Row, RunRecord } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";

/**
 * `RESUME_SAFE` no effect is in doubt; `RETRY_SAFE` one is, and may be repeated; `PROBE_FIRST` the other side can be asked;
 * `HUMAN_REQUIRED` only a person can say; `BLOCKED` something is missing that no answer replaces.
 */
export type Verdict = "RESUME_SAFE" | "RETRY_SAFE" | "PROBE_FIRST" | "HUMAN_REQUIRED" | "BLOCKED";

/**
 * What going on means for one call: its recorded outcome is used (`reuse`), it is made for the first time (`call`), made
 * again under the same operation id (`repeat`), waited for while it is under way (`wait`), left without knowing whether it happened because its step says so (`leave`),
 * asked about (`probe`), put to a person (`human`), or not possible (`refuse`).
 */
export type Course = "reuse" | "call" | "repeat" | "wait" | "leave" | "probe" | "human" | "refuse";

export interface CallVerdict {
  readonly seq: number;
  readonly step: string;
  readonly occurrence: number;
  readonly side: Side;
  readonly operationId: string;
  readonly state: CallState;
  /** The class in force: the stricter of the one at the first sending and today's. */
  readonly effect: EffectClass;
  readonly course: Course;
  /** In plain words. */
  readonly reason: string;
}

export interface RunVerdict {
  readonly verdict: Verdict;
  /** Why, in plain words; never empty. */
  readonly reasons: readonly string[];
  /** Every call of the ledger, in the order of its rows; the compensation of a row comes after its action. */
  readonly calls: readonly CallVerdict[];
  /** What it was judged on: it says nothing about a later revision or another structure. */
  readonly revision: number;
  readonly hash: string;
  /** Store time, ms. */
  readonly at: number;
}

export interface Judged {
  readonly namespace: string;
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  /** `null`: the saga is not there, or not in the structure the run is pinned to. */
  readonly machine: Machine | null;
  readonly now: number;
  /** What it went through; only a fork looks at it. */
  readonly log?: readonly LogEntry[];
}

/** Judges a run. */
export function verdictOf(judged: Judged): RunVerdict {
  const { record, rows, now } = judged;
  const calls = rows.flatMap((row) => callsOf(judged, row));
  const { verdict, reasons } = sumUp(judged, calls);
  return { verdict, reasons, calls, revision: record.revision, hash: record.hash, at: now };
}

// ---- one call

interface Judgement {
  readonly course: Course;
  readonly reason: string;
}

function callsOf(judged: Judged, row: Row): readonly CallVerdict[] {
  const sides: readonly Side[] = row.undo?.call == null ? ["action"] : ["action", "undo"];
  return sides.map((side) => callVerdict(judged, row, side));
}

function callVerdict(judged: Judged, row: Row, side: Side): CallVerdict {
  const { namespace, record, machine, now } = judged;
  const { seq, step, occurrence } = row;
  // `callsOf` names only the sides that have a call.
  const call = callOf(row, side) as Call;
  const spec = machine?.saga.steps[step];
  const effect = spec === undefined ? call.effect : effectiveClass(call, sideOf(spec, side));
  const isUnwanted = side === "action" && (record.unwind !== null || row.abandoned);
  const { course, reason } = judge({ row, side, call, step: spec, isUnwanted, now });
  const id = operationId(namespace, record, row, side);
  return { seq, step, occurrence, side, operationId: id, state: call.state, effect, course, reason };
}

interface Case {
  readonly row: Row;
  readonly side: Side;
  readonly call: Call;
  readonly step: StepSpec | undefined;
  /** The run goes back, or went on without it: nobody wants the action for its own sake. */
  readonly isUnwanted: boolean;
  readonly now: number;
}

function sideOf(step: StepSpec, side: Side) {
  return side === "action" ? step : (step.compensation ?? step);
}

function judge(it: Case): Judgement {
  const { row, side, call } = it;
  switch (call.state) {
    case "succeeded":
      return side === "action" && row.unusable
        ? { course: "human", reason: "it happened, but its output does not fit its schema" }
        : { course: "reuse", reason: "its outcome is recorded" };
    case "not_applied":
      return { course: "reuse", reason: "it is recorded that it did not happen" };
    case "withdrawn":
      return { course: "reuse", reason: "it was withdrawn before it was sent" };
    case "reused":
      return {
        course: "reuse",
        reason: `the outcome of ${row.intent?.owner ?? "another call"} under the same intent is used`,
      };
    case "claiming":
    case "planned":
    case "offered":
    case "sent":
    case "unknown":
      return judgeOpen(it);
  }
}

function judgeOpen(it: Case): Judgement {
  const { row, side, call, step } = it;
  if (row.undo?.state === "skipped" || row.undo?.state === "accepted") {
    return { course: "reuse", reason: `a person has decided: ${row.undo.reason}` };
  }
  if (step === undefined) return { course: "refuse", reason: `the saga as it is here has no step ${row.step}` };
  if (side === "undo" && step.compensation === null) {
    return { course: "refuse", reason: `${row.step} has no compensation in the saga as it is here` };
  }
  const recorded = inputOf(row, side);
  if (recorded instanceof MissingArtifact) return { course: "refuse", reason: "its recorded input is missing" };
  const input = decodeInput(step, recorded);
  if (!input.ok) return { course: "refuse", reason: `its recorded input does not fit its schema: ${input.problem}` };
  if (isStuck(call)) return { course: "human", reason: "it stops its workers, or cannot be called as it is" };
  if (call.state === "sent" && call.deadline !== null && it.now < call.deadline) {
    return { course: "wait", reason: "it is under way, or its worker is gone and the next one judges it" };
  }
  if (side === "action" && isAsking(row))
    return { course: "wait", reason: `people are asked: ${row.approval?.question}` };
  if (call.state === "claiming") return judgeClaim(row);
  if (waitsForChild(row) && call.state === "planned") return { course: "wait", reason: childInWords(row, side) };
  const isUnsent = call.state === "planned" || call.state === "offered";
  if (isUnsent && doubtOf(call) === null) return { course: "call", reason: "no sending of it is in doubt" };
  return it.isUnwanted ? judgeUnwanted(it, step) : judgeDoubt(it, step);
}

/** What is not sent before it has its intent. */
function judgeClaim({ intent }: Row): Judgement {
  switch (intent?.state) {
    case "busy":
      return { course: "wait", reason: `${intent.owner} makes the same effect and has not come to an end` };
    case "conflict":
      return { course: "human", reason: `${intent.owner} has the same intent with other arguments` };
    default:
      return { course: "call", reason: "it asks for its intent and has not been sent" };
  }
}

/** What may have happened and is not wanted any more. */
function judgeUnwanted(it: Case, step: StepSpec): Judgement {
  const { row, now } = it;
  switch (fateOfUnknown(row, step, now)) {
    case "probe":
      return {
        course: "probe",
        reason: `it is not wanted any more, and the other side can be asked${whoHolds(row.call)}`,
      };
    case "ask":
      return { course: "human", reason: whyAsked(it, step) };
    case "keep":
      return { course: "leave", reason: "it is kept where it is left (onAbandon)" };
    case "stays":
      return { course: "leave", reason: `it is not undone: ${step.noCompensation}` };
    case "undo":
      return { course: "leave", reason: "it is undone whether it happened or not" };
    case "settle":
      return { course: "repeat", reason: harmless[effectiveClass(row.call, step)] };
  }
}

/** It may have happened. */
function judgeDoubt({ side, call, now }: Case, step: StepSpec): Judgement {
  const spec = sideOf(step, side);
  const effect = effectiveClass(call, spec);
  if (mayRepeat(call, spec, now)) return { course: "repeat", reason: harmless[effect] };
  const why = unprotected(effect);
  return spec.hasProbe
    ? { course: "probe", reason: `${why}, and the other side can be asked${whoHolds(call)}` }
    : { course: "human", reason: `${why}, and the other side cannot be asked` };
}

/** Who keeps an absence from being believed. */
function whoHolds(call: Call): string {
  const held = call.state === "unknown" ? sendersInWords(call) : null;
  return held === null ? "" : ` (but ${held})`;
}

/** Why neither a probe nor a repeat settles an effect that is not wanted. */
function whyAsked({ call, now }: Case, step: StepSpec): string {
  if (step.pivot) return "it may be the point of no return, and the other side cannot be asked";
  if (!step.settle) return "it may not be repeated to settle what it did (settle)";
  if (mayRepeat(call, step, now)) return "it was repeated as often as may be to settle what it did";
  return `${unprotected(effectiveClass(call, step))}, and the other side cannot be asked`;
}

function unprotected(effect: EffectClass): string {
  return effect === "keyed"
    ? "the other side may have forgotten its key by now"
    : "nothing protects against doing it twice";
}

const harmless: Readonly<Record<EffectClass, string>> = {
  none: "it changes nothing outside",
  idempotent: "doing it again leaves the same result",
  keyed: "the other side still knows its key and answers a repeat with the first result",
  // `mayRepeat` never says so.
  once: "",
};

// ---- the run

const worst: readonly (readonly [Course, Verdict])[] = [
  ["refuse", "BLOCKED"],
  ["human", "HUMAN_REQUIRED"],
  ["probe", "PROBE_FIRST"],
  ["repeat", "RETRY_SAFE"],
];

function sumUp(
  { record, rows, machine }: Judged,
  calls: readonly CallVerdict[],
): Pick<RunVerdict, "verdict" | "reasons"> {
  if (hasEnded(record.status)) return { verdict: "RESUME_SAFE", reasons: [`it has ended (${record.status})`] };
  const missing = missingIn(record, rows);
  if (missing.length > 0) return { verdict: "BLOCKED", reasons: missing.map(missingInWords) };
  if (machine === null) {
    const saga = `${record.saga} version ${record.version} with structure ${record.hash}`;
    return { verdict: "BLOCKED", reasons: [`the saga is not here: ${saga}`] };
  }
  const blocked = record.snapshot === null ? null : machine.blocked(record.snapshot);
  if (blocked !== null) return { verdict: "BLOCKED", reasons: [`its state cannot be restored: ${blocked}`] };
  const question = record.review !== null && asksMore(record.review) ? [record.review.message] : [];
  for (const [course, verdict] of worst) {
    const found = calls.filter((call) => call.course === course).map(inWords);
    const reasons = course === "human" ? [...question, ...found] : found;
    if (reasons.length > 0) return { verdict, reasons };
  }
  const underWay = calls.filter((call) => call.course === "wait").map(inWords);
  return { verdict: "RESUME_SAFE", reasons: underWay.length > 0 ? underWay : ["no effect of it is in doubt"] };
}

/** Is the question about more than what became of a call? That is judged by the call itself. */
function asksMore({ reason }: Review): boolean {
  return reason !== "unknown_outcome" && reason !== "halted";
}

function inWords({ seq, step, side, reason }: CallVerdict): string {
  return `${side === "action" ? step : `the compensation of ${step}`} (row ${seq}): ${reason}`;
}
