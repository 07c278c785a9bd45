/**
 * Watching which way a machine goes. Owns the names of transitions and states in a trace. Invariant: watching changes nothing
 * of what follows, and costs nothing while nobody watches.
 */
import type { AnyMachineSnapshot, AnyStateNode, AnyTransitionDefinition, InspectionEvent } from "xstate";
import type { Blueprint } from "./blueprint.ts";
import type { MachineState, TakenTransition, Trace, Turn } from "./port.ts";

/** Runs one turn, and tells what it went through. */
export function traced({ scope, machine }: Blueprint, run: () => Turn): Trace {
  const transitions: TakenTransition[] = [];
  const states = new Set<string>();
  const watching = scope.system.inspect((seen) => {
    for (const { _transitions, snapshot } of [seen].filter(isMicrostep)) {
      for (const taken of _transitions) {
        transitions.push(nameOf(taken));
        states.add(taken.source.id);
      }
      // Of a machine, which is all that this scope is asked about.
      for (const { id } of (snapshot as AnyMachineSnapshot)._nodes) states.add(id);
    }
  });
  try {
    const turn = run();
    if (turn.ok) for (const { id } of nodesIn(machine, turn.state)) states.add(id);
  } finally {
    watching.unsubscribe();
  }
  return { transitions, states: [...states] };
}

function isMicrostep(seen: InspectionEvent): seen is InspectionEvent & { readonly type: "@xstate.microstep" } {
  return seen.type === "@xstate.microstep";
}

function nodesIn(machine: Blueprint["machine"], { value }: MachineState): readonly AnyStateNode[] {
  // Of a turn that has just been made: it is one of this machine's.
  return machine.resolveState({ value: value as AnyMachineSnapshot["value"], context: {} })._nodes;
}

function nameOf(taken: AnyTransitionDefinition): TakenTransition {
  const { source, eventType } = taken;
  const all = [...[...source.transitions.values()].flat(), ...(source.always ?? [])];
  const nth = all.filter((other) => other.eventType === eventType).indexOf(taken);
  return { source: source.id, event: eventType, nth };
}
