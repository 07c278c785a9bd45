/**
 * A saga as a picture shows it: nodes, edges, what undoes what; data only, named by XState's ids. Owns what a state is to a person (a
 * step, a wait, a choice, an end). How it is laid out and drawn is the face's.
 */
import type { AnyStateNode } from "xstate";
import type { Saga } from "./define.ts";
import { childrenOf, doneState, type Edge, edgesOf, graphOf } from "./inspect.ts";
import type { EffectClass, Json, StepSpec } from "./spec.ts";
import { guardStructure } from "./structure.ts";

/** A step where the machine calls it. */
export interface GraphStep {
  readonly name: string;
  readonly kind: StepSpec["kind"] | "batch";
  readonly effect: EffectClass;
  /** Effect class of its compensation; `null`: it has none. */
  readonly undo: EffectClass | null;
  /** Why its effect stays. */
  readonly stays: string | null;
  /** Are people asked before it, for some inputs? */
  readonly asks: boolean;
  readonly probe: boolean;
  readonly pivot: boolean;
  /** The saga that it runs. */
  readonly child: string | null;
  readonly queue: string | null;
  /** What its action may call. */
  readonly tools: readonly GraphStep[];
}

/**
 * What a state is: it calls `step`s; it waits for an `event` or a `timer`; it goes on at once (`choice`); it ends the run or its
 * region (`final`), or fails the run and has it undone (`unwind`); `parallel` and `group` hold others; `history` is where they were left.
 */
export type GraphNodeKind =
  | "step"
  | "event"
  | "timer"
  | "choice"
  | "final"
  | "unwind"
  | "parallel"
  | "group"
  | "history";

export interface GraphNode {
  /** XState's id. */
  readonly id: string;
  readonly name: string;
  /** Id of the state that holds it; `null`: the machine. */
  readonly parent: string | null;
  readonly kind: GraphNodeKind;
  readonly initial: boolean;
  readonly steps: readonly GraphStep[];
  /** Events that it takes and stays. */
  readonly takes: readonly string[];
}

/** `event`: one from outside or raised; `always`: at once; `after`: a time; `done`, `error`: of a step, or of a state that holds others. */
export type GraphEdgeKind = "done" | "error" | "event" | "always" | "after";

export interface GraphEdge {
  /** `<source> <event> <n>`: the n-th of those of the source, from 0. */
  readonly id: string;
  /** `null`: the machine, from wherever it is. */
  readonly source: string | null;
  readonly target: string;
  readonly kind: GraphEdgeKind;
  /** Name of the event; of `after`, the delay (ms, or its name); of `done` and `error`, the step. */
  readonly on: string;
  /** `null`: none. `"inline"`: a function without a name. */
  readonly guard: Json;
  /** Is it what is left when no guard before it has let through? */
  readonly isElse: boolean;
}

export interface SagaGraph {
  readonly saga: string;
  readonly version: number;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** The same for the same structure: nodes in document order, edges by source in the order in which they are tried. */
export function sagaGraph({ name, version, spec }: Saga): SagaGraph {
  const { nodes: all, calls } = graphOf(spec.machine);
  const stepsAt = new Map<AnyStateNode, readonly StepSpec[]>();
  for (const { node, spec: step } of calls) stepsAt.set(node, [...(stepsAt.get(node) ?? []), step]);
  const nodes = all
    .filter((node) => node.parent !== undefined)
    .map((node) => nodeOf(node, (stepsAt.get(node) ?? []).map(stepOf)));
  return { saga: name, version, nodes, edges: all.flatMap(edgesFrom) };
}

function stepOf(step: StepSpec): GraphStep {
  const { name, effect, compensation, noCompensation, approval, hasProbe, pivot, child, queue, uses } = step;
  return {
    ...{ name, effect, pivot, queue, kind: step.batch === undefined ? step.kind : "batch" },
    undo: compensation?.effect ?? null,
    stays: noCompensation,
    asks: approval !== null,
    probe: hasProbe,
    child: child === null ? null : `${child.of.name}@${child.of.version}`,
    tools: Object.values(uses).map(stepOf),
  };
}

function nodeOf(node: AnyStateNode, steps: readonly GraphStep[]): GraphNode {
  const { id, key, parent } = node;
  const holder = parent === undefined || parent.parent === undefined ? null : parent.id;
  const takes = edgesOf(node).flatMap(({ targets, actions, event }) =>
    targets.length === 0 && actions.length > 0 && event !== "" ? [event] : [],
  );
  const initial = parent?.type === "compound" && parent.initial.target.includes(node);
  return { id, name: key, parent: holder, kind: kindOf(node, steps), initial, steps, takes: [...new Set(takes)] };
}

function kindOf(node: AnyStateNode, steps: readonly GraphStep[]): GraphNodeKind {
  if (node.type === "history" || node.type === "parallel") return node.type;
  if (node.type === "final") return node.tags.includes("unwind") ? "unwind" : "final";
  if (childrenOf(node).length > 0) return "group";
  if (steps.length > 0) return "step";
  const kinds = new Set(edgesOf(node).map(({ event }) => wordOf(event, node)[0]));
  if (kinds.has("event")) return "event";
  return kinds.has("after") ? "timer" : "choice";
}

function edgesFrom(node: AnyStateNode): readonly GraphEdge[] {
  const all = edgesOf(node);
  return all.flatMap((edge, at) => {
    const before = all.slice(0, at).filter(({ event }) => event === edge.event);
    const [kind, on] = wordOf(edge.event, node);
    const guard = guardStructure(edge.guard);
    const isElse = guard === null && before.some((each) => guardStructure(each.guard) !== null);
    const source = node.parent === undefined ? null : node.id;
    return edge.targets.map((target) => ({
      id: `${node.id} ${edge.event} ${before.length}`,
      source,
      target: target.id,
      kind,
      on,
      guard,
      isElse,
    }));
  });
}

/** What an event of XState's means. */
function wordOf(event: Edge["event"], node: AnyStateNode): readonly [GraphEdgeKind, string] {
  if (event === "") return ["always", ""];
  if (event === doneState(node)) return ["done", node.key];
  const [, how, invoke] = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event) ?? [];
  const called = node.invoke.find(({ id }) => id === invoke);
  if (how === "done" || how === "error") return [how, called === undefined ? (invoke ?? "") : String(called.src)];
  const after = /^xstate\.after\.(.*)$/.exec(event)?.[1];
  return after === undefined ? ["event", event] : ["after", after.replace(`.${node.id}`, "")];
}
