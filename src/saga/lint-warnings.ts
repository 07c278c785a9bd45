/** What a definition may say but an author should look at twice. Nothing here refuses anything. */
import type { AnyStateNode } from "xstate";
import {
  ancestorsOf,
  type Call,
  doneActor,
  doneState,
  errorActor,
  field,
  type Graph,
  laterThan,
  leaves,
  type Say,
} from "./inspect.ts";
import { unwindTag } from "./lint-shape.ts";
import type { SagaSpec, StepSpec } from "./spec.ts";

export function warn(spec: SagaSpec, graph: Graph, say: Say): void {
  warnOfEffects(graph, say);
  warnOfLeaving(graph, say);
  warnOfPermanent(graph, say);
  warnOfEvents(spec, graph, say);
  const invoked = new Set(graph.calls.flatMap(withTools).map(({ name }) => name));
  for (const name of Object.keys(spec.steps)) {
    if (!invoked.has(name))
      say("STEP_UNUSED", null, `step "${name}" is provided and never invoked`, "Invoke or drop it");
  }
}

/** A step and what its action may call. */
function withTools({ spec }: Call): readonly StepSpec[] {
  return [spec, ...Object.values(spec.uses)];
}

function warnOfEffects(graph: Graph, say: Say): void {
  const specs = new Map(graph.calls.flatMap((call) => withTools(call).map((spec) => [spec, call.node] as const)));
  for (const [spec, node] of specs) {
    if (spec.effect === "once" && !spec.hasProbe) {
      const what = `"${spec.name}" is sent once and cannot be asked: whenever its outcome is unknown, a person must decide`;
      say("ONCE_WITHOUT_PROBE", node, what, "Give it a probe");
    }
    if (spec.effect !== "keyed") continue;
    if (!spec.hasProbe) {
      const what = `once the key of "${spec.name}" has lapsed nobody can find out what became of it`;
      say("KEYED_WITHOUT_PROBE", node, what, "Give it a probe");
    }
    if (spec.keyTtlMs <= spec.timeoutMs) {
      const what = `the key of "${spec.name}" lapses before its time-out, so it is never tried again`;
      say("KEY_TTL_SHORT", node, what, "Raise keyTtl above timeout");
    }
  }
}

function warnOfLeaving(graph: Graph, say: Say): void {
  for (const call of graph.calls) {
    if (withTools(call).every(({ effect, onAbandon }) => effect === "none" || onAbandon === "keep")) continue;
    const edge = graph.edges.find((one) => leaves(one, call.node) && mayComeBefore(one.event, call));
    if (edge === undefined) continue;
    const event = edge.event === "" ? "an always" : `"${edge.event}"`;
    const what = `${event} can leave it before "${call.spec.name}" has ended, which then runs on and is undone if it succeeds`;
    say("STEP_CAN_BE_LEFT", call.node, what, 'Take it in a state of its own, or say onAbandon: "keep"');
  }
}

/** Can the event come while the call is running? */
function mayComeBefore(event: string, { node, invoke }: Call): boolean {
  if (event === doneActor(invoke) || event === errorActor(invoke)) return false;
  // What holds an atomic state is not done while that state is active.
  return !(node.type === "atomic" && ancestorsOf(node).some((ancestor) => event === doneState(ancestor)));
}

function warnOfPermanent(graph: Graph, say: Say): void {
  const later = new Map(graph.calls.map((call) => [call, laterThan(graph, call.node)] as const));
  const isBefore = (one: Call, other: Call): boolean => later.get(one)?.has(other.node) === true;
  for (const call of graph.calls) {
    if (call.spec.noCompensation === null || call.spec.pivot) continue;
    if (![...(later.get(call) ?? [])].some(canFail)) continue;
    const pivots = graph.calls.filter((other) => other.spec.pivot && isBefore(other, call));
    const undone = graph.calls.filter(
      (other) =>
        other.spec.compensation !== null && isBefore(other, call) && !pivots.some((pivot) => isBefore(other, pivot)),
    );
    if (undone.length === 0) continue;
    const names = [...new Set(undone.map((other) => `"${other.spec.name}"`))].join(", ");
    const what = `"${call.spec.name}" stays, while ${names} before it would be undone if something behind it fails`;
    say("PERMANENT_BEFORE_RISK", call.node, what, "Move it behind everything that can fail, or say pivot: true");
  }
}

function canFail(node: AnyStateNode): boolean {
  return node.invoke.length > 0 || node.tags.includes(unwindTag);
}

function warnOfEvents(spec: SagaSpec, graph: Graph, say: Say): void {
  const taken = new Map<string, AnyStateNode>();
  for (const node of graph.nodes) {
    for (const event of Object.keys((node.config.on ?? {}) as object)) taken.set(event, node);
  }
  for (const event of Object.keys(spec.events)) {
    if (!taken.has(event)) say("EVENT_NEVER_TAKEN", null, `no state takes the event "${event}"`, "Take it or drop it");
  }
  const raised = raisedEvents(graph);
  for (const [event, node] of taken) {
    if (event in spec.events || raised === "any" || raised.has(event)) continue;
    const what = `it takes "${event}", which has no schema and is not raised, so it never comes`;
    say("EVENT_NEVER_COMES", node, what, "Declare it in the saga's events");
  }
}

/** `any`: an action decides at run time. */
function raisedEvents(graph: Graph): ReadonlySet<string> | "any" {
  const raised = new Set<string>();
  for (const { action } of graph.actions) {
    const kind = field(action, "type");
    const event = field(field(action, "event"), "type");
    if (kind === "xstate.enqueueActions" || (kind === "xstate.raise" && typeof event !== "string")) return "any";
    if (kind === "xstate.raise") raised.add(String(event));
  }
  return raised;
}
