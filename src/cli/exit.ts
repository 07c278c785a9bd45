/**
 * Owns: how a command ends: the exit codes that scripts may rely on, and what a person reads when something is wrong.
 * A mistake of the user's never shows a stack trace.
 */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type ErrorCode, isErrorCode, RepriseError, runbookOf } from "../errors.ts";

/** Stable; documented in the README. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 5,
  unreachable: 6,
  unsafe: 7,
  timeout: 8,
  findings: 9,
  partial: 10,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

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

const codeOf: Partial<Readonly<Record<ErrorCode, ExitCode>>> = {
  DEFINITION_INVALID: exitCodes.findings,
  CONFIG_INVALID: exitCodes.usage,
  ID_INVALID: exitCodes.usage,
  INPUT_INVALID: exitCodes.usage,
  PAYLOAD_TOO_LARGE: exitCodes.usage,
  SAGA_UNKNOWN: exitCodes.notFound,
  RUN_NOT_FOUND: exitCodes.notFound,
  RUN_CONFLICT: exitCodes.conflict,
  MIGRATION_REFUSED: exitCodes.conflict,
  STRUCTURE_CHANGED: exitCodes.conflict,
  REDIS_NOT_FOUND: exitCodes.unreachable,
  STORE_UNAVAILABLE: exitCodes.unreachable,
  ARTIFACTS_UNAVAILABLE: exitCodes.unreachable,
  STORE_EVICTS: exitCodes.unsafe,
  STORE_FORGETFUL: exitCodes.unsafe,
  RUN_NEEDS_REVIEW: exitCodes.unsafe,
  RESULT_TIMEOUT: exitCodes.timeout,
};

/** The exit code that an error stands for. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof Interrupted) return exitCodes.interrupted;
  if (error instanceof UsageError) return exitCodes.usage;
  return (error instanceof RepriseError ? codeOf[error.code] : undefined) ?? exitCodes.failed;
}

/** What is printed of an error: its message where it was written for a person, the stack where it is a bug of ours. */
export function describeError(error: unknown): string {
  if (error instanceof RepriseError) return `${error.message} [${error.code}]\nRunbook: ${runbookFrom(error.runbook)}`;
  if (error instanceof UsageError || error instanceof Interrupted) return error.message;
  if (!(error instanceof Error)) return String(error);
  // Errors of the system (ENOENT, EACCES) and of ensureRedis carry a code and a message that says enough.
  if (!("code" in error)) return error.stack ?? error.message;
  return isErrorCode(error.code) ? `${error.message}\nRunbook: ${runbookFrom(runbookOf(error.code))}` : error.message;
}

/** A page of this package, from where the command was given: it can be opened as it is printed. */
export function runbookFrom(page: string): string {
  return relative(process.cwd(), fileURLToPath(new URL(`../../${page}`, import.meta.url)));
}
