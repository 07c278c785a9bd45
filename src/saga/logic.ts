/**
 * The only file of this room that uses XState at run time: promise logic for steps, machines from configs.
 * Owns: how a step becomes logic that XState can infer from and that refuses to run outside the engine.
 */
import {
  type AnyStateMachine,
  and,
  assign,
  createMachine,
  fromPromise,
  type NonReducibleUnknown,
  not,
  or,
  type PromiseActorLogic,
} from "xstate";
import { RepriseError } from "../errors.ts";
import { decodeInput, encodeOutput } from "./schema.ts";
import type { ActionContext, Json, Progress, StepLog, StepSpec } from "./spec.ts";

/** How many microsteps one transition may take before it is a defect. */
export const maxIterations = 1_000;

/** Logic that refuses to be started: an effect without a ledger row is never made by accident. */
export function guardedLogic<Input, Output>(name: string): PromiseActorLogic<Output, Input> {
  return fromPromise<Output, Input>(() =>
    Promise.reject(
      new RepriseError(
        "STEP_UNGUARDED",
        `Step "${name}" was started outside the engine, where nothing would remember its effect: ` +
          "run it with simulate() or a worker. In a unit test use its .unguarded logic.",
        { details: { step: name } },
      ),
    ),
  );
}

/** Logic that calls the action directly, with nothing around it but the schemas. */
export function unguardedLogic<Input, Output>(spec: StepSpec): PromiseActorLogic<Output, Input> {
  // XState hands over whatever it was given, and the schema judges it; the output schema has proven what comes back.
  return fromPromise<Output, Input>(
    async ({ input, signal }) => (await callUnguarded(spec, input as Json, signal)) as Output,
  );
}

async function callUnguarded(spec: StepSpec, input: Json, signal: AbortSignal): Promise<Json> {
  const decoded = decodeInput(spec, input);
  if (!decoded.ok) throw new RepriseError("INPUT_INVALID", `Input of step "${spec.name}": ${decoded.problem}`);
  const returned = await spec.action(unguardedContext(spec, decoded.value, signal));
  const encoded = encodeOutput(spec, returned);
  if (!encoded.ok) throw new TypeError(`Output of step "${spec.name}": ${encoded.problem}`);
  return encoded.value;
}

const silent: StepLog = { info: () => {}, warn: () => {}, error: () => {} };

function unguardedContext(spec: StepSpec, input: unknown, signal: AbortSignal): ActionContext {
  return {
    input,
    operationId: `unguarded/${spec.name}`,
    attempt: 1,
    run: { id: "unguarded", tenant: "default", saga: "unguarded", version: 1 },
    log: silent,
    signal,
    services: undefined,
    progress: forgetful(),
    tools: unguardedTools(spec, signal),
    spend: () => Promise.resolve(),
    budget: () => null,
  };
}

/** Tools that call their actions directly. */
function unguardedTools({ uses }: StepSpec, signal: AbortSignal): ActionContext["tools"] {
  const entries = Object.entries(uses).map(([name, tool]) => [
    name,
    (input: Json) => callUnguarded(tool, input, signal),
  ]);
  return Object.fromEntries(entries) as ActionContext["tools"];
}

/** A cursor for as long as the call. */
function forgetful(): Progress {
  let kept: Json = null;
  return {
    get: () => kept,
    set: async (cursor) => {
      kept = cursor;
    },
  };
}

/** A machine's config and implementations, types erased. */
export interface MachineParts {
  readonly config: Readonly<Record<string, unknown>>;
  readonly implementations: {
    readonly actors?: Readonly<Record<string, unknown>>;
    readonly actions?: Readonly<Record<string, unknown>>;
    readonly guards?: Readonly<Record<string, unknown>>;
    readonly delays?: Readonly<Record<string, unknown>>;
  };
}

/** A machine as it is registered: bounded, and with an output where the config has none. */
export function durableMachine({ config, implementations }: MachineParts): AnyStateMachine {
  const bounded = {
    output: outputOfFinalState,
    ...config,
    options: { ...(config["options"] as object | undefined), maxIterations },
  };
  // XState types a config by its literal; here its parts are data.
  type Args = Parameters<typeof createMachine>;
  return createMachine(bounded as unknown as Args[0], implementations as Args[1]) as AnyStateMachine;
}

function outputOfFinalState({ event }: { readonly event: { readonly output?: unknown } }): NonReducibleUnknown {
  return event.output as NonReducibleUnknown;
}

/** An `assign` that keeps what `read` takes from the event under `results[name]`. */
export function keepResult(name: string, read: (event: Readonly<Record<string, unknown>>) => unknown): unknown {
  return assign(({ context, event }) => ({
    results: { ...(context["results"] as object), [name]: read(event) },
  }));
}

/** XState's guards over guards, known by what they do: their function names do not survive a minifier. */
const combinators: ReadonlyMap<unknown, string> = new Map<unknown, string>(
  [and([]), or([]), not("")].map((guard, index) => [Reflect.get(guard, "check"), ["and", "or", "not"][index] ?? ""]),
);

/** `and`, `or` or `not`; `null`: the guard is none of them. */
export function combinatorOf(guard: object): string | null {
  return combinators.get(Reflect.get(guard, "check")) ?? null;
}
