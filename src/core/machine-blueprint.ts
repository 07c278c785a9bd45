/**
 * A private copy of a saga's machine that is safe to ask what would happen. The only file here that uses XState's own
 * functions.
 * Owns: the copy and what is prepared once per saga (nodes by id, places that invoke steps, the one inert scope).
 * Invariants: B1 the user's machine is not touched. B2 an actor made by the copy does nothing. B3 a delay that is no
 * number is a throw, never "at once". B4 everything a transition asks for goes to the recording of the running `record`.
 */
import {
  type AnyActor,
  type AnyActorLogic,
  type AnyActorScope,
  type AnyStateMachine,
  type AnyStateNode,
  createActor,
  raise,
} from "xstate";
import type { SagaSpec } from "../saga/spec.ts";
import { note, type Recording } from "./machine-effects.ts";
import type { Skeleton } from "./machine-state.ts";

/** A place in the machine that invokes a step. */
export interface Site {
  readonly invoke: string;
  readonly step: string;
  readonly node: AnyStateNode;
  /** Ids of the parallel regions around it, outermost first. */
  readonly region: readonly string[];
  /** Why it cannot be started; `null`: it can. */
  readonly problem: string | null;
}

/** What is known of a saga's machine beforehand. */
export interface Blueprint {
  readonly saga: SagaSpec;
  readonly machine: AnyStateMachine;
  readonly scope: AnyActorScope;
  readonly nodes: ReadonlyMap<string, AnyStateNode>;
  readonly sites: ReadonlyMap<string, Site>;
  /** Entry markers of regions: what XState hands to the executor -> id of the region entered. */
  readonly markers: ReadonlyMap<unknown, string>;
  /** Can the order in which XState holds active states show? Eventless transitions are taken in it. */
  readonly orderMatters: boolean;
  /** Restored values by their JSON, so that each is resolved once (bounded by `machine-state.ts`). */
  readonly skeletons: Map<string, Skeleton>;
  /** Where the running transition is written down. */
  recording: Recording | null;
}

/** More eventless steps than this in one transition are a loop. */
const maxIterations = 1000;

export function blueprintOf(saga: SagaSpec): Blueprint {
  const machine = privateCopy(saga.machine);
  const nodes = nodesBelow(machine.root);
  const markers = new Map<unknown, string>();
  for (const node of nodes) {
    vetNode(node, machine);
    if (node.parent?.type === "parallel" && node.type !== "history") markEntry(node, markers);
  }
  const blueprint: Blueprint = {
    saga,
    machine,
    scope: inertScope((write) => write(blueprint)),
    nodes: new Map(nodes.map((node) => [node.id, node])),
    sites: new Map(nodes.flatMap((node) => sitesOf(node, saga)).map((site) => [site.invoke, site])),
    markers,
    orderMatters: nodes.some(({ type }) => type === "parallel") && nodes.some(({ always }) => always !== undefined),
    skeletons: new Map(),
    recording: null,
  };
  return blueprint;
}

/** Runs a piece of XState and writes down in `recording` what it asks for. */
export function record<Result>(blueprint: Blueprint, recording: Recording, run: () => Result): Result {
  const outer = blueprint.recording;
  blueprint.recording = recording;
  try {
    return run();
  } finally {
    blueprint.recording = outer;
  }
}

function privateCopy(original: AnyStateMachine): AnyStateMachine {
  const { actors, actions, delays } = original.implementations;
  const machine: AnyStateMachine = original.provide({
    actors: mapValues(actors, () => inertLogic),
    actions: mapValues(actions, (action) => vetAction(action, delays)),
  });
  machine.options = { ...machine.options, maxIterations: Math.min(machine.options.maxIterations ?? Infinity, maxIterations) };
  return machine;
}

function nodesBelow(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesBelow(child))];
}

function sitesOf(node: AnyStateNode, saga: SagaSpec): readonly Site[] {
  return node.invoke.map(({ id, src, systemId }) => {
    const step = String(src);
    const isStep = Object.hasOwn(saga.steps, step);
    const problem = isStep ? (systemId === undefined ? null : "has a systemId") : "is not a step of this saga";
    return { invoke: id, step, node, region: regionsAround(node), problem };
  });
}

function regionsAround(node: AnyStateNode): readonly string[] {
  const above = node.parent === undefined ? [] : regionsAround(node.parent);
  return node.parent?.type === "parallel" ? [...above, node.id] : above;
}

/** XState does not say which states it entered: an entry action of our own does. */
function markEntry(node: AnyStateNode, markers: Map<unknown, string>): void {
  const marker = (): void => undefined;
  markers.set(marker, node.id);
  node.entry = [marker, ...node.entry];
}

// ---- actions ----

type Delays = AnyStateMachine["implementations"]["delays"];
/** What the built-in actions carry that matters here. XState types actions as opaque functions. */
interface BuiltIn {
  (): void;
  readonly type?: string;
  readonly delay?: unknown;
  readonly collect?: (args: { readonly enqueue: Enqueue }, params: unknown) => void;
}
type Enqueue = ((action: unknown) => void) & Readonly<Record<string, unknown>>;
type Raise = Parameters<typeof raise>;

function vetNode(node: AnyStateNode, { implementations: { delays } }: AnyStateMachine): void {
  const vetted = <Action>(actions: readonly Action[]): Action[] => actions.map((action) => vetAction(action, delays));
  node.entry = vetted(node.entry);
  node.exit = vetted(node.exit);
  const transitions = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
  for (const transition of transitions) transition.actions = vetted(transition.actions);
  if (node.type === "compound") node.initial.actions = vetted(node.initial.actions);
}

/** The action itself, or one in its place that cannot be misunderstood. */
function vetAction<Action>(action: Action, delays: Delays): Action {
  if (typeof action !== "function") return action;
  // A function among a machine's actions is a plain one or a built-in; what is put in its place is of the same kind.
  return vetFunction(action as BuiltIn & Action, delays) as Action;
}

function vetFunction(action: BuiltIn, delays: Delays): unknown {
  const { delay, collect } = action;
  if (action.type === "xstate.raise" && delay !== undefined && typeof delay !== "number") {
    return Object.assign(() => undefined, action, { delay: checkedDelay(delay, delays) });
  }
  if (action.type === "xstate.enqueueActions" && collect !== undefined) {
    return Object.assign(() => undefined, action, {
      collect: (args: { readonly enqueue: Enqueue }, params: unknown) =>
        collect({ ...args, enqueue: vettedEnqueue(args.enqueue, delays) }, params),
    });
  }
  // XState makes these two itself for every invoke; written by hand they would pass for that.
  return action.type === "xstate.spawnChild" || action.type === "xstate.stopChild" ? refused(action.type) : action;
}

/** XState raises at once what has a delay that is no number (a mistyped name, say). */
function checkedDelay(delay: unknown, delays: Delays): (args: unknown, params: unknown) => number {
  const name = typeof delay === "string" ? `"${delay}"` : "of a raise";
  return (args, params) => {
    const given: unknown = typeof delay === "string" ? delays[delay] : delay;
    const ms: unknown = typeof given === "function" ? given(args, params) : given;
    if (typeof ms !== "number") throw new TypeError(`the delay ${name} is ${String(ms)}, not a number of ms`);
    return ms;
  };
}

function vettedEnqueue(enqueue: Enqueue, delays: Delays): Enqueue {
  const vetted = (action: unknown): void => enqueue(vetAction(action, delays));
  return Object.assign(vetted, enqueue, {
    raise: (...parts: Raise) => vetted(raise(...parts)),
    spawnChild: () => vetted(refused("xstate.spawnChild")),
    stopChild: () => vetted(refused("xstate.stopChild")),
  });
}

/** A plain function, which the recording refuses by name. */
function refused(type: string): () => void {
  return Object.defineProperty(() => undefined, "name", { value: `${type} by hand` });
}

// ---- actors ----

const inertSnapshot = { status: "active", output: undefined, error: undefined } as const;
const inertLogic: AnyActorLogic = {
  transition: (snapshot) => snapshot,
  getInitialSnapshot: () => inertSnapshot,
  getPersistedSnapshot: () => inertSnapshot,
};

/** XState's `createInertActorScope`, made once: it would compute the machine's initial state on every transition. */
function inertScope(locate: (write: (blueprint: Blueprint) => void) => void): AnyActorScope {
  const misuse = (what: string) => () => locate(({ recording }) => recording?.defects.push(what));
  const self: AnyActor = createActor(inertLogic);
  self.send = misuse("something is sent to the machine itself, which is lost; use raise()");
  return {
    self,
    id: self.id,
    sessionId: self.sessionId,
    system: self.system,
    logger: () => undefined,
    emit: () => undefined,
    stopChild: () => undefined,
    // Only the `spawn` of an assign calls this: what is deferred otherwise is deferred by actions, which nobody executes.
    defer: misuse("an actor is spawned in an assign; only invoked steps can be kept"),
    actionExecutor: (action) => locate((blueprint) => blueprint.recording && note(blueprint.recording, action, blueprint)),
  };
}

function mapValues<Value, Mapped>(record: Readonly<Record<string, Value>>, map: (value: Value) => Mapped) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
