/**
 * The state a run is in after a decision: status, what it waits for, rollback, its end. All of it follows from
 * the record and the rows. Invariants: F1 an active run always has something open, a timer or an awaited event; else it is
 * parked as a dead end. F2 a run ends only when no row is open.
 */

import { countTime } from "./bounds/budgets.ts";
import { waitsForRoom } from "./bounds/room.ts";
import { isClear } from "./calls/clearance.ts";
import { restsOnTools } from "./calls/tools.ts";
import { waitsForIntent } from "./company/claims.ts";
import { waitsInLine } from "./company/limits.ts";
import { type Draft, note, rowAt, viewOf } from "./draft.ts";
import { logUnconsumed } from "./inbox.ts";
import { asksOf, waitsForPeople } from "./people/approvals.ts";
import { park } from "./people/reviews.ts";
import { waitsForChild } from "./rows.ts";
import type { Rollback, Row, RunStatus, WaitingFor } from "./run/index.ts";
import { hasEnded } from "./run/index.ts";

/** Works out what the run has come to. */
export function conclude(draft: Draft): void {
  const { record } = draft;
  record.open = draft.open;
  record.asks = asksOf(draft);
  const waitingFor = parkDeadEnd(draft);
  record.status = statusOf(draft);
  record.waitingFor = record.status === "waiting" ? waitingFor : null;
  record.rollback = rollbackOf(draft);
  if (record.endedAt === null) countTime(draft);
  if (hasEnded(record.status)) endRun(draft);
  else record.endedAt = null;
}

/** What the run is in, as the draft stands. */
export function statusOf(draft: Draft): RunStatus {
  const { record, rows, open } = draft;
  if (record.review !== null) return "needs_review";
  if (record.unwind !== null) return open.length > 0 ? "unwinding" : record.unwind.ends;
  if (waitsInLine(draft)) return record.paused ? "paused" : "waiting";
  const hasDone = record.snapshot?.status === "done";
  if (hasDone && open.length === 0) return "completed";
  if (record.paused) return "paused";
  if (hasDone) return isOnlyUndoing(rows, open) ? "unwinding" : "running";
  const isAtWork = open.some((seq) => isWorking(draft, rowAt(draft, seq)));
  return isAtWork || record.snapshot === null ? "running" : "waiting";
}

function isWorking(draft: Draft, row: Row): boolean {
  const waits =
    waitsForIntent(draft, row) || waitsForPeople(draft, row) || waitsForChild(row) || waitsForRoom(draft, row);
  return !waits && !restsOnTools(draft, row);
}

/** The machine has ended, and all that is left is to undo what it went on without (or what turned up late). */
function isOnlyUndoing(rows: readonly Row[], open: readonly number[]): boolean {
  return open.every((seq) => rows[seq - 1]?.undo !== null);
}

// ---- waiting

/** What an active run with nothing under way waits for. Where that is nothing it is parked: it would wait for ever. */
function parkDeadEnd(draft: Draft): WaitingFor | null {
  const { snapshot, timers } = draft.record;
  if (waitsInLine(draft)) return "limit";
  if (snapshot === null || statusOf(draft) !== "waiting") return null;
  if (draft.open.some((seq) => isHeldByBudget(draft, rowAt(draft, seq)))) return "budget";
  if (draft.open.some((seq) => waitsForChild(rowAt(draft, seq)))) return "child";
  if (draft.open.length > 0) return draft.record.asks.length > 0 ? "approval" : "intent";
  if (draft.input.machine.awaited(snapshot, viewOf(draft)).length > 0) return "event";
  if (timers.length > 0) return "timer";
  const message = `the state ${JSON.stringify(snapshot.value)} has no step running, no timer and no event that could end it`;
  park(draft, { reason: "defect", message, seq: null, side: null, evidence: null, verbs: [] });
  return null;
}

/** Would it be begun but for a budget? (What asks people, or rests on what does, waits for them first.) */
function isHeldByBudget(draft: Draft, row: Row): boolean {
  return isClear(draft, row, "action") && waitsForRoom(draft, row);
}

// ---- rollback

function rollbackOf(draft: Draft): Rollback {
  const { status, unwind, review } = draft.record;
  if (unwind === null) return draft.open.some((seq) => isHalted(rowAt(draft, seq))) ? "halted" : "none";
  if (review !== null) return "halted";
  return hasEnded(status) ? rollbackAtEnd(draft.rows) : "pending";
}

function isHalted({ undo }: Row): boolean {
  return undo?.state === "halted" && undo.call !== null;
}

function rollbackAtEnd(rows: readonly Row[]): Rollback {
  if (rows.some(stands)) return "partial";
  return rows.some((row) => row.undo?.state === "done") ? "complete" : "not_applicable";
}

/** An effect that was to be undone, is there (or may be), and was left. What stays by declaration (`kept`) is none. */
function stands({ call, undo }: Row): boolean {
  switch (undo?.state) {
    case "skipped":
    case "accepted":
      return true;
    case "not_needed":
      return call.state === "succeeded";
    case "done":
    case "kept":
    case "owed":
    case "sent":
    case "halted":
    case undefined:
      return false;
  }
}

function endRun(draft: Draft): void {
  const { record } = draft;
  logUnconsumed(draft);
  if (record.endedAt !== null) return;
  note(draft, { what: "ended", note: record.status });
  record.interruptions = 0;
  record.endedAt = draft.input.now;
  record.timers = [];
}
