/**
 * `step()`: a declaration as data with functions, carried by real XState promise logic. Owns the rules about one step;
 * those about a step's place in a machine are `lint.ts`'s. Invariant: a `StepSpec` that leaves here has every default
 * filled in and schemas that can be trusted between JSON and user code.
 */
import type { PromiseActorLogic } from "xstate";
import type { ZodType, z } from "zod";
import { RepriseError } from "../errors.ts";
import { positiveMs } from "./bounds.ts";
import { durationMs } from "./duration.ts";
import { type Finding, nameProblem, poolProblem, refuseErrors } from "./finding.ts";
import { approvalSpec, type Gate, gateProblems } from "./gate.ts";
import { guardedLogic, unguardedLogic } from "./logic.ts";
import { nullPrototype } from "./names.ts";
import { actionDefaults, compensationRetry, retryPolicy, timeoutMs } from "./policy.ts";
import { schemaProblems } from "./schema.ts";
import type { CallSpec, CompensationSpec, EffectClass, StepSpec } from "./spec.ts";
import type { CompensateOptions, Encoded, OutputSchema, StepOptions } from "./step-options.ts";
import type { Toolbox } from "./tools.ts";

/** Marks a step, also across two copies of the package. */
export const stepBrand: unique symbol = Symbol.for("reprise.step");

/**
 * A step: XState promise logic (so `setup({ actors })` infers `input` and `event.output`, both in their encoded form,
 * JSON) that carries its declaration. Started outside the engine it rejects with `STEP_UNGUARDED`.
 */
export interface Step<Name extends string = string, Input = unknown, Output = unknown>
  extends PromiseActorLogic<Output, Input> {
  readonly [stepBrand]: true;
  readonly spec: StepSpec & { readonly name: Name };
  /**
   * The bare logic, for a unit test with `createActor`: decodes the input, calls the action once, encodes its output.
   * No ledger, no retry; `services` is `undefined`.
   */
  readonly unguarded: PromiseActorLogic<Output, Input>;
}

/** `step()` for one type of `services`. */
export type StepFunction<Services> = <
  const Name extends string,
  In extends ZodType,
  Out extends OutputSchema = undefined,
  const IfUnknown extends boolean = false,
  Uses extends Toolbox = Record<never, never>,
>(
  name: Name,
  options: StepOptions<In, Out, Services, IfUnknown, Uses>,
) => Step<Name, z.input<In>, Encoded<Out>>;

/**
 * Declares a step: what it needs, what it gives, what it does outside, and how that is undone.
 *
 * @param name letters, digits, `_`, `-`; it becomes part of operation ids and is the key under `setup({ actors })`.
 * @throws RepriseError `DEFINITION_INVALID`, listing everything that is wrong with the declaration.
 */
export const step: StepFunction<unknown> = stepFunction();

/** `step()` with the type of `services` said once: `const { step } = stepsFor<Services>()`. */
export function stepsFor<Services>(): { readonly step: StepFunction<Services> } {
  return { step: stepFunction() };
}

function stepFunction<Services>(): StepFunction<Services> {
  // Typed by their schemas until here; from here on by `ErasedOptions`, which says why that is safe.
  return (name, options) => makeStep(name, options as unknown as ErasedOptions);
}

/** Is it a step? Works across copies of the package. */
export function isStep(value: unknown): value is Step {
  return typeof value === "object" && value !== null && stepBrand in value;
}

/**
 * The options with their types let go: a compiler has checked them against `StepOptions`, JavaScript callers have not,
 * so what a type forbids is judged again below.
 */
type ErasedOptions = Partial<
  Omit<StepSpec, "input" | "output" | "retry" | "probe" | "uses" | "kind" | "approval" | "child" | "deadlineMs">
> &
  Pick<StepOptions<ZodType, ZodType>, "input" | "output" | "retry" | "timeout" | "keyTtl" | "lateness" | "deadline"> & {
    readonly probe?: NonNullable<StepSpec["probe"]>;
    readonly uses?: Readonly<Record<string, unknown>>;
    readonly compensate?: CompensationSpec["run"] | ErasedCompensation;
    readonly noCompensation?: string;
    readonly approve?: Gate;
    /** Of an approval. */
    readonly form?: ZodType | undefined;
  };
type ErasedCompensation = CompensateOptions<ZodType, ZodType, unknown, false> & Pick<CompensationSpec, "run">;

/** Makes a step of options whose types are let go. Throws `DEFINITION_INVALID`. */
export function makeStep<Name extends string, Input, Output>(
  name: Name,
  options: ErasedOptions,
  kind: StepSpec["kind"] = "call",
): Step<Name, Input, Output> {
  const findings: Finding[] = [];
  const say = (code: string, message: string, fix: string): void => {
    findings.push({ level: "error", code, saga: null, state: null, step: String(name), message, fix });
  };
  judgeShape(name, options, say);
  judgeUndo(options, say);
  judgeTools(options, say);
  judgeGate(options, say);
  const spec = collect(() => specOf(name, options, kind), say);
  refuseErrors(findings);
  if (spec === null) throw new RepriseError("DEFINITION_INVALID", `Step "${name}" cannot be read.`);
  return stepFrom(spec) as Step<Name, Input, Output>;
}

/** The step that a whole declaration makes. */
export function stepFrom(spec: StepSpec): Step {
  return Object.assign(guardedLogic(spec.name), {
    [stepBrand]: true as const,
    spec: Object.freeze(spec),
    unguarded: unguardedLogic(spec),
  });
}

type Say = (code: string, message: string, fix: string) => void;

const effectClasses: readonly unknown[] = ["none", "idempotent", "keyed", "once"] satisfies readonly EffectClass[];
const deadlinePolicies: readonly unknown[] = [undefined, "fail", "review"];
const effectFix = 'State one of "none", "idempotent", "keyed", "once": what happens if it is called again';

function judgeShape(name: unknown, options: ErasedOptions, say: Say): void {
  const problem = nameProblem(name);
  if (problem !== null) say("STEP_NAME", `the name ${problem}`, "Rename the step");
  for (const wrong of schemaProblems(options.input, "decoded")) say("SCHEMA", `input: ${wrong}`, "Mend the schema");
  if (options.output !== undefined) {
    for (const wrong of schemaProblems(options.output, "both")) say("SCHEMA", `output: ${wrong}`, "Mend the schema");
  }
  if (!effectClasses.includes(options.effect)) say("EFFECT_MISSING", "effect is not stated", effectFix);
  if (typeof options.action !== "function") say("ACTION_MISSING", "it has no action", "Give it an action function");
  if (!deadlinePolicies.includes(options.onDeadline)) {
    say("DEADLINE", `onDeadline is ${JSON.stringify(options.onDeadline)}`, 'Write "fail" or "review"');
  }
  if (options.queue !== undefined && poolProblem(options.queue) !== null) {
    say("QUEUE_NAME", `the queue name ${poolProblem(options.queue)}`, "Rename the queue");
  }
}

function judgeTools({ uses, intent, effect, queue }: ErasedOptions, say: Say): void {
  if (intent !== undefined && intent !== null && (typeof intent !== "function" || effect === "none")) {
    const problem = effect === "none" ? 'effect is "none", so there is nothing to be unique' : "intent is no function";
    say("INTENT", problem, 'Write intent: ({ input }) => ["refund", input.chargeId] on a step with an effect');
  }
  if (uses === undefined) return;
  if (effect !== "none") {
    say("TOOLS_EFFECT", "it uses tools and has an effect of its own", 'Make its own effect a tool, and state "none"');
  }
  if (queue !== undefined && queue !== null) {
    say("TOOLS_QUEUE", "it uses tools and is on a named queue, whose worker may not write", "Drop the queue");
  }
  for (const [name, used] of Object.entries(uses)) judgeTool(name, used, say);
}

function judgeTool(name: string, used: unknown, say: Say): void {
  if (nameProblem(name) !== null) say("TOOL_NAME", `the tool name "${name}" ${nameProblem(name)}`, "Rename the tool");
  if (!isStep(used)) return say("NOT_A_STEP", `the tool ${name} is no step`, "Give it what step() returned");
  if (Object.keys(used.spec.uses).length > 0) {
    say("TOOLS_NESTED", `the tool ${name} uses tools itself`, "Let one step use all of them");
  }
  if (used.spec.queue !== null) {
    say("TOOLS_QUEUE", `the tool ${name} is on a named queue`, "Use a step without a queue as a tool");
  }
  if (used.spec.pivot) say("TOOLS_PIVOT", `the tool ${name} is a pivot`, "Make it a step of the machine");
}

function judgeGate({ approve, form }: ErasedOptions, say: Say): void {
  if (approve !== undefined)
    for (const wrong of gateProblems(approve)) say("APPROVAL", wrong, "Mend what people are asked");
  if (form === undefined) return;
  for (const wrong of schemaProblems(form, "decoded")) say("SCHEMA", `form: ${wrong}`, "Mend the schema");
}

function judgeUndo(options: ErasedOptions, say: Say): void {
  const { effect, compensate, noCompensation } = options;
  // What it takes to undo something depends on what it is.
  if (!effectClasses.includes(effect)) return;
  if (effect === "none") {
    if (compensate !== undefined || noCompensation !== undefined || options.pivot === true) {
      say(
        "UNDO_OF_NOTHING",
        'effect is "none", so nothing is ever undone',
        "Drop compensate, noCompensation and pivot, or state the effect it has",
      );
    }
    return;
  }
  if ((compensate === undefined) === (noCompensation === undefined)) {
    say(
      "COMPENSATION_MISSING",
      compensate === undefined ? "it has an effect and no compensation" : "it has compensate and noCompensation",
      'Give it either compensate or noCompensation: "why this effect stays"',
    );
  }
  if (noCompensation !== undefined && (typeof noCompensation !== "string" || noCompensation.trim() === "")) {
    say("REASON_MISSING", "noCompensation gives no reason", "Say why this effect stays");
  }
  if (typeof compensate === "object" && !(typeof compensate.run === "function")) {
    say("COMPENSATION_MISSING", "compensate has no run function", "Give it { run: (context) => ... }");
  }
  if (typeof compensate === "object" && compensate.effect !== undefined && !effectClasses.includes(compensate.effect)) {
    say("EFFECT_MISSING", `compensate.effect is ${JSON.stringify(compensate.effect)}`, effectFix);
  }
}

/** A malformed duration or policy is a finding like the others. */
function collect<Spec>(make: () => Spec, say: Say): Spec | null {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    say("POLICY", error.message, "Mend the value");
    return null;
  }
}

function specOf<Name extends string>(
  name: Name,
  options: ErasedOptions,
  kind: StepSpec["kind"],
): StepSpec & { readonly name: Name } {
  const call = callSpec(options);
  return {
    ...call,
    name,
    input: options.input,
    output: options.output ?? null,
    // Its absence is a finding of its own, raised before anybody calls it.
    action: options.action as StepSpec["action"],
    probe: options.probe ?? null,
    compensation: options.compensate === undefined ? null : compensationOf(options.compensate, call),
    noCompensation: options.noCompensation ?? null,
    compensateIfUnknown: options.compensateIfUnknown ?? false,
    settle: options.settle ?? true,
    pivot: options.pivot ?? false,
    onAbandon: options.onAbandon ?? "compensate",
    onExhausted: options.onExhausted ?? "fail",
    freshKeyAfterAbsent: options.freshKeyAfterAbsent ?? false,
    queue: options.queue ?? null,
    intent: options.intent ?? null,
    uses: usedBy(options.uses ?? {}),
    kind,
    approval: options.approve === undefined ? null : approvalSpec(name, options.approve, options.form, kind),
    child: null,
    deadlineMs: options.deadline === undefined ? null : positiveMs(options.deadline, "deadline"),
    onDeadline: options.onDeadline ?? "fail",
  };
}

function usedBy(uses: Readonly<Record<string, unknown>>): StepSpec["uses"] {
  const used = Object.entries(uses).flatMap(([name, step]) => (isStep(step) ? [[name, step.spec] as const] : []));
  return Object.freeze(nullPrototype(Object.fromEntries(used)));
}

function callSpec(options: ErasedOptions): CallSpec {
  return {
    effect: options.effect ?? "once",
    timeoutMs: options.timeout === undefined ? actionDefaults.timeoutMs : timeoutMs(options.timeout, "timeout"),
    latenessMs: options.lateness === undefined ? actionDefaults.latenessMs : durationMs(options.lateness, "lateness"),
    keyTtlMs: options.keyTtl === undefined ? actionDefaults.keyTtlMs : durationMs(options.keyTtl, "keyTtl"),
    retry: retryPolicy(options.retry, actionDefaults.retry, "retry"),
    hasProbe: options.probe !== undefined,
  };
}

/** What it leaves out is the action's: both call the same other side. */
function compensationOf(compensate: CompensationSpec["run"] | ErasedCompensation, action: CallSpec): CompensationSpec {
  const own: ErasedCompensation = typeof compensate === "function" ? { run: compensate } : compensate;
  return {
    run: own.run,
    probe: own.probe ?? null,
    hasProbe: own.probe !== undefined,
    effect: own.effect ?? action.effect,
    timeoutMs: own.timeout === undefined ? action.timeoutMs : timeoutMs(own.timeout, "compensate.timeout"),
    latenessMs: own.lateness === undefined ? action.latenessMs : durationMs(own.lateness, "compensate.lateness"),
    keyTtlMs: own.keyTtl === undefined ? action.keyTtlMs : durationMs(own.keyTtl, "compensate.keyTtl"),
    retry: retryPolicy(own.retry, compensationRetry, "compensate.retry"),
  };
}
