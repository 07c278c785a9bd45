/**
 * What a user function did, as a fact for core. Owns the mapping of returned values and thrown errors to a `CallResult` or
 * a probe's answer; what follows from it is core's. Invariants: O1 an error that is not one of ours says what
 * `classifyHttp` reads from it and nothing else, whatever its class. O2 an effect whose output cannot be used still
 * happened. O3 nothing here throws. O4 no message is longer than `maxMessageChars`, none holds what looks like a
 * credential, nor does a code: they are stored and shown.
 */
import type { CallOrder, CallResult, DriverFact } from "../core/index.ts";
import { redact } from "../redact.ts";
import {
  type Checked,
  classifyHttp,
  encodeOutput,
  isStepError,
  type Json,
  type ProbeAnswer,
  type StepSpec,
  toJson,
} from "../saga/index.ts";

/** A call or probe that has come to an end. */
export type OutcomeFact = Extract<DriverFact, { type: "result" | "probed" | "child" }>;

/** Why the engine has aborted a call: its time was over, or nobody wants its answer any more. */
export type AbortCause = "timeout" | "aborted";

const maxMessageChars = 2_000;

/** The function that the order means has resolved with `value`. */
export function answerFact(order: CallOrder, step: StepSpec, value: unknown, maxPayloadBytes: number): OutcomeFact {
  switch (order.kind) {
    case "action":
      return resultFact(order, actionResult(step, value, maxPayloadBytes));
    case "undo":
      return resultFact(order, undoResult);
    case "probe":
      // By its type it answers that; `probeFact` bears anything.
      return probeFact(order, step, value as ProbeAnswer, maxPayloadBytes);
  }
}

/** The action resolved with `value`. */
export function actionResult(step: StepSpec, value: unknown, maxPayloadBytes: number): CallResult {
  const output = boundedOutput(step, value, maxPayloadBytes);
  if (output.ok) return { kind: "succeeded", output: output.value };
  return { kind: "unusable", output: kept(value, maxPayloadBytes), problem: shown(output.problem) };
}

/** The compensation resolved; whatever it returns (`alreadyUndone()` included) is a success. */
export const undoResult: CallResult = { kind: "succeeded", output: null };

/** The action or compensation threw `error`, after having been aborted for `cause` where that is not `null`. */
export function thrownResult(error: unknown, cause: AbortCause | null): CallResult {
  if (isStepError(error)) {
    const { knowledge, code, final, retryAfterMs } = error;
    const reason = final ? "fail" : cause === "timeout" && knowledge === "unknown" ? "timeout" : "error";
    return { kind: knowledge, code: shownCode(code), message: messageOf(error), final, reason, retryAfterMs };
  }
  const read = classifyHttp(error);
  const timedOut = cause === "timeout" && read.knowledge === "unknown";
  return {
    kind: read.knowledge,
    code: shownCode(read.code),
    message: messageOf(error),
    final: false,
    reason: timedOut ? "timeout" : "error",
    retryAfterMs: read.retryAfterMs,
  };
}

/** The function has ignored its signal for the whole grace and is left behind. */
export function leftBehind(order: CallOrder, cause: AbortCause): CallResult {
  const timedOut = cause === "timeout";
  const message = timedOut ? `no answer within ${order.timeoutMs} ms` : "aborted before it answered";
  const reason = timedOut ? "timeout" : "error";
  return { kind: "unknown", code: timedOut ? null : "aborted", message, final: false, reason, retryAfterMs: null };
}

/** The probe answered. */
export function probeFact(order: CallOrder, step: StepSpec, answer: ProbeAnswer, maxPayloadBytes: number): OutcomeFact {
  switch (answer?.answer) {
    case "absent":
      return probed(order, "absent", null, null);
    case "cannot_tell":
      return probed(order, "cannot_tell", null, answer.reason === null ? null : shown(String(answer.reason)));
    case "happened":
      return happenedFact(order, step, answer.output, maxPayloadBytes);
    default:
      return probed(order, "cannot_tell", null, "the probe answered none of happened(), absent(), cannotTell()");
  }
}

/** The probe threw or did not answer in time: it could not tell. */
export function probeFailed(order: CallOrder, note: string): OutcomeFact {
  return probed(order, "cannot_tell", null, note);
}

export function resultFact(order: CallOrder, result: CallResult): Extract<OutcomeFact, { type: "result" }> {
  return { type: "result", seq: order.seq, send: order.send, side: order.side, result };
}

export function messageOf(error: unknown): string {
  if (error instanceof Error) return shown(error.message === "" ? error.name : error.message);
  if (typeof error === "object" && error !== null && "message" in error) return shown(String(error.message));
  return shown(String(error));
}

/** As it is stored and shown. */
export function shown(message: string): string {
  const text = redact(message);
  return text.length <= maxMessageChars ? text : `${text.slice(0, maxMessageChars)}…`;
}

function shownCode(code: string | null): string | null {
  return code === null ? null : redact(String(code)); // user code may have thrown anything
}

function happenedFact(order: CallOrder, step: StepSpec, value: unknown, maxPayloadBytes: number): OutcomeFact {
  // What a compensation's probe reads back is not the step's output.
  if (order.side === "undo") return probed(order, "happened", null, null);
  const output = boundedOutput(step, value, maxPayloadBytes);
  if (output.ok) return probed(order, "happened", output.value, null);
  return { ...probed(order, "happened", kept(value, maxPayloadBytes), shown(output.problem)), unusable: true };
}

function probed(
  order: CallOrder,
  answer: "happened" | "absent" | "cannot_tell",
  output: Json,
  note: string | null,
): Extract<OutcomeFact, { type: "probed" }> {
  return { type: "probed", seq: order.seq, side: order.side, answer, output, unusable: false, note };
}

function boundedOutput(step: StepSpec, value: unknown, maxPayloadBytes: number): Checked<Json> {
  const output = encodeOutput(step, value);
  if (!output.ok || fits(output.value, maxPayloadBytes)) return output;
  return { ok: false, problem: `the output is larger than ${maxPayloadBytes} bytes` };
}

/** A value that a step hands over by itself. */
export function boundedJson(
  value: unknown,
  maxPayloadBytes: number,
):
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly code: "INPUT_INVALID" | "PAYLOAD_TOO_LARGE"; readonly problem: string } {
  const json = toJson(value);
  if (!json.ok) return { ok: false, code: "INPUT_INVALID", problem: `is not JSON: ${json.problem}` };
  if (fits(json.value, maxPayloadBytes)) return { ok: true, value: json.value };
  return { ok: false, code: "PAYLOAD_TOO_LARGE", problem: `is larger than ${maxPayloadBytes} bytes` };
}

/** An output that does not fit is evidence, where it is JSON and small enough. */
function kept(value: unknown, maxPayloadBytes: number): Json {
  const json = toJson(value ?? null);
  return json.ok && fits(json.value, maxPayloadBytes) ? json.value : null;
}

function fits(value: Json, maxPayloadBytes: number): boolean {
  if (typeof value !== "object" && typeof value !== "string") return true;
  return Buffer.byteLength(JSON.stringify(value)) <= maxPayloadBytes;
}
