/**
 * What a commit means, in the words that logs, metrics and spans share: one translation of the log's entries, so that no two of
 * them tell different stories. Decides nothing.
 */
import type { Call, CommittedFact, Review, Row, Taken } from "../core/index.ts";

/** One thing that has happened to a run, with the row that it is about. */
export type Move =
  | {
      readonly is: "outcome";
      readonly row: Row;
      readonly outcome: "succeeded" | "not_applied" | "unknown";
      readonly proof: string;
    }
  | { readonly is: "interrupted"; readonly row: Row }
  | { readonly is: "probed"; readonly row: Row; readonly answer: "happened" | "absent" | "cannot_tell" }
  | { readonly is: "reused" | "absorbed"; readonly row: Row }
  | { readonly is: "undo"; readonly row: Row; readonly state: string }
  | { readonly is: "approval"; readonly row: Row; readonly state: string; readonly by: string | null }
  | { readonly is: "asked"; readonly row: Row }
  | { readonly is: "verb"; readonly verb: string; readonly by: string; readonly plan: boolean }
  | { readonly is: "control"; readonly control: string; readonly by: string }
  | { readonly is: "budget"; readonly name: string; readonly used: number; readonly passed: "soft" | "hard" | null }
  | { readonly is: "migrated"; readonly from: number; readonly to: number; readonly by: string }
  | { readonly is: "parked"; readonly review: Review }
  | { readonly is: "unparked"; readonly review: Review }
  | { readonly is: "unwinding"; readonly cause: string }
  | { readonly is: "ended" };

/** The latest one: whoever hears a fact asks about it, one after the other. */
let latest: { readonly fact: CommittedFact; readonly moves: readonly Move[] } | null = null;

/** What the commit has done, in its order. */
export function movesOf(fact: CommittedFact): readonly Move[] {
  if (latest?.fact !== fact) latest = { fact, moves: translated(fact) };
  return latest.moves;
}

function translated(fact: CommittedFact): readonly Move[] {
  const moves: Move[] = [];
  for (const taken of fact.entry.taken) {
    const move = moveOf(fact, taken);
    if (move !== null) moves.push(move);
  }
  standing(fact, moves);
  return moves;
}

function moveOf(fact: CommittedFact, taken: Taken): Move | null {
  switch (taken.what) {
    case "interrupted": {
      const row = fact.rows[taken.seq - 1];
      return row === undefined ? null : { is: "interrupted", row };
    }
    case "outcome":
    case "probed":
    case "intent":
    case "tool":
    case "undo":
    case "approval": {
      const row = fact.rows[taken.seq - 1];
      return row === undefined ? null : rowMove(fact, row, taken);
    }
    case "verb":
      return { is: "verb", verb: taken.verb, by: taken.by, plan: taken.plan !== undefined };
    case "control":
      return { is: "control", control: taken.mode ?? taken.control, by: taken.by };
    case "budget":
      return { is: "budget", name: taken.name, used: taken.used, passed: taken.passed ?? null };
    case "migrated":
      return taken.base === undefined ? null : { is: "migrated", from: taken.from, to: taken.to, by: taken.by };
    // What moves the machine or the engine inwardly: the log of the run tells it.
    case "created":
    case "begun":
    case "resumed":
    case "restored":
    case "forgotten":
    case "parked":
    case "unwinding":
    case "ended":
    case "defect":
    case "refused":
    case "missing":
    case "sent":
    case "offered":
    case "withdrawn":
    case "abandoned":
    case "taken_back":
    case "progress":
    case "published":
    case "told":
    case "timer":
    case "event":
    case "child":
    case "turn_taken":
    case "deadline":
    case "stood":
    case "rewound":
    case "late":
    case "unconsumed":
    case "discarded":
      return null;
  }
}

type RowTaken = Extract<Taken, { readonly what: "outcome" | "probed" | "intent" | "tool" | "undo" | "approval" }>;

function rowMove({ before }: CommittedFact, row: Row, taken: RowTaken): Move | null {
  switch (taken.what) {
    case "outcome":
      return { is: "outcome", row, outcome: taken.outcome, proof: taken.proof };
    case "probed":
      return { is: "probed", row, answer: taken.answer };
    case "intent":
      return taken.state === "reused" ? { is: "reused", row } : null;
    case "tool":
      return taken.again === true ? { is: "absorbed", row } : null;
    case "undo":
      return { is: "undo", row, state: taken.state };
    case "approval":
      return approvalMove(row, before.rows[taken.seq - 1], taken.state, taken.by ?? null);
  }
}

function approvalMove(row: Row, before: Row | undefined, state: string, by: string | null): Move {
  const isNew = state === "asking" && before?.approval?.n !== row.approval?.n;
  return isNew ? { is: "asked", row } : { is: "approval", row, state, by };
}

/** What follows from where the run stands now and stood before. */
function standing({ record, before }: CommittedFact, moves: Move[]): void {
  const was = before.record;
  // Nearly every commit: nothing of all this is in sight.
  const isPlain = was.review === record.review && was.unwind === record.unwind && was.endedAt === record.endedAt;
  if (isPlain) return;
  if (was.review !== null && was.review.n !== record.review?.n) moves.push({ is: "unparked", review: was.review });
  if (record.review !== null && was.review?.n !== record.review.n) moves.push({ is: "parked", review: record.review });
  if (was.unwind === null && record.unwind !== null) moves.push({ is: "unwinding", cause: record.unwind.cause.kind });
  if (was.endedAt === null && record.endedAt !== null) moves.push({ is: "ended" });
}

/** The call of the row that was under way before the commit: that of its compensation, once it has one. */
export function callUnderWay(row: Row | undefined): Call | null {
  return row === undefined ? null : (row.undo?.call ?? row.call);
}
