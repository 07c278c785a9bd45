/** What is refused before anything is written: ids, inputs, payloads, durations. Every refusal names what and where. */
import { idPattern, sizeOf } from "../core/index.ts";
import { type ErrorCode, RepriseError } from "../errors.ts";
import type { Checked, Saga } from "../saga/index.ts";
import { type Duration, decode, durationMs, type Json, toJson } from "../saga/index.ts";

/** Highest priority number (the lowest priority) that BullMQ takes. */
const maxPriority = 2_097_151;

export function checkedId(id: string, what: string): string {
  if (typeof id === "string" && idPattern.test(id)) return id;
  throw new RepriseError("ID_INVALID", `${what} ${JSON.stringify(id)} is not 1 to 64 characters of A-Z a-z 0-9 _ . -`, {
    details: { what },
  });
}

/** A value as JSON that fits `check` and the size limit; else `code` (or PAYLOAD_TOO_LARGE). */
export function checkedJson(
  value: unknown,
  what: string,
  code: ErrorCode,
  maxPayloadBytes: number,
  check: (json: Json) => Checked<unknown>,
): Json {
  const json = toJson(value);
  if (!json.ok) throw invalid(code, what, json.problem);
  const bytes = Buffer.byteLength(JSON.stringify(json.value));
  if (bytes > maxPayloadBytes) {
    const message = `${what} is ${bytes} bytes of JSON; the limit is ${maxPayloadBytes}`;
    throw new RepriseError("PAYLOAD_TOO_LARGE", message, { details: { what, bytes, maxPayloadBytes } });
  }
  const checked = check(json.value);
  if (!checked.ok) throw invalid(code, what, checked.problem);
  return json.value;
}

/** What comes with an event from outside. Throws EVENT_UNKNOWN, EVENT_INVALID, PAYLOAD_TOO_LARGE. */
export function checkedPayload(saga: Saga, event: string, payload: unknown, maxPayloadBytes: number): Json {
  const schema = Object.hasOwn(saga.spec.events, event) ? saga.spec.events[event] : undefined;
  if (schema === undefined) {
    const known = Object.keys(saga.spec.events);
    const message = `${saga.name} takes no event ${event} from outside; it takes ${known.join(", ") || "none"}`;
    throw new RepriseError("EVENT_UNKNOWN", message, { details: { event, known } });
  }
  return checkedJson(payload, `payload of ${event}`, "EVENT_INVALID", maxPayloadBytes, (json) => decode(schema, json));
}

/** A run begins with its input, and holds no more than so much. */
export function checkedRunSize(input: Json, what: string, maxRunBytes: number): void {
  const bytes = sizeOf(input);
  if (bytes <= maxRunBytes) return;
  const message = `${what} is ${bytes} bytes of JSON; a run holds at most ${maxRunBytes} (maxRunBytes)`;
  throw new RepriseError("PAYLOAD_TOO_LARGE", message, { details: { what, bytes, maxRunBytes } });
}

export function checkedPriority(priority: number): number {
  if (Number.isInteger(priority) && priority >= 0 && priority <= maxPriority) return priority;
  throw invalid("INPUT_INVALID", "priority", `it is a whole number from 0 (first) to ${maxPriority}`);
}

export function checkedDuration(duration: Duration, what: string): number {
  try {
    return durationMs(duration, what);
  } catch (error) {
    throw new RepriseError("INPUT_INVALID", error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Why somebody decided something: it is the one thing that nobody can find out later. */
export function checkedReason(reason: string): string {
  if (reason.trim() !== "") return reason;
  throw invalid("INPUT_INVALID", "reason", "it is empty");
}

export function invalid(code: ErrorCode, what: string, problem: string): RepriseError {
  return new RepriseError(code, `${what}: ${problem}`, { details: { what, problem } });
}
