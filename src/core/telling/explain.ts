/**
 * The three answers an operator needs of any run (requirement of the product's first readers): where did it stop, what was
 * attempted outside, and what may safely be tried again. As data, and as text that needs no glossary.
 */
import type { Json } from "../../saga/index.ts";
import { childInWords } from "../company/child-run.ts";
import { waitsForChild } from "../rows.ts";
import type { Row, RunRecord } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import { type LastAct, lastAct, type StoppedAt, stoppedAt } from "./answers.ts";
import { type Attempt, attemptOf } from "./attempts.ts";
import { type Judged, type RunVerdict, verdictOf } from "./verdict.ts";

export interface Explanation {
  /** Where it stopped, or what it is doing. */
  readonly where: { readonly status: RunRecord["status"]; readonly state: Json; readonly text: string };
  readonly stoppedAt: StoppedAt;
  /** Every call that was sent, actions and compensations, oldest row first. */
  readonly attempted: readonly Attempt[];
  /** The newest call that may have changed something outside; `null`: none was sent. */
  readonly lastAct: LastAct | null;
  readonly verdict: RunVerdict;
  /** The three answers, a paragraph each. */
  readonly text: string;
}

/** Explains a run. */
export function explain(judged: Judged): Explanation {
  const { record } = judged;
  const verdict = verdictOf(judged);
  const attempted = verdict.calls.flatMap((call) => attemptOf(judged, call));
  const where = { status: record.status, state: record.snapshot?.value ?? null, text: whereOf(judged) };
  const paragraphs = [
    `Where: ${where.text}.`,
    `Attempted: ${attempted.length === 0 ? "nothing was sent" : attempted.map(attemptInWords).join("; ")}.`,
    `Safe now: ${safeInWords(verdict)}.`,
  ];
  const answers = { where, stoppedAt: stoppedAt(judged), attempted, lastAct: lastAct(judged, attempted) };
  return { ...answers, verdict, text: paragraphs.join("\n") };
}

// ---- in words

/** Children of which more than a few are waited for are counted. */
const maxChildrenTold = 3;

function whereOf({ record, rows }: Judged): string {
  const { id, saga, version, status, snapshot, cause, rollback } = record;
  const run = `run ${id} of ${saga} version ${version}`;
  if (hasEnded(status)) {
    const why = cause === null ? "" : ` (${cause.message})`;
    return `${run} ended ${status}${why}${rollback === "none" ? "" : `, roll-back ${rollback}`}`;
  }
  const state = snapshot === null ? "has not begun" : `is in ${JSON.stringify(snapshot.value)}`;
  return `${run} ${state} and ${doingOf(record)}${childrenOf(rows)}`;
}

/** What became of the children that are waited for; those that a person is asked about come first. */
function childrenOf(rows: readonly Row[]): string {
  const waiting = rows.filter(waitsForChild).sort((a, b) => Number(isParkedChild(b)) - Number(isParkedChild(a)));
  if (waiting.length === 0) return "";
  const told = waiting
    .slice(0, maxChildrenTold)
    .map((row) => `${childInWords(row, row.call.state === "planned" ? "action" : "undo")} (row ${row.seq})`);
  const more = waiting.length - told.length;
  return `: ${told.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

function isParkedChild({ child }: Row): boolean {
  return child?.status === "needs_review";
}

function doingOf({ status, review, waitingFor, unwind }: RunRecord): string {
  if (review !== null) return `is parked for a person: ${review.message}`;
  if (unwind?.leaves) return `is being stopped, undoing nothing (${unwind.cause.message})`;
  if (unwind !== null) {
    const end = unwind.to === undefined ? "" : ` as far as the savepoint ${unwind.to.state}`;
    return `is being undone${end} (${unwind.cause.message})`;
  }
  if (waitingFor !== null) return `waits for ${waitingFor}`;
  return status === "paused" ? "is paused" : "goes on";
}

function attemptInWords({ step, side, seq, operationId, known }: Attempt): string {
  const what = side === "action" ? step : `the compensation of ${step}`;
  return `${what} (row ${seq}, ${operationId}) ${known === "under way" ? "is under way" : known}`;
}

const inWords: Readonly<Record<RunVerdict["verdict"], string>> = {
  RESUME_SAFE: "it can go on",
  RETRY_SAFE: "it can go on, and what is in doubt may be repeated",
  PROBE_FIRST: "nothing is repeated before the other side was asked",
  HUMAN_REQUIRED: "nothing is repeated before a person has decided",
  BLOCKED: "nothing can go on before what is missing is there",
};

function safeInWords({ verdict, reasons }: RunVerdict): string {
  return `${inWords[verdict]} (${verdict}): ${reasons.join("; ")}`;
}
