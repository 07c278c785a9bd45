/**
 * A worker of named queues: performs one routed call. Owns: winning the permit, renewing it, handing the answer in.
 * Invariants: P1 user code is called only under a permit, within `startWithinMs` of asking for it. P2 the answer is an
 * inbox entry; record, ledger and log are written by the run's driver alone. P3 a permit that was won and not used is
 * answered with "not called", unless this process dies.
 */
import {
  type CallOrder,
  missingIn,
  operationId,
  type PermitAnswer,
  type PermitCommand,
  remainingOf,
  type StepJob,
  summaryOf,
  type Timed,
} from "../core/index.ts";
import type { CallSpec, SagaSpec, StepSpec } from "../saga/index.ts";
import { type EngineContext, identityOf, isDurable, pause, traced, trouble, untilAnswered } from "./context.ts";
import { handInLate, handInSettled } from "./hand-in.ts";
import { type Invocation, invoke } from "./invoke.ts";
import { type OutcomeFact, resultFact } from "./outcome.ts";
import { handBackMs } from "./settings.ts";

type Permitted = Extract<PermitAnswer, { answer: "OK" }>;

const notServed = "the worker that took it does not serve this saga and version";

export class StepRunner {
  readonly #context: EngineContext;
  readonly #windows: ReadonlyMap<string, number>;
  readonly #running = new Set<Invocation>();
  #inHand = 0;
  #expelled = false;

  constructor(context: EngineContext, sagas: readonly SagaSpec[]) {
    this.#context = context;
    this.#windows = windowsOf(sagas, context);
  }

  /** How many it has taken and not handed in yet. */
  get inHand(): number {
    return this.#inHand;
  }

  /** Performs the call that was offered; resolves when its answer is handed in, or when it is not to be made. */
  async perform(job: StepJob): Promise<void> {
    if (this.#context.isStopping()) return;
    this.#inHand += 1;
    await this.#perform(job).finally(() => {
      this.#inHand -= 1;
    });
  }

  async #perform(job: StepJob): Promise<void> {
    const sentAt = this.#context.clock.monotonicMs();
    const command = this.#commandOf(job);
    const permitted = await this.#permit(command);
    if (permitted === null) return;
    const { record, row } = permitted;
    const machine = this.#context.sagas.machineFor(record);
    const step = machine?.saga.steps[row.step];
    const order = step === undefined ? null : this.#orderOf(job, permitted, step);
    if (order === null || step === undefined) return await this.#unserved(job, notServed);
    const missing = missingIn(null, [row]);
    if (missing.length > 0) return await this.#unserved(job, summaryOf(missing));
    if (this.#context.isPaused(record.saga)) return await this.#unserved(job, "its saga is paused");
    const refusal = await this.#refusal(order, sentAt);
    const fact = refusal === null ? await this.#call(command, order, permitted, step) : notCalled(order, refusal);
    if (fact !== null) await handInSettled(this.#context, { run: job.run, ...fact });
  }

  /** The grace is over: what still runs is aborted; its permits lapse and the calls are judged as interrupted. */
  expel(): void {
    this.#expelled = true;
    for (const invocation of this.#running) invocation.abort();
  }

  #commandOf({ run, seq, send, side, queue }: StepJob): PermitCommand {
    const { ids, owner, settings } = this.#context;
    const { leaseMs } = settings;
    return { run, seq, send, side, owner, token: ids.next(), leaseMs, windowMs: this.#windows.get(queue) ?? leaseMs };
  }

  /** Asked until it is answered: a permit that was won and not heard of would look like a call that was made. */
  async #permit(command: PermitCommand): Promise<Timed<Permitted> | null> {
    const sent = await untilAnswered(this.#context, "permit", () => this.#context.store.permit(command));
    return sent?.answer.answer === "OK" ? sent.answer : null;
  }

  /** It was won by a worker that cannot make it: another one shall have it, or it shall wait, not at once. */
  async #unserved(job: StepJob, reason: string): Promise<void> {
    const context = this.#context;
    await pause(context.clock, handBackMs.first);
    const { run, seq, send, side } = job;
    await handInSettled(context, { run, seq, send, side, result: { kind: "not_called", reason } });
  }

  #orderOf(job: StepJob, { record, row, now }: Timed<Permitted>, step: StepSpec): CallOrder | null {
    const { seq, send, side } = job;
    const spec: CallSpec | null = side === "action" ? step : step.compensation;
    const call = side === "action" ? row.call : row.undo?.call;
    if (spec === null || call === undefined || call === null) return null;
    const { namespace } = this.#context;
    return {
      kind: side,
      seq,
      side,
      send,
      attempt: Math.max(1, call.attempt),
      operationId: operationId(namespace, record, row, side),
      forwardOperationId: operationId(namespace, record, row),
      timeoutMs: row.dueBy === null ? spec.timeoutMs : Math.max(1, Math.min(spec.timeoutMs, row.dueBy - now)),
      barrier: call.effect === "once" || spec.effect === "once",
    };
  }

  async #refusal(order: CallOrder, sentAt: number): Promise<string | null> {
    const { settings, clock } = this.#context;
    if (order.barrier && !(await isDurable(this.#context))) return "store_not_durable";
    if (this.#context.isStopping()) return "the worker is stopping";
    const passed = clock.monotonicMs() - sentAt;
    return passed > Math.min(settings.startWithinMs, settings.leaseMs - settings.marginMs)
      ? "it was too late to begin"
      : null;
  }

  /** `null`: nothing is to be said, the call was interrupted. */
  #call(
    command: PermitCommand,
    order: CallOrder,
    { record, row, now }: Timed<Permitted>,
    step: StepSpec,
  ): Promise<Extract<OutcomeFact, { type: "result" }> | null> {
    const context = this.#context;
    return new Promise((resolve) => {
      const invocation = invoke(context.invoke, {
        order,
        run: identityOf(record),
        trace: record.trace,
        row,
        step,
        around: traced(context, { record, row, order, routed: true, now }),
        onOutcome: (fact, ms) => {
          this.#running.delete(invocation);
          stopRenewing();
          if (fact.type !== "result") return resolve(null);
          const { side, seq, result } = fact;
          const { saga } = record;
          const { effect } = order.side === "action" ? step : (step.compensation ?? step);
          const told = { run: command.run, saga, seq, step: step.name, side, effect, ms, result: result.kind };
          context.facts.emit({ fact: "call", ...told });
          resolve(this.#expelled && result.kind === "unknown" ? null : fact);
        },
        onProgress: null,
        onSpend: null,
        budgets: () => remainingOf(record, now),
        onTool: null,
        onLate: (fact) => {
          if (fact.type === "result") context.background(handInLate(context, { run: command.run, ...fact }));
        },
      });
      this.#running.add(invocation);
      const stopRenewing = this.#renew(command, () => invocation.abort());
    });
  }

  /** Renews the permit until told to stop; `onAbort` when its holder is to give up. */
  #renew(command: PermitCommand, onAbort: () => void): () => void {
    const { clock, settings, store } = this.#context;
    let stopped = false;
    let cancel = (): void => undefined;
    const renew = async (): Promise<void> => {
      try {
        const { answer } = await store.renewPermit(command);
        if (answer === "ABORT") return onAbort();
      } catch (error) {
        trouble(this.#context, "permit", error);
      }
      if (!stopped) cancel = clock.after(settings.renewMs, () => this.#context.background(renew()));
    };
    cancel = clock.after(settings.renewMs, () => this.#context.background(renew()));
    return () => {
      stopped = true;
      cancel();
    };
  }
}

function notCalled(order: CallOrder, reason: string): Extract<OutcomeFact, { type: "result" }> {
  return resultFact(order, { kind: "not_called", reason });
}

/** Per queue, the longest window of any step that is routed to it: a deadline must not be too early. */
function windowsOf(sagas: readonly SagaSpec[], context: EngineContext): ReadonlyMap<string, number> {
  const windows = new Map<string, number>();
  for (const { steps } of sagas) {
    for (const step of Object.values(steps)) {
      if (step.queue === null) continue;
      const specs: readonly CallSpec[] = step.compensation === null ? [step] : [step, step.compensation];
      const longest = Math.max(...specs.map((spec) => windowOf(spec, context)));
      windows.set(step.queue, Math.max(windows.get(step.queue) ?? 0, longest));
    }
  }
  return windows;
}

function windowOf(spec: CallSpec, { settings }: EngineContext): number {
  return settings.startWithinMs + spec.timeoutMs + settings.abortGraceMs + spec.latenessMs;
}
