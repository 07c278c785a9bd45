/**
 * Performs one order: calls the user's action, compensation or probe and says what came of it, once. Owns the time-out, the
 * abort and the function that ignores it. Invariants: I1 `onOutcome` is called exactly once, never synchronously, at the
 * latest a time-out and a grace after the call began. I2 what a function that was left behind says afterwards goes to
 * `onLate`. I3 input and output are checked against the step's schemas here: what does not fit never reaches user code or
 * the machine as if it did.
 */
import { type CallOrder, type CallResult, type Clock, inputOf, promised, type Row } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import {
  type ActionContext,
  type Checked,
  type CompensateContext,
  decodeInput,
  decodeOutput,
  type Json,
  type ProbeContext,
  type Progress,
  type RunIdentity,
  type StepSpec,
  type Tools,
  type Uses,
} from "../saga/index.ts";
import { LazySignal, type StepLogSink, userContext } from "./call-context.ts";
import {
  type AbortCause,
  answerFact,
  boundedJson,
  leftBehind,
  messageOf,
  type OutcomeFact,
  probeFailed,
  resultFact,
  shown,
  thrownResult,
} from "./outcome.ts";
import { leaseLost } from "./receipts.ts";
import { problemOf, spendsNothing } from "./spending.ts";
import type { ToolRequest, ToolWord } from "./tool-desk.ts";
import { toolsOf } from "./tools.ts";

type Asked = Pick<ToolRequest["ask"], "tool" | "input" | "key" | "intent">;

/** What every call of a worker shares. */
export interface InvokeDeps {
  readonly clock: Clock;
  readonly services: unknown;
  readonly sink: StepLogSink;
  readonly abortGraceMs: number;
  readonly maxPayloadBytes: number;
}

/** Calls the work and answers what it answers. */
export type Around = <Result>(work: () => Promise<Result>) => Promise<Result>;

export interface CallInput {
  readonly order: CallOrder;
  readonly run: RunIdentity;
  /** The traceparent that its run was started under. */
  readonly trace?: string | null;
  readonly row: Row;
  readonly step: StepSpec;
  /** What user code is called within; `null`: nothing. */
  readonly around?: Around | null;
  readonly onOutcome: (fact: OutcomeFact, ms: number) => void;
  readonly onLate: (fact: OutcomeFact) => void;
  /** Puts a request of the action for a tool; `null`: nobody can. */
  readonly onTool: ((request: ToolRequest) => Promise<ToolWord>) | null;
  /** Keeps a cursor of the action; `null`: nobody can. */
  readonly onProgress: ((cursor: Json) => Promise<void>) | null;
  /** Counts what the action has used; `null`: nobody can. */
  readonly onSpend: ((uses: Uses, key: Json) => Promise<void>) | null;
  /** What is left of the run's budgets now. */
  readonly budgets: () => Readonly<Record<string, number | null>>;
}

/** A call under way. */
export interface Invocation {
  /** Aborts its signal; it has the abort grace to say what it knows. */
  abort(): void;
}

export function invoke(deps: InvokeDeps, input: CallInput): Invocation {
  const call = new RunningCall(deps, input);
  call.begin();
  return call;
}

class RunningCall implements Invocation, Progress {
  readonly #deps: InvokeDeps;
  readonly #input: CallInput;
  readonly #signal = new LazySignal();
  readonly #beganAt: number;
  #aborted: AbortCause | null = null;
  #reported = false;
  /** Why it was given up in the middle: what it says is not heard. */
  #suspended: string | null = null;
  #asks = 0;
  #cursor: Json;
  #cancelTimer: () => void;

  constructor(deps: InvokeDeps, input: CallInput) {
    this.#deps = deps;
    this.#input = input;
    this.#beganAt = deps.clock.monotonicMs();
    this.#cursor = input.row.progress;
    this.#cancelTimer = deps.clock.after(input.order.timeoutMs, () => this.#abort("timeout"));
  }

  begin(): void {
    const work = this.#work();
    if (!work.ok) {
      void Promise.resolve(this.#defect(work.problem)).then((fact) => this.#end(fact));
      return;
    }
    const { around = null } = this.#input;
    const call = (): Promise<unknown> => promised(() => Promise.resolve(work.value()));
    // (Beside what user code promises this is all that a call makes of promises: see `promised`.)
    void promised(() => (around === null ? call() : around(call))).then(
      (value) => this.#end(this.#answered(value)),
      (error: unknown) => this.#end(this.#thrown(error)),
    );
  }

  abort(): void {
    this.#abort("aborted");
  }

  get(): Json {
    return this.#cursor;
  }

  async set(cursor: Json): Promise<void> {
    const { order, step, onProgress } = this.#input;
    const json = boundedJson(cursor, this.#deps.maxPayloadBytes);
    if (!json.ok) throw new RepriseError(json.code, `the progress of ${step.name} ${json.problem}`);
    if (onProgress === null || order.kind !== "action") {
      throw new RepriseError(
        "INPUT_INVALID",
        `${step.name} keeps no progress: only an action that is on no named queue does`,
      );
    }
    if (this.#reported) throw leaseLost();
    await onProgress(json.value);
    this.#cursor = json.value;
  }

  async #spend(uses: Uses, key: Json): Promise<void> {
    const { order, step, onSpend } = this.#input;
    const problem =
      problemOf(uses, this.#input.budgets()) ?? (onSpend === null || order.kind !== "action" ? spendsNothing : null);
    if (problem !== null || onSpend === null) {
      throw new RepriseError("INPUT_INVALID", `what ${step.name} says it used: ${problem}`, { details: { uses } });
    }
    const json = boundedJson(key, this.#deps.maxPayloadBytes);
    if (!json.ok) throw new RepriseError(json.code, `the key of what ${step.name} used ${json.problem}`);
    if (this.#reported) throw leaseLost();
    await onSpend(uses, json.value);
  }

  #request(tool: StepSpec, asked: Asked): Promise<ToolWord> {
    const { order, onTool } = this.#input;
    const isOver = this.#reported || this.#aborted !== null;
    if (onTool === null || order.kind !== "action" || isOver) return Promise.resolve({ is: "lost" });
    this.#asks += 1;
    const ask = { ...asked, ask: `${order.seq}.${order.send}.${this.#asks}`, parent: order.seq, send: order.send };
    return onTool({ ask, tool });
  }

  #suspend(why: string): void {
    this.#suspended ??= why;
    this.#abort("aborted");
  }

  #suspension(): OutcomeFact {
    return resultFact(this.#input.order, { kind: "suspended", reason: this.#suspended ?? "" });
  }

  #abort(cause: AbortCause): void {
    if (this.#aborted !== null || this.#reported) return;
    this.#aborted = cause;
    this.#cancelTimer();
    const { order } = this.#input;
    const fact = (): OutcomeFact => {
      if (this.#suspended !== null) return this.#suspension();
      return order.kind === "probe"
        ? probeFailed(order, "no answer in time")
        : resultFact(order, leftBehind(order, cause));
    };
    this.#cancelTimer = this.#deps.clock.after(this.#deps.abortGraceMs, () => this.#report(fact()));
    this.#signal.abort(
      new DOMException(`the call was ${cause === "timeout" ? "too slow" : "aborted"}`, abortName(cause)),
    );
  }

  #report(fact: OutcomeFact): void {
    if (this.#reported) return this.#input.onLate(fact);
    this.#reported = true;
    this.#cancelTimer();
    this.#input.onOutcome(fact, this.#deps.clock.monotonicMs() - this.#beganAt);
  }

  #end(fact: OutcomeFact): void {
    this.#report(this.#suspended === null ? fact : this.#suspension());
  }

  /** User code with what it is called with, or why it cannot be called. */
  #work(): Checked<() => unknown> {
    const { order, step, row } = this.#input;
    const input = decodeInput(step, inputOf(row, order.side));
    if (!input.ok) return unfit(`the input of ${step.name} does not fit its schema: ${input.problem}`);
    const output = outputFor(order, step, row);
    if (!output.ok) return unfit(`the output of ${step.name} does not fit its schema: ${output.problem}`);
    const context = this.#context(input.value, output.value);
    const { compensation } = step;
    // One shape for all: what each kind is typed to receive is in it.
    if (order.kind === "action") return { ok: true, value: () => step.action(context as ActionContext) };
    if (order.kind === "undo") {
      if (compensation === null) return unfit(`${step.name} has no compensation in this version`);
      return { ok: true, value: () => compensation.run(context as CompensateContext) };
    }
    const probe = order.side === "action" ? step.probe : (compensation?.probe ?? null);
    if (probe === null) return unfit(`${step.name} has no probe in this version`);
    return { ok: true, value: () => probe(context as ProbeContext) };
  }

  #answered(value: unknown): OutcomeFact {
    const { order, step } = this.#input;
    try {
      return answerFact(order, step, value, this.#deps.maxPayloadBytes);
    } catch (error) {
      // What user code has handed over may throw at being looked at.
      return this.#thrown(error);
    }
  }

  #thrown(error: unknown): OutcomeFact {
    const { order } = this.#input;
    if (order.kind === "probe") return probeFailed(order, messageOf(error));
    return resultFact(order, thrownResult(error, this.#aborted));
  }

  #context(input: unknown, output: unknown): ReturnType<typeof userContext> {
    const { order, run, trace = null, step } = this.#input;
    const { operationId, forwardOperationId, attempt } = order;
    const { services, sink } = this.#deps;
    const signal = this.#signal;
    return userContext({
      operationId,
      forwardOperationId,
      attempt,
      run,
      trace,
      step: step.name,
      services,
      input,
      output,
      signal,
      sink,
      progress: this,
      tools: this.#tools(),
      spend: (uses, { key = null } = {}) => this.#spend(uses, key),
      budget: (name) => new Map(Object.entries(this.#input.budgets())).get(name) ?? null,
    });
  }

  #tools(): Tools<unknown> {
    return toolsOf({
      step: this.#input.step,
      maxPayloadBytes: this.#deps.maxPayloadBytes,
      request: (tool, asked) => this.#request(tool, asked),
      suspend: (why) => this.#suspend(why),
    });
  }

  #defect(problem: string): OutcomeFact {
    const { order } = this.#input;
    const message = shown(problem);
    const result: CallResult = { kind: "defect", message };
    return order.kind === "probe" ? probeFailed(order, message) : resultFact(order, result);
  }
}

function unfit(problem: string): Checked<never> {
  return { ok: false, problem };
}

/** A compensation (and its probe) sees the action's output, or `undefined` where nobody knows it. */
function outputFor(order: CallOrder, step: StepSpec, row: Row): Checked<unknown> {
  if (order.side === "action" || row.call.state !== "succeeded" || row.unusable) return { ok: true, value: undefined };
  return decodeOutput(step, row.output);
}

function abortName(cause: AbortCause): string {
  return cause === "timeout" ? "TimeoutError" : "AbortError";
}
