/** The door of core: pure decisions about runs. No clock, no randomness, no I/O. */

export {
  type ArtifactKey,
  type Artifacts,
  MissingArtifact,
  missingIn,
  type ReplaceValue,
  summaryOf,
  type ValuePlace,
  withRecordValues,
  withRowValues,
} from "./artifacts.ts";
export { objectionToRaise } from "./bounds/budget-limits.ts";
export { isOverShareOf, passedBy, remainingOf } from "./bounds/budgets.ts";
export { type ToolAnswer, toolAnswer } from "./calls/tools.ts";
export { differencesOf } from "./change/differences.ts";
export { foldLog } from "./change/fold.ts";
export { baseIn } from "./change/log-base.ts";
export { isAskedToMove, judgeMove, type Move, targetsOf } from "./change/migrate.ts";
export { machinesOf } from "./change/pinned.ts";
export { prospectOf, stateText } from "./change/prospects.ts";
export { registrationOf } from "./change/registration.ts";
export { isForgotten, recreated } from "./change/rollback.ts";
export { outlineOf, structureChanges, type TransitionWords } from "./change/structure-changes.ts";
export {
  askingListing,
  type Commit,
  evolve,
  listingsOf,
  openListing,
  parkedListing,
  structureName,
  unreadableListing,
} from "./commit.ts";
export { nextTick, type Timing, timingProblem } from "./company/calendar.ts";
export {
  childRef,
  isChildOf,
  ofMissing,
  requestTo,
  seenAs,
  shareFor,
  wordToOrphan,
  wordToParent,
} from "./company/child-run.ts";
export { startChild } from "./company/child-start.ts";
export * from "./company/intents.ts";
export { lastAsked, turnKeyOf } from "./company/limits.ts";
export * from "./company/schedules.ts";
export * from "./company/turns.ts";
export { begin, decide } from "./decide.ts";
export type * from "./decision.ts";
export { contentHashOf, digestOf, hashOf, structureHashOf } from "./digest.ts";
export * from "./fleet/index.ts";
export { idPattern, operationId } from "./ids.ts";
export { machineOf } from "./machine/machine.ts";
export type * from "./machine/port.ts";
export { approvalSlot, isAsking, shownOf } from "./people/approvals.ts";
export { editableIn, objectionToEdit } from "./people/edits.ts";
export { objectionToWord, rolesAt } from "./people/voters.ts";
export type * from "./ports.ts";
export { promised } from "./promised.ts";
export { fork, momentBefore } from "./replay/fork.ts";
export { objectionToPlan, type PlanObjection, planOf, verbOf } from "./replay/plan.ts";
export { type Resume, resumeOf } from "./replay/resume.ts";
export type {
  KeptPlan,
  ListedBatch,
  PlanShelf,
  PutPlanCommand,
  SetSuspensionCommand,
  Suspended,
  TakePlanCommand,
  Taker,
} from "./replay/shelf.ts";
export { objectionToBatch, type Suspension, suspensionAfter } from "./replay/suspension.ts";
export type { ReplayMode, ReplayPlan, ReplayRequest, ReplayWish } from "./replay/words.ts";
export { expiringListing, isIdKept, keptFor, mayBePurged } from "./retention.ts";
export { callOf, inputOf } from "./rows.ts";
export * from "./run/index.ts";
export { sizeOf } from "./size.ts";
export {
  type Act,
  type ActsPage,
  type ActsQuery,
  actOf,
  type KeptAct,
  maxActsKept,
  unnamed,
} from "./telling/acts.ts";
export type { LastAct, StoppedAt } from "./telling/answers.ts";
export type { Attempt, Known } from "./telling/attempts.ts";
export { afterAnswer, againAfterMs, freshCourse, type Hearing, nextNotices, type UnderWay } from "./telling/courier.ts";
export { type Explanation, explain } from "./telling/explain.ts";
export * from "./telling/notices.ts";
export {
  isGood,
  type SloReport,
  type SloStanding,
  type Story,
  sloEvents,
  sloReport,
  type Tally,
  tallyOf,
} from "./telling/slo.ts";
export {
  type Mark,
  type Span,
  type SpanEnd,
  type SpanKind,
  type Stretch,
  type Timeline,
  type TimelineRow,
  timelineOf,
} from "./telling/timeline.ts";
export { isDriven, unservedBy } from "./telling/unserved.ts";
export {
  type CallVerdict,
  type Course,
  type Judged,
  type RunVerdict,
  type Verdict,
  verdictOf,
} from "./telling/verdict.ts";
export { objectionToUndo } from "./unwind/undo.ts";
export { type UndoCourse, type UndoStep, type UnwindPreview, unwindPreview } from "./unwind/unwind-preview.ts";
