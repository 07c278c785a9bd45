/** The words of the design as tables: which state may follow which. For the model; nothing of `src/core` is called. */
import type { Call, LogEntry, Row, RunRecord, RunStatus, Taken } from "../../src/core/index.ts";

export type Side = "action" | "undo";

export function sideOf(row: Row | null, side: Side): Call | null {
  return side === "action" ? (row?.call ?? null) : (row?.undo?.call ?? null);
}

const live: readonly RunStatus[] = ["running", "waiting", "paused", "needs_review", "unwinding"];
const ended: readonly RunStatus[] = ["completed", "failed", "cancelled"];

/** An ended run is moved by a late result, an undo (section 7) and by what of it is missing; nothing of it goes forward again. */
export function mayMove({ status: from }: RunRecord, { to, taken }: LogEntry): boolean {
  if (!ended.includes(from)) return live.includes(to) || ended.includes(to);
  if (from === to) return true;
  const why = taken.some(
    (each) => each.what === "late" || each.what === "missing" || (each.what === "control" && each.control === "undo"),
  );
  return why && (to === "needs_review" || to === "unwinding" || to === "cancelled");
}

export const finalCalls: ReadonlySet<Call["state"]> = new Set(["succeeded", "not_applied", "withdrawn", "reused"]);

/** Life of a call (section 6), several steps of which may be in one commit. */
const follows: Readonly<Record<Call["state"], readonly Call["state"][]>> = {
  planned: ["claiming", "offered", "sent", "unknown", "succeeded", "not_applied", "withdrawn", "reused"],
  claiming: ["planned", "offered", "sent", "withdrawn", "reused", "unknown", "not_applied"],
  offered: ["planned", "sent", "unknown", "succeeded", "not_applied", "withdrawn"],
  sent: ["planned", "claiming", "offered", "unknown", "succeeded", "not_applied", "withdrawn"],
  unknown: ["planned", "sent", "offered", "succeeded", "not_applied", "withdrawn"],
  // What was final is moved by a word that came late, and by a person.
  succeeded: [],
  not_applied: ["succeeded"],
  withdrawn: ["succeeded"],
  reused: [],
};

export function mayBecome(from: Call, to: Call, taken: readonly Taken[], seq: number): boolean {
  const isLate = taken.some((each) => each.what === "late" && each.seq === seq);
  return follows[from.state].includes(to.state) && (!finalCalls.has(from.state) || isLate);
}

const settled: ReadonlySet<string> = new Set(["done", "not_needed", "kept", "skipped", "accepted"]);

export function isUndoneOrNeverWas({ call, undo }: Row): boolean {
  if (undo !== null) return settled.has(undo.state);
  if (call.state === "not_applied" || call.state === "withdrawn" || call.state === "reused") return true;
  return call.state === "succeeded" && call.effect === "none";
}
