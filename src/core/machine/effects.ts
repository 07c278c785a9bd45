/**
 * From what XState hands to its action executor to what the port answers.
 * Owns: which actions are known, and the order and the cancelling out of effects within one transition.
 * Invariants: E1 what is not known is a defect, never passed over. E2 a start (or timer) that is stopped (cancelled) in
 * the same transition was never asked for. E3 no invoke id is under way twice.
 */
import { type Json, toJson } from "../../saga/index.ts";
import { isReserved, isTimerName } from "./events.ts";
import type { MachineEffect } from "./port.ts";

/** A place in the machine that invokes a step. */
export interface Site {
  readonly invoke: string;
  readonly step: string;
  /** A value, or the function of context and event that makes it. */
  readonly input: unknown;
  /** Ids of the parallel regions around it, outermost first. */
  readonly region: readonly string[];
  /** Why it cannot be started; `null`: it can. */
  readonly problem: string | null;
}

/** What one transition asked for so far. */
export interface Recording {
  readonly effects: MachineEffect[];
  readonly entered: Set<string>;
  /** What must not happen and did; any makes the transition a defect. */
  readonly defects: string[];
  /** Invocations that are open and were not stopped yet. */
  readonly open: Set<string>;
  /** Delayed raises without an id, over the life of the run. */
  raises: number;
}

export function newRecording(open: Iterable<string>, raises: number): Recording {
  return { effects: [], entered: new Set(), defects: [], open: new Set(open), raises };
}

/** A state that invokes a step was entered. `args` is what XState gives to actions there: context, event, self. */
export function noteStart({ effects, defects, open }: Recording, site: Site, args: object): void {
  if (site.problem !== null) defects.push(`the invoked "${site.step}" ${site.problem}`);
  // XState enters a state again without leaving it when one inside aims at its history: two calls would have one id.
  if (open.has(site.invoke) || effects.some(isStartOf(site.invoke))) {
    defects.push(`${site.invoke} is invoked again while it is still under way`);
  }
  const input: unknown = typeof site.input === "function" ? site.input(args) : site.input;
  effects.push({ type: "start", invoke: site.invoke, step: site.step, input, region: site.region });
}

/** A state that invokes a step was left, or the machine has ended. */
export function noteStop({ effects, open }: Recording, invoke: string): void {
  const started = effects.findIndex(isStartOf(invoke));
  if (started !== -1) effects.splice(started, 1);
  else if (open.delete(invoke)) effects.push({ type: "stop", invoke });
}

function isStartOf(invoke: string): (effect: MachineEffect) => boolean {
  return (effect) => effect.type === "start" && effect.invoke === invoke;
}

/** An action as XState hands it over; what is in `params` depends on `type` (its `resolve*` functions say what). */
export interface HandedAction {
  readonly type: string;
  readonly params: unknown;
}

/** The params of the actions that are known. */
type KnownAction =
  | { readonly type: "xstate.raise"; readonly params: RaiseParams }
  | { readonly type: "xstate.cancel"; readonly params: { readonly sendId: unknown } }
  | { readonly type: "xstate.emit"; readonly params: { readonly event: unknown } }
  | { readonly type: "xstate.log"; readonly params: LogParams };
interface RaiseParams {
  readonly event: { readonly type: string };
  readonly id: unknown;
  readonly delay: unknown;
}
interface LogParams {
  readonly value: unknown;
  readonly label: unknown;
}

/** Writes down one action. */
export function note(recording: Recording, given: HandedAction): void {
  // Told apart by `type`, as XState does; the set is open, hence the default.
  const action = given as HandedAction & KnownAction;
  switch (action.type) {
    case "xstate.raise":
      return noteRaise(recording, action.params);
    case "xstate.cancel":
      return noteCancel(recording, String(action.params.sendId));
    case "xstate.emit":
      return noteEmitted(recording, action.params.event);
    case "xstate.log":
      return noteLogged(recording, action.params);
    default:
      recording.defects.push(`the action ${given.type} is none that a saga may have`);
  }
}

function noteRaise(recording: Recording, { event, id, delay }: RaiseParams): void {
  if (delay === undefined) return noteImmediate(recording, event);
  if (typeof delay !== "number" || !Number.isFinite(delay) || delay < 0) {
    recording.defects.push(`the delay of ${event.type} is ${String(delay)}, not a finite number of ms from 0`);
    return;
  }
  if (!isTimerName(event.type)) {
    recording.defects.push(`the event name ${event.type} of a delayed raise is reserved`);
    return;
  }
  const json = checked(recording, event, "a raised event");
  // It is an object with a `type`: XState has read that.
  const fields = json as Extract<MachineEffect, { type: "timer" }>["event"];
  const name = typeof id === "string" ? id : `reprise.raise.${++recording.raises}`;
  recording.effects.push({ type: "timer", id: name, delayMs: Math.ceil(delay), event: fields });
}

/** XState takes it within the same transition: there is nothing to ask for. */
function noteImmediate({ defects }: Recording, { type }: { readonly type: string }): void {
  if (isReserved(type)) defects.push(`the event name ${type} of a raise is reserved`);
}

function noteCancel({ effects }: Recording, id: string): void {
  const set = effects.findIndex((effect) => effect.type === "timer" && effect.id === id);
  if (set !== -1) effects.splice(set, 1);
  // An older timer may have the same id.
  effects.push({ type: "timer_cancel", id });
}

function noteEmitted(recording: Recording, event: unknown): void {
  recording.effects.push({ type: "emitted", event: checked(recording, event, "an emitted event") });
}

function noteLogged({ effects }: Recording, { value, label }: LogParams): void {
  const message = legible(value);
  effects.push({ type: "logged", message: label === undefined ? message : { label: String(label), value: message } });
}

/** A run is not parked over a log line. */
function legible(value: unknown): Json {
  if (value === undefined) return null;
  const json = toJson(value);
  return json.ok ? json.value : `(not JSON: ${json.problem})`;
}

function checked({ defects }: Recording, value: unknown, what: string): Json {
  const json = toJson(value);
  if (json.ok) return json.value;
  defects.push(`${what} is not JSON: ${json.problem}`);
  return null;
}
