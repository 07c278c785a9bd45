/** How a run is named, and how what went wrong is told. */
import type { RunStatus } from "./status.ts";

/** Which run: tenant and id, each `[A-Za-z0-9_.-]{1,64}`. */
export interface RunRef {
  readonly tenant: string;
  readonly id: string;
}

/** Why a run failed, was cancelled or is parked. */
export interface Cause {
  readonly kind: "step_failed" | "rejected" | "cancelled" | "defect" | "undone" | "closed" | "deadline";
  readonly step: string | null;
  readonly message: string;
  /** Ledger row or outside reference that shows it, e.g. an operation id. */
  readonly reference: string | null;
}

/** A failure as data: what the machine's `onError` sees, and what rows keep. */
export interface Failure {
  readonly kind:
    | "not_applied"
    | "unknown"
    | "fail"
    | "timeout"
    | "interrupted"
    | "unusable_output"
    | "defect"
    /** People said no, or nobody said anything in time (code `REJECTED`, `EXPIRED`). */
    | "rejected"
    /** It was not over in time. */
    | "deadline"
    /** The run that it started did not come to a good end. */
    | "child";
  readonly code: string | null;
  readonly message: string;
  readonly attempts: number;
}

/** A cancel that was taken. */
export interface Cancel {
  readonly mode: "compensate" | "stop" | "kill";
  readonly reason: string;
  readonly by: string;
  readonly at: number;
}

/** Has it ended? An ended run is moved only by a late result or an undo. */
export function hasEnded(status: RunStatus): status is "completed" | "failed" | "cancelled" {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The one spelling of a run in keys, job ids and messages. */
export function runKey(run: RunRef): string {
  return `${run.tenant}:${run.id}`;
}
