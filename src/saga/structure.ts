/**
 * A saga's structure as canonical data: what a run is pinned to (design section 9). Owns what counts: states, events,
 * targets in order, invoked steps, delays, tags, string names of guards and actions, effect classes. Invariant: nothing
 * that a bundler, a formatter or a renamed function can change is in it, nor any schema.
 */
import type { AnyStateNode, AnyTransitionDefinition } from "xstate";
import type { Saga } from "./define.ts";
import type { Json, StepSpec } from "./spec.ts";

/** The structure of a saga as JSON with keys in a fixed order of meaning; digest it to pin runs. */
export function structureOf(saga: Saga): Json {
  const { spec } = saga;
  const { machine } = spec;
  return {
    context: spec.context,
    events: Object.keys(spec.events).sort(),
    steps: sorted(spec.steps, stepStructure),
    delays: sorted(machine.implementations.delays, (delay) => (typeof delay === "number" ? delay : "inline")),
    root: nodeStructure(machine.root),
  };
}

function sorted<Value>(record: Readonly<Record<string, Value>>, form: (value: Value) => Json): Json {
  const entries = Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, value]) => [key, form(value)]));
}

function stepStructure(step: StepSpec): Json {
  return { effect: step.effect, undo: step.compensation?.effect ?? null };
}

function nodeStructure(node: AnyStateNode): Json {
  const children = Object.values(node.states) as readonly AnyStateNode[];
  return {
    id: node.id,
    type: node.type,
    ...optional("history", node.history === false ? null : node.history),
    ...optional("initial", node.type === "compound" ? node.initial.target.map((target) => target.id) : []),
    ...optional("tags", [...node.tags].sort()),
    ...optional("entry", list(node.config.entry).map(actionStructure)),
    ...optional("exit", list(node.config.exit).map(actionStructure)),
    ...optional(
      "invoke",
      node.invoke.map((invoke) => ({ id: invoke.id, step: String(invoke.src) })),
    ),
    ...optional("transitions", transitionsOf(node).map(transitionStructure)),
    ...optional("states", children.map(nodeStructure)),
  };
}

/** In the order in which XState tries them. */
function transitionsOf(node: AnyStateNode): readonly AnyTransitionDefinition[] {
  return [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
}

function transitionStructure(transition: AnyTransitionDefinition): Json {
  return {
    event: transition.eventType,
    ...optional("target", transition.target?.map((target) => target.id) ?? null),
    ...optional("reenter", transition.reenter || null),
    ...optional("guard", guardStructure(transition.guard)),
    ...optional("actions", transition.actions.map(actionStructure)),
  };
}

/** An empty part is left out, so that a later version of this file may add parts. */
function optional(key: string, value: Json): { readonly [key: string]: Json } {
  return value === null || (Array.isArray(value) && value.length === 0) ? {} : { [key]: value };
}

function actionStructure(action: unknown): Json {
  if (typeof action === "string") return action;
  const type = field(action, "type");
  // A built-in action is a function that names its kind; any other function is inline.
  return typeof type === "string" ? type : "inline";
}

function guardStructure(guard: unknown): Json {
  if (guard === undefined || guard === null) return null;
  if (typeof guard === "string") return guard;
  const inner = field(guard, "guards");
  // Only the three combinators of XState carry `guards`; their function names are XState's, not the user's.
  if (Array.isArray(inner)) return { all: inner.map(guardStructure) };
  const type = field(guard, "type");
  return typeof type === "string" ? type : "inline";
}

function field(value: unknown, key: string): unknown {
  const has = (typeof value === "object" && value !== null) || typeof value === "function";
  return has ? (value as unknown as Readonly<Record<string, unknown>>)[key] : undefined;
}

function list(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
