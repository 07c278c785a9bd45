/** Owns: what stands in a diagram, in words, however it is drawn. */
import type { GraphEdge, GraphNode, GraphStep, Json } from "../../saga/index.ts";
import { lengthText } from "../base/words.ts";

/** What leads along an edge; empty: the step is done. */
export function edgeText({ kind, on, guard, isElse }: GraphEdge): string {
  const condition = guard !== null ? `if ${guardText(guard)}` : isElse ? "else" : "";
  return [...triggerOf(kind, on), condition].filter((part) => part !== "").join(" ");
}

function triggerOf(kind: GraphEdge["kind"], on: string): readonly string[] {
  switch (kind) {
    case "done":
    case "always":
      return [];
    case "error":
      return ["fails"];
    case "event":
      return [on];
    case "after":
      return [`after ${/^\d+$/.test(on) ? lengthText(Number(on)) : on}`];
  }
}

/** A guard that has no name is only said to be there. */
function guardText(guard: Json): string {
  if (typeof guard === "string") return guard === "inline" ? "…" : guard;
  if (Array.isArray(guard)) return guard.map(guardText).join(", ");
  if (typeof guard !== "object" || guard === null) return String(guard);
  return Object.entries(guard)
    .map(([word, parts]) => `${word}(${guardText(parts)})`)
    .join(" ");
}

/** The lines of a node: its name first. */
export function nodeLines(node: GraphNode): readonly string[] {
  const takes = node.takes.length === 0 ? [] : [`takes ${node.takes.join(", ")}`];
  const [first, ...more] = node.steps;
  if (first === undefined) return [node.name, ...takes];
  const same = node.steps.length === 1 && first.name === node.name;
  const steps = [...(same ? [] : [first]), ...more].flatMap((step) => [step.name, ...stepLines(step)]);
  return [node.name, ...(same ? stepLines(first) : steps), ...takes];
}

/** What a repeat of it means, who is asked, what it may call. */
function stepLines(step: GraphStep): readonly string[] {
  return [
    factsOf(step),
    ...step.tools.map((tool) => `${step.kind === "batch" ? "each" : "tool"} ${tool.name}: ${factsOf(tool)}`),
  ];
}

function factsOf(step: GraphStep): string {
  const { kind, effect, asks, probe, pivot, child, queue } = step;
  const what =
    kind === "call"
      ? effect === "none"
        ? "no effect"
        : effect
      : kind === "approval"
        ? "people decide"
        : kind === "batch"
          ? "every item of a list"
          : `runs ${child ?? "a saga"}`;
  const parts = [
    what,
    ...(probe && kind === "call" ? ["probe"] : []),
    ...(asks && kind !== "approval" ? ["people may be asked"] : []),
    ...(pivot ? ["no way back"] : []),
    ...(queue === null ? [] : [`queue ${queue}`]),
  ];
  return parts.join(" · ");
}

/** What unwinding does about what a node did, one for each step and tool that has an effect. */
export interface Undoing {
  readonly name: string;
  /** `null`: the effect stays. */
  readonly undo: string | null;
}

export function undoingsOf(node: GraphNode): readonly Undoing[] {
  const all = node.steps.flatMap((step) => [step, ...step.tools]);
  return all.flatMap(({ name, undo, kind, effect, stays }): readonly Undoing[] => {
    if (undo !== null) return [{ name, undo: kind === "child" ? "its run is undone" : undo }];
    if (kind === "child" && stays === null) return [{ name, undo: "its run is undone" }];
    return effect !== "none" && kind === "call" ? [{ name, undo: null }] : [];
  });
}
