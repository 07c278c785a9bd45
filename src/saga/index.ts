/** The door of the room: what users declare, and the erased shapes by which core and engine read it. */

export { type ApprovalOptions, type Approved, approval } from "./approval.ts";
export {
  type BudgetLimits,
  type BudgetOptions,
  budgetNameProblem,
  countedBudgets,
  type DeadlineOptions,
} from "./bounds.ts";
export type { Build, Line, View } from "./builder.ts";
export { type ChildOptions, child, withChildren } from "./child.ts";
export { type Classification, classifyHttp } from "./classify.ts";
export {
  type Attribute,
  isSaga,
  type Saga,
  type SagaEvents,
  type SagaInput,
  type SagaOptions,
  type SagaOutput,
  sagaOf,
} from "./define.ts";
export { type Duration, durationMs } from "./duration.ts";
export type { EachOptions } from "./each.ts";
export { type Finding, formatFinding, isReservedEvent } from "./finding.ts";
export type { AskOptions, Gate, GateOptions } from "./gate.ts";
export { type GraphEdge, type GraphNode, type GraphStep, type SagaGraph, sagaGraph } from "./graph.ts";
export { type Checked, jsonProblem, toJson } from "./json.ts";
export { lintExports, lintSaga } from "./lint.ts";
export { maxIterations } from "./logic.ts";
export { migrateThrough } from "./migrations.ts";
export {
  type Absent,
  type AlreadyUndone,
  absent,
  alreadyUndone,
  type CannotTell,
  cannotTell,
  type FailOptions,
  type FailureOptions,
  fail,
  type Happened,
  happened,
  isStepError,
  type Knowledge,
  notApplied,
  type ProbeAnswer,
  StepError,
  type TransientOptions,
  transient,
} from "./outcome.ts";
export type { RetryOptions } from "./policy.ts";
export { type SagaStart, saga } from "./saga.ts";
export { decode, decodeInput, decodeOutput, encode, encodeInput, encodeOutput, jsonSchemaOf } from "./schema.ts";
export { schemasOf } from "./schemas.ts";
export type { SloBound, SloOptions } from "./slo.ts";
export type {
  ActionContext,
  ApprovalTerms,
  CallContext,
  CallSpec,
  CompensateContext,
  CompensationSpec,
  EffectClass,
  Json,
  MigratedRun,
  Migration,
  ObjectiveSpec,
  ProbeContext,
  Progress,
  RetryPolicy,
  RunIdentity,
  SagaSpec,
  SloName,
  SloSpec,
  Spend,
  StepLog,
  StepSpec,
  Uses,
} from "./spec.ts";
export { isStep, type Step, type StepFunction, step, stepsFor } from "./step.ts";
export type { CompensateOptions, StepOptions } from "./step-options.ts";
export { structureOf } from "./structure.ts";
export type { Tool, Toolbox, ToolOptions, Tools } from "./tools.ts";
