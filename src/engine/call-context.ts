/**
 * What user functions of a step receive. Made once per call on the hot path, so the signal and the logger exist only when
 * they are asked for.
 */
import type { Row } from "../core/index.ts";
import type { CallContext, RunIdentity, StepLog } from "../saga/index.ts";

/** One line of a step's log, with where it comes from. */
export interface StepLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly run: RunIdentity;
  readonly step: string;
  readonly operationId: string;
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
  readonly step: Row["step"];
  readonly services: unknown;
  readonly input: unknown;
  readonly output: unknown;
  readonly signal: LazySignal;
  readonly sink: StepLogSink;
}

/**
 * The context of an action, a probe or a compensation: one shape for all. `signal` and `log` are own properties, so that
 * `{ input, ...rest }` keeps them.
 */
export function userContext(parts: ContextParts): CallContext & { readonly [Key in "input" | "output"]: unknown } & {
  readonly forwardOperationId: string;
} {
  let log: StepLog | null = null;
  return {
    input: parts.input,
    output: parts.output,
    operationId: parts.operationId,
    forwardOperationId: parts.forwardOperationId,
    attempt: parts.attempt,
    run: parts.run,
    services: parts.services,
    get signal() {
      return parts.signal.signal;
    },
    get log() {
      log ??= stepLog(parts);
      return log;
    },
  };
}

function stepLog({ sink, run, step, operationId }: ContextParts): StepLog {
  const at =
    (level: StepLine["level"]) =>
    (message: string, facts: Readonly<Record<string, unknown>> = {}) =>
      sink({ level, message, facts, run, step, operationId });
  return { info: at("info"), warn: at("warn"), error: at("error") };
}
