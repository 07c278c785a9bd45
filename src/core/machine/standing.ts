/**
 * What a stored state asks of its surroundings, read off the machine without moving it: for a run that comes from another
 * version, whose rows and timers were made by another machine. Invariant: nothing is entered, so nothing is started.
 */
import type { AnyMachineSnapshot, AnyStateNode } from "xstate";
import { type Blueprint, record } from "./blueprint.ts";
import { newRecording } from "./effects.ts";
import type { Standing } from "./port.ts";

/** An event that no machine names. */
const nudge = { type: "reprise.nudge" };

/** Throws what a guard throws. */
export function standingOf(blueprint: Blueprint, snapshot: AnyMachineSnapshot): Standing {
  const active = new Set<AnyStateNode>(snapshot._nodes);
  const sites = [...blueprint.sites.values()].filter(({ node }) => active.has(node));
  return {
    invokes: new Map(sites.map(({ invoke, step }) => [invoke, step])),
    delays: snapshot._nodes.flatMap(delaysOf),
    events: new Set(snapshot._nodes.flatMap(({ ownEvents }) => ownEvents.map(String))),
    unsettled: unsettledIn(blueprint, snapshot),
  };
}

/** Timers without which the state would not be left as it says: a guarded or targetless one may have fired already. */
function delaysOf({ after }: AnyStateNode): readonly string[] {
  const leaving = after.filter(({ guard, target }) => guard === undefined && target !== undefined);
  return [...new Set(leaving.map(({ eventType }) => String(eventType)))];
}

/** XState looks at `always` after an event, and restoring is none. (No state takes events of any name: that is linted.) */
function unsettledIn(blueprint: Blueprint, snapshot: AnyMachineSnapshot): string | null {
  const { machine, scope } = blueprint;
  const tried = snapshot._nodes.find(({ always }) => always !== undefined);
  if (tried === undefined) return null;
  const after = record(blueprint, newRecording([], 0), () => machine.transition(snapshot, nudge, scope));
  return after === snapshot ? null : `an \`always\` leads out of ${tried.id} at once`;
}
