/** The door of core: pure decisions about runs. No clock, no randomness, no I/O. */

export { approvalSlot, isAsking, shownOf } from "./approvals.ts";
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
export { objectionToRaise } from "./budget-limits.ts";
export { passedBy, remainingOf } from "./budgets.ts";
export { nextTick, type Timing, timingProblem } from "./calendar.ts";
export { childRef, isChildOf, requestTo, wordToParent } from "./child-run.ts";
export { startChild } from "./child-start.ts";
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
export { begin, decide } from "./decide.ts";
export type * from "./decision.ts";
export { differencesOf } from "./differences.ts";
export { contentHashOf, digestOf, hashOf, structureHashOf } from "./digest.ts";
export { type Attempt, type Explanation, explain, type Known } from "./explain.ts";
export { foldLog } from "./fold.ts";
export { fork, momentBefore } from "./fork.ts";
export { idPattern, operationId } from "./ids.ts";
export * from "./intents.ts";
export { turnKeyOf } from "./limits.ts";
export { baseIn } from "./log-base.ts";
export { machineOf } from "./machine.ts";
export type * from "./machine-port.ts";
export { isAskedToMove, judgeMove, type Move, targetsOf } from "./migrate.ts";
export { machinesOf } from "./pinned.ts";
export { objectionToPlan, type PlanObjection, planOf, verbOf } from "./plan.ts";
export type * from "./ports.ts";
export type { ReplayMode, ReplayPlan, ReplayRequest, ReplayWish } from "./replay.ts";
export { type Resume, resumeOf } from "./resume.ts";
export { isForgotten, recreated } from "./rollback.ts";
export { inputOf } from "./rows.ts";
export * from "./run.ts";
export type * from "./run-company.ts";
export type * from "./run-people.ts";
export * from "./schedules.ts";
export type { KeptPlan, PlanShelf, PutPlanCommand, TakePlanCommand, Taker } from "./shelf.ts";
export { sizeOf } from "./size.ts";
export { type ToolAnswer, toolAnswer } from "./tools.ts";
export * from "./turns.ts";
export { objectionToUndo } from "./undo.ts";
export { isDriven, unservedBy } from "./unserved.ts";
export { type UndoCourse, type UndoStep, type UnwindPreview, unwindPreview } from "./unwind-preview.ts";
export { type CallVerdict, type Course, type Judged, type RunVerdict, type Verdict, verdictOf } from "./verdict.ts";
export { objectionToWord, rolesAt } from "./voters.ts";
