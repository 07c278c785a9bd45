/**
 * What a parent makes of the run that one of its rows has started: waits for it, takes its result or its failure, has it
 * undone. Owns that judgement and when it is looked at again; a word from the child (`child-run.ts`) only makes it sooner.
 *
 * Invariants: C1 a child that was or may have been started is never forgotten: unwanted, it is asked to go back. C2 a failure
 * of it is one of the step only when nothing of it is left; what may be left is undone, or put to a person. C3 waiting counts
 * no attempt and holds no worker. C4 a run that this row has not started is never taken for its child.
 */

import { countChildUse } from "../bounds/shares.ts";
import { answerReview, closeNotApplied, closeUndo } from "../calls/closing.ts";
import { findOut, isWanted, planAgain } from "../calls/find-out.ts";
import { defective } from "../calls/outcome.ts";
import { settle } from "../calls/settle.ts";
import { stopPlanned } from "../calls/stop.ts";
import type { DriverFact } from "../decision.ts";
import { callAt, consume, type Draft, note, type Place, patchCall, patchRow, putRow, rowAt, stepOf } from "../draft.ts";
import { callOf } from "../rows.ts";
import type { Cause, ChildSeen, Failure, InboxBody, InboxEntry, Row, RowChild } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import { leavesNothing } from "./child-run.ts";

type Looked = Extract<DriverFact, { readonly type: "child" }>;
type SeenRun = Extract<ChildSeen, { readonly is: "run" }>;

/** How long a child is left alone: as long as it was waited for already, within these; and where it could not be reached. */
const lookAgainMs = { first: 5_000, most: 60_000, unreached: 1_000 } as const;

/** A request to a child came back. One about a call that was given up meanwhile says nothing that is not asked again. */
export function lookedAt(draft: Draft, { seq, side, send, seen }: Looked): void {
  const row = draft.rows[seq - 1];
  const call = row === undefined ? null : callOf(row, side);
  if (row === undefined || call?.state !== "sent" || call.send !== send) return;
  const place = { seq, side };
  switch (seen.is) {
    case "unreached":
      return wait(draft, place, lookAgainMs.unreached);
    case "foreign":
      return defective(draft, place, `there is a run ${seen.run} that it has not started: nothing of it is taken over`);
    case "run":
      keep(draft, row, seen.child);
      if (side === "undo") return undone(draft, place, seen);
      return stepOf(draft, row).child?.detached === true
        ? succeed(draft, place, send, { id: seen.child.run })
        : cameTo(draft, place, send, seen);
  }
}

function keep(draft: Draft, { seq, child: known }: Row, child: RowChild): void {
  if (known?.revision === child.revision) return;
  if (stepOf(draft, rowAt(draft, seq)).child?.detached === false) countChildUse(draft, known, child);
  patchRow(draft, seq, { child });
  if (known?.status !== child.status) note(draft, { what: "child", seq, status: child.status });
}

// ---- going forward

function cameTo(draft: Draft, place: Place, send: number, seen: SeenRun): void {
  const { child, output } = seen;
  if (!hasEnded(child.status)) return wait(draft, place, patienceOf(draft, place));
  if (child.status === "completed") return succeed(draft, place, send, output);
  answerReview(draft, place);
  patchCall(draft, place, { error: failureOf(draft, place, seen.cause, ended(seen)), interruptions: 0 });
  const outcome = leavesNothing(child) ? "not_applied" : "unknown";
  note(draft, { what: "outcome", seq: place.seq, send, outcome, proof: "answer" });
  if (outcome === "not_applied") closeNotApplied(draft, place, "answer");
  else findOut(draft, place);
}

function succeed(draft: Draft, place: Place, send: number, output: SeenRun["output"]): void {
  settle(draft, { ...place, send, result: { kind: "succeeded", output }, proof: "answer" });
}

function ended({ child, cause }: SeenRun): string {
  const left = leavesNothing(child) ? "nothing of it is left" : "what it did stands, or may, in part";
  const why = cause === null ? "" : ` (${cause.message})`;
  return `run ${child.run} ended ${child.status}${why}: ${left}`;
}

function failureOf(draft: Draft, place: Place, cause: Cause | null, message: string): Failure {
  const attempts = callAt(draft, place).attempt;
  return { kind: "child", code: cause?.kind ?? null, message, attempts };
}

// ---- waiting

/** It is looked at again; that it was begun is not forgotten, whatever becomes of the row. */
function wait(draft: Draft, place: Place, ms: number): void {
  const { now } = draft.input;
  draft.record.interruptions = 0;
  patchCall(draft, place, { attempt: callAt(draft, place).attempt - 1, deadline: now });
  planAgain(draft, place, now + ms);
  if (!isWanted(draft, place)) stopPlanned(draft, rowAt(draft, place.seq));
}

function patienceOf(draft: Draft, place: Place): number {
  // What was answered was sent.
  const waited = draft.input.now - (callAt(draft, place).firstSentAt as number);
  return Math.min(Math.max(waited, lookAgainMs.first), lookAgainMs.most);
}

type Word = Extract<InboxBody, { readonly type: "child" }>;

/** A child says that it has moved: it is looked at now. `false`: not yet, what was asked before may be older than the word. */
export function takeChildWord(draft: Draft, entry: InboxEntry, { seq }: Word): boolean {
  const { inFlight } = draft.input;
  if (inFlight.has(`action:${seq}`) || inFlight.has(`undo:${seq}`)) return false;
  consume(draft, entry);
  const row = draft.rows[seq - 1];
  if (row?.kind !== "child") return true;
  for (const side of ["action", "undo"] as const) lookNow(draft, row, { seq, side });
  return true;
}

function lookNow(draft: Draft, row: Row, place: Place): void {
  const call = callOf(row, place.side);
  if (call?.state === "planned") return patchCall(draft, place, { nextAt: draft.input.now });
  // What a person was asked because it would not go back may be settled.
  if (row.undo?.state !== "halted" || call?.state !== "not_applied") return;
  answerReview(draft, place);
  planAgain(draft, place, draft.input.now);
}

/** A child of which nothing is left is over: tried again, the row starts another one, under an id of its own. */
export function renewChild(draft: Draft, { seq, call, child }: Row): void {
  if (child === null || !leavesNothing(child)) return;
  const { shares: _, ...row } = rowAt(draft, seq);
  putRow(draft, { ...row, child: null });
  patchCall(draft, { seq, side: "action" }, { generation: call.generation + 1, firstSentAt: null });
}

// ---- going back

function undone(draft: Draft, place: Place, seen: SeenRun): void {
  const { child, asked, isPending } = seen;
  const { send } = callAt(draft, place);
  const isOver = hasEnded(child.status);
  if (isOver && leavesNothing(child)) return succeed(draft, place, send, null);
  const mode = draft.record.cancel?.mode ?? "compensate";
  if (mode === "kill" || (mode === "stop" && isOver)) return leave(draft, place, child);
  if (isPending || (!isOver && child.status !== "needs_review")) return wait(draft, place, patienceOf(draft, place));
  // It ended while it was asked to: it is asked to undo what it did.
  if (isOver && asked === "cancel") return wait(draft, place, 0);
  halt(draft, place, seen);
}

/** Nothing is undone of a run that was stopped or killed, nor of what it has started; who kills does not wait for its end. */
function leave(draft: Draft, place: Place, { run, status }: RowChild): void {
  const left = hasEnded(status) ? `ended ${status}, and what it did is left` : "was told to end where it is";
  patchCall(draft, place, { state: "succeeded", proof: "answer" });
  closeUndo(draft, place.seq, "skipped", `run ${run} ${left}`);
}

function halt(draft: Draft, place: Place, seen: SeenRun): void {
  const { child, cause } = seen;
  const message =
    child.status === "needs_review"
      ? `run ${child.run} was asked to go back and is parked for a person: ${child.why}`
      : child.status === "completed"
        ? `run ${child.run} has completed and was asked to undo that, which it refused`
        : ended(seen);
  patchCall(draft, place, { error: failureOf(draft, place, cause, message), interruptions: 0 });
  closeNotApplied(draft, place, "answer");
}
