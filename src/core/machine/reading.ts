/**
 * What can be read off a set of active states: where a machine stands, what it waits for, how it has ended.
 * Owns: the meaning of the tags `unwind` and `savepoint`, and of forbidden transitions. Invariant: nothing of the user's is called here.
 */
import type { AnyMachineSnapshot, AnyStateNode } from "xstate";
import type { Turn } from "./port.ts";

type Ended = NonNullable<Extract<Turn, { ok: true }>["ended"]>;

/** The tag of a final state that fails the run and has undone what was done. */
const unwindTag = "unwind";

/** The tag of a state to which an unwind may go back. */
const savepointTag = "savepoint";

/** How a machine has ended that is done. */
export function endOf(snapshot: AnyMachineSnapshot): Ended {
  const { root } = snapshot.machine;
  const finals = snapshot._nodes.filter((node) => isEnding(node, root));
  const unwinding = finals.find(({ tags }) => tags.includes(unwindTag));
  if (unwinding !== undefined) return { how: "unwind", at: unwinding.id };
  return { how: "completed", at: (root.type === "parallel" ? root : (finals[0] ?? root)).id };
}

/** May an unwind end where this state was entered? */
export function isSavepoint({ tags }: AnyStateNode): boolean {
  return tags.includes(savepointTag);
}

/** A final child of the root, or of a region of a parallel root. */
function isEnding({ type, parent }: AnyStateNode, root: AnyStateNode): boolean {
  return type === "final" && (parent === root || (root.type === "parallel" && parent?.parent === root));
}

/** `EVENT: undefined` and `EVENT: {}` are transitions too: they are taken, keep the parents from it, and do nothing. */
export function doesSomething(transition: { readonly target: unknown; readonly actions: readonly unknown[] }): boolean {
  return transition.target !== undefined || transition.actions.length > 0;
}

/** Which of `events` some transition of the active states takes, guards aside. */
export function awaitedIn(snapshot: AnyMachineSnapshot, events: readonly string[]): readonly string[] {
  const active = new Set<AnyStateNode>(snapshot._nodes);
  return events.filter((event) => reach(snapshot.machine.root, event, active) === "taken");
}

/** What becomes of an event that is offered to `node` and what is active in it, innermost first, as XState does. */
function reach(node: AnyStateNode, event: string, active: ReadonlySet<AnyStateNode>): "taken" | "kept" | "passed" {
  const inner = Object.values(node.states)
    .filter((child) => active.has(child))
    .map((child) => reach(child, event, active));
  if (inner.includes("taken")) return "taken";
  if (inner.includes("kept")) return "kept";
  for (const transition of node.transitions.get(event) ?? []) {
    if (doesSomething(transition)) return "taken";
    if (transition.guard === undefined) return "kept";
  }
  return "passed";
}
