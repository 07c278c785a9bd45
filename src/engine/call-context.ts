/**
 * What user functions of a step receive. Made once per call on the hot path, so the signal and the logger exist only when
 * they are asked for.
 */
import type { Row } from "../core/index.ts";
import { redact } from "../redact.ts";
import type { ActionContext, CallContext, Progress, RunIdentity, StepLog, Tools } from "../saga/index.ts";

/** One line of a step's log, with where it comes from. */
export interface StepLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly run: RunIdentity;
  readonly step: string;
  readonly operationId: string;
  /** The traceparent that its run was started under; `null`: none. */
  readonly trace: string | null;
}
export type StepLogSink = (line: StepLine) => void;

/** An AbortSignal that is made when it is first looked at. */
export class LazySignal {
  #controller: AbortController | null = null;
  #reason: Error | null = null;

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#reason !== null) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

export interface ContextParts {
  readonly operationId: string;
  readonly forwardOperationId: string;
  readonly attempt: number;
  readonly run: RunIdentity;
  readonly trace: string | null;
  readonly step: Row["step"];
  readonly services: unknown;
  readonly input: unknown;
  readonly output: unknown;
  readonly signal: LazySignal;
  readonly sink: StepLogSink;
  readonly progress: Progress;
  readonly tools: Tools<unknown>;
  readonly spend: ActionContext["spend"];
  readonly budget: ActionContext["budget"];
}

type UserContext = CallContext & { readonly [Key in "input" | "output"]: unknown } & {
  readonly forwardOperationId: string;
  readonly progress: Progress;
  readonly tools: Tools<unknown>;
} & Pick<ActionContext, "spend" | "budget">;

const partsOf: unique symbol = Symbol("parts");
type Bare = Omit<UserContext, "signal" | "log"> & { readonly [partsOf]: ContextParts };

/**
 * The context of an action, a probe or a compensation: one shape for all. `signal` and `log` are own properties, so that
 * `{ input, ...rest }` keeps them. Their getters are shared: for getters of its own, V8 would give each context a hidden
 * class that lives, with all it can reach, until the next full collection.
 */
export function userContext(parts: ContextParts): UserContext {
  const bare: Bare = {
    input: parts.input,
    output: parts.output,
    operationId: parts.operationId,
    forwardOperationId: parts.forwardOperationId,
    attempt: parts.attempt,
    run: parts.run,
    services: parts.services,
    progress: parts.progress,
    tools: parts.tools,
    spend: parts.spend,
    budget: parts.budget,
    [partsOf]: parts,
  };
  // `lazily` adds the two that are missing.
  return Object.defineProperties(bare, lazily) as unknown as UserContext;
}

const lazily: PropertyDescriptorMap & ThisType<Bare> = {
  signal: {
    enumerable: true,
    get() {
      return this[partsOf].signal.signal;
    },
  },
  log: {
    enumerable: true,
    get() {
      return stepLog(this[partsOf]);
    },
  },
  [partsOf]: { enumerable: false },
};

function stepLog({ sink, run, trace, step, operationId }: ContextParts): StepLog {
  const at =
    (level: StepLine["level"]) =>
    (message: string, facts?: Readonly<Record<string, unknown>>): void => {
      const told = typeof facts === "object" && facts !== null ? facts : {};
      try {
        sink({ level, message: redact(String(message)), facts: told, run, step, operationId, trace });
      } catch {
        // A line that nobody could take is no reason to doubt an effect.
      }
    };
  return { info: at("info"), warn: at("warn"), error: at("error") };
}
