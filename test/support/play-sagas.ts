/** Short ways to declare the sagas that tests of core play: what a step does outside is up to the test. */
import { assign, setup } from "xstate";
import { z } from "zod";
import { type Migration, type Saga, type Step, saga, step } from "../../src/saga/index.ts";

/** What a test says about a step; the rest is `keyed`, compensated, three attempts a second apart, ten seconds at most. */
export interface CallOptions {
  readonly effect?: "none" | "idempotent" | "keyed" | "once";
  readonly probe?: boolean;
  /** `false`: none, and a reason is given. */
  readonly compensate?: boolean | Readonly<Record<string, unknown>>;
  readonly retry?: Readonly<Record<string, unknown>>;
  readonly input?: z.ZodType;
  readonly output?: z.ZodType;
  readonly timeout?: string;
  readonly lateness?: string;
  readonly keyTtl?: string;
  readonly compensateIfUnknown?: boolean;
  readonly settle?: boolean;
  readonly pivot?: boolean;
  readonly onAbandon?: "compensate" | "keep";
  readonly onExhausted?: "fail" | "review";
  readonly freshKeyAfterAbsent?: boolean;
  readonly queue?: string;
  readonly intent?: (view: { readonly input: unknown }) => unknown;
  readonly uses?: Readonly<Record<string, Step>>;
  readonly approve?: unknown;
  readonly deadline?: string;
  readonly onDeadline?: "fail" | "review";
}

const unheard = () => Promise.reject(new Error("core never calls it"));
export const retryEverySecond = { attempts: 3, backoff: "fixed", initial: "1s", max: "1s", jitter: false } as const;

/** A step whose output is `{ id }`. */
export function call(name: string, options: CallOptions = {}): Step {
  const { probe = false, compensate = true, effect = "keyed", ...rest } = options;
  const undone = typeof compensate === "object" ? compensate : {};
  const undo =
    compensate === false ? { noCompensation: "it stays" } : { compensate: { run: unheard, ...withProbe(undone) } };
  const whole = {
    input: z.json(),
    output: z.object({ id: z.string() }),
    timeout: "10s",
    lateness: "30s",
    retry: retryEverySecond,
    action: unheard,
    effect,
    ...(effect === "none" ? {} : undo),
    ...(probe ? { probe: unheard } : {}),
    ...rest,
  };
  // The options are put together at run time; `step` judges them.
  return step(name, whole as never) as Step;
}

function withProbe(undone: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const own = { retry: retryEverySecond, ...undone };
  return undone["probe"] === true ? { ...own, probe: unheard } : own;
}

export interface PlayedOptions {
  readonly events?: readonly string[];
  readonly unwind?: "reverse" | "parallel-regions";
  readonly attributes?: (view: never) => unknown;
  /** By its input's `customer`, so many at once. */
  readonly concurrency?: unknown;
  readonly deadline?: Readonly<Record<string, unknown>>;
  readonly budget?: Readonly<Record<string, unknown>> | ((view: { readonly input: unknown }) => unknown);
  /** As often as it likes unless given. */
  readonly loopLimit?: number;
  /** Adds the action `keep`: the event's error, output or payload goes to `context.seen`. */
  readonly keep?: boolean;
  /** 1 unless given. */
  readonly version?: number;
  readonly migrate?: Readonly<Record<number, Migration>>;
  readonly input?: z.ZodType;
}

function optionsOf({ events = [], loopLimit = 0, version = 1, input, keep: _, ...rest }: PlayedOptions): never {
  const whole = {
    version,
    input: input ?? z.json(),
    events: Object.fromEntries(events.map((event) => [event, z.looseObject({})])),
    loopLimit: loopLimit === 0 ? false : loopLimit,
    ...rest,
  };
  // The options are put together at run time; `saga` judges them.
  return whole as never;
}

interface AnyLine {
  step(step: Step): AnyLine;
  build(): Saga;
}

/** Steps one after the other, by the builder; each is given the saga's input. */
export function line(steps: readonly Step[], options: PlayedOptions = {}): Saga {
  const start = saga("line", optionsOf(options)) as unknown as AnyLine;
  return steps.reduce<AnyLine>((before, next) => before.step(next), start).build();
}

/** Any machine over the given steps. */
export function played(config: object, steps: readonly Step[], options: PlayedOptions = {}): Saga {
  const actors = Object.fromEntries(steps.map((one) => [one.spec.name, one]));
  const actions = options.keep === true ? { keep: assign({ seen: ({ event }) => seenIn(event) }) } : {};
  const machine = setup({ actors, actions } as never).createMachine({ id: "played", ...config } as never);
  const start = saga("played", optionsOf(options)) as unknown as { machine(machine: unknown): Saga };
  return start.machine(machine);
}

function seenIn(event: Readonly<Record<string, unknown>>): unknown {
  const { type: _type, actorId: _actorId, ...rest } = event;
  return rest["error"] ?? rest["output"] ?? rest;
}
