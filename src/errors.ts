/**
 * Every failure that Reprise itself raises is a {@link RepriseError} with a code of this list. A code has a page in
 * `docs/runbooks/`. A leaf: every room may import it.
 */
export const errorCodes = [
  // definition: thrown when a module that declares sagas is loaded
  "DEFINITION_INVALID",
  "STEP_UNGUARDED",
  // configuration: the process does not start
  "CONFIG_INVALID",
  "SHARDS_MISMATCH",
  "STRUCTURE_CHANGED",
  "POOL_INCOMPLETE",
  "STORE_EVICTS",
  "STORE_FORGETFUL",
  "REDIS_NOT_FOUND",
  // request: the caller's mistake, nothing was written
  "ID_INVALID",
  "INPUT_INVALID",
  "PAYLOAD_TOO_LARGE",
  "SAGA_UNKNOWN",
  "EVENT_UNKNOWN",
  "EVENT_INVALID",
  "RUN_NOT_FOUND",
  "RUN_CONFLICT",
  "RUN_GONE",
  "RUN_ENDED",
  "REVIEW_GONE",
  "REVIEW_TAKEN",
  "VERB_REFUSED",
  "STALE_REVISION",
  "APPROVAL_GONE",
  "APPROVAL_TAKEN",
  "APPROVAL_FORBIDDEN",
  "APPROVAL_STALE",
  "TOKEN_GONE",
  "TOKEN_USED",
  "PLAN_GONE",
  "PLAN_TAKEN",
  "PLAN_REFUSED",
  "BATCH_SUSPENDED",
  "MIGRATION_REFUSED",
  "CURSOR_INVALID",
  "SCHEDULE_NOT_FOUND",
  "WORKER_NOT_FOUND",
  // idempotent requests: what the caller is told instead of an answer
  "IDEMPOTENCY_IN_PROGRESS",
  "IDEMPOTENCY_CONFLICT",
  "IDEMPOTENCY_UNKNOWN",
  "IDEMPOTENCY_CLAIM_LOST",
  "IDEMPOTENCY_ANSWER_INVALID",
  // what a run came to, for those who wait for its result
  "RUN_FAILED",
  "RUN_CANCELLED",
  "RUN_NEEDS_REVIEW",
  "RESULT_TIMEOUT",
  // infrastructure: back off and try again
  "STORE_UNAVAILABLE",
  "ARTIFACTS_UNAVAILABLE",
  "CLOSED",
  // a step's own: it works for a run that this process has lost, or asks for a tool that is not to be had
  "LEASE_LOST",
  "INTENT_MISSING",
  "TOOL_FAILED",
  "TOOL_REFUSED",
  "TOOL_SUSPENDED",
  "BUDGET_EXHAUSTED",
  // a test's own: what it simulates goes on for ever
  "SIMULATION_RESTLESS",
  // corruption: loud, the run is parked
  "RECORD_CORRUPT",
  "ARTIFACT_MISSING",
] as const;

/** One of the codes of {@link errorCodes}. */
export type ErrorCode = (typeof errorCodes)[number];

/** What a {@link RepriseError} is made of beside its code and message. */
export interface ErrorParts {
  /** Plain facts for machines: which value, where, what was expected. Never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** An error of Reprise: `code` for programs, `message` for the person who must act, `details` for both. */
export class RepriseError extends Error {
  override readonly name: string = "RepriseError";
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, parts: ErrorParts = {}) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.code = code;
    this.details = parts.details ?? {};
  }

  /**
   * Where it is written what this means, what was done, what is safe now and what to do: a page of this package, by its path
   * from the package's directory (`docs/runbooks/RUN_CONFLICT.md`; installed, below `node_modules/reprise/`).
   */
  get runbook(): string {
    return runbookOf(this.code);
  }
}

/** The page of an error code; of a review's reason: `REVIEW_<reason>`. */
export function runbookOf(page: ErrorCode | `REVIEW_${string}`): string {
  return `docs/runbooks/${page}.md`;
}

/** The code of an error of ours, also of one that was raised where this file is not to be had (`ensure.mjs`); `null`: it is none. */
export function errorCodeOf(error: unknown): ErrorCode | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  return errorCodes.find((code) => code === error.code) ?? null;
}

/** Can whatever was asked be asked again in a while, unchanged? What keeps runs or their values did not answer. */
export function isUnavailable(error: unknown): boolean {
  return (
    error instanceof RepriseError && (error.code === "STORE_UNAVAILABLE" || error.code === "ARTIFACTS_UNAVAILABLE")
  );
}
