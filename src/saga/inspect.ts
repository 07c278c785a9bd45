/**
 * Reading an XState machine as a graph, without running it: nodes, transitions as edges, which edge leaves which state.
 * Owns what XState's own algorithm says about that (exit sets, transition domains); the lint rules build on it.
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";
import type { StepSpec } from "./spec.ts";
import { isStep } from "./step.ts";

/** A transition: where it starts, what triggers it (`""`: nothing, an `always`), where it leads. */
export interface Edge {
  readonly source: AnyStateNode;
  readonly event: string;
  readonly guard: unknown;
  readonly actions: readonly unknown[];
  /** Empty: it goes nowhere, or forbids the event. */
  readonly targets: readonly AnyStateNode[];
  readonly reenter: boolean;
}

/** A state that invokes a step. */
export interface Call {
  readonly node: AnyStateNode;
  readonly invoke: string;
  readonly spec: StepSpec;
}

/** An action and the state that does it, on the way in, inside or out. */
export interface PlacedAction {
  readonly node: AnyStateNode;
  /** `null`: it was written in place. */
  readonly name: string | null;
  /** What the name stands for; `undefined`: nothing was provided. */
  readonly action: unknown;
}

/** How a rule reports: a stable code, the state (`null`: the saga as a whole), what is wrong, how to mend it. */
export type Say = (code: string, node: AnyStateNode | null, message: string, fix: string) => void;

/** A machine taken apart. */
export interface Graph {
  readonly machine: AnyStateMachine;
  /** In document order, the root first. */
  readonly nodes: readonly AnyStateNode[];
  readonly edges: readonly Edge[];
  /** The steps that are invoked, where they are. */
  readonly calls: readonly Call[];
  readonly actions: readonly PlacedAction[];
}

/** Takes a machine apart. */
export function graphOf(machine: AnyStateMachine): Graph {
  const nodes = withDescendants(machine.root);
  const edges = nodes.flatMap(edgesOf);
  return {
    machine,
    nodes,
    edges,
    calls: nodes.flatMap((node) => callsOf(machine, node)),
    actions: nodes.flatMap((node) => actionsOf(machine, node, edges)),
  };
}

function withDescendants(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...childrenOf(node).flatMap(withDescendants)];
}

/** A state's direct children, in the order in which they are written. */
export function childrenOf(node: AnyStateNode): readonly AnyStateNode[] {
  return Object.values(node.states as Readonly<Record<string, AnyStateNode>>);
}

/** A state's own transitions, in the order in which XState tries them. */
export function edgesOf(node: AnyStateNode): readonly Edge[] {
  return [...[...node.transitions.values()].flat(), ...(node.always ?? [])].map((transition) => ({
    source: node,
    event: transition.eventType,
    guard: transition.guard as unknown,
    actions: transition.actions,
    targets: transition.target ?? [],
    reenter: transition.reenter,
  }));
}

function callsOf(machine: AnyStateMachine, node: AnyStateNode): readonly Call[] {
  const actors: Readonly<Record<string, unknown>> = machine.implementations.actors;
  return node.invoke.flatMap((invoke) => {
    const actor = typeof invoke.src === "string" ? actors[invoke.src] : undefined;
    return isStep(actor) ? [{ node, invoke: invoke.id, spec: actor.spec }] : [];
  });
}

function actionsOf(machine: AnyStateMachine, node: AnyStateNode, edges: readonly Edge[]): readonly PlacedAction[] {
  const initial = node.type === "compound" ? node.initial.actions : [];
  const onTransitions = edges.filter((edge) => edge.source === node).flatMap((edge) => edge.actions);
  const provided: Readonly<Record<string, unknown>> = machine.implementations.actions;
  // Not `node.entry` and `node.exit`: XState adds to them what makes `after` work.
  return [...list(node.config.entry), ...list(node.config.exit), ...initial, ...onTransitions].map((action) => {
    if (typeof action === "function") return { node, name: null, action };
    const name = String(typeof action === "string" ? action : field(action, "type"));
    return { node, name, action: Object.hasOwn(provided, name) ? provided[name] : undefined };
  });
}

/** How findings name a state; `null` for the root. */
export function pathOf(node: AnyStateNode): string | null {
  return node.path.length === 0 ? null : node.path.join(".");
}

/** The node's ancestors, nearest first. */
export function ancestorsOf(node: AnyStateNode): readonly AnyStateNode[] {
  return node.parent === undefined ? [] : [node.parent, ...ancestorsOf(node.parent)];
}

function isInside(node: AnyStateNode, ancestor: AnyStateNode): boolean {
  return ancestorsOf(node).includes(ancestor);
}

/** Can both be active at once: one holds the other, or they stand in different regions? */
export function canBeTogether(one: AnyStateNode, other: AnyStateNode): boolean {
  if (one === other || isInside(one, other) || isInside(other, one)) return true;
  return ancestorsOf(one).find((ancestor) => isInside(other, ancestor))?.type === "parallel";
}

/** Does taking `edge` leave `node`, active at that moment? Says nothing about coming back to it. */
export function leaves(edge: Edge, node: AnyStateNode): boolean {
  if (edge.targets.length === 0 || !canBeTogether(edge.source, node)) return false;
  const domain = domainOf(edge);
  return domain === null || isInside(node, domain) || (edge.reenter && edge.source === domain && node === domain);
}

/** The innermost state that stays; `null`: none, not even the root. */
function domainOf({ source, targets, reenter }: Edge): AnyStateNode | null {
  const isInner = targets.every((target) => target === source || isInside(target, source));
  if (!reenter && isInner) return source;
  const all = [...targets, source];
  const common = ancestorsOf(source).find((ancestor) => all.every((node) => isInside(node, ancestor)));
  return common ?? (reenter ? null : source.machine.root);
}

/** What entering `node` enters besides: its initial states, all the way down. */
export function initialInside(node: AnyStateNode): readonly AnyStateNode[] {
  const entered = node.type === "parallel" ? childrenOf(node) : node.type === "compound" ? node.initial.target : [];
  return entered.filter((child) => child.type !== "history").flatMap((child) => [child, ...initialInside(child)]);
}

/** States that may be active next after `node` was left. */
export function nextOf(graph: Graph, node: AnyStateNode): readonly AnyStateNode[] {
  return graph.edges
    .filter((edge) => leaves(edge, node))
    .flatMap((edge) => edge.targets)
    .flatMap((target) =>
      target.type === "history" && target.parent !== undefined ? childrenOf(target.parent) : [target],
    )
    .flatMap((target) => [target, ...ancestorsOf(target), ...initialInside(target)]);
}

/** Everything that may be active some time after `node` was left. */
export function laterThan(graph: Graph, node: AnyStateNode): ReadonlySet<AnyStateNode> {
  const found = new Set(nextOf(graph, node));
  // A set may grow while it is walked.
  for (const one of found) for (const next of nextOf(graph, one)) found.add(next);
  return found;
}

/** The states that are done when this final state is reached: its parent, and parallel states all the way up. */
export function doneWith(final: AnyStateNode): readonly AnyStateNode[] {
  const done: AnyStateNode[] = [];
  for (let node = final.parent; node !== undefined; node = node.parent) {
    done.push(node);
    if (node.parent?.type !== "parallel") break;
  }
  return done;
}

export const doneState = (node: AnyStateNode): string => `xstate.done.state.${node.id}`;
export const doneActor = (invoke: string): string => `xstate.done.actor.${invoke}`;
export const errorActor = (invoke: string): string => `xstate.error.actor.${invoke}`;

/** What a config calls one or many. */
export function list(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** A property of an object or function of unknown make. */
export function field(value: unknown, key: string): unknown {
  const has = (typeof value === "object" && value !== null) || typeof value === "function";
  return has ? (value as unknown as Readonly<Record<string, unknown>>)[key] : undefined;
}
