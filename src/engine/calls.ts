/**
 * The calls one driver has under way. Owns: may a granted call still be begun, and who hears what came of it. Invariants:
 * K1 of every order exactly one outcome is learnt, "not called" included; a probe that was not asked is simply not in
 * flight, so core orders it again. K2 no call is begun while stopping, outside the lease's trust, or later than
 * `startWithinMs` after the time its grant is dated. K3 what is said after the driver gave a call up is handed in as late.
 */
import { type CallOrder, callOf, type Decision, type Machine, type Run, remainingOf } from "../core/index.ts";
import type { StepSpec } from "../saga/index.ts";
import { type ChildCall, callChild } from "./children.ts";
import { type EngineContext, identityOf, isDurable, traced, untilAnswered } from "./context.ts";
import { handInLate, handInLetGo } from "./hand-in.ts";
import { type Invocation, invoke } from "./invoke.ts";
import type { HeldLease } from "./lease.ts";
import { type OutcomeFact, resultFact } from "./outcome.ts";
import type { OwnFact } from "./receipts.ts";
import type { StoreTime } from "./store-time.ts";
import type { ToolRequest, ToolWord } from "./tool-desk.ts";

type ResultFact = Extract<OutcomeFact, { type: "result" }>;

interface Flight {
  readonly key: string;
  readonly order: CallOrder;
  invocation: Invocation | null;
  aborted: boolean;
}

const none: ReadonlySet<string> = new Set();

export class Calls {
  readonly #context: EngineContext;
  readonly #held: HeldLease;
  readonly #machine: Machine;
  readonly #time: StoreTime;
  readonly #learn: (fact: OutcomeFact, refused: boolean) => void;
  readonly #keep: (fact: OwnFact) => Promise<void>;
  readonly #tool: (request: ToolRequest) => Promise<ToolWord>;
  readonly #flights = new Set<Flight>();
  #run: Run | null = null;
  #unasked = false;
  #onIdle: (() => void) | null = null;

  constructor(
    context: EngineContext,
    held: HeldLease,
    machine: Machine,
    time: StoreTime,
    learn: (fact: OutcomeFact, refused: boolean) => void,
    keep: (fact: OwnFact) => Promise<void>,
    tool: (request: ToolRequest) => Promise<ToolWord>,
  ) {
    this.#context = context;
    this.#held = held;
    this.#machine = machine;
    this.#time = time;
    this.#learn = learn;
    this.#keep = keep;
    this.#tool = tool;
  }

  /** `action:<seq>`, `undo:<seq>`, `probe:<seq>`. */
  get inFlight(): ReadonlySet<string> {
    return this.#flights.size === 0 ? none : new Set([...this.#flights].map((flight) => flight.key));
  }

  /** Begins the calls of a decision whose grant is as old as `grantedAt`, unless there is an objection. */
  begin(decision: Decision, grantedAt: number, objection: string | null): void {
    this.#run = decision.run;
    for (const order of decision.calls) this.#begin(order, grantedAt, objection);
  }

  abort(key: string): void {
    for (const flight of this.#flights) if (flight.key === key) abortFlight(flight);
  }

  abortAll(): void {
    for (const flight of this.#flights) abortFlight(flight);
  }

  /** Was a probe not asked since the last question? */
  takeUnasked(): boolean {
    const unasked = this.#unasked;
    this.#unasked = false;
    return unasked;
  }

  /** Resolves when no call of this driver is under way; `null`: none is. */
  end(): Promise<void> | null {
    if (this.#flights.size === 0) return null;
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  /** Says what came of a call to whoever drives the run now; where nobody knows, that it was let go, if that is waited for. */
  handIn(fact: OutcomeFact): void {
    if (fact.type === "result" && isLetGo(fact) && this.#isSender(fact)) {
      this.#context.background(handInLetGo(this.#context, { run: this.#held.ref.run, ...fact }));
    } else this.#handInLate(fact);
  }

  #handInLate(fact: OutcomeFact): void {
    if (fact.type !== "result") return;
    const { seq, send, side, result } = fact;
    this.#context.background(handInLate(this.#context, { run: this.#held.ref.run, seq, send, side, result }));
  }

  #isSender({ seq, side, send }: ResultFact): boolean {
    const row = this.#run?.rows[seq - 1];
    return row !== undefined && callOf(row, side)?.senders.some((sender) => sender.send === send) === true;
  }

  /**
   * A commit was sent more than once and then refused as fenced: the first sending may have landed, and its grants would
   * look like calls that were made. The log says whose that revision is; only then "not called" is the truth.
   */
  disown(decision: Decision): void {
    if (decision.calls.length > 0) this.#context.background(this.#disown(decision));
  }

  async #disown({ commit, calls }: Decision): Promise<void> {
    if (commit === null) return;
    const { revision } = commit.log;
    const { store } = this.#context;
    const read = await untilAnswered(this.#context, "disown", () => store.log(commit.run, revision, revision));
    const entry = read?.answer[0];
    if (entry?.digest !== commit.log.digest || entry.fence !== this.#held.ref.fence) return;
    for (const order of calls) if (order.kind !== "probe") this.handIn(notCalled(order, "the lease was lost"));
  }

  #begin(order: CallOrder, grantedAt: number, objection: string | null): void {
    const refusal = objection ?? this.#refusal(grantedAt);
    if (refusal !== null) return this.#refuse(order, refusal);
    const flight: Flight = { key: `${order.kind}:${order.seq}`, order, invocation: null, aborted: false };
    this.#flights.add(flight);
    const senders = this.#sendersOf(order);
    if (senders.length > 0) this.#context.background(this.#afterLook(flight, senders, grantedAt));
    else if (order.barrier && this.#context.needsBarrier())
      this.#context.background(this.#afterBarrier(flight, grantedAt));
    else this.#call(flight, []);
  }

  /** Who may still send what a probe asks about. */
  #sendersOf({ kind, seq, side }: CallOrder): readonly string[] {
    const row = kind === "probe" ? this.#run?.rows[seq - 1] : undefined;
    return row === undefined ? [] : (callOf(row, side)?.senders.map(({ owner }) => owner) ?? []);
  }

  /** Who is gone is looked at first: what somebody sends between a probe and the look would be missed by both. */
  async #afterLook(flight: Flight, senders: readonly string[], grantedAt: number): Promise<void> {
    const { store } = this.#context;
    const sent = await untilAnswered(this.#context, "living", () => store.living(senders));
    const refusal = sent === null ? "the worker is stopping" : this.#refusal(grantedAt);
    if (sent !== null && refusal === null && !flight.aborted) {
      return this.#call(
        flight,
        senders.filter((owner) => !sent.answer.includes(owner)),
      );
    }
    this.#land(flight);
    this.#refuse(flight.order, refusal ?? "aborted");
  }

  async #afterBarrier(flight: Flight, grantedAt: number): Promise<void> {
    const durable = await isDurable(this.#context);
    const refusal = durable ? this.#refusal(grantedAt) : "store_not_durable";
    if (refusal === null && !flight.aborted) return this.#call(flight, []);
    this.#land(flight);
    this.#refuse(flight.order, refusal ?? "aborted");
  }

  #refusal(grantedAt: number): string | null {
    const { clock, settings } = this.#context;
    const now = clock.monotonicMs();
    if (this.#context.isStopping()) return "the worker is stopping";
    if (now - grantedAt > settings.startWithinMs) return "it was too late to begin";
    return this.#held.isTrusted(now) ? null : "the lease was not trusted";
  }

  #refuse(order: CallOrder, reason: string): void {
    if (order.kind === "probe") this.#unasked = true;
    else this.#learn(notCalled(order, reason), true);
  }

  /** `gone`: who is known not to send it any more. */
  #call(flight: Flight, gone: readonly string[]): void {
    const { order } = flight;
    const row = this.#run?.rows[order.seq - 1];
    const step = row === undefined ? undefined : this.#machine.saga.steps[row.step];
    if (this.#run === null || row === undefined || step === undefined) throw new RangeError(`no row ${order.seq}`);
    if (step.kind === "child") return this.#callChild(flight, { order, parent: this.#run.record, row, step });
    flight.invocation = invoke(this.#context.invoke, {
      order,
      run: identityOf(this.#run.record),
      trace: this.#run.record.trace,
      row,
      step,
      around: traced(this.#context, { record: this.#run.record, row, order, routed: false, now: this.#time.now() }),
      onOutcome: (fact, ms) => this.#outcome(flight, step, fact.type === "probed" ? { ...fact, gone } : fact, ms),
      onLate: (fact) => this.#handInLate(fact),
      onTool: (request) => this.#tool(request),
      onProgress: (cursor) => this.#keep({ type: "progress", seq: order.seq, send: order.send, cursor }),
      onSpend: (uses, key) => this.#keep({ type: "spend", seq: order.seq, send: order.send, uses, key }),
      budgets: () => this.#budgets(),
    });
  }

  /** What is left of each budget, as far as is committed. */
  #budgets(): Readonly<Record<string, number | null>> {
    return this.#run === null ? {} : remainingOf(this.#run.record, this.#time.now());
  }

  /** Nothing is aborted of it: its requests are short, and what they began is found again. */
  #callChild(flight: Flight, call: ChildCall): void {
    const { clock } = this.#context;
    const beganAt = clock.monotonicMs();
    const { seq, send, side } = flight.order;
    const ask = async (): Promise<void> => {
      const seen = await callChild(this.#context, call);
      this.#outcome(flight, call.step, { type: "child", seq, send, side, seen }, clock.monotonicMs() - beganAt);
    };
    this.#context.background(ask());
  }

  #outcome(flight: Flight, step: StepSpec, fact: OutcomeFact, ms: number): void {
    const { kind: side, side: of } = flight.order;
    const { effect } = of === "action" ? step : (step.compensation ?? step);
    const { saga } = this.#machine;
    const told = { run: this.#held.ref.run, saga: saga.name, seq: fact.seq, step: step.name, side, effect, ms };
    this.#context.facts.emit({ fact: "call", ...told, result: wordOf(fact) });
    this.#flights.delete(flight);
    this.#learn(fact, false);
    this.#land(flight);
  }

  #land(flight: Flight): void {
    this.#flights.delete(flight);
    if (this.#flights.size === 0) this.#onIdle?.();
  }
}

function isLetGo({ result }: ResultFact): boolean {
  return result.kind === "unknown" || result.kind === "defect";
}

function notCalled(order: CallOrder, reason: string): ResultFact {
  return resultFact(order, { kind: "not_called", reason });
}

function wordOf(fact: OutcomeFact): string {
  if (fact.type === "child") return fact.seen.is;
  return fact.type === "result" ? fact.result.kind : fact.answer;
}

function abortFlight(flight: Flight): void {
  flight.aborted = true;
  flight.invocation?.abort();
}
