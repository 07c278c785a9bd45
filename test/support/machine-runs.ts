/**
 * One run of a machine, moved by hand, in two ways: through the machine port, and by XState's own actor with a simulated
 * clock and promises that are settled by hand. Both write the same trace.
 */
import { setImmediate } from "node:timers/promises";
import { type AnyActor, createActor, fromPromise, SimulatedClock } from "xstate";
import { machineOf } from "../../src/core/machine/machine.ts";
import type { MachineEffect, MachineEvent, MachineState, MachineView, Turn } from "../../src/core/machine/port.ts";
import type { Json, SagaSpec } from "../../src/saga/index.ts";

/** What the world sees of a run, in order. */
export type TraceEntry =
  | {
      readonly snapshot: {
        readonly value: Json;
        readonly context: Json;
        readonly status: string;
        readonly output: Json;
      };
    }
  | { readonly started: string; readonly input: Json }
  | { readonly emitted: Json }
  | { readonly logged: Json };

/** A run that is moved from outside. */
export interface ManualRun {
  readonly trace: TraceEntry[];
  /** Invoke ids of steps under way, sorted. */
  open(): readonly string[];
  succeed(invoke: string, output: Json): Promise<void>;
  fail(invoke: string, error: Json): Promise<void>;
  send(event: string, payload: Json): Promise<void>;
  /** Moves the clock; what is due fires. */
  advance(ms: number): Promise<void>;
}

/** `restored`: the state goes through JSON between every two events. `kept`: the same object is handed in. */
export type Keeping = "restored" | "kept";

interface PendingTimer {
  readonly id: string;
  readonly at: number;
  readonly event: Extract<MachineEvent, { type: "timer" }>["event"];
}

/** A run through the port, with the least of a driver around it. */
export class PortRun implements ManualRun {
  readonly trace: TraceEntry[] = [];
  readonly #saga: SagaSpec;
  readonly #input: Json;
  readonly #keeping: Keeping;
  #state: MachineState;
  #invocations = new Map<string, string>();
  #timers: readonly PendingTimer[] = [];
  #now = 0;
  #defect: string | null = null;

  constructor(saga: SagaSpec, input: Json, keeping: Keeping) {
    this.#saga = saga;
    this.#input = input;
    this.#keeping = keeping;
    this.#state = { value: null, context: null, status: "active" };
    this.#take(machineOf(saga).initial(this.#view()));
  }

  get state(): MachineState {
    return this.#state;
  }

  /** Ms until something is due; `null`: nothing is. */
  get nextTimerInMs(): number | null {
    return this.#timers.length === 0 ? null : Math.min(...this.#timers.map(({ at }) => at)) - this.#now;
  }

  open(): readonly string[] {
    return [...this.#invocations.keys()].sort();
  }

  async succeed(invoke: string, output: Json): Promise<void> {
    this.#feed({ type: "outcome", invoke, output });
  }

  async fail(invoke: string, error: Json): Promise<void> {
    this.#feed({ type: "failure", invoke, error });
  }

  async send(event: string, payload: Json): Promise<void> {
    this.#feed({ type: "external", event, payload });
  }

  async advance(ms: number): Promise<void> {
    this.#now += ms;
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) return;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#feed({ type: "timer", event: due.event });
    }
  }

  #view(): MachineView {
    return { input: this.#input, results: {}, invocations: this.#invocations };
  }

  #feed(event: MachineEvent): void {
    if (this.#state.status !== "active" || this.#defect !== null) return;
    const turn = machineOf(this.#saga).transition(this.#state, event, this.#view());
    if (event.type === "outcome" || event.type === "failure") this.#invocations.delete(event.invoke);
    this.#take(turn);
  }

  /** Why the machine could not go on; XState's actor stops with an error then. */
  get defect(): string | null {
    return this.#defect;
  }

  #take(turn: Turn): void {
    if (!turn.ok) {
      this.#defect = turn.defect;
      return;
    }
    // XState logs while it makes the transition; it emits and starts when that is done, and tells of the snapshot last.
    // When an actor is started it begins with its children.
    const begins = this.trace.length === 0;
    const rank = ({ type }: MachineEffect) => (begins && type === "start" ? 0 : type === "logged" ? 1 : 2);
    for (const effect of turn.effects.toSorted((a, b) => rank(a) - rank(b))) this.#apply(effect);
    const { value, context, status, output = null } = turn.state;
    this.trace.push({ snapshot: { value, context, status, output } });
    this.#state = this.#keeping === "kept" ? turn.state : JSON.parse(JSON.stringify(turn.state));
    if (turn.ended === null) return;
    this.#timers = [];
    this.#invocations.clear();
  }

  #apply(effect: MachineEffect): void {
    switch (effect.type) {
      case "start":
        this.#invocations.set(effect.invoke, effect.step);
        this.trace.push({ started: effect.invoke, input: plain(effect.input) });
        return;
      case "stop":
        this.#invocations.delete(effect.invoke);
        return;
      case "timer":
        this.#timers = [...this.#timers, { id: effect.id, at: this.#now + effect.delayMs, event: effect.event }];
        return;
      case "timer_cancel":
        this.#timers = this.#timers.filter(({ id }) => id !== effect.id);
        return;
      case "emitted":
        this.trace.push({ emitted: effect.event });
        return;
      case "logged":
        this.trace.push({ logged: effect.message });
        return;
    }
  }
}

interface Pending {
  readonly resolve: (output: Json) => void;
  readonly reject: (error: Json) => void;
}

/** A run by XState itself. */
export class XStateRun implements ManualRun {
  readonly trace: TraceEntry[] = [];
  readonly #actor: AnyActor;
  readonly #clock = new SimulatedClock();
  readonly #pending = new Map<string, Pending>();

  constructor(saga: SagaSpec, input: Json) {
    const actors = Object.fromEntries(Object.keys(saga.steps).map((name) => [name, this.#stepLogic()]));
    this.#actor = createActor(saga.machine.provide({ actors }), {
      clock: this.#clock,
      input,
      logger: (...logged: unknown[]) => {
        const [label, value] = logged.length === 1 ? [undefined, logged[0]] : logged;
        this.trace.push({ logged: plain(label === undefined ? value : { label, value }) });
      },
    });
    this.#actor.on("*", (event: unknown) => this.trace.push({ emitted: plain(event) }));
    this.#actor.subscribe({ next: () => this.#look(), error: () => this.#look() });
    this.#actor.start();
  }

  open(): readonly string[] {
    return [...this.#pending.keys()].sort();
  }

  async succeed(invoke: string, output: Json): Promise<void> {
    this.#settle(invoke)?.resolve(output);
    await setImmediate();
  }

  async fail(invoke: string, error: Json): Promise<void> {
    this.#settle(invoke)?.reject(error);
    await setImmediate();
  }

  async send(event: string, payload: Json): Promise<void> {
    const fields = typeof payload === "object" && payload !== null && !Array.isArray(payload) ? payload : { payload };
    this.#actor.send({ ...fields, type: event });
  }

  async advance(ms: number): Promise<void> {
    this.#clock.increment(ms);
  }

  /** What the actor has stopped with, if it has. */
  get error(): unknown {
    return this.#actor.getSnapshot().error;
  }

  #stepLogic() {
    return fromPromise<Json, unknown>(({ input, self, signal }) => {
      this.trace.push({ started: self.id, input: plain(input) });
      return new Promise<Json>((resolve, reject) => {
        const pending: Pending = { resolve, reject };
        this.#pending.set(self.id, pending);
        signal.addEventListener("abort", () => {
          if (this.#pending.get(self.id) === pending) this.#pending.delete(self.id);
        });
      });
    });
  }

  #settle(invoke: string): Pending | undefined {
    const pending = this.#pending.get(invoke);
    this.#pending.delete(invoke);
    return pending;
  }

  #look(): void {
    const { value, context, status, output } = this.#actor.getSnapshot();
    this.trace.push({ snapshot: plain({ value, context, status, output: output ?? null }) as never });
    if (status !== "active") this.#pending.clear();
  }
}

function plain(value: unknown): Json {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
