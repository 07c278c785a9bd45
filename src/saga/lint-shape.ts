/** Rules about the shape of a machine: ways out, `always` cycles, where `unwind` may stand, what the context holds. */
import type { AnyStateNode } from "xstate";
import {
  ancestorsOf,
  doneState,
  doneWith,
  type Edge,
  errorActor,
  type Graph,
  initialInside,
  leaves,
  type Say,
} from "./inspect.ts";
import { jsonProblem } from "./json.ts";

/** The tag of a final state that fails the run and undoes what was done. */
export const unwindTag = "unwind";

export function judgeShape(graph: Graph, say: Say): void {
  for (const node of graph.nodes) {
    judgeUnwindTag(graph, node, say);
    judgeWayOut(graph, node, say);
  }
  judgeAlways(graph, say);
  const { context } = graph.machine.config;
  const problem = typeof context === "function" || context === undefined ? null : jsonProblem(context);
  if (problem !== null)
    say("CONTEXT_NOT_JSON", null, `the initial context is not JSON: ${problem}`, "Keep it plain data");
}

function judgeUnwindTag(graph: Graph, node: AnyStateNode, say: Say): void {
  if (!node.tags.includes(unwindTag)) return;
  const { root } = graph.machine;
  const place = root.type === "parallel" ? node.parent?.parent : node.parent;
  if (node.type === "final" && place === root) return;
  say(
    "UNWIND_TAG",
    node,
    `the tag "${unwindTag}" stands on a state that does not end the run`,
    "Put it on a final child of the root, or of a region of a parallel root",
  );
}

function judgeWayOut(graph: Graph, node: AnyStateNode, say: Say): void {
  if (node.type !== "atomic" && node.type !== "final") return;
  if (endsRun(graph, node) || graph.edges.some((edge) => isWayOut(edge, node))) return;
  const [what, fix] = deadEnd(node);
  say("NO_WAY_OUT", node, what, fix);
}

function deadEnd(node: AnyStateNode): readonly [what: string, fix: string] {
  if (node.type === "final") {
    return [`nothing takes it further once "${node.parent?.key ?? node.key}" is done`, "Give its parent an onDone"];
  }
  if (node.invoke.length > 0) {
    return ["it has no way out once its step has succeeded", "Give its invoke an onDone"];
  }
  return ["it is not final and has no way out", 'Give it a transition that leaves it, or type: "final"'];
}

function endsRun(graph: Graph, node: AnyStateNode): boolean {
  return node.type === "final" && doneWith(node).at(-1) === graph.machine.root;
}

function isWayOut(edge: Edge, node: AnyStateNode): boolean {
  if (!leaves(edge, node) || edge.targets.every((target) => target === node)) return false;
  // A failure that is taken is no way out for a success.
  if (node.invoke.some(({ id }) => edge.event === errorActor(id))) return false;
  const isOwnDone = edge.event === doneState(edge.source) && [node, ...ancestorsOf(node)].includes(edge.source);
  return !isOwnDone || (node.type === "final" && doneWith(node).includes(edge.source));
}

/** Follows the `always` transitions that nothing can stop. */
function judgeAlways(graph: Graph, say: Say): void {
  const unguarded = new Map<AnyStateNode, Edge>();
  for (const edge of graph.edges) {
    if (edge.event !== "" || edge.guard !== undefined) continue;
    if (edge.targets.length === 0) {
      say("ALWAYS_CYCLE", edge.source, "its always has neither guard nor target and never stops", "Give it a guard");
    } else if (!unguarded.has(edge.source)) unguarded.set(edge.source, edge);
  }
  const reported = new Set<AnyStateNode>();
  for (const start of unguarded.keys()) {
    const cycle = cycleFrom(start, unguarded);
    if (cycle === null || cycle.some((node) => reported.has(node))) continue;
    for (const node of cycle) reported.add(node);
    const names = [...cycle, start].map((node) => node.key).join(" -> ");
    say("ALWAYS_CYCLE", start, `always leads in a circle without a guard: ${names}`, "Give one of them a guard");
  }
}

function cycleFrom(start: AnyStateNode, unguarded: ReadonlyMap<AnyStateNode, Edge>): readonly AnyStateNode[] | null {
  const visited = new Set<AnyStateNode>();
  const walk = (node: AnyStateNode, path: readonly AnyStateNode[]): readonly AnyStateNode[] | null => {
    for (const next of followers(node, unguarded)) {
      if (next === start) return path;
      if (visited.has(next)) continue;
      visited.add(next);
      const found = walk(next, [...path, next]);
      if (found !== null) return found;
    }
    return null;
  };
  return walk(start, [start]);
}

/** Which unguarded `always` comes next: innermost first, an ancestor's only where no inner one stands. */
function followers(node: AnyStateNode, unguarded: ReadonlyMap<AnyStateNode, Edge>): readonly AnyStateNode[] {
  const targets = unguarded.get(node)?.targets ?? [];
  return targets.flatMap((target) => {
    const inner = [target, ...initialInside(target)].filter((one) => unguarded.has(one));
    return inner.length > 0 ? inner : ancestorsOf(target).filter((one) => unguarded.has(one));
  });
}
