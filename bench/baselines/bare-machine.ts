/**
 * The order as a plain XState machine, asked as `core/machine/machine.ts` asks and nothing more: the ceiling's half that is XState.
 * As there, states invoke nothing (making actors is dear) but say by an entry and an exit action what would start and
 * stop; a state value is resolved once; the scope is made once.
 */
import {
  type AnyActor,
  type AnyActorLogic,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  createMachine,
  type StateValue,
} from "xstate";
import { type OrderInput, type StepInput, type StepResult, stepNames } from "../subjects/work.ts";

export interface BareState {
  readonly value: unknown;
  readonly status: string;
}

export interface BareTurn {
  readonly state: BareState;
  readonly start: { readonly invoke: string; readonly step: string; readonly input: StepInput } | null;
}

const inertSnapshot = { status: "active", output: undefined, error: undefined } as const;
const inertLogic: AnyActorLogic = {
  transition: (snapshot) => snapshot,
  getInitialSnapshot: () => inertSnapshot,
  getPersistedSnapshot: () => inertSnapshot,
};

const input = ({ context }: { readonly context: OrderInput }): StepInput => ({
  orderId: context.id,
  cents: context.cents,
});

let start: BareTurn["start"] = null;
const marks = new Set<unknown>();

function markOf<Mark>(mark: Mark): Mark {
  marks.add(mark);
  return mark;
}

function stateOf(src: string, next: string) {
  const entry = markOf((given: { readonly context: OrderInput }) => {
    start = { invoke: src, step: src, input: input(given) };
  });
  return { entry, exit: markOf(() => undefined), on: { [`xstate.done.actor.${src}`]: next } };
}

const machine: AnyStateMachine = createMachine({
  id: "order",
  context: ({ input: given }: { readonly input: OrderInput }) => given,
  initial: stepNames[0],
  states: {
    ...Object.fromEntries(stepNames.map((src, index) => [src, stateOf(src, stepNames[index + 1] ?? "done")])),
    done: { type: "final" },
  },
} as never); // made up at run time: its types follow from nothing

const self: AnyActor = createActor(inertLogic);
const scope: AnyActorScope = {
  self,
  id: self.id,
  sessionId: self.sessionId,
  system: self.system,
  logger: () => undefined,
  emit: () => undefined,
  stopChild: () => undefined,
  defer: () => undefined,
  actionExecutor: ({ exec, info, params }) => {
    if (exec !== undefined && marks.has(exec)) exec(info, params);
  },
};

const resolved = new Map<unknown, AnyMachineSnapshot>();

function restore({ value }: BareState, context: OrderInput): AnyMachineSnapshot {
  const key = JSON.stringify(value);
  const known = resolved.get(key) ?? machine.resolveState({ value: value as StateValue, context });
  resolved.set(key, known);
  return { ...known, context, children: {}, historyValue: {} };
}

function turnOf(snapshot: AnyMachineSnapshot): BareTurn {
  const asked = start;
  start = null;
  return { state: { value: snapshot.value, status: snapshot.status }, start: asked };
}

export const bareMachine = {
  initial: (input: OrderInput): BareTurn => turnOf(machine.getInitialSnapshot(scope, input)),
  done(state: BareState, invoke: string, output: StepResult, context: OrderInput): BareTurn {
    const event = { type: `xstate.done.actor.${invoke}`, output, actorId: invoke };
    return turnOf(machine.transition(restore(state, context), event, scope));
  },
};
