/**
 * A saga's structure as canonical data: what a run is pinned to (design section 9). Owns what counts: states, events,
 * targets in order, invoked steps, delays, tags, string names of guards and actions, effect classes. Invariant: nothing
 * that a bundler, a formatter or a renamed function can change is in it, nor any schema.
 */
import type { AnyStateNode } from "xstate";
import type { Saga } from "./define.ts";
import { childrenOf, type Edge, edgesOf, field, graphOf, list } from "./inspect.ts";
import { combinatorOf } from "./logic.ts";
import type { Json, StepSpec } from "./spec.ts";

/** The structure of a saga as JSON with keys in a fixed order of meaning; digest it to pin runs. */
export function structureOf(saga: Saga): Json {
  const { spec } = saga;
  const { machine } = spec;
  return {
    context: spec.context,
    events: Object.keys(spec.events).sort(),
    steps: sorted(invokedSteps(saga), stepStructure),
    delays: sorted(machine.implementations.delays, (delay) => (typeof delay === "number" ? delay : "inline")),
    root: nodeStructure(machine.root),
  };
}

function invokedSteps({ spec }: Saga): Readonly<Record<string, StepSpec>> {
  return Object.fromEntries(graphOf(spec.machine).calls.map((call) => [call.spec.name, call.spec]));
}

function sorted<Value>(record: Readonly<Record<string, Value>>, form: (value: Value) => Json): Json {
  const entries = Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, value]) => [key, form(value)]));
}

function stepStructure(step: StepSpec): Json {
  const tools = Object.values(step.uses).map((tool) => [tool.name, stepStructure(tool)] as const);
  const { child } = step;
  const effects = {
    effect: step.effect,
    undo: step.compensation?.effect ?? null,
    ...(child === null ? {} : { child: `${child.of.name}@${child.of.version}`, detached: child.detached }),
    ...optional("kind", step.kind === "approval" ? step.kind : null),
    ...optional("approval", step.approval === null ? null : "inline"),
  };
  return tools.length === 0 ? effects : { ...effects, tools: sorted(Object.fromEntries(tools), (form) => form) };
}

function nodeStructure(node: AnyStateNode): Json {
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
    ...optional("states", childrenOf(node).map(nodeStructure)),
  };
}

/** By event, and for one event in the order in which XState tries them; between events the order says nothing. */
function transitionsOf(node: AnyStateNode): readonly Edge[] {
  return edgesOf(node).toSorted((a, b) => (a.event < b.event ? -1 : a.event > b.event ? 1 : 0));
}

function transitionStructure(edge: Edge): Json {
  return {
    event: edge.event,
    ...optional(
      "targets",
      edge.targets.map((target) => target.id),
    ),
    ...optional("reenter", edge.reenter || null),
    ...optional("guard", guardStructure(edge.guard)),
    ...optional("actions", edge.actions.map(actionStructure)),
  };
}

/** An empty part is left out, so that a later version of this file may add parts. */
function optional(key: string, value: Json): { readonly [key: string]: Json } {
  return value === null || (Array.isArray(value) && value.length === 0) ? {} : { [key]: value };
}

function actionStructure(action: unknown): Json {
  if (typeof action === "string") return action;
  // A built-in action is a function that names its kind; any other function is inline.
  const type = field(action, "type");
  if (typeof type !== "string") return "inline";
  const event = field(field(action, "event"), "type");
  const delay = field(action, "delay");
  return [
    type,
    typeof event === "string" ? event : null,
    typeof delay === "string" || typeof delay === "number" ? delay : null,
  ].filter((part) => part !== null);
}

/** A guard by what of it does not change with a bundler: its name, a combination of names, or `inline`; `null`: there is none. */
export function guardStructure(guard: unknown): Json {
  if (guard === undefined || guard === null) return null;
  if (typeof guard === "string") return guard;
  if (typeof guard === "function") {
    const combinator = combinatorOf(guard);
    return combinator === null ? "inline" : { [combinator]: list(field(guard, "guards")).map(guardStructure) };
  }
  const type = field(guard, "type");
  return typeof type === "string" ? type : "inline";
}
