/** The door of the client: what applications and operators may ask. */
export type { ApprovalsPage, ApprovalsQuery, PendingApproval } from "./approvals.ts";
export type { AuditPage, AuditQuery } from "./audit.ts";
export {
  type BatchReport,
  type BatchSummary,
  type ExecuteBatchOptions,
  type ItemResult,
  refuseSuspended,
} from "./batch.ts";
export type { BundleOptions } from "./bundle.ts";
export { type BundledSnapshot, parseBundle, type RunBundle } from "./bundle-shape.ts";
export type { Cancelled, CancelOptions } from "./cancel.ts";
export type { Change } from "./changes.ts";
export {
  type CheckedRun,
  type CheckedVersion,
  type CheckFate,
  type CheckFinding,
  type CheckOptions,
  type CheckReport,
  checkRuns,
} from "./check.ts";
export { checkedPayload } from "./checks.ts";
export { type Client, connectedClient, type PageQuery, type ParkedRun, type RunOf, type RunsQuery } from "./client.ts";
export type { ApprovalRef, Decided, DecideOptions, DecisionWord } from "./decide.ts";
export { ResultTimeout, RunCancelled, RunFailed, RunNeedsReview } from "./errors.ts";
export type { ResultOptions, RunHandle, SignalOptions } from "./handle.ts";
export type { RunDifference, StandAt } from "./history.ts";
export type { InboxItem, InboxPage, InboxQuery } from "./inbox.ts";
export { masked } from "./mask.ts";
export type { MigrateAllOptions, MigrateOptions, MigrateReport, RunMigration } from "./migrate.ts";
export type { Notification, Notifications, OwedNotification, OwedNotifications, OwedQuery } from "./notifications.ts";
export { type Operator, type Resolution, refusalOf, type VerbOptions } from "./operator.ts";
export type { Overview, StatusCounts, Waiting } from "./overview.ts";
export type { Paused, PauseOptions } from "./paused.ts";
export type { PlanOptions } from "./plan.ts";
export type { ExecuteOptions, Replayed } from "./replay.ts";
export type { ServedVersion } from "./sagas.ts";
export type { ScheduleBy, ScheduleOptions, Schedules, ScheduleView } from "./schedules.ts";
export type { Batch, BatchFilter, BatchItem, BatchOptions } from "./selection.ts";
export { ended } from "./send.ts";
export type { Signalled, SignalWithStartOptions } from "./signal-with-start.ts";
export type { SloQuery } from "./slo.ts";
export type { ManyStart, Started, StartOptions } from "./start.ts";
export type { BatchSuspension } from "./suspension.ts";
export type { TokenFor, TokenOptions, TokenView } from "./tokens.ts";
export type { UndoOptions } from "./undo.ts";
export type { LedgerRow, RunView } from "./view.ts";
export type { SupervisorView, Workers } from "./workers.ts";
export { workerNotFound } from "./workers.ts";
