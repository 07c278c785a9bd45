/** The door of the client: what applications and operators may ask. */
export type { ApprovalsPage, ApprovalsQuery, PendingApproval } from "./approvals.ts";
export type { BatchReport, ExecuteBatchOptions, ItemResult } from "./batch.ts";
export type { Change } from "./changes.ts";
export { type Client, connectedClient, type PageQuery, type ParkedRun, type RunOf } from "./client.ts";
export type { ApprovalRef, Decided, DecideOptions, DecisionWord } from "./decide.ts";
export { ResultTimeout, RunCancelled, RunFailed, RunNeedsReview } from "./errors.ts";
export type { CancelOptions, ResultOptions, RunHandle, SignalOptions } from "./handle.ts";
export type { InboxItem, InboxPage, InboxQuery } from "./inbox.ts";
export type { Operator, Resolution, VerbOptions } from "./operator.ts";
export type { PlanOptions } from "./plan.ts";
export type { ExecuteOptions, Replayed } from "./replay.ts";
export type { ScheduleBy, ScheduleOptions, Schedules, ScheduleView } from "./schedules.ts";
export type { Batch, BatchFilter, BatchItem, BatchOptions } from "./selection.ts";
export type { Signalled, SignalWithStartOptions } from "./signal-with-start.ts";
export type { ManyStart, Started, StartOptions } from "./start.ts";
export type { TokenFor, TokenOptions, TokenView } from "./tokens.ts";
export type { UndoOptions } from "./undo.ts";
export type { LedgerRow, RunView } from "./view.ts";
