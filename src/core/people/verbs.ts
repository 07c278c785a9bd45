/**
 * What a person decides about a parked run: the verbs. The store's slot `review:<n>` decides
 * who was first. Invariants: V1 a verb that the review does not allow changes nothing but the log. V2 no verb makes a call
 * again that may have happened and is not safe to repeat, unless the person states that nothing happened. V3 only
 * `compensate` undoes in spite of a pivot, on a review that says one was passed, and with a reason.
 */
import { type CallSpec, decodeOutput, type Json } from "../../saga/index.ts";
import { summaryOf } from "../artifacts.ts";
import { raise } from "../bounds/budget-limits.ts";
import { countAnew } from "../bounds/loops.ts";
import { closeNotApplied, closeUndo, happened } from "../calls/closing.ts";
import { planAgain, provenAbsent } from "../calls/find-out.ts";
import { dueBy } from "../calls/new-row.ts";
import { owe } from "../calls/owed.ts";
import { maxProbes } from "../calls/retry.ts";
import { blockedBy } from "../calls/take-over.ts";
import { claimAnew, reuse } from "../company/claims.ts";
import { callAt, consume, type Draft, note, type Place, patchCall, patchRow, rowAt, specOf, stepOf } from "../draft.ts";
import { doubtOf, hasOutput, mayRepeat } from "../rows.ts";
import type { Call, CallState, Cause, InboxBody, InboxEntry, Review, ReviewReason, VerbCommand } from "../run/index.ts";
import { close } from "../unwind/close.ts";
import { rewind } from "../unwind/rewind.ts";
import { startUnwind, startUnwindDespitePivot } from "../unwind/unwind-start.ts";
import { askAnew } from "./approvals.ts";
import { changeInput } from "./new-input.ts";
import { isLeftToPerson, park } from "./reviews.ts";
import { countReplay, objectionToMoved, ofPlan } from "./shown.ts";
import { refuseCall } from "./votes.ts";

/** The verbs that are about one call. */
type PlaceVerb = Extract<VerbCommand, { readonly verb: "probe" | "resolve" | "retry" | "skip" }>;
/** What a verb came to: `null`, done; else why it could not be done. */
type Problem = string | null;

/** Takes a verb on the open review; the run goes on, ends, or is parked again under the next number. */
export function takeVerb(draft: Draft, entry: InboxEntry, body: Extract<InboxBody, { type: "verb" }>): void {
  const { verb: command, plan } = body;
  const { review } = draft.record;
  if (review === null || entry.slot !== `review:${review.n}`) {
    note(draft, { what: "unconsumed", slot: entry.slot });
    return;
  }
  note(draft, {
    what: "verb",
    verb: command.verb,
    review: review.n,
    by: entry.by,
    payload: payloadOf(command),
    ...ofPlan(plan),
  });
  const isAllowed = review.verbs.includes(command.verb);
  draft.record.review = null;
  const refusal = `${command.verb} is not allowed here, but ${review.verbs.join(", ")}`;
  const objection = objectionToMoved(draft, body) ?? (isAllowed ? missingFor(draft, command) : refusal);
  const problem = objection ?? carryOut(draft, review, command, entry.by);
  if (problem !== null) return parkAgain(draft, review, problem);
  countReplay(draft, plan);
  // What had made it park behind a pivot is mended, or comes up again by itself.
  if (review.reason === "after_pivot" && !givesUp.has(command.verb)) draft.record.cause = null;
}

/** Why nothing can be done before values are back; `close` needs none. */
function missingFor({ before: { missing } }: Draft, { verb }: VerbCommand): Problem {
  return missing === undefined || verb === "close" ? null : summaryOf(missing);
}

/** The verbs after which the run ends for the cause it has. */
const givesUp: ReadonlySet<VerbCommand["verb"]> = new Set(["compensate", "close"]);

function payloadOf(command: VerbCommand): Json {
  // What came through the inbox is JSON, but for an input that was left out.
  return JSON.parse(JSON.stringify(command)) as Json;
}

function parkAgain(draft: Draft, { n, since, ...review }: Review, problem: string): void {
  const mark = " (after review ";
  const end = review.message.indexOf(mark);
  const asked = end === -1 ? review.message : review.message.slice(0, end);
  park(draft, { ...review, message: `${asked}${mark}${n}: ${problem})` });
}

function carryOut(draft: Draft, review: Review, command: VerbCommand, by: string): Problem {
  switch (command.verb) {
    case "close":
      return close(draft, review, `${by}: ${command.reason}`);
    case "compensate":
      return compensate(draft, review, command.reason, by);
    case "rewind":
      return rewind(draft, command, by);
    case "discard":
      return discard(draft, review);
    case "raise":
      return raise(draft, command);
    case "probe":
    case "resolve":
    case "retry":
    case "skip": {
      const { seq, side } = review;
      return seq === null || side === null
        ? goOn(draft, review, command)
        : actOn(draft, { seq, side }, review, command, by);
    }
  }
}

function actOn(draft: Draft, place: Place, review: Review, command: PlaceVerb, by: string): Problem {
  switch (command.verb) {
    case "probe":
      return probeNow(draft, place);
    case "resolve":
      return resolve(draft, place, command);
    case "retry":
      return retry(draft, place, review, command.input);
    case "skip":
      return skip(draft, place, `${by}: ${command.reason}`);
  }
}

/** A review about no row: what was tried is tried again; a cancel that was refused is withdrawn. */
function goOn(draft: Draft, { reason }: Review, command: PlaceVerb): Problem {
  if (command.verb === "retry" && command.input !== undefined) return "there is no call here to take another input";
  const blocked = reason === "blocked" ? blockedBy(draft) : null;
  if (blocked !== null) return blocked;
  if (reason === "after_pivot") draft.record.cancel = null;
  draft.record.interruptions = 0;
  return null;
}

/** The event that the machine cannot take is thrown away, so that what comes after it is heard. */
function discard(draft: Draft, { event }: Review): Problem {
  for (const entry of draft.inbox.filter(({ slot }) => slot === `event:${event}`)) {
    consume(draft, entry);
    note(draft, { what: "discarded", slot: entry.slot });
  }
  return null;
}

// ---- turning round

/**
 * The run goes back instead of the question being answered; what is unknown is found out on the way. Where a pivot was
 * passed that parks it once more (`startUnwind`), and only the same verb on that review undoes anything.
 */
function compensate(draft: Draft, review: Review, reason: string, by: string): Problem {
  const isWarned = review.reason === "after_pivot";
  if (isWarned && reason.trim() === "") return "a point of no return was passed: say why it is undone all the same";
  const cause = draft.record.cause ?? causeOf(draft, review, `${by}: ${reason}`);
  draft.record.interruptions = 0;
  if (isWarned) startUnwindDespitePivot(draft, cause);
  else startUnwind(draft, cause);
  return null;
}

function causeOf(draft: Draft, { n, reason, seq }: Review, message: string): Cause {
  const isBug = reason === "defect" || reason === "poison" || reason === "blocked";
  const kind = reason === "deadline" ? "deadline" : isBug ? "defect" : "step_failed";
  const step = seq === null ? null : rowAt(draft, seq).step;
  return { kind, step, message, reference: `review ${n}` };
}

// ---- asking again

function probeNow(draft: Draft, place: Place): Problem {
  patchCall(draft, place, { probes: maxProbes - 1, probeAt: draft.input.now, interruptions: 0 });
  return null;
}

// ---- saying what happened

function resolve(draft: Draft, place: Place, command: Extract<VerbCommand, { verb: "resolve" }>): Problem {
  if (command.as === "absent") return resolveAbsent(draft, place, command.reference);
  const isAction = place.side === "action";
  if (isAction && rowAt(draft, place.seq).kind === "approval")
    return "only who may decide on it approves it: retry asks them anew";
  const checked = isAction ? decodeOutput(stepOf(draft, rowAt(draft, place.seq)), command.output) : null;
  if (checked !== null && !checked.ok) return `the output does not fit: ${checked.problem}`;
  patchRow(draft, place.seq, { reference: command.reference });
  const row = rowAt(draft, place.seq);
  // It is another run's effect: this one's own call was never made.
  if (isAction && row.intent !== null && (row.call.state === "reused" || row.call.state === "claiming")) {
    reuse(draft, row, row.intent.owner, command.output, "person");
    return null;
  }
  happened(draft, place, { output: command.output, unusable: null, proof: "person", which: "some" });
  return null;
}

function resolveAbsent(draft: Draft, place: Place, reference: string | null): Problem {
  const { state } = callAt(draft, place);
  if (state === "succeeded") return "it is recorded as succeeded";
  if (state === "reused") return "it was made and undone by its owner: say that it is there again, or undo this run";
  if (state === "claiming") return giveUpClaim(draft, place, reference);
  patchRow(draft, place.seq, { reference });
  if (isLeftToPerson(rowAt(draft, place.seq))) {
    refuseCall(draft, place.seq, "EXPIRED", "nobody has decided in time, and a person has said that it is not made");
    return null;
  }
  // A compensation that was not made is made again; an action goes by what its policy still allows.
  if (place.side === "undo") patchCall(draft, place, { attempt: 0, error: null });
  if (state === "not_applied" && place.side === "action") closeNotApplied(draft, place, "person");
  else provenAbsent(draft, place, "person");
  return null;
}

/** The effect is not made at all: whoever asked for it hears that it failed. */
function giveUpClaim(draft: Draft, place: Place, reference: string | null): Problem {
  const message = "a person has decided that it is not made: its intent is somebody else's";
  patchRow(draft, place.seq, { reference });
  patchCall(draft, place, { error: { kind: "not_applied", code: null, message, attempts: 0 } });
  closeNotApplied(draft, place, "person");
  return null;
}

// ---- trying again

function retry(draft: Draft, place: Place, { reason }: Review, input: Json | undefined): Problem {
  const row = rowAt(draft, place.seq);
  const { state } = callAt(draft, place);
  const isLate = reason === "late_result";
  const isRecorded = isOutcomeRecorded(reason, state);
  if (input !== undefined && (isLate || isRecorded)) return "its outcome is recorded: no other input is of use";
  if (isLate) return undoLate(draft, place.seq);
  if (isRecorded) return readAgain(draft, place.seq);
  const problem =
    (input === undefined ? null : changeInput(draft, place, input)) ??
    objectionToRepeat(callAt(draft, place), specOf(draft, row, place.side), draft.input.now);
  if (problem !== null) return problem;
  if (place.side === "action") {
    const unasked = askAnew(draft, place.seq);
    if (unasked !== null) return unasked;
    claimAnew(draft, rowAt(draft, place.seq), input !== undefined);
  }
  patchCall(draft, place, { attempt: 0, interruptions: 0, error: null });
  if (place.side === "action") countFromNow(draft, place.seq);
  planAgain(draft, place, draft.input.now);
  return null;
}

/** As if it had been asked for now: with all its time, and counted anew. */
function countFromNow(draft: Draft, seq: number): void {
  patchRow(draft, seq, { dueBy: dueBy(draft, stepOf(draft, rowAt(draft, seq))) });
  countAnew(draft, seq);
}

/** Is a retry only a matter of reading again what is recorded? */
export function isOutcomeRecorded(reason: ReviewReason, state: CallState): boolean {
  return hasOutput({ state }) || (reason === "defect" && state === "not_applied");
}

/** Why a call is not made again on a person's word alone; `null`: it may be. */
export function objectionToRepeat(call: Call, spec: CallSpec, now: number): string | null {
  return doubtOf(call) === null || mayRepeat(call, spec, now) ? null : "it may have happened: say first whether it did";
}

/** The recorded outcome is read again, by mended code; nothing is called. */
function readAgain(draft: Draft, seq: number): Problem {
  const row = rowAt(draft, seq);
  const checked = row.unusable ? decodeOutput(stepOf(draft, row), row.output) : null;
  if (checked !== null && !checked.ok) return `the output still does not fit: ${checked.problem}`;
  patchRow(draft, seq, { unusable: false });
  return null;
}

/** An effect that turned up late is undone. */
function undoLate(draft: Draft, seq: number): Problem {
  const row = rowAt(draft, seq);
  const { compensation } = stepOf(draft, row);
  if (compensation === null) return "today's code has no compensation for it";
  owe(draft, row, compensation);
  return null;
}

function skip(draft: Draft, { seq }: Place, reason: string): Problem {
  closeUndo(draft, seq, "skipped", reason);
  return null;
}
