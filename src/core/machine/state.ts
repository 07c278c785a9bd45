/**
 * Between what is stored of a machine's state and XState's snapshot.
 * Owns: the stored form, restoring it, and saying why it cannot be restored.
 * Invariants: S1 a restored snapshot follows from the stored JSON and the view alone: nothing live is kept from one
 * transition to the next. S2 its context is a copy: what user code writes into it reaches no stored state. S3 what
 * today's machine would read in another way is blocked, never resumed somewhere else (a new parallel region, a state
 * that became final, a remembered state that is gone).
 */
import type { AnyMachineSnapshot, AnyStateNode, MachineContext, StateValue } from "xstate";
import { redact } from "../../redact.ts";
import { type Json, toJson } from "../../saga/index.ts";
import type { Blueprint, Skeleton } from "./blueprint.ts";
import { copyJson } from "./events.ts";
import type { MachineState, MachineView } from "./port.ts";
import { awaitedIn } from "./reading.ts";

/** So many resolved state values are kept per saga. */
const maxSkeletons = 1000;

/** The snapshot of a stored state; throws, in words, where today's machine cannot hold it. */
export function restore(blueprint: Blueprint, state: MachineState, view: MachineView): AnyMachineSnapshot {
  const { snapshot } = skeletonOf(blueprint, state.value);
  return {
    ...snapshot,
    _nodes: state.order === undefined ? snapshot._nodes : orderedNodes(blueprint, snapshot._nodes, state.order),
    context: blueprint.saga.context === "results" ? contextOf(view) : restoredContext(state.context),
    historyValue: state.history === undefined ? {} : restoredHistory(blueprint, state.history),
  };
}

/** What the machine of a builder saga has for a context. */
export function contextOf({ input, results }: MachineView): MachineContext {
  return { input, results };
}

/** What follows from a state value; throws where it is none of this machine. */
export function skeletonOf(blueprint: Blueprint, value: Json): Skeleton {
  const key = JSON.stringify(value);
  const known = blueprint.skeletons.get(key);
  if (known !== undefined) return known;
  const snapshot = resolve(blueprint, value);
  const resolved = JSON.stringify(snapshot.value);
  if (resolved !== key) throw new Error(`the state ${key} would today be read as ${resolved}`);
  if (snapshot.status !== "active") throw new Error(`the state ${key} is final today`);
  const skeleton = { snapshot, awaited: awaitedIn(snapshot, Object.keys(blueprint.saga.events)) };
  if (blueprint.skeletons.size >= maxSkeletons) blueprint.skeletons.clear();
  blueprint.skeletons.set(key, skeleton);
  return skeleton;
}

function resolve({ machine }: Blueprint, value: Json): AnyMachineSnapshot {
  try {
    // What is not a state value fails here or where the outcome is compared.
    return machine.resolveState({ value: value as StateValue, context: {} });
  } catch (error) {
    throw new Error(`the state ${JSON.stringify(value)} is none of this machine today: ${wordsOf(error)}`);
  }
}

/** What was thrown, in words that can be stored and shown. */
export function wordsOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error));
}

function restoredContext(context: Json): MachineContext {
  if (typeof context !== "object" || context === null || Array.isArray(context)) {
    throw new Error("the stored context is not an object");
  }
  // A copy of an object is an object.
  return copyJson(context) as MachineContext;
}

function orderedNodes({ nodes }: Blueprint, active: readonly AnyStateNode[], order: readonly string[]): AnyStateNode[] {
  const ordered = order.map((id) => nodes.get(id)).filter((node) => node !== undefined && active.includes(node));
  if (ordered.length !== active.length || new Set(ordered).size !== active.length) {
    throw new Error("the stored order of states does not fit the stored state");
  }
  // `undefined` was filtered out.
  return ordered as AnyStateNode[];
}

function restoredHistory(
  { nodes }: Blueprint,
  history: Readonly<Record<string, readonly string[]>>,
): AnyMachineSnapshot["historyValue"] {
  return Object.fromEntries(
    Object.entries(history).map(([id, remembered]) => {
      const node = nodes.get(id);
      if (node?.type !== "history") throw new Error(`the history state ${id} is no longer in the machine`);
      return [id, remembered.map((memory) => rememberedNode(nodes, node, memory))];
    }),
  );
}

function rememberedNode(nodes: ReadonlyMap<string, AnyStateNode>, history: AnyStateNode, id: string): AnyStateNode {
  const node = nodes.get(id);
  if (node === undefined || !isWithin(node, history.parent)) {
    throw new Error(`the state ${id}, remembered by ${history.id}, is no longer there`);
  }
  return node;
}

function isWithin(node: AnyStateNode, ancestor: AnyStateNode | undefined): boolean {
  return node.parent !== undefined && (node.parent === ancestor || isWithin(node.parent, ancestor));
}

// ---- storing ----

/** The state a transition began with, and the snapshot it was restored to. */
export interface Before {
  readonly state: MachineState;
  readonly snapshot: AnyMachineSnapshot;
}

/** A snapshot as it is stored; throws where it holds what is not JSON. */
export function store(
  blueprint: Blueprint,
  after: AnyMachineSnapshot,
  before: Before | null,
  raises: number,
): MachineState {
  if (after === before?.snapshot && raises === (before.state.raises ?? 0)) return before.state;
  const history = Object.entries(after.historyValue);
  const order = after.status === "active" ? orderOf(blueprint, after) : null;
  return {
    value: after.value as Json,
    context: storedContext(blueprint, after, before),
    // `error` is an ending and `stopped` was excluded by who called.
    status: after.status as MachineState["status"],
    ...(after.output === undefined ? {} : { output: jsonOf(after.output, "the output") }),
    ...(history.length === 0 ? {} : { history: Object.fromEntries(history.map(idsOf)) }),
    ...(order === null ? {} : { order }),
    ...(raises === 0 ? {} : { raises }),
  };
}

function storedContext({ saga }: Blueprint, after: AnyMachineSnapshot, before: Before | null): Json {
  if (saga.context === "results") return null;
  // XState makes a new context for every assign.
  if (after.context === before?.snapshot.context) return before?.state.context as Json;
  return jsonOf(after.context, "the context");
}

function idsOf([id, nodes]: [string, readonly AnyStateNode[]]): [string, readonly string[]] {
  return [id, nodes.map((node) => node.id)];
}

/** The order of active states, where restoring the value alone would give another one. */
function orderOf(blueprint: Blueprint, { value, _nodes }: AnyMachineSnapshot): readonly string[] | null {
  if (!blueprint.orderMatters) return null;
  const restored = skeletonOf(blueprint, value as Json).snapshot._nodes.filter(isLeaf);
  const leaves = _nodes.filter(isLeaf);
  return leaves.every((leaf, index) => leaf === restored[index]) ? null : _nodes.map(({ id }) => id);
}

function isLeaf({ type }: AnyStateNode): boolean {
  return type === "atomic" || type === "final";
}

function jsonOf(value: unknown, what: string): Json {
  const json = toJson(value);
  if (!json.ok) throw new TypeError(`${what} is not JSON: ${json.problem}`);
  return json.value;
}
