/**
 * Time-outs and retry policies as users write them, and the numbers they come to. Owns the defaults of design
 * sections 6 and 7. Invariant: what leaves here has every default filled in, in whole ms.
 */
import { RepriseError } from "../errors.ts";
import { type Duration, durationMs } from "./duration.ts";
import type { RetryPolicy } from "./spec.ts";

/** How often and how far apart a call is tried again; what is left out keeps its default. */
export interface RetryOptions {
  /** Counts the first one. 1: never tried again. */
  readonly attempts?: number;
  readonly backoff?: RetryPolicy["backoff"];
  readonly initial?: Duration;
  readonly max?: Duration;
  /** Full jitter: the delay is drawn evenly from 0 to the computed one. On by default. */
  readonly jitter?: boolean;
}

/** Longest time-out: what a timer of Node can hold. */
export const maxTimeoutMs = 2 ** 31 - 1;
/** Most attempts of one call. */
export const maxAttempts = 1_000;

/** Defaults of an action (design section 6). */
export const actionDefaults = {
  timeoutMs: 60_000,
  latenessMs: 30_000,
  keyTtlMs: 24 * 3_600_000,
  retry: { attempts: 5, backoff: "exponential", initialMs: 200, maxMs: 30_000, jitter: true },
} as const;

/** Default retry policy of a compensation (design 7.4): 8 attempts, up to 10 minutes apart. */
export const compensationRetry: RetryPolicy = {
  attempts: 8,
  backoff: "exponential",
  initialMs: 10_000,
  maxMs: 600_000,
  jitter: true,
};

/** A time-out in ms: more than 0 and no longer than a timer of Node can wait. */
export function timeoutMs(duration: Duration, what: string): number {
  const ms = durationMs(duration, what);
  if (ms > 0 && ms <= maxTimeoutMs) return ms;
  throw new RepriseError(
    "DEFINITION_INVALID",
    `${what}: a time-out is between 1 ms and 24 days, this one is ${ms} ms.`,
    {
      details: { what, ms },
    },
  );
}

/** A retry policy with every default filled in; a `max` below a stated `initial` is refused. */
export function retryPolicy(options: RetryOptions | undefined, defaults: RetryPolicy, what: string): RetryPolicy {
  if (options === undefined) return defaults;
  const attempts = options.attempts ?? defaults.attempts;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > maxAttempts) {
    throw new RepriseError(
      "DEFINITION_INVALID",
      `${what}: attempts must be a whole number from 1 to ${maxAttempts}, the first one counted; it is ${attempts}.`,
      { details: { what, attempts } },
    );
  }
  return {
    attempts,
    backoff: backoffOf(options, defaults, what),
    ...delays(options, defaults, what),
    jitter: options.jitter ?? defaults.jitter,
  };
}

function backoffOf(options: RetryOptions, defaults: RetryPolicy, what: string): RetryPolicy["backoff"] {
  const backoff = options.backoff ?? defaults.backoff;
  if (backoff === "exponential" || backoff === "linear" || backoff === "fixed") return backoff;
  throw new RepriseError(
    "DEFINITION_INVALID",
    `${what}: backoff must be "exponential", "linear" or "fixed"; it is ${JSON.stringify(backoff)}.`,
    { details: { what, backoff } },
  );
}

function delays(options: RetryOptions, defaults: RetryPolicy, what: string): { initialMs: number; maxMs: number } {
  const stated = {
    initialMs: options.initial === undefined ? null : durationMs(options.initial, `${what}.initial`),
    maxMs: options.max === undefined ? null : durationMs(options.max, `${what}.max`),
  };
  // Where only one of them is stated the other one's default gives way.
  const initialMs = stated.initialMs ?? Math.min(defaults.initialMs, stated.maxMs ?? defaults.initialMs);
  const maxMs = stated.maxMs ?? Math.max(defaults.maxMs, initialMs);
  if (maxMs >= initialMs) return { initialMs, maxMs };
  throw new RepriseError(
    "DEFINITION_INVALID",
    `${what}: max (${maxMs} ms) is shorter than initial (${initialMs} ms).`,
    {
      details: { what, initialMs, maxMs },
    },
  );
}
