/**
 * What going back would do, row by row, before anybody has it done (design 7.8). The rules are the unwind's own (`owed.ts`,
 * `unwind-order.ts`, `rows.ts`); this file only asks them and says the answers in words. Reads only.
 *
 * Invariants: W1 nothing is shown as safer or surer than the unwind treats it. W2 each row with something sent is in it once.
 */
import type { StepSpec } from "../../saga/index.ts";
import { type Fate, fateOfHappened, fateOfUnknown } from "../calls/owed.ts";
import { childInWords } from "../company/child-run.ts";
import { operationId } from "../ids.ts";
import { doubtOf, isUndone, mayRepeat, rowIsOpen, staysAt, waitsForChild } from "../rows.ts";
import type { Call, Row, Savepoint, Undo } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import type { Judged } from "../telling/verdict.ts";
import { mayBePivot } from "./unwind.ts";
import { latestFirst } from "./unwind-order.ts";
import { pivotIn } from "./unwind-start.ts";

/**
 * `compensate` it is undone · `settle` it is made once more to learn what is to be undone, then undone · `probe` the other
 * side is asked first · `wait` its answer is awaited first · `leave` its effect stays · `human` a person is asked · `nothing`
 * there is nothing to undo.
 */
export type UndoCourse = "compensate" | "settle" | "probe" | "wait" | "leave" | "human" | "nothing";

/** What would be done about one row. */
export interface UndoStep {
  readonly seq: number;
  readonly step: string;
  readonly occurrence: number;
  /** Of the compensation. */
  readonly operationId: string;
  readonly course: UndoCourse;
  /** In plain words. */
  readonly reason: string;
}

export interface UnwindPreview {
  /** The point of no return that was passed: nothing of this is done unless a person says so in spite of it. */
  readonly pivot: string | null;
  /** In the order in which they would be undone (sibling regions may be undone side by side). */
  readonly steps: readonly UndoStep[];
}

type Judgement = Pick<UndoStep, "course" | "reason">;

/** Says what undoing this run, or going back to a savepoint, would do; `null`: the saga is not here to say. */
export function unwindPreview(judged: Judged, to?: Savepoint): UnwindPreview | null {
  const { machine } = judged;
  if (machine === null) return null;
  const rows = judged.rows.filter((row) => !staysAt(to, row));
  const order = latestFirst(rows);
  const isFirst = (row: Row) => {
    const step = machine.saga.steps[row.step];
    return step !== undefined && rowIsOpen(row) && mayBePivot(row, step);
  };
  // Before it is known whether a pivot was passed nothing else is undone.
  const steps = [...order.filter(isFirst), ...order.filter((row) => !isFirst(row))];
  return { pivot: pivotIn(machine.saga, rows), steps: steps.map((row) => undoStep(judged, row)) };
}

function undoStep(judged: Judged, row: Row): UndoStep {
  const { namespace, record } = judged;
  const { seq, step, occurrence } = row;
  const spec = judged.machine?.saga.steps[step];
  const judgement: Judgement =
    spec === undefined
      ? { course: "human", reason: `the saga as it is here has no step ${step}` }
      : judgeRow(judged, row, spec);
  return { seq, step, occurrence, operationId: operationId(namespace, record, row, "undo"), ...judgement };
}

function judgeRow(judged: Judged, row: Row, step: StepSpec): Judgement {
  const { record, now } = judged;
  const { undo } = row;
  if (undo === null || isJudgedAnew(judged, undo)) return judgeEffect({ ...row, undo: null }, step, now);
  switch (undo.state) {
    case "done":
      return { course: "nothing", reason: "it is undone" };
    case "not_needed":
      return { course: "nothing", reason: `nothing is owed: ${undo.reason}` };
    case "kept":
      return { course: "leave", reason: `it is kept: ${undo.reason}` };
    case "skipped":
    case "accepted":
      if (!hasEnded(record.status)) return { course: "leave", reason: `a person has decided: ${undo.reason}` };
      return judgeCompensation(undo, step, now);
    case "halted":
      return { course: "human", reason: "its compensation could not be made, or nobody knows whether it was" };
    case "owed":
    case "sent":
      return judgeCompensation(undo, step, now);
  }
}

/** An effect that turned up late, or that a person had left, with no call made to undo it. */
function isJudgedAnew({ record }: Judged, { state, call }: Undo): boolean {
  if (call !== null) return false;
  return state === "halted" || ((state === "skipped" || state === "accepted") && hasEnded(record.status));
}

function judgeEffect(row: Row, step: StepSpec, now: number): Judgement {
  const { call } = row;
  if (waitsForChild(row)) return { course: "compensate", reason: `${childInWords(row, "action")}, and is cancelled` };
  if (isUndone(row, step)) return { course: "nothing", reason: "it changed nothing outside" };
  if (call.state === "succeeded") return inWords(fateOfHappened(row, step), step);
  if (call.state === "sent" && now < (call.deadline as number)) {
    return { course: "wait", reason: "it is under way: its answer is awaited first" };
  }
  if (call.state === "planned" && doubtOf(call) === null) {
    return { course: "nothing", reason: "it is proven that no sending of it happened" };
  }
  return inWords(fateOfUnknown(row, step, now), step);
}

function inWords(fate: Fate, step: StepSpec): Judgement {
  switch (fate) {
    case "undo":
      return { course: "compensate", reason: "it happened, or is undone whether it did or not" };
    case "keep":
      return { course: "leave", reason: "it is kept where it is left (onAbandon)" };
    case "stays":
      return { course: "leave", reason: `it is not undone: ${step.noCompensation}` };
    case "probe":
      return { course: "probe", reason: "it may have happened, and the other side can be asked" };
    case "settle":
      return { course: "settle", reason: "it may have happened, and may be repeated to learn what is to be undone" };
    case "ask":
      return { course: "human", reason: "what is to be undone is not known, and nothing but a person can say" };
  }
}

/** Its undoing goes on from where it stands. */
function judgeCompensation({ call }: Undo, { compensation }: StepSpec, now: number): Judgement {
  if (compensation === null) return { course: "human", reason: "it has no compensation in the saga as it is here" };
  // `owed` and `sent` have a call; what a person left without one is decided anew.
  const made = call as Call;
  if (made.state === "sent" && now < (made.deadline as number)) {
    return { course: "wait", reason: "its compensation is under way" };
  }
  if (made.state !== "sent" && doubtOf(made) === null) return { course: "compensate", reason: "its undoing is owed" };
  if (mayRepeat(made, compensation, now)) {
    return { course: "compensate", reason: "its compensation may be repeated" };
  }
  return compensation.hasProbe
    ? { course: "probe", reason: "it may be undone already, and the other side can be asked" }
    : { course: "human", reason: "it may be undone already, and nothing but a person can say" };
}
