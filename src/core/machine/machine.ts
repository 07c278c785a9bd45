/**
 * The machine port over XState 5: asks a saga's machine what follows from an event, and starts, sends, waits and
 * forgets nothing itself. The other `machine-*.ts` are its parts; nobody else knows them. Values of XState are imported
 * here only.
 * Owns: what makes a transition a defect. Invariants: those of machine-port.ts, and X1 nothing is fed to a machine that
 * has ended, X2 an outcome is only fed while the state that invoked it is active, X3 whatever a user's function throws
 * becomes a defect.
 */
import { type AnyMachineSnapshot, type AnyStateNode, createEmptyActor, raise } from "xstate";
import type { SagaSpec } from "../../saga/index.ts";
import { type Blueprint, blueprintOf, record } from "./blueprint.ts";
import { newRecording, noteStop, type Recording } from "./effects.ts";
import { copyJson, type FedEvent, toFed } from "./events.ts";
import type { Machine, MachineEvent, MachineState, MachineView, Standing, Turn } from "./port.ts";
import { doesSomething, endOf, isSavepoint } from "./reading.ts";
import { standingOf } from "./standing.ts";
import { type Before, contextOf, restore, skeletonOf, store, wordsOf } from "./state.ts";
import { traced } from "./trace.ts";

const machines = new WeakMap<SagaSpec, Machine>();

/** The pure functions over a saga's machine; the same ones for the same saga. */
export function machineOf(saga: SagaSpec): Machine {
  const known = machines.get(saga);
  if (known !== undefined) return known;
  const blueprint = blueprintOf(saga, { self: createEmptyActor(), raise });
  const machine: Machine = {
    saga,
    initial: (view) => initial(blueprint, view),
    transition: (state, event, view) => transition(blueprint, state, event, view),
    accepts: (state, event, view) => accepts(blueprint, state, event, view),
    awaited: (state) => awaited(blueprint, state),
    savepoints: hasSavepoints(blueprint) ? (state) => savepoints(blueprint, state) : () => [],
    standing: (state, view) => standing(blueprint, state, view),
    blocked: (state) => blocked(blueprint, state),
    trace: (asked, view) =>
      traced(blueprint, () =>
        asked === null ? initial(blueprint, view) : transition(blueprint, asked.state, asked.event, view),
      ),
  };
  machines.set(saga, machine);
  return machine;
}

/** For restoring without asking anything. */
const nobody: MachineView = { input: null, results: {}, invocations: new Map() };

function blocked(blueprint: Blueprint, state: MachineState): string | null {
  // An ended machine is never asked again.
  if (state.status !== "active") return null;
  try {
    restore(blueprint, state, nobody);
    return null;
  } catch (error) {
    return wordsOf(error);
  }
}

function standing(blueprint: Blueprint, state: MachineState, view: MachineView): Standing | string {
  try {
    return standingOf(blueprint, restore(blueprint, state, view));
  } catch (error) {
    return wordsOf(error);
  }
}

function awaited(blueprint: Blueprint, state: MachineState): readonly string[] {
  if (state.status !== "active") return [];
  try {
    return skeletonOf(blueprint, state.value).awaited;
  } catch {
    // Blocked: it waits for no event, but for another machine.
    return [];
  }
}

/** Sagas without such states pay nothing for those that have them. */
function hasSavepoints({ nodes }: Blueprint): boolean {
  return [...nodes.values()].some(isSavepoint);
}

function savepoints(blueprint: Blueprint, state: MachineState): readonly string[] {
  if (state.status !== "active") return [];
  const { _nodes } = skeletonOf(blueprint, state.value).snapshot;
  return _nodes.filter(isSavepoint).map(({ id }) => id);
}

function initial(blueprint: Blueprint, view: MachineView): Turn {
  const { machine, saga, scope } = blueprint;
  const ofBuilder = saga.context === "results";
  const recording = newRecording([], 0);
  return attempt(blueprint, recording, "the start", () => {
    if (ofBuilder) machine.config = { ...machine.config, context: contextOf(view) };
    const after = machine.getInitialSnapshot(scope, ofBuilder ? view.input : copyJson(view.input));
    return turnOf(blueprint, recording, { before: null, after, invoking: null });
  });
}

function transition(blueprint: Blueprint, state: MachineState, event: MachineEvent, view: MachineView): Turn {
  const recording = newRecording(view.invocations.keys(), state.raises ?? 0);
  return attempt(blueprint, recording, { state, event }, () => {
    if (state.status !== "active")
      throw new Error(`the machine has ended (${state.status}): nothing moves it any more`);
    const snapshot = restore(blueprint, state, view);
    const invoking = invokingNode(blueprint, snapshot, event);
    // Of an invocation whose end is told there is nothing left to stop.
    recording.open.delete(invokeOf(event) ?? "");
    const after = blueprint.machine.transition(snapshot, toFed(event, blueprint.saga.events), blueprint.scope);
    return turnOf(blueprint, recording, { before: { state, snapshot }, after, invoking });
  });
}

/** What is being asked, for people. */
type Asked = string | { readonly state: MachineState; readonly event: MachineEvent };

/** Whatever is thrown, or was noted as wrong, is a defect. */
function attempt(blueprint: Blueprint, recording: Recording, asked: Asked, run: () => Turn): Turn {
  let turn: Turn | null = null;
  try {
    turn = record(blueprint, recording, run);
  } catch (error) {
    recording.defects.push(wordsOf(error));
  }
  if (turn !== null && recording.defects.length === 0) return turn;
  const where = typeof asked === "string" ? asked : `${JSON.stringify(asked.state.value)} on ${nameOf(asked.event)}`;
  return { ok: false, defect: recording.defects.join("; "), where };
}

/** What XState made of it. */
interface Outcome {
  readonly before: Before | null;
  readonly after: AnyMachineSnapshot;
  /** The state whose invocation has ended, if that is what was told. */
  readonly invoking: AnyStateNode | null;
}

function turnOf(blueprint: Blueprint, recording: Recording, { before, after, invoking }: Outcome): Turn {
  const ended = after.status === "active" ? null : after.status === "done" ? endOf(after) : failed(after, invoking);
  if (ended !== null) for (const invoke of recording.open) noteStop(recording, invoke);
  const { effects, entered, raises } = recording;
  const state = store(blueprint, after, before, raises);
  return { ok: true, state, effects, entered: [...entered], ended };
}

/** XState ends with a failure it was told of and nobody took; at the start it keeps what was thrown the same way. */
function failed({ error }: AnyMachineSnapshot, invoking: AnyStateNode | null): { how: "error"; at: string } {
  if (invoking === null) throw error;
  return { how: "error", at: invoking.id };
}

/** The active state that invoked what has ended; `null` for other events. Throws where there is none (any more). */
function invokingNode(blueprint: Blueprint, snapshot: AnyMachineSnapshot, event: MachineEvent): AnyStateNode | null {
  const invoke = invokeOf(event);
  if (invoke === null) return null;
  const site = blueprint.sites.get(invoke);
  if (site === undefined) throw new Error(`no state of this machine invokes ${invoke}`);
  if (!snapshot._nodes.includes(site.node)) throw new Error(`${site.node.id}, which invoked ${invoke}, was left`);
  return site.node;
}

function accepts(
  blueprint: Blueprint,
  state: MachineState,
  event: MachineEvent,
  view: MachineView,
): ReturnType<Machine["accepts"]> {
  if (state.status !== "active") return "ignored";
  const fed = fedOrNull(event, blueprint.saga);
  if (fed === null) return "ignored";
  try {
    const snapshot = restore(blueprint, state, view);
    const taken: readonly { readonly target: unknown; readonly actions: readonly unknown[] }[] = record(
      blueprint,
      newRecording([], 0),
      () => blueprint.machine.getTransitionData(snapshot, fed),
    );
    if (taken.length === 0) return "ignored";
    return event.type !== "external" || taken.some(doesSomething) ? "taken" : "forbidden";
  } catch {
    // A guard that throws, a state that cannot be restored: `transition` says it, and nothing is lost before that.
    return "taken";
  }
}

function fedOrNull(event: MachineEvent, saga: SagaSpec): FedEvent | null {
  try {
    return toFed(event, saga.events);
  } catch {
    return null;
  }
}

function invokeOf(event: MachineEvent): string | null {
  return event.type === "outcome" || event.type === "failure" ? event.invoke : null;
}

function nameOf(event: MachineEvent): string {
  switch (event.type) {
    case "outcome":
      return `the outcome of ${event.invoke}`;
    case "failure":
      return `the failure of ${event.invoke}`;
    case "timer":
      return event.event.type;
    case "external":
      return event.event;
  }
}
