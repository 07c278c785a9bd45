/** Rules about what a machine names and does between steps: actions, guards, delays, events. */
import type { AnyStateNode } from "xstate";
import { isReservedEvent } from "./finding.ts";
import { field, type Graph, list, type PlacedAction, type Say } from "./inspect.ts";

export function judgeNames(graph: Graph, say: Say): void {
  for (const [name, delay] of Object.entries(graph.machine.implementations.delays)) {
    if (typeof delay === "function" || isDelay(delay)) continue;
    say("DELAY", null, `delay "${name}" is ${String(delay)}, not a finite number of ms`, "Give it a number from 0");
  }
  for (const node of graph.nodes) {
    judgeEvents(node, say);
    judgeAfter(graph, node, say);
  }
  for (const placed of graph.actions) judgeAction(graph, placed, say);
  for (const edge of graph.edges) judgeGuard(graph, edge.source, edge.guard, say);
}

function isDelay(delay: unknown): boolean {
  return typeof delay === "number" && Number.isFinite(delay) && delay >= 0;
}

/** Only what the author wrote under `on`; XState's own done and error events are not among it. */
function judgeEvents(node: AnyStateNode, say: Say): void {
  for (const event of Object.keys((node.config.on ?? {}) as object)) {
    if (event === "*" || event.endsWith(".*")) {
      say("WILDCARD_EVENT", node, `it takes "${event}", which swallows failures`, "Name each event");
    } else if (isReservedEvent(event)) {
      say("RESERVED_EVENT", node, `it takes "${event}", a name that XState keeps to itself`, "Use onDone and onError");
    }
  }
  if (field(node.config, "route") !== undefined) {
    say("ROUTE", node, "it has a route, which is taken by a reserved event", "Use an event of your own under on");
  }
}

function judgeAfter(graph: Graph, node: AnyStateNode, say: Say): void {
  for (const { delay } of node.after) judgeDelay(graph, node, delay, say);
}

function judgeDelay(graph: Graph, node: AnyStateNode, delay: unknown, say: Say): void {
  if (delay === undefined || typeof delay === "function" || isDelay(delay)) return;
  if (typeof delay !== "string") {
    say("DELAY", node, `the delay ${String(delay)} is not a finite number of ms`, "Give it a number from 0");
  } else if (!Object.hasOwn(graph.machine.implementations.delays, delay)) {
    const fix = "Add it to setup({ delays }), in ms";
    say("DELAY_NOT_PROVIDED", node, `the delay "${delay}" is not provided and would fire at once`, fix);
  }
}

const allowedActions: ReadonlySet<unknown> = new Set([
  "xstate.assign",
  "xstate.raise",
  "xstate.emit",
  "xstate.log",
  "xstate.cancel",
  "xstate.enqueueActions",
]);
const allowedFix = "Use assign, raise, emit, log, cancel or enqueueActions; whatever reaches outside is a step";

function judgeAction(graph: Graph, { node, name, action }: PlacedAction, say: Say): void {
  const called = name === null ? "an action" : `the action "${name}"`;
  const type = field(action, "type");
  if (action === undefined) {
    say("ACTION_NOT_PROVIDED", node, `${called} is not provided`, "Add it to setup({ actions })");
  } else if (field(action, "resolve") === undefined) {
    say("ACTION_FUNCTION", node, `${called} is a plain function, which nothing would remember`, allowedFix);
  } else if (!allowedActions.has(type)) {
    say(
      "ACTION_KIND",
      node,
      `${called} is ${String(type).replace("xstate.", "")}(), which needs a live actor`,
      allowedFix,
    );
  } else if (type === "xstate.raise") {
    judgeRaise(graph, node, action, say);
  }
}

function judgeRaise(graph: Graph, node: AnyStateNode, raise: unknown, say: Say): void {
  judgeDelay(graph, node, field(raise, "delay"), say);
  const event = field(field(raise, "event"), "type");
  if (typeof event === "string" && isReservedEvent(event)) {
    say("RESERVED_EVENT", node, `it raises "${event}", a name that XState keeps to itself`, "Rename the event");
  }
}

function judgeGuard(graph: Graph, node: AnyStateNode, guard: unknown, say: Say, depth = 0): void {
  if (guard === undefined || guard === null || depth > 20) return;
  const guards: Readonly<Record<string, unknown>> = graph.machine.implementations.guards;
  if (typeof guard === "function") {
    for (const inner of list(field(guard, "guards"))) judgeGuard(graph, node, inner, say, depth + 1);
    return;
  }
  const name = String(typeof guard === "string" ? guard : field(guard, "type"));
  if (Object.hasOwn(guards, name)) judgeGuard(graph, node, guards[name], say, depth + 1);
  else say("GUARD_NOT_PROVIDED", node, `the guard "${name}" is not provided`, "Add it to setup({ guards })");
}
