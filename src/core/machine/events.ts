/**
 * From the port's events to XState's.
 * Owns: which names belong to XState, and how a payload becomes an event.
 * Invariants: V1 nothing from outside can pass for an event of XState's own. V2 what the machine is given is a copy:
 * user code that writes into an event does not write into the ledger. V3 no `__proto__` reaches an `assign`.
 */
import { isReservedEvent, type Json } from "../../saga/index.ts";
import type { MachineEvent } from "./port.ts";

/** An event as XState takes it. */
export interface FedEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}

const afterPrefix = "xstate.after.";

/** Names that XState gives a meaning of its own, and those that match more than themselves. */
export function isReserved(name: string): boolean {
  return isReservedEvent(name) || name === "" || name === "*" || name.endsWith(".*");
}

/** A name that a timer may carry: any that is not reserved, and those of `after`. */
export function isTimerName(name: string): boolean {
  return name.startsWith(afterPrefix) || !isReserved(name);
}

/** The event to feed; throws where it must not be fed. */
export function toFed(event: MachineEvent, declared: Readonly<Record<string, unknown>>): FedEvent {
  switch (event.type) {
    case "outcome":
      return { type: `xstate.done.actor.${event.invoke}`, output: copyJson(event.output), actorId: event.invoke };
    case "failure":
      return { type: `xstate.error.actor.${event.invoke}`, error: copyJson(event.error), actorId: event.invoke };
    case "timer":
      if (!isTimerName(event.event.type)) throw new TypeError(`a timer cannot carry the event ${event.event.type}`);
      return { ...fields(event.event), type: event.event.type };
    case "external":
      if (isReserved(event.event)) throw new TypeError(`the event name ${JSON.stringify(event.event)} is reserved`);
      if (!Object.hasOwn(declared, event.event)) {
        throw new TypeError(`the saga declares no event ${JSON.stringify(event.event)}`);
      }
      return { ...fields(event.payload), type: event.event };
  }
}

function fields(payload: Json): Readonly<Record<string, Json>> {
  const copy = copyJson(payload);
  return isRecord(copy) ? copy : { payload: copy };
}

function isRecord(json: Json): json is Readonly<Record<string, Json>> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** A deep copy, equal to `JSON.parse(JSON.stringify(json))`. Throws on a `__proto__` key. */
export function copyJson(json: Json): Json {
  if (typeof json !== "object" || json === null) return json === 0 ? 0 : json;
  // `Array.isArray` does not narrow readonly arrays.
  if (Array.isArray(json)) return (json as readonly Json[]).map(copyJson);
  const from = json as Readonly<Record<string, Json>>;
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(from)) {
    if (key === "__proto__") throw new TypeError("a property may not be called __proto__");
    copy[key] = copyJson(from[key] as Json);
  }
  return copy;
}
