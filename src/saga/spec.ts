/**
 * What a declaration comes to once its types are erased: the form in which core and engine read steps and sagas.
 * Owns: the shapes. Does not own: how they are declared (`step.ts`, `saga.ts`, `builder.ts`) or judged (`core`).
 * Invariant: every duration here is a finite whole number of milliseconds; every default is already filled in.
 */
import type { AnyStateMachine } from "xstate";
import type { ZodType } from "zod";
import type { Json } from "./json-type.ts";
import type { ProbeAnswer } from "./outcome.ts";
import type { Tools } from "./tools.ts";

export type { Json } from "./json-type.ts";

/** What happens if an action is called again with the same operation id (design section 6). */
export type EffectClass = "none" | "idempotent" | "keyed" | "once";

/** Which run a step works for. */
export interface RunIdentity {
  readonly id: string;
  readonly tenant: string;
  readonly saga: string;
  readonly version: number;
}

/** A logger as a step sees it: one line, with facts. */
export interface StepLog {
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

/** What every user function of a step receives, whatever it is called for. */
export interface CallContext<Services = unknown> {
  /** The stable id of this one intended effect: the same on every retry of it. Pass it as the idempotency key. */
  readonly operationId: string;
  /** 1 for the first attempt that the retry policy counts. */
  readonly attempt: number;
  readonly run: RunIdentity;
  readonly log: StepLog;
  /** Aborted on time-out, on losing the lease, and when the run is unwound. */
  readonly signal: AbortSignal;
  readonly services: Services;
}

/** A cursor inside a long step: where an interrupted call goes on. */
export interface Progress {
  /** The last cursor that was kept, by this call or by one before it; `null`: none was. */
  get(): Json;
  /**
   * Keeps a cursor; resolved, it survives the process. Set it after the work it speaks of is done outside.
   *
   * @throws RepriseError LEASE_LOST when another worker has the run (stop at once), INPUT_INVALID, PAYLOAD_TOO_LARGE.
   */
  set(cursor: Json): Promise<void>;
}

/** Received by an action. */
export interface ActionContext<Input = unknown, Services = unknown, Uses = Record<never, never>>
  extends CallContext<Services> {
  readonly input: Input;
  /** The steps it `uses`, to be called as tools. */
  readonly tools: Tools<Uses>;
  /** Of a step that works through many items. Not on a named queue, whose worker may not write: `set` rejects there. */
  readonly progress: Progress;
}

/** Received by a probe: `operationId` is that of the action (or of the compensation, for a compensation's probe). */
export interface ProbeContext<Input = unknown, Services = unknown> extends CallContext<Services> {
  readonly input: Input;
}

/** Received by a compensation. */
export interface CompensateContext<Input = unknown, Output = unknown, Services = unknown>
  extends CallContext<Services> {
  readonly input: Input;
  readonly output: Output;
  /** The operation id of the action that is being undone. */
  readonly forwardOperationId: string;
}

/** How often and how far apart a call is tried again. `attempts` counts the first one. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly backoff: "exponential" | "linear" | "fixed";
  readonly initialMs: number;
  readonly maxMs: number;
  /** Full jitter: the delay is drawn evenly from 0 to the computed one. */
  readonly jitter: boolean;
}

/** What action and compensation have in common: how a call is made and judged. */
export interface CallSpec {
  readonly effect: EffectClass;
  readonly timeoutMs: number;
  /** How long after an abort the other side may still apply the call. */
  readonly latenessMs: number;
  /** How long the other side remembers an operation id; only read when `effect` is `keyed`. */
  readonly keyTtlMs: number;
  readonly retry: RetryPolicy;
  readonly hasProbe: boolean;
}

/** The compensation of a step. */
export interface CompensationSpec extends CallSpec {
  readonly run: (context: CompensateContext) => unknown;
  readonly probe: ((context: ProbeContext) => ProbeAnswer | Promise<ProbeAnswer>) | null;
}

/** A step, types erased. */
export interface StepSpec extends CallSpec {
  readonly name: string;
  readonly input: ZodType;
  /** `null`: the step yields `null` whatever its action returns. */
  readonly output: ZodType | null;
  readonly action: (context: ActionContext) => unknown;
  readonly probe: ((context: ProbeContext) => ProbeAnswer | Promise<ProbeAnswer>) | null;
  readonly compensation: CompensationSpec | null;
  /** Why this effect stays when the run is unwound; set exactly when there is an effect and no compensation. */
  readonly noCompensation: string | null;
  readonly compensateIfUnknown: boolean;
  /** May the unwind call the action once more, with the same operation id, to learn what is to be undone? */
  readonly settle: boolean;
  readonly pivot: boolean;
  readonly onAbandon: "compensate" | "keep";
  readonly onExhausted: "fail" | "review";
  readonly freshKeyAfterAbsent: boolean;
  /** The named queue whose workers run it; `null`: the driver runs it inline. */
  readonly queue: string | null;
  /** Its business key, unique across the runs of a tenant; `null`: it has none. Must be JSON, and follow from the input. */
  readonly intent: ((view: { readonly input: unknown }) => unknown) | null;
  /** The steps that its action may call as tools, by the name under which it does. */
  readonly uses: Readonly<Record<string, StepSpec>>;
}

/** A saga, types erased. */
export interface SagaSpec {
  readonly name: string;
  readonly version: number;
  readonly input: ZodType;
  /**
   * Events that may come from outside, each with the schema of its payload. The payload is a JSON object (linted) and
   * the machine sees it, encoded, beside the type: `{ type: "APPROVED", ...payload }`; `type` wins over a payload's own.
   */
  readonly events: Readonly<Record<string, ZodType>>;
  /** The machine with all implementations provided and `maxIterations` set. */
  readonly machine: AnyStateMachine;
  /** By invoke `src`, which is also the step's name. */
  readonly steps: Readonly<Record<string, StepSpec>>;
  /**
   * `own`: the machine's context is the user's and is stored. `results`: it was compiled by the builder, its context is
   * `{ input, results }`, follows from the run's input and ledger, and is handed in at each transition, never stored.
   * `results` then already holds the output of the very outcome that is fed. A line with `.waitFor` is `own`.
   */
  readonly context: "own" | "results";
  readonly attributes: ((view: { readonly context: unknown; readonly input: unknown }) => Json) | null;
  readonly unwind: "reverse" | "parallel-regions";
  readonly pool: string;
}
