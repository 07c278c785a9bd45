/** The words for where a run stands as a whole. `status.ts` owns which one is true. */
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
