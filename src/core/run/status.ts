/** The words for where a run stands as a whole. `status.ts` owns which one is true. */
export const runStatuses = [
  ...(["running", "waiting", "paused", "needs_review", "unwinding"] as const),
  ...(["completed", "failed", "cancelled"] as const),
] as const satisfies readonly RunStatus[];

export type RunStatus =
  | "running"
  | "waiting"
  | "paused"
  | "needs_review"
  | "unwinding"
  | "completed"
  | "failed"
  | "cancelled";

export type Rollback = "none" | "pending" | "complete" | "partial" | "halted" | "not_applicable";
