/**
 * What replaying a parked run comes to: the verb to send on its open review, or why there is none (modes resume and retry the
 * step). Owns which question a machine may answer by itself, and which only a person. The rules of the verbs are theirs.
 */
import type { CallSpec, StepSpec } from "../../saga/index.ts";
import type { Machine } from "../machine/port.ts";
import { objectionToInput } from "../people/new-input.ts";
import { isOutcomeRecorded, objectionToRepeat } from "../people/verbs.ts";
import { callOf, doubtOf, type Side } from "../rows.ts";
import type { Call, Review, ReviewReason, Row, Verb } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import { type CallVerdict, type Judged, verdictOf } from "../telling/verdict.ts";
import type { Proposal, ReplayWish } from "./words.ts";

type ParkedWish = Extract<ReplayWish, { readonly mode: "resume" | "retry_step" }>;

/** The reviews that ask about nothing but one call: what became of it, or whether to try again. */
const aboutTheCall: ReadonlySet<ReviewReason> = new Set(["unknown_outcome", "halted", "exhausted", "intent_busy"]);

/** What becomes of the call that the run is parked for. */
type Answer =
  | { readonly verb: "retry" | "probe"; readonly course: CallVerdict["course"]; readonly reason: string }
  | { readonly verb: null; readonly problem: string };

/** Proposes how a parked run goes on. */
export function planParked(judged: Judged, machine: Machine, wish: ParkedWish): Proposal {
  const { record, rows } = judged;
  const { review, snapshot } = record;
  const { calls } = verdictOf(judged);
  const cannot = (problem: string): Proposal => ({ request: null, problem, unsafe: [], calls });
  if (hasEnded(record.status)) return cannot(`it has ended (${record.status}): undo it, or start it as a new run`);
  if (review === null) return cannot(`it is ${record.status}, not parked: it goes on by itself`);
  const blocked = snapshot === null ? null : machine.blocked(snapshot);
  if (blocked !== null) return cannot(`its state cannot be restored: ${blocked}`);
  const row = review.seq === null ? null : (rows[review.seq - 1] as Row);
  const about = row === null ? "no call" : `${row.step} (row ${row.seq})`;
  if (wish.mode === "retry_step" && row?.seq !== wish.seq)
    return cannot(`it is parked for ${about}, not for row ${wish.seq}`);
  const answer = row === null ? goOn : answerTo(judged, machine, row, review, wish);
  if (answer.verb === null) return cannot(answer.problem);
  if (!takes(review, answer.verb)) return cannot(`its review takes ${review.verbs.join(", ")}`);
  const unsafe = aboutTheCall.has(review.reason) ? [] : [`${review.reason}: ${review.message}`];
  const input = wish.mode === "retry_step" && wish.input !== undefined ? { input: wish.input } : {};
  return {
    request: { type: "verb", review: review.n, verb: answer.verb, ...input },
    problem: null,
    unsafe,
    calls: calls.map((call) => (isAbout(call, review) ? { ...call, ...wordsOf(answer) } : call)),
  };
}

const goOn: Answer = { verb: "retry", course: "reuse", reason: "it goes on from its snapshot" };

function takes({ verbs }: Review, verb: Verb): boolean {
  return verbs.includes(verb);
}

function isAbout({ seq, side }: CallVerdict, review: Review): boolean {
  return seq === review.seq && side === review.side;
}

function wordsOf({ course, reason }: Exclude<Answer, { verb: null }>): Pick<CallVerdict, "course" | "reason"> {
  return { course, reason };
}

function answerTo({ now }: Judged, machine: Machine, row: Row, review: Review, wish: ParkedWish): Answer {
  const step = machine.saga.steps[row.step];
  if (step === undefined) return { verb: null, problem: `the saga as it is here has no step ${row.step}` };
  // A review about a row is about one of its calls.
  const side = review.side as Side;
  const call = callOf(row, side) as Call;
  const input = wish.mode === "retry_step" ? wish.input : undefined;
  if (review.reason === "late_result" || isOutcomeRecorded(review.reason, call.state)) {
    if (input !== undefined) return { verb: null, problem: "its outcome is recorded: no other input is of use" };
    return { verb: "retry", course: "reuse", reason: "its recorded outcome is taken up again" };
  }
  const badInput = input === undefined ? null : objectionToInput(call, step, input);
  if (badInput !== null) return { verb: null, problem: badInput };
  return againOrAsked(call, specOf(step, side), review, { now, mayAsk: wish.mode === "resume" });
}

function specOf(step: StepSpec, side: Side): CallSpec {
  return side === "action" ? step : (step.compensation ?? step);
}

function againOrAsked(
  call: Call,
  spec: CallSpec,
  review: Review,
  { now, mayAsk }: { readonly now: number; readonly mayAsk: boolean },
): Answer {
  const objection = objectionToRepeat(call, spec, now);
  if (objection === null) {
    return doubtOf(call) === null
      ? { verb: "retry", course: "call", reason: "no sending of it is in doubt" }
      : { verb: "retry", course: "repeat", reason: "it may have happened, and a repeat of it is harmless" };
  }
  if (mayAsk && takes(review, "probe")) {
    return { verb: "probe", course: "probe", reason: "it may have happened, and the other side can be asked" };
  }
  return { verb: null, problem: objection };
}
