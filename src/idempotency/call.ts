/** One request, checked: its key, its arguments as a hash, and the answer as it will be kept. */
import { hashOf, type IntentRef, idPattern, intentOf } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { type Json, toJson } from "../saga/index.ts";

/** Stripe's limit too. */
const maxKeyChars = 255;

export interface Call {
  readonly key: string;
  readonly tenant: string;
  readonly intent: IntentRef;
  readonly argsHash: string;
  /** The owner of the claim: unique per call. */
  readonly owner: string;
}

/** Throws INPUT_INVALID, ID_INVALID; nothing was written. */
export function callOf(key: string, request: unknown, tenant: string, owner: string): Call {
  if (typeof key !== "string" || key.length < 1 || key.length > maxKeyChars) {
    throw badRequest("INPUT_INVALID", `an idempotency key is a text of 1 to ${maxKeyChars} characters`, "key");
  }
  if (typeof tenant !== "string" || !idPattern.test(tenant)) {
    throw badRequest("ID_INVALID", "a tenant is 1 to 64 characters of A-Z a-z 0-9 _ . -", "tenant");
  }
  const json = toJson(request);
  if (!json.ok) {
    const message = `the request to tell apart from others of the key ${JSON.stringify(key)}: ${json.problem}`;
    throw badRequest("INPUT_INVALID", message, "request");
  }
  return { key, tenant, intent: intentOf(tenant, "request", key), argsHash: hashOf(json.value), owner };
}

function badRequest(code: "INPUT_INVALID" | "ID_INVALID", message: string, what: string): RepriseError {
  return new RepriseError(code, message, { details: { what, httpStatus: 400 } });
}

/** An answer as it is kept, or why it cannot be. `undefined` is kept as `null`. */
export function keptAnswer(
  answer: unknown,
  maxBytes: number,
): { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string } {
  const json = toJson(answer === undefined ? null : answer);
  if (!json.ok) return json;
  const text = JSON.stringify(json.value);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) return { ok: false, problem: `it is ${bytes} bytes of JSON; the limit is ${maxBytes}` };
  // The first caller gets what the later ones will, down to `-0`, and nothing that somebody still holds.
  return { ok: true, value: JSON.parse(text) as Json };
}
