/**
 * Owns: how a command ends: the exit codes that scripts may rely on, and what a person (or a program) reads when something is
 * wrong. A mistake of the user's never shows a stack trace.
 */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type ErrorCode, errorCodeOf, RepriseError } from "../errors.ts";

/** Stable; documented in docs/cli.md. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  forbidden: 4,
  conflict: 5,
  unreachable: 6,
  unsafe: 7,
  timeout: 8,
  findings: 9,
  partial: 10,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** What each means, for help and documentation. */
export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  0: "done",
  1: "a run ended failed or cancelled (where it was waited for), or something unexpected",
  2: "wrong usage, an input that does not fit, a configuration that cannot be used",
  3: "not found",
  4: "not allowed",
  5: "somebody was first, or it has moved since it was looked at",
  6: "Redis cannot be reached",
  7: "refused as unsafe: an outcome is unknown, or a person has to decide",
  8: "the time to wait was over; the run goes on",
  9: "findings",
  10: "done in part",
  130: "interrupted",
};

/** The user's mistake: the message says what to do about it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  constructor() {
    super("Interrupted.");
  }
}

/** A person was asked, and said no. */
export class Declined extends Error {
  override readonly name = "Declined";
  constructor() {
    super("Nothing was done.");
  }
}

const { failed, usage, notFound, forbidden, conflict, unreachable, unsafe, timeout, findings } = exitCodes;

/** Of every code that there is. */
const codeOf: Readonly<Record<ErrorCode, ExitCode>> = {
  DEFINITION_INVALID: findings,
  STEP_UNGUARDED: failed,
  CONFIG_INVALID: usage,
  SHARDS_MISMATCH: failed,
  STRUCTURE_CHANGED: conflict,
  POOL_INCOMPLETE: usage,
  STORE_EVICTS: unsafe,
  STORE_FORGETFUL: unsafe,
  REDIS_NOT_FOUND: unreachable,
  ID_INVALID: usage,
  INPUT_INVALID: usage,
  PAYLOAD_TOO_LARGE: usage,
  SAGA_UNKNOWN: notFound,
  EVENT_UNKNOWN: usage,
  EVENT_INVALID: usage,
  RUN_NOT_FOUND: notFound,
  RUN_CONFLICT: conflict,
  RUN_GONE: conflict,
  RUN_ENDED: conflict,
  REVIEW_GONE: conflict,
  REVIEW_TAKEN: conflict,
  VERB_REFUSED: unsafe,
  STALE_REVISION: conflict,
  APPROVAL_GONE: conflict,
  APPROVAL_TAKEN: conflict,
  APPROVAL_FORBIDDEN: forbidden,
  APPROVAL_STALE: conflict,
  TOKEN_GONE: notFound,
  TOKEN_USED: conflict,
  PLAN_GONE: notFound,
  PLAN_TAKEN: conflict,
  PLAN_REFUSED: unsafe,
  BATCH_SUSPENDED: unsafe,
  MIGRATION_REFUSED: conflict,
  CURSOR_INVALID: usage,
  SCHEDULE_NOT_FOUND: notFound,
  WORKER_NOT_FOUND: notFound,
  IDEMPOTENCY_IN_PROGRESS: conflict,
  IDEMPOTENCY_CONFLICT: conflict,
  IDEMPOTENCY_UNKNOWN: unsafe,
  IDEMPOTENCY_CLAIM_LOST: conflict,
  IDEMPOTENCY_ANSWER_INVALID: failed,
  RUN_FAILED: failed,
  RUN_CANCELLED: failed,
  RUN_NEEDS_REVIEW: unsafe,
  RESULT_TIMEOUT: timeout,
  STORE_UNAVAILABLE: unreachable,
  ARTIFACTS_UNAVAILABLE: unreachable,
  CLOSED: failed,
  LEASE_LOST: failed,
  INTENT_MISSING: failed,
  TOOL_FAILED: failed,
  TOOL_REFUSED: failed,
  TOOL_SUSPENDED: failed,
  BUDGET_EXHAUSTED: failed,
  SIMULATION_RESTLESS: failed,
  RECORD_CORRUPT: failed,
  ARTIFACT_MISSING: failed,
};

/** The exit code that an error stands for. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Interrupted) return exitCodes.interrupted;
  if (error instanceof UsageError) return exitCodes.usage;
  const code = errorCodeOf(error);
  return code === null ? exitCodes.failed : codeOf[code];
}

/** What is printed of an error: its message where it was written for a person, the stack where it is a bug of ours. */
export function describeError(error: unknown): string {
  if (error instanceof RepriseError) return `${error.message} [${error.code}]`;
  if (error instanceof UsageError || error instanceof Interrupted || error instanceof Declined) return error.message;
  if (!(error instanceof Error)) return String(error);
  // Errors of the system (ENOENT, EACCES) and of ensureRedis carry a code and a message that says enough.
  return "code" in error ? error.message : (error.stack ?? error.message);
}

/** A page of this package, from where the command was given: it can be opened as it is printed. */
export function runbookFrom(page: string): string {
  return relative(process.cwd(), fileURLToPath(new URL(`../../${page}`, import.meta.url)));
}
