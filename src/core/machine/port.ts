/**
 * The machine port: all that core knows of XState. `machine.ts` is its only implementation (XState 6 is coming).
 * Invariants: M1 every function is pure (a memo by identity is allowed). M2 a `MachineState` is JSON and restores to the
 * same behaviour after `JSON.parse(JSON.stringify())`. M3 a defect leaves the given state as it was.
 */
import type { Json, SagaSpec } from "../../saga/index.ts";

/** A snapshot as it is stored. `context` is `null` for builder sagas (it follows from input and ledger). */
export interface MachineState {
  readonly value: Json;
  readonly context: Json;
  readonly status: "active" | "done" | "error";
  readonly output?: Json;
  /** History nodes: id of the history node -> ids of the states it remembers. */
  readonly history?: Readonly<Record<string, readonly string[]>>;
  /**
   * Ids of all active states in the order in which XState holds them. Only where the order matters (`always` in parallel
   * regions) and `value` does not give it.
   */
  readonly order?: readonly string[];
  /** Delayed raises without an id so far: numbers the next one. */
  readonly raises?: number;
}

/** What a transition asks for, in XState's order. */
export type MachineEffect =
  | {
      readonly type: "start";
      readonly invoke: string;
      readonly step: string;
      /** Encoded input as the machine computed it, not yet checked against the step's schema. */
      readonly input: unknown;
      readonly region: readonly string[];
    }
  | { readonly type: "stop"; readonly invoke: string }
  /** Whole ms. A timer that is set again under its id takes the place of the older one. */
  | {
      readonly type: "timer";
      readonly id: string;
      readonly delayMs: number;
      readonly event: { readonly type: string; readonly [key: string]: Json };
    }
  | { readonly type: "timer_cancel"; readonly id: string }
  | { readonly type: "emitted"; readonly event: Json }
  | { readonly type: "logged"; readonly message: Json };

/** What came of a transition. */
export type Turn =
  | {
      readonly ok: true;
      readonly state: MachineState;
      readonly effects: readonly MachineEffect[];
      /** Ids of parallel regions that were entered (again) by this transition. */
      readonly entered: readonly string[];
      /** Set when the machine has ended: by a final state, by one tagged `unwind`, or by an error no `onError` took. */
      readonly ended: null | { readonly how: "completed" | "unwind" | "error"; readonly at: string };
    }
  | { readonly ok: false; readonly defect: string; readonly where: string };

/** An event for the machine: an outcome, a timer, or one from outside. */
export type MachineEvent =
  | { readonly type: "outcome"; readonly invoke: string; readonly output: Json }
  | { readonly type: "failure"; readonly invoke: string; readonly error: Json }
  | { readonly type: "timer"; readonly event: { readonly type: string; readonly [key: string]: Json } }
  | { readonly type: "external"; readonly event: string; readonly payload: Json };

/** What the machine is told of the run beside its own state. */
export interface MachineView {
  readonly input: Json;
  /** Outputs of succeeded steps by step name; only read for builder sagas. */
  readonly results: Readonly<Record<string, Json>>;
  /** Open invocations: invoke id -> step name. */
  readonly invocations: ReadonlyMap<string, string>;
}

/** What a stored state asks of its surroundings. */
export interface Standing {
  /** What its active states invoke: invoke id -> step name. */
  readonly invokes: ReadonlyMap<string, string>;
  /** Types of the events of timers that its active states need. */
  readonly delays: readonly string[];
  /** Types of all events that its active states have a transition for. */
  readonly events: ReadonlySet<string>;
  /** Why it would not stay there if it were asked; `null`: it would. Restoring does not ask. */
  readonly unsettled: string | null;
}

/** One of a machine's transitions: the `nth` (from 0) of a state for one event (`""`: none, it is an `always`). */
export interface TakenTransition {
  readonly source: string;
  readonly event: string;
  readonly nth: number;
}

/** What a machine goes through in one turn, transient states included; states by their ids. */
export interface Trace {
  readonly transitions: readonly TakenTransition[];
  readonly states: readonly string[];
}

/** The pure functions over one saga's machine. */
export interface Machine {
  readonly saga: SagaSpec;
  initial(view: MachineView): Turn;
  transition(state: MachineState, event: MachineEvent, view: MachineView): Turn;
  /** `taken`: some transition takes it now. `forbidden`: the state forbids it explicitly. `ignored`: neither. */
  accepts(state: MachineState, event: MachineEvent, view: MachineView): "taken" | "forbidden" | "ignored";
  /** Names of events with a schema in `saga.events` that some transition of the present states takes (guards aside). */
  awaited(state: MachineState, view: MachineView): readonly string[];
  /** Ids of the active states tagged `savepoint`. */
  savepoints(state: MachineState): readonly string[];
  /** Of an active state that restores; in words, where a guard throws. */
  standing(state: MachineState, view: MachineView): Standing | string;
  /** A stored state that today's machine cannot hold any more: why. `null`: it restores. */
  blocked(state: MachineState): string | null;
  /** What `transition` (without what is asked: `initial`) goes through. */
  trace(asked: { readonly state: MachineState; readonly event: MachineEvent } | null, view: MachineView): Trace;
}
