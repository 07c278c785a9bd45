/** What a caller is told instead of an answer. Each carries `httpStatus`, and `retryAfterMs` where asking again helps. */
import type { ClaimIntentAnswer } from "../core/index.ts";
import { type ErrorCode, RepriseError } from "../errors.ts";
import type { Call } from "./call.ts";

export type Busy = Extract<ClaimIntentAnswer, { readonly answer: "BUSY" }> & { readonly now: number };

interface Parts {
  readonly httpStatus: number;
  readonly cause?: unknown;
  readonly [detail: string]: unknown;
}

function refusal(code: ErrorCode, { key, tenant }: Call, message: string, { cause, ...details }: Parts): RepriseError {
  return new RepriseError(code, `the request with the key ${JSON.stringify(key)} ${message}`, {
    details: { key, tenant, ...details },
    ...(cause === undefined ? {} : { cause }),
  });
}

export function inProgress(call: Call, { claimedAt, until, now }: Busy): RepriseError {
  const retryAfterMs = until === null ? null : until - now;
  return refusal("IDEMPOTENCY_IN_PROGRESS", call, `is being carried out for ${now - claimedAt} ms; ask again later`, {
    httpStatus: 409,
    claimedAt,
    retryAfterMs,
  });
}

export function conflict(call: Call, first: string): RepriseError {
  return refusal(
    "IDEMPOTENCY_CONFLICT",
    call,
    "was made before with other arguments; another request needs its own key",
    {
      httpStatus: 422,
      first,
      asked: call.argsHash,
    },
  );
}

/** `asked`: what came of asking `recover`, in words for a person. */
export function unknown(call: Call, busy: Busy, asked: string, parts: { retryAfterMs?: number; cause?: unknown } = {}) {
  const { state, claimedAt } = busy;
  const why = state === "unknown" ? "failed without saying so" : "was interrupted";
  const message = `${why}: nobody knows whether it took effect, so it is not carried out again (${asked})`;
  const interrupted = state === "claimed";
  return refusal("IDEMPOTENCY_UNKNOWN", call, message, { httpStatus: 500, claimedAt, interrupted, asked, ...parts });
}

/** `called`: was `fn` called under the claim? */
export function claimLost(call: Call, called: boolean): RepriseError {
  const message = called
    ? "took longer than its claim, and another one has taken its place: its answer was not kept; ask again for the one that was"
    : "was held up before it began, and has not been carried out; ask again";
  return refusal("IDEMPOTENCY_CLAIM_LOST", call, message, { httpStatus: 409, called });
}

export function answerInvalid(call: Call, problem: string): RepriseError {
  const message = `was carried out, but its answer cannot be kept: ${problem}`;
  return refusal("IDEMPOTENCY_ANSWER_INVALID", call, message, { httpStatus: 500, problem });
}

/** `called`: may `fn` have been called? */
export function unavailable(call: Call, called: boolean, cause: unknown): RepriseError {
  const message = called
    ? "was carried out, but Redis has not confirmed that its answer is kept; ask again with the same key"
    : "was not carried out: Redis does not answer; ask again with the same key";
  return refusal("STORE_UNAVAILABLE", call, message, { httpStatus: 503, called, cause });
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof RepriseError && error.code === "STORE_UNAVAILABLE";
}
