/**
 * `child()`: a saga as a step of another one. Owns its declaration; what the parent makes of the run it has started is
 * core's (`core/company/children.ts`), and the requests are the engine's.
 *
 * Invariants: C1 a child carries its saga, so whoever has the parent has all that is below it. C2 a saga is a value that is
 * made after its children, so none is its own descendant, and the depth is bounded by what was declared.
 */
import { z } from "zod";
import { RepriseError } from "../errors.ts";
import { budgetNameProblem } from "./bounds.ts";
import { isSaga, type Saga, sagaOf } from "./define.ts";
import { type Finding, nameProblem, refuseErrors } from "./finding.ts";
import { actionDefaults, compensationRetry } from "./policy.ts";
import type { CallSpec, ChildSpec, SagaSpec, StepSpec } from "./spec.ts";
import { type Step, stepFrom } from "./step.ts";

/** How a saga is run as a step. */
export interface ChildOptions<Name extends string = string, Detached extends boolean = boolean> {
  /** The step's name; the saga's unless given. */
  readonly name?: Name;
  /** It is started and goes its own way: nobody waits for it, and it is neither cancelled nor undone with its parent. */
  readonly detached?: Detached;
  /**
   * How much it is given at a time of each budget of the run that starts it, in the unit of that; of what is not named, a tenth of
   * that run's limit. It is given more when it has used that up, as long as there is more. (A detached one is given nothing.)
   */
  readonly share?: Readonly<Record<string, number>>;
}

/** What the step gives: the child's result, or at once where to find it. */
export type ChildOutput<Output, Detached> = Detached extends true ? { readonly id: string } : Output;

/** One request to a child: it is started, looked at, or asked to go back. What it does itself takes as long as it takes. */
const requests = { effect: "idempotent", timeoutMs: 10_000, latenessMs: 0, keyTtlMs: actionDefaults.keyTtlMs } as const;

const detachedReason = "detached: it goes its own way";

/**
 * Runs another saga as a step: its input and output are the step's. The run has the id `<parent>.<row>`, and is undone with
 * the parent. While it runs the parent waits without a worker. A worker that is given the parent serves the child as well.
 *
 * @throws RepriseError `DEFINITION_INVALID` where it is given no saga, or a name that no step may have.
 */
export function child<
  const SagaName extends string,
  Input,
  Output,
  const Name extends string = SagaName,
  const Detached extends boolean = false,
>(
  saga: Saga<SagaName, Input, Output>,
  options: ChildOptions<Name, Detached> = {},
): Step<Name, Input, ChildOutput<Output, Detached>> {
  if (!isSaga(saga))
    refuse(String(options.name), "child() was given no saga", "Give it what .build() or .machine() gave");
  const { name = saga.name, detached = false, share = {} } = options;
  const problem = nameProblem(name);
  if (problem !== null) refuse(name, `the name ${problem}`, "Rename the step");
  const wrong = shareProblem(share);
  if (wrong !== null) refuse(name, wrong, "Name budgets of the run that starts it, and amounts above 0");
  // What a saga takes and gives is typed by its declaration; here it is JSON.
  const made: Step = stepFrom(specOf(name, { of: saga.spec, detached, share }));
  return made as unknown as Step<Name, Input, ChildOutput<Output, Detached>>;
}

/** Time is nobody's share: it passes for all at once. */
function shareProblem(share: Readonly<Record<string, number>>): string | null {
  for (const [name, amount] of Object.entries(share)) {
    const problem = name === "time" ? "it is not shared: it passes for all at once" : budgetNameProblem(name);
    if (problem !== null) return `its share of ${JSON.stringify(name)}: ${problem}`;
    if (!Number.isFinite(amount) || amount <= 0) return `its share of ${name} is ${String(amount)}`;
  }
  return null;
}

function specOf(name: string, child: ChildSpec): StepSpec {
  const { of, detached } = child;
  const call: CallSpec = { ...requests, retry: actionDefaults.retry, hasProbe: false };
  const undo = { ...call, retry: compensationRetry, run: () => outside(name), probe: null };
  return {
    ...call,
    name,
    kind: "child",
    child,
    input: of.input,
    output: detached ? z.object({ id: z.string() }) : z.json(),
    action: () => outside(name),
    probe: null,
    compensation: detached ? null : undo,
    noCompensation: detached ? detachedReason : null,
    // It can be asked to go back whether anybody knows that it was started or not.
    compensateIfUnknown: !detached,
    settle: false,
    pivot: false,
    onAbandon: "compensate",
    onExhausted: "fail",
    freshKeyAfterAbsent: false,
    queue: null,
    intent: null,
    uses: {},
    approval: null,
    deadlineMs: null,
    onDeadline: "fail",
  };
}

function outside(name: string): never {
  const message = `"${name}" is a saga of its own: only a worker runs it`;
  throw new RepriseError("STEP_UNGUARDED", message, { details: { step: name } });
}

function refuse(step: string, message: string, fix: string): void {
  const finding: Finding = { level: "error", code: "CHILD", saga: null, state: null, step, message, fix };
  refuseErrors([finding]);
}

/** The sagas, and all that run below them as children. One that is given itself is not made again. */
export function withChildren(sagas: readonly Saga[]): readonly Saga[] {
  const known = new Set(sagas.map(({ spec }) => spec));
  const below = sagas.flatMap(({ spec }) => descendantsOf(spec)).filter((spec) => !known.has(spec));
  return [...sagas, ...[...new Set(below)].map(sagaOf)];
}

function descendantsOf(spec: SagaSpec): readonly SagaSpec[] {
  return Object.values(spec.steps).flatMap((step) => {
    return step.child === null ? [] : [step.child.of, ...descendantsOf(step.child.of)];
  });
}
