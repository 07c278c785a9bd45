/**
 * The words in which user code tells Reprise what it knows about the outside: what happened, what did not, and what it
 * cannot tell. Owns the markers; `core` owns what follows from them.
 */
import { type Duration, durationMs } from "./duration.ts";

/** A probe's answer: it happened, with the action's output where it can be read back. */
export interface Happened<Output = unknown> {
  readonly answer: "happened";
  readonly output: Output;
}
/** A probe's answer: the other side has no trace of it. */
export interface Absent {
  readonly answer: "absent";
}
/** A probe's answer: nobody can tell (now). */
export interface CannotTell {
  readonly answer: "cannot_tell";
  readonly reason: string | null;
}
/** What a probe may answer. */
export type ProbeAnswer<Output = unknown> = Happened<Output> | Absent | CannotTell;

/** The effect happened; `output` is what the action would have returned (nothing, where the step has no output). */
export function happened(): Happened<null>;
export function happened<Output>(output: Output): Happened<Output>;
export function happened(output: unknown = null): Happened {
  return { answer: "happened", output };
}
/** The effect did not happen. Believed only past the deadline of the last send where a repeat is not safe. */
export function absent(): Absent {
  return { answer: "absent" };
}
/** The other side cannot say. Asked again by the probe policy, then a person is asked. */
export function cannotTell(reason?: string): CannotTell {
  return { answer: "cannot_tell", reason: reason ?? null };
}

/** Returned by a compensation that found nothing left to undo: a success. */
export interface AlreadyUndone {
  readonly alreadyUndone: true;
}
/** What a compensation returns when somebody else has undone the effect before: counts as a success. */
export function alreadyUndone(): AlreadyUndone {
  return { alreadyUndone: true };
}

/** What user code knows about the effect at the moment it throws. */
export type Knowledge = "not_applied" | "unknown";

/** Parts of a failure that user code may state. */
export interface FailureOptions {
  /** A short, stable word for programs, e.g. `card_declined`. */
  readonly code?: string;
  readonly cause?: unknown;
}

/** The error classes below carry this brand, so that two copies of the package understand each other. */
export const stepErrorBrand: unique symbol = Symbol.for("reprise.step-error");

/** An error that says what is known about the effect. Thrown by user code through the functions below. */
export class StepError extends Error {
  override readonly name: string = "StepError";
  readonly [stepErrorBrand] = true;
  /** `not_applied`: proven, nothing happened. `unknown`: it may have happened. */
  readonly knowledge: Knowledge;
  /** `true`: trying again is pointless, the machine is told now. */
  readonly final: boolean;
  readonly code: string | null;
  /** How long to wait before the next attempt, in ms; overrides the policy. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    parts: {
      readonly knowledge: Knowledge;
      readonly final: boolean;
      readonly retryAfterMs?: number;
    } & FailureOptions,
  ) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.knowledge = parts.knowledge;
    this.final = parts.final;
    this.code = parts.code ?? null;
    this.retryAfterMs = parts.retryAfterMs ?? null;
  }
}

/** Is this one of the errors by which user code says what it knows? Works across copies of the package. */
export function isStepError(error: unknown): error is StepError {
  return typeof error === "object" && error !== null && stepErrorBrand in error;
}

/** The effect did not happen, proven: tried again by the retry policy. `throw notApplied("no such warehouse yet")`. */
export function notApplied(message: string, options: FailureOptions = {}): StepError {
  return new StepError(message, { ...options, knowledge: "not_applied", final: false });
}

/** What `fail` may be told beside its message. */
export interface FailOptions extends FailureOptions {
  /** Something may be left outside: the outcome is `unknown`, to be found out before anything is decided. */
  readonly mayHaveHappened?: boolean;
}

/** A no that trying again will not change; nothing is left outside unless said so. `throw fail("card declined")`. */
export function fail(message: string, options: FailOptions = {}): StepError {
  const { mayHaveHappened = false, ...parts } = options;
  return new StepError(message, { ...parts, knowledge: mayHaveHappened ? "unknown" : "not_applied", final: true });
}

/** What `transient` may be told. */
export interface TransientOptions {
  readonly code?: string;
  /** How long to wait before the next attempt, e.g. `"30s"`; overrides the policy. */
  readonly retryAfter?: Duration;
}

/**
 * A trouble that will pass; whether the effect happened is not known. `throw transient(error, { retryAfter: "30s" })`.
 * Where that is known, `notApplied` is the stronger word.
 */
export function transient(errorOrMessage: unknown, options: TransientOptions = {}): StepError {
  const isError = errorOrMessage instanceof Error;
  const { code, retryAfter } = options;
  return new StepError(isError ? errorOrMessage.message : String(errorOrMessage), {
    knowledge: "unknown",
    final: false,
    ...(isError ? { cause: errorOrMessage } : {}),
    ...(code === undefined ? {} : { code }),
    ...(retryAfter === undefined ? {} : { retryAfterMs: durationMs(retryAfter, "transient(..., { retryAfter })") }),
  });
}
