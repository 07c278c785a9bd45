/**
 * From what XState hands to its action executor to what the port answers.
 * Owns: which actions are known, and the order and the cancelling out of effects within one transition.
 * Invariants: E1 what is not known is a defect, never passed over. E2 a start (or timer) that is stopped (cancelled) in
 * the same transition was never asked for.
 */
import type { ExecutableActionsFrom } from "xstate";
import { toJson } from "../saga/index.ts";
import type { Json } from "../saga/spec.ts";
import type { Blueprint } from "./machine-blueprint.ts";
import { isReserved } from "./machine-events.ts";
import type { MachineEffect } from "./machine-port.ts";

/** What one transition asked for so far. */
export interface Recording {
  readonly effects: MachineEffect[];
  readonly entered: Set<string>;
  /** What must not happen and did; any makes the transition a defect. */
  readonly defects: string[];
  /** Delayed raises without an id, over the life of the run. */
  raises: number;
}

export function newRecording(raises: number): Recording {
  return { effects: [], entered: new Set(), defects: [], raises };
}

/** An action as XState 5 gives it. `params` belong to `type`: XState's `*.resolve` functions say what is in them. */
type Executable =
  | { readonly type: "xstate.spawnChild"; readonly params: SpawnParams }
  | { readonly type: "xstate.stopChild"; readonly params: { readonly id: string } | undefined }
  | { readonly type: "xstate.raise"; readonly params: RaiseParams }
  | { readonly type: "xstate.cancel"; readonly params: { readonly sendId: unknown } }
  | { readonly type: "xstate.emit"; readonly params: { readonly event: unknown } }
  | { readonly type: "xstate.log"; readonly params: { readonly value: unknown; readonly label: unknown } };
interface SpawnParams {
  readonly id: string;
  readonly input: unknown;
}
interface RaiseParams {
  readonly event: unknown;
  readonly id: unknown;
  readonly delay: unknown;
}

/** Writes down one action. */
export function note(recording: Recording, given: { readonly type: string; readonly exec: unknown }, blueprint: Blueprint) {
  const region = blueprint.markers.get(given.exec);
  if (region !== undefined) return recording.entered.add(region);
  // Told apart by `type`, as in XState; anything else falls out of the switch.
  const action = given as unknown as Executable;
  switch (action.type) {
    case "xstate.spawnChild":
      return noteStart(recording, action.params, blueprint);
    case "xstate.stopChild":
      return action.params && noteStop(recording, action.params.id);
    case "xstate.raise":
      return noteRaise(recording, action.params);
    case "xstate.cancel":
      return noteCancel(recording, String(action.params.sendId));
    case "xstate.emit":
      return noteEmitted(recording, action.params.event);
    case "xstate.log":
      return recording.effects.push({ type: "logged", message: messageOf(action.params) });
  }
  return recording.defects.push(`the action ${given.type} is none that a saga may have`);
}
