/** Sagas for tests of core, made by hand from a machine: every actor of the machine is a step that is never called. */
import { type AnyStateMachine, fromPromise, type PromiseActorLogic } from "xstate";
import { z } from "zod";
import type { Json, SagaSpec, StepSpec } from "../../src/saga/index.ts";

/** Steps of these names, for `setup({ actors })`. */
export function steps<const Name extends string>(...names: Name[]): Record<Name, PromiseActorLogic<Json, unknown>> {
  const logic = fromPromise<Json, unknown>(() => Promise.reject(new Error("a test never calls it")));
  // The keys are exactly the names.
  return Object.fromEntries(names.map((name) => [name, logic])) as Record<Name, PromiseActorLogic<Json, unknown>>;
}

export interface SpecParts {
  readonly events?: readonly string[];
  readonly context?: SagaSpec["context"];
  /** Steps; all actors of the machine if left out. */
  readonly steps?: readonly string[];
}

/** The declaration of a saga that runs `machine`. */
export function specOf(machine: AnyStateMachine, parts: SpecParts = {}): SagaSpec {
  const names = parts.steps ?? Object.keys(machine.implementations.actors);
  return {
    name: machine.id,
    version: 1,
    input: z.json(),
    events: Object.fromEntries((parts.events ?? []).map((event) => [event, z.json()])),
    machine,
    steps: Object.fromEntries(names.map((name) => [name, stepSpec(name)])),
    context: parts.context ?? "own",
    attributes: null,
    unwind: "reverse",
    pool: "default",
    deadline: null,
    budgets: null,
    loopLimit: null,
    slo: null,
    concurrency: null,
    migrations: {},
  };
}

function stepSpec(name: string): StepSpec {
  return {
    name,
    effect: "none",
    timeoutMs: 60_000,
    latenessMs: 30_000,
    keyTtlMs: 86_400_000,
    retry: { attempts: 5, backoff: "exponential", initialMs: 200, maxMs: 30_000, jitter: true },
    hasProbe: false,
    input: z.json(),
    output: z.json(),
    action: () => null,
    probe: null,
    compensation: null,
    noCompensation: null,
    compensateIfUnknown: false,
    settle: true,
    pivot: false,
    onAbandon: "compensate",
    onExhausted: "fail",
    freshKeyAfterAbsent: false,
    queue: null,
    intent: null,
    uses: {},
    kind: "call",
    approval: null,
    child: null,
    deadlineMs: null,
    onDeadline: "fail",
  };
}
