/**
 * What a declaration comes to once its types are erased: the form in which core and engine read steps and sagas.
 * Owns: the shapes. Does not own: how they are declared (`step.ts`, `saga.ts`, `builder.ts`) or judged (`core`).
 * Invariant: every duration here is a finite whole number of milliseconds; every default is already filled in.
 */
import type { AnyStateMachine } from "xstate";
import type { ZodObject, ZodType } from "zod";
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
  /**
   * Says what was used, by name of the budget, in your units; resolved, it is on record. With a `key` it is counted once,
   * although the action is made again; without one each time, since it was used each time. Not on a named queue.
   *
   * @throws RepriseError BUDGET_EXHAUSTED when it is counted and the hard limit is passed (stop: nothing more is granted),
   * LEASE_LOST when another worker has the run, INPUT_INVALID.
   */
  readonly spend: Spend;
  /** What is left of a budget up to its hard limit, 0 at the least; `null`: it has none. */
  readonly budget: (name: string) => number | null;
}

/** What a step has used: by name of the budget, amounts from 0. */
export type Uses = Readonly<Record<string, number>>;

export type Spend = (uses: Uses, options?: { readonly key?: Json }) => Promise<void>;

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

export type SloName =
  | "completion"
  | "intervention"
  | "duplicates"
  | "latency"
  | "cost"
  | "recovery"
  | "unknownAge"
  | "unwind"
  | "resumption";

/** One objective. */
export interface ObjectiveSpec {
  readonly name: SloName;
  /** The share of events that are to be good. */
  readonly target: number;
  /** An event is good up to this (ms; for `cost`, of the budget's unit); `null`: it is good or bad by itself. */
  readonly within: number | null;
  /** Of `cost`. */
  readonly budget: string | null;
}

/** What is promised of a saga's runs. */
export interface SloSpec {
  readonly windowMs: number;
  readonly objectives: readonly ObjectiveSpec[];
}

/** What people are asked before a step is carried out. */
export interface ApprovalSpec {
  /** What they are asked for this input. Pure; throws where its author's own functions do. */
  readonly terms: (view: { readonly input: unknown }) => ApprovalTerms;
  /** What the person fills in; `null`: nothing. */
  readonly form: ZodType | null;
}

/** What people are asked for one input. */
export interface ApprovalTerms {
  /** Is a person needed at all? */
  readonly asks: boolean;
  /** The rule that fired (or, `asks: false`, that let it go) in words. */
  readonly rule: string | null;
  /** In plain words, for the person who decides. */
  readonly question: string;
  /** Roles one of which is needed; none: anybody but the requester. */
  readonly roles: readonly string[];
  readonly quorum: number;
  /** Who asks for it, and so may not decide on it. */
  readonly requester: string | null;
  readonly allowed: readonly ("approve" | "edit" | "reject" | "ask_back")[];
  /** What an edit may change, as the schema of those fields; `null`: every field. */
  readonly edits: ZodObject | null;
  readonly expiresMs: number | null;
  readonly onExpire: "reject" | "review";
  /** By time. */
  readonly escalations: readonly { readonly afterMs: number; readonly to: readonly string[] }[];
}

/** The run that a step starts. */
export interface ChildSpec {
  /** The saga it runs. */
  readonly of: SagaSpec;
  /** Nobody waits for it, cancels it or undoes it. */
  readonly detached: boolean;
  /** How much of a budget of the run that starts it it is given at a time; a tenth of what is not named. */
  readonly share: Readonly<Record<string, number>>;
}

/** How the items of a list are worked through. */
export interface BatchSpec {
  /** Items of one part: the next part is begun when all of the one before have ended. */
  readonly size: number;
  /** Items at once. */
  readonly concurrency: number;
}

/** Bounds on what a run uses. */
export interface BudgetSpec {
  readonly soft: number | null;
  readonly hard: number | null;
}

/** A step, types erased. */
export interface StepSpec extends CallSpec {
  readonly name: string;
  /** Who carries it out: code, a person, another run. */
  readonly kind: "call" | "approval" | "child";
  /** Of an approval, or a gate before a call; `null`: nobody is asked. */
  readonly approval: ApprovalSpec | null;
  /** Of a `child`. */
  readonly child: ChildSpec | null;
  /** From when it is asked for until it is over, with all attempts; `null`: as long as it takes. */
  readonly deadlineMs: number | null;
  /** What then: the machine is told of a failure, or a person is asked. */
  readonly onDeadline: "fail" | "review";
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
  /** Its input is a list, each item of which is one for its only tool; its action is never called. Absent: it is no batch. */
  readonly batch?: BatchSpec;
}

/** A run where it stands, as a migration is given it and gives it back. */
export interface MigratedRun {
  /** The state value, as XState writes it. */
  readonly value: Json;
  readonly context: Json;
  readonly input: Json;
}

/** Makes a run of an older version one of the next. Pure. */
export type Migration = (run: MigratedRun) => MigratedRun;

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
  /** How long a run may take, and what then; `null`: as long as it takes. */
  readonly deadline: { readonly ms: number; readonly then: "compensate" | "review" } | null;
  /** By name of what is used. `steps`, `toolCalls` and `time` (ms since its start) are counted by themselves. */
  readonly budgets: ((view: { readonly input: unknown }) => Readonly<Record<string, BudgetSpec>>) | null;
  /** What is promised of its runs; `null`: nothing. */
  readonly slo: SloSpec | null;
  /** So many times the same call (step and input) in one run, and a person is asked; `null`: as often as it likes. */
  readonly loopLimit: number | null;
  /** Runs of one key take turns, `limit` at a time; `null`: no run waits for another. */
  readonly concurrency: { readonly key: (view: { readonly input: unknown }) => Json; readonly limit: number } | null;
  /** How long a run is kept after its end; `null`: for ever; absent: as the settings say. */
  readonly retentionMs?: number | null;
  /** How a run of an older version becomes one of this: by that version's number. */
  readonly migrations: Readonly<Record<number, Migration>>;
}
