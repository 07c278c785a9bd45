/** Rules about what a machine invokes: named, provided, a step, under an id of its own. */
import type { AnyStateNode } from "xstate";
import { ancestorsOf, field, type Graph, list, pathOf, type Say } from "./inspect.ts";
import { isStep } from "./step.ts";

export function judgeActors(graph: Graph, say: Say): void {
  judgeProvided(graph, say);
  for (const node of graph.nodes) for (const invoke of list(node.config.invoke)) judgeInvoke(graph, node, invoke, say);
  judgeInvokeIds(graph, say);
  judgePivots(graph, say);
}

/** All that `setup({ actors })` names, invoked or not: `assign` could spawn it. */
function judgeProvided(graph: Graph, say: Say): void {
  const owners = new Map<string, unknown>();
  for (const [key, actor] of Object.entries(graph.machine.implementations.actors)) {
    if (!isStep(actor)) {
      say("NOT_A_STEP", null, `actor "${key}" is not a step (${kindOf(actor)})`, "Make it with step(), or drop it");
      continue;
    }
    const { name } = actor.spec;
    if (name !== key) {
      say("STEP_KEY", null, `actor "${key}" is the step "${name}"`, `Name it actors: { ${name} } and invoke "${name}"`);
    }
    const owner = owners.get(name);
    if (owner !== undefined && owner !== actor) {
      say("STEP_NAME_TWICE", null, `two steps are called "${name}"`, "Give each step a name of its own");
    }
    owners.set(name, actor);
  }
}

function kindOf(actor: unknown): string {
  if (field(actor, "__xstatenode") === true) return "a machine; child sagas are declared with child()";
  return typeof actor === "string" ? "a name" : "promise, callback, observable or transition logic";
}

function judgeInvoke(graph: Graph, node: AnyStateNode, invoke: unknown, say: Say): void {
  const src = field(invoke, "src");
  if (typeof src !== "string") {
    const name = isStep(src) ? src.spec.name : "name";
    say("INLINE_ACTOR", node, "it invokes an inline actor", `Name it: setup({ actors: { ${name} } }), src: "${name}"`);
  } else if (!Object.hasOwn(graph.machine.implementations.actors, src)) {
    say(
      "ACTOR_NOT_PROVIDED",
      node,
      `it invokes "${src}", which is not provided`,
      `Add it: setup({ actors: { ${src} } })`,
    );
  }
  if (field(invoke, "systemId") !== undefined) {
    say("SYSTEM_ID", node, "its invoke has a systemId, which does not survive a restore", "Leave systemId out");
  }
  if (field(invoke, "onSnapshot") !== undefined) {
    say("ON_SNAPSHOT", node, "its invoke has onSnapshot, and a step has no snapshots", "Leave onSnapshot out");
  }
}

function judgeInvokeIds(graph: Graph, say: Say): void {
  const first = new Map<string, AnyStateNode>();
  for (const node of graph.nodes) {
    for (const { id } of node.invoke) {
      const other = first.get(id);
      if (other === undefined) first.set(id, node);
      else {
        const where = pathOf(other) ?? "(root)";
        say(
          "INVOKE_ID_TWICE",
          node,
          `state "${where}" has the invoke id "${id}", too`,
          "Leave id out: it is then unique",
        );
      }
    }
  }
}

function judgePivots(graph: Graph, say: Say): void {
  for (const { node, spec } of graph.calls) {
    if (!spec.pivot || ![node, ...ancestorsOf(node)].some((one) => one.type === "parallel")) continue;
    say(
      "PIVOT_IN_PARALLEL",
      node,
      `the pivot "${spec.name}" stands in a parallel region, whose siblings may still have to be undone`,
      "Move it behind the parallel state, or drop pivot",
    );
  }
}
