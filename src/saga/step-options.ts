/**
 * What a step's author writes, typed so that everything follows from the schemas: nobody annotates anything.
 * Owns the types only; `step.ts` turns them into a `StepSpec`.
 */
import type { ZodType, z } from "zod";
import type { Duration } from "./duration.ts";
import type { Gate } from "./gate.ts";
import type { JsonSide } from "./json-type.ts";
import type { ProbeAnswer } from "./outcome.ts";
import type { RetryOptions } from "./policy.ts";
import type { ActionContext, CompensateContext, EffectClass, Json, ProbeContext } from "./spec.ts";
import type { Toolbox } from "./tools.ts";

/** The schema of an output, where there is one. */
export type OutputSchema = ZodType | undefined;

/** What a compensation gets as `output`. */
export type Decoded<Out extends OutputSchema> = Out extends ZodType ? z.output<Out> : null;

/** What everybody else gets as output: the encoded form, JSON. */
export type Encoded<Out extends OutputSchema> = Out extends ZodType ? z.input<Out> : null;

type OutputSeen<Out extends OutputSchema, IfUnknown extends boolean> = IfUnknown extends true
  ? Decoded<Out> | undefined
  : Decoded<Out>;

/*
 * The two function types below are conditional types, not functions with conditional results: only then does the
 * compiler know the result while it reads the function, and a literal in it ("paid") is not widened to string.
 */

/**
 * An action: makes the effect, with `operationId` as its idempotency key. (One that takes no parameter at all is read
 * before the schema is known: there, and only there, a literal in its result needs `as const`.)
 */
export type Action<In extends ZodType, Out extends OutputSchema, Services, Uses> = Out extends ZodType
  ? (context: ActionContext<z.output<In>, Services, Uses>) => z.output<Out> | Promise<z.output<Out>>
  : (context: ActionContext<z.output<In>, Services, Uses>) => unknown;

/** A probe: asks the other side whether the effect with this `operationId` happened. */
export type Probe<In extends ZodType, Out extends OutputSchema, Services> = Out extends ZodType
  ? (context: ProbeContext<z.output<In>, Services>) => ProbeAnswer<z.output<Out>> | Promise<ProbeAnswer<z.output<Out>>>
  : (context: ProbeContext<z.output<In>, Services>) => ProbeAnswer | Promise<ProbeAnswer>;

/** A compensation: undoes the effect. What it returns is not kept; `alreadyUndone()` counts as a success. */
export type Compensate<In extends ZodType, Out extends OutputSchema, Services, IfUnknown extends boolean> = (
  context: CompensateContext<z.output<In>, OutputSeen<Out, IfUnknown>, Services>,
) => unknown;

/** A compensation with its own rules; what is left out is the action's, but for `retry`: 8 attempts up to 10 min apart. */
export interface CompensateOptions<In extends ZodType, Out extends OutputSchema, Services, IfUnknown extends boolean> {
  readonly run: Compensate<In, Out, Services, IfUnknown>;
  readonly effect?: EffectClass;
  readonly probe?: Probe<In, undefined, Services>;
  readonly timeout?: Duration;
  readonly retry?: RetryOptions;
  readonly keyTtl?: Duration;
  readonly lateness?: Duration;
}

interface CommonOptions<In extends ZodType, Out extends OutputSchema, Services, Uses> {
  /** What the action needs. Describes JSON on its encoded side. */
  readonly input: In & JsonSide<In>;
  /** What the action gives; without it the step yields `null`. */
  readonly output?: Out & JsonSide<Out>;
  readonly action: NoInfer<Action<In, Out, Services, Uses>>;
  /** How to find out, after a crash or a time-out, whether the action took effect. */
  readonly probe?: NoInfer<Probe<In, Out, Services>>;
  /** 5 attempts, exponential from 200 ms to 30 s, full jitter. */
  readonly retry?: RetryOptions;
  /** 60 s. After it the outcome is unknown. */
  readonly timeout?: Duration;
  /** How long the other side remembers an operation id: 24 h. Only read when `effect` is `keyed`. */
  readonly keyTtl?: Duration;
  /** How long after an abort the other side may still apply the call: 30 s. */
  readonly lateness?: Duration;
  /** What happens when the machine leaves the state before the step has ended: `compensate` (default) or `keep`. */
  readonly onAbandon?: "compensate" | "keep";
  /** What happens when the retries are used up: the machine is told (`fail`, default), or a person (`review`). */
  readonly onExhausted?: "fail" | "review";
  /** Take a fresh operation id after an absence was proven; for providers that store the first answer under the key. */
  readonly freshKeyAfterAbsent?: boolean;
  /** The named queue whose workers run it; without it the driver runs it inline. */
  readonly queue?: string;
  /**
   * What people are asked before it is carried out: `{ by: "finance", when: ({ input }) => input.cents > 50_000 }`, or a function
   * of the input that gives such options, or `false` where nobody needs to be asked. The run waits for them without a worker.
   */
  readonly approve?: NoInfer<Gate<z.output<In>>>;
  /** It is to be over so long after it was asked for, with all attempts and waits; as long as it takes unless given. */
  readonly deadline?: Duration;
  /** What then: the machine is told of a failure of the kind `deadline` (`fail`, default), or a person is asked. */
  readonly onDeadline?: "fail" | "review";
}

/** Nothing changes outside, so there is nothing to undo. */
interface NoEffect<Uses> {
  readonly effect: "none";
  /**
   * Steps that the action may call as tools. What it changes outside, it changes through them: each call is a ledger row of
   * its own. Not on a named queue, whose worker may not write.
   */
  readonly uses?: Uses;
  readonly intent?: never;
  readonly compensate?: never;
  readonly noCompensation?: never;
  readonly compensateIfUnknown?: never;
  readonly settle?: never;
  readonly pivot?: never;
}

interface SomeEffect<In extends ZodType> {
  readonly uses?: never;
  /**
   * A business key for the effect, unique across the runs of a tenant: `({ input }) => ["refund", input.chargeId]`. A
   * second run with the same key gets the first one's recorded outcome. Never a text that a model wrote.
   */
  readonly intent?: NoInfer<(view: { readonly input: z.output<In> }) => Json>;
  /** What happens if the action is called again with the same operation id. */
  readonly effect: Exclude<EffectClass, "none">;
  /** The point of no return: once it has happened nothing is undone any more. */
  readonly pivot?: boolean;
}

interface Undoable<In extends ZodType, Out extends OutputSchema, Services, IfUnknown extends boolean>
  extends SomeEffect<In> {
  readonly compensate: Compensate<In, Out, Services, IfUnknown> | CompensateOptions<In, Out, Services, IfUnknown>;
  readonly noCompensation?: never;
  /** Compensate also when nobody can tell whether the action took effect; `output` may then be `undefined`. */
  readonly compensateIfUnknown?: IfUnknown;
  /** May the unwind call the action once more, with the same operation id, to learn what is to be undone? `true`. */
  readonly settle?: boolean;
}

interface Permanent<In extends ZodType> extends SomeEffect<In> {
  readonly compensate?: never;
  /** Why this effect stays when the run is unwound. */
  readonly noCompensation: string;
  readonly compensateIfUnknown?: never;
  readonly settle?: never;
}

/** The options of `step()`. An effect other than `"none"` needs `compensate` or `noCompensation: "reason"`. */
export type StepOptions<
  In extends ZodType,
  Out extends OutputSchema = undefined,
  Services = unknown,
  IfUnknown extends boolean = false,
  Uses extends Toolbox = Record<never, never>,
> = CommonOptions<In, Out, Services, Uses> & (NoEffect<Uses> | Undoable<In, Out, Services, IfUnknown> | Permanent<In>);
