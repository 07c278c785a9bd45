/**
 * What a saga is once it is declared, whichever way, and the judgement it passes on the way. Owns the `Saga` type.
 * Invariant: a `Saga` that exists can be made durable; everything else was refused by one error that lists it all.
 */
import type { AnyStateMachine } from "xstate";
import type { ZodType } from "zod";
import { RepriseError } from "../errors.ts";
import { type BudgetOptions, budgetsOf, type DeadlineOptions, deadlineOf, loopLimitOf } from "./bounds.ts";
import { type Duration, durationMs } from "./duration.ts";
import { eventProblem, type Finding, nameProblem, poolProblem, refuseErrors } from "./finding.ts";
import { machineErrors } from "./lint-machine.ts";
import { durableMachine, type MachineParts } from "./logic.ts";
import { nullPrototype } from "./names.ts";
import { payloadProblem, schemaProblems } from "./schema.ts";
import { type SloOptions, sloOf } from "./slo.ts";
import type { Json, Migration, SagaSpec, StepSpec } from "./spec.ts";
import { isStep } from "./step.ts";

/** Marks a saga, also across two copies of the package. */
export const sagaBrand: unique symbol = Symbol.for("reprise.saga");

/** Carries types and nothing else. */
declare const types: unique symbol;

/**
 * A declared saga: what clients start, workers run and `reprise lint` reads. The type parameters are those of its JSON:
 * what it starts with, what it results in, and the payload of each event that may come from outside.
 */
export interface Saga<Name extends string = string, Input = unknown, Output = unknown, Events = unknown> {
  readonly [sagaBrand]: true;
  readonly name: Name;
  readonly version: number;
  readonly spec: SagaSpec;
  /** The machine it runs; print or draw it with any XState tool. */
  readonly machine: AnyStateMachine;
  readonly [types]?: { readonly input: Input; readonly output: Output; readonly events: Events };
}

/** The type of a saga's input, as JSON. */
export type SagaInput<Of> = Of extends Saga<string, infer Input, unknown, unknown> ? Input : never;
/** The type of a saga's result, as JSON. */
export type SagaOutput<Of> = Of extends Saga<string, unknown, infer Output, unknown> ? Output : never;
/** The payloads of a saga's events by name, as JSON. */
export type SagaEvents<Of> = Of extends Saga<string, unknown, unknown, infer Events> ? Events : never;

/** A value that can be searched for. */
export type Attribute = string | number | boolean | null;

/** What is said of a saga beside its machine. */
export interface SagaOptions<
  Input extends ZodType = ZodType,
  Events extends Readonly<Record<string, ZodType>> = Readonly<Record<string, ZodType>>,
> {
  /** A whole number from 1; raise it when the structure changes while runs are open. */
  readonly version: number;
  readonly input: Input;
  /**
   * Events that may come from outside, each with the schema of its payload. The payload is an object; the machine sees
   * it beside the type: `{ type: "APPROVED", ...payload }`.
   */
  readonly events?: Events;
  /** Facts of a run that listings can be searched by, read after every transition. */
  readonly attributes?: (view: AttributesView<Input>) => Readonly<Record<string, Attribute>>;
  /**
   * Runs of one key take turns, `limit` (1 unless given, at most 1,000) at a time and in order of start; the others wait without a
   * worker. The key is JSON and follows from the input alone. A run has its turn until it has ended, also while it is parked.
   */
  readonly concurrency?: {
    readonly key: (view: { /** Encoded, JSON. */ readonly input: Input["_zod"]["input"] }) => Json;
    readonly limit?: number;
  };
  /** Whose workers run it: `"default"`. */
  readonly pool?: string;
  /**
   * How a run of an older version becomes one of the next, by the older version's number: `{ 1: (run) => run }` takes runs of
   * version 1 to version 2. Pure: it is given the run where it stands, as JSON, and gives it back. Called when somebody asks a
   * run to move (`client.migrate`), never by itself.
   */
  readonly migrate?: Readonly<Record<number, Migration>>;
  /** `"reverse"` (default): one at a time. `"parallel-regions"`: sibling regions are undone side by side. */
  readonly unwind?: SagaSpec["unwind"];
  /**
   * How long a run is kept after its end, at most 366 days; then its record, ledger and log are deleted, and its id is free again.
   * As `REPRISE_RETENTION` says unless given. A child run is kept at least as long as the run that started it.
   */
  readonly retention?: Duration | "forever";
  /** How long a run may take; as long as it takes unless given. */
  readonly deadline?: DeadlineOptions;
  /** What a run may use, for all runs or by the run's input; nothing is bounded unless given. */
  readonly budget?: BudgetOptions | ((view: Pick<AttributesView<Input>, "input">) => BudgetOptions);
  /** The same call (step and input) so often in one run, and a person is asked: 100. `false`: as often as it likes. */
  readonly loopLimit?: number | false;
  /** What is promised of its runs: computed by `client.slo`, counted in the metrics, watched by generated alert rules. */
  readonly slo?: SloOptions;
}

/** What `attributes` reads. For a saga made by the builder, `context` is `{ input, results }`. */
export interface AttributesView<Input extends ZodType> {
  readonly context: Readonly<Record<string, unknown>>;
  /** Encoded, JSON. */
  readonly input: Input["_zod"]["input"];
}

/** Is it a saga? Works across copies of the package. */
export function isSaga(value: unknown): value is Saga {
  return typeof value === "object" && value !== null && sagaBrand in value;
}

/** Judges a declaration as a whole and gives the saga. Throws `DEFINITION_INVALID` with every error found. */
export function defineSaga<Name extends string, Input, Output, Events>(
  name: Name,
  options: SagaOptions,
  parts: MachineParts,
  context: SagaSpec["context"],
): Saga<Name, Input, Output, Events> {
  const findings = optionErrors(name, options);
  const bounds = boundsOf(name, options);
  // A machine is built from its parts anew: what `setup` was given cannot be bounded afterwards.
  const machine = durableMachine(parts);
  const spec: SagaSpec = Object.freeze({
    name,
    version: options.version,
    input: options.input,
    events: Object.freeze(nullPrototype(options.events ?? {})),
    machine,
    steps: Object.freeze(stepsOf(machine)),
    context,
    // `attributes` is typed by the saga's own schemas; here they are erased.
    attributes: (options.attributes ?? null) as SagaSpec["attributes"],
    unwind: options.unwind ?? "reverse",
    pool: options.pool ?? "default",
    ...bounds.spec,
    concurrency: concurrencyOf(options),
    migrations: Object.freeze({ ...options.migrate }),
  });
  refuseErrors([
    ...findings,
    ...bounds.findings,
    ...toolErrors(name, spec.steps),
    ...childErrors(spec),
    ...machineErrors(spec),
  ]);
  return sagaOf(spec) as Saga<Name, Input, Output, Events>;
}

/** The saga of a declaration that was judged. */
export function sagaOf(spec: SagaSpec): Saga {
  const { name, version, machine } = spec;
  return Object.freeze({ [sagaBrand]: true as const, name, version, spec, machine });
}

/** Two sagas of one name and version would each answer for the other's runs. */
function childErrors(spec: SagaSpec): readonly Finding[] {
  const known = new Map<string, SagaSpec>();
  const twice = new Set<SagaSpec>();
  const walk = (one: SagaSpec): void => {
    const key = `${one.name}@${one.version}`;
    const other = known.get(key) ?? one;
    if (other !== one) twice.add(one);
    known.set(key, other);
    for (const { child } of Object.values(one.steps)) if (child !== null) walk(child.of);
  };
  walk(spec);
  return [...twice].map(({ name, version }) => ({
    level: "error",
    code: "CHILD_NAME_TWICE",
    saga: spec.name,
    state: null,
    step: null,
    message: `two sagas in it are called "${name}" version ${version}`,
    fix: "Give each saga a name of its own, or raise the version of one",
  }));
}

/** The steps among a machine's actors, by the name under which they are invoked, and the tools of each by their own. */
function stepsOf(machine: AnyStateMachine): Readonly<Record<string, StepSpec>> {
  const actors: Readonly<Record<string, unknown>> = machine.implementations.actors;
  const invoked = Object.entries(actors).flatMap(([key, actor]) => (isStep(actor) ? [[key, actor.spec] as const] : []));
  const tools = toolsOf(invoked.map(([, step]) => step)).map((tool) => [tool.name, tool] as const);
  return nullPrototype(Object.fromEntries([...tools, ...invoked]));
}

function toolsOf(steps: readonly StepSpec[]): readonly StepSpec[] {
  return steps.flatMap(({ uses }) => Object.values(uses));
}

/** A row names its step, so one name is one step. */
function toolErrors(name: string, steps: Readonly<Record<string, StepSpec>>): readonly Finding[] {
  const clashes = toolsOf(Object.values(steps)).filter((tool) => steps[tool.name] !== tool);
  return [...new Set(clashes)].map((tool) => ({
    level: "error",
    code: "STEP_NAME_TWICE",
    saga: name,
    state: null,
    step: tool.name,
    message: `a tool and another step are called "${tool.name}"`,
    fix: "Give each step a name of its own",
  }));
}

type Bounds = Pick<SagaSpec, "deadline" | "budgets" | "loopLimit" | "retentionMs" | "slo">;

function boundsOf(
  name: string,
  { deadline, budget, loopLimit, retention, slo }: SagaOptions,
): { readonly spec: Bounds; readonly findings: readonly Finding[] } {
  const findings: Finding[] = [];
  const read = <Bound>(bound: () => Bound): Bound | null => {
    try {
      return bound();
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      const where = { level: "error", code: "BOUND", saga: String(name), state: null, step: null } as const;
      findings.push({ ...where, message: error.message, fix: "Mend the value" });
      return null;
    }
  };
  const spec = {
    deadline: read(() => deadlineOf(deadline)),
    // A function of the run's input is typed by the saga's own schema; here it is erased.
    budgets: read(() => budgetsOf(budget as Parameters<typeof budgetsOf>[0])),
    loopLimit: read(() => loopLimitOf(loopLimit)),
    ...(retention === undefined ? {} : { retentionMs: read(() => retentionOf(retention)) }),
    slo: read(() => sloOf(slo)),
  };
  return { spec, findings };
}

function retentionOf(retention: NonNullable<SagaOptions["retention"]>): number | null {
  return retention === "forever" ? null : durationMs(retention, "retention");
}

function optionErrors(name: string, options: SagaOptions): readonly Finding[] {
  const findings: Finding[] = [];
  const say = (code: string, message: string, fix: string): void => {
    findings.push({ level: "error", code, saga: String(name), state: null, step: null, message, fix });
  };
  const wrong = nameProblem(name);
  if (wrong !== null) say("SAGA_NAME", `the name ${wrong}`, "Rename the saga");
  if (!Number.isInteger(options.version) || options.version < 1) {
    say("VERSION", `version is ${String(options.version)}`, "Give it a whole number from 1");
  }
  for (const problem of schemaProblems(options.input, "decoded")) say("SCHEMA", `input: ${problem}`, "Mend the schema");
  for (const [event, schema] of Object.entries(options.events ?? {})) judgeEvent(event, schema, say);
  for (const problem of migrationProblems(options)) {
    say("MIGRATION", problem, "Give a function by the number of the version that it takes a run from");
  }
  if (options.pool !== undefined && poolProblem(options.pool) !== null) {
    say("POOL_NAME", `the pool name ${poolProblem(options.pool)}`, "Rename the pool");
  }
  const unusable = options.concurrency === undefined ? null : concurrencyProblem(options.concurrency);
  if (unusable !== null) say("CONCURRENCY", `concurrency: ${unusable}`, "Give it a key function and a limit");
  return findings;
}

/** Most runs of one key at once. */
const maxTurns = 1_000;

function concurrencyProblem({ key, limit = 1 }: NonNullable<SagaOptions["concurrency"]>): string | null {
  if (typeof key !== "function") return "its key is not a function of the input";
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxTurns) return null;
  return `its limit is ${String(limit)}, not a whole number from 1 to ${maxTurns}`;
}

/** The key function is typed by the saga's own schema; here that is erased. */
function concurrencyOf({ concurrency }: SagaOptions): SagaSpec["concurrency"] {
  if (concurrency === undefined) return null;
  return { key: concurrency.key as NonNullable<SagaSpec["concurrency"]>["key"], limit: concurrency.limit ?? 1 };
}

function migrationProblems({ version, migrate = {} }: SagaOptions): readonly string[] {
  return Object.entries(migrate).flatMap(([from, migration]) => {
    if (typeof migration !== "function") return [`migrate[${from}] is not a function`];
    const isOlder = /^[1-9]\d*$/.test(from) && Number(from) < version;
    return isOlder ? [] : [`migrate[${from}] takes runs from no version before ${version}`];
  });
}

function judgeEvent(event: string, schema: ZodType, say: (code: string, message: string, fix: string) => void): void {
  const wrong = eventProblem(event);
  if (wrong !== null) say("EVENT_NAME", `the event name "${event}" ${wrong}`, "Rename the event");
  const problems = schemaProblems(schema, "decoded");
  for (const problem of problems) say("SCHEMA", `event ${event}: ${problem}`, "Mend the schema");
  const unfit = problems.length === 0 ? payloadProblem(schema) : null;
  if (unfit !== null) say("EVENT_PAYLOAD", `the payload of event ${event} ${unfit}`, "Mend the schema");
}
