/**
 * What is wrong, or doubtful, about a declaration, as data. Owns the shape and the one error that carries it; the rules
 * are `step.ts`'s, `saga.ts`'s and `lint.ts`'s. Invariant: every finding says where it is and how it is mended.
 */
import { RepriseError } from "../errors.ts";

/** One finding about a declaration. An `error` refuses it; a `warning` is printed by `reprise lint`. */
export interface Finding {
  readonly level: "error" | "warning";
  /** A stable word for programs, e.g. `WILDCARD_EVENT`. */
  readonly code: string;
  readonly saga: string | null;
  /** Path of the state inside the machine, e.g. `booking.flight`; `null`: it is about the saga or step as a whole. */
  readonly state: string | null;
  readonly step: string | null;
  /** What is wrong. */
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
}

/** A finding on one line: where, what, how to mend it. */
export function formatFinding(finding: Finding): string {
  const where = [
    finding.saga === null ? null : `saga "${finding.saga}"`,
    finding.state === null ? null : `state "${finding.state}"`,
    finding.step === null ? null : `step "${finding.step}"`,
  ].filter((part) => part !== null);
  const prefix = where.length === 0 ? "" : `${where.join(", ")}: `;
  return `${prefix}${finding.message}. ${finding.fix}. [${finding.code}]`;
}

/** Throws one `DEFINITION_INVALID` that lists all errors among the findings; `details.findings` holds them as data. */
export function refuseErrors(findings: readonly Finding[]): void {
  const errors = findings.filter((finding) => finding.level === "error");
  if (errors.length === 0) return;
  const lines = errors.map((finding) => `  - ${formatFinding(finding)}`);
  const title = errors.length === 1 ? "This declaration cannot be made durable" : `${errors.length} problems`;
  throw new RepriseError("DEFINITION_INVALID", `${title}:\n${lines.join("\n")}`, { details: { findings: errors } });
}

/** Steps and sagas: they become parts of operation ids, keys and state names. */
const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Pools and queues. */
const poolPattern = /^[A-Za-z0-9_.-]{1,64}$/;
const eventPattern = /^[A-Za-z][\w.:-]{0,99}$/;
/** Would be found on every object by its prototype, or name it. */
const inherited = new Set(["constructor", "prototype", ...Object.getOwnPropertyNames(Object.prototype)]);

/** Why `name` cannot name a step or a saga; `null`: it can. */
export function nameProblem(name: unknown): string | null {
  if (typeof name !== "string" || !namePattern.test(name)) {
    return "must be 1 to 64 letters, digits, _ or -, starting with a letter";
  }
  return inherited.has(name) ? "is a name that every JavaScript object already has" : null;
}

/** Why `name` cannot name a queue or a pool; `null`: it can. */
export function poolProblem(name: unknown): string | null {
  return typeof name === "string" && poolPattern.test(name) ? null : "must be 1 to 64 letters, digits, _, . or -";
}

/** Is it a name that only XState itself may send? */
export function isReservedEvent(name: string): boolean {
  return /^(xstate|done|error)(\.|$)/.test(name);
}

/** Why `name` cannot be an event that comes from outside; `null`: it can. */
export function eventProblem(name: string): string | null {
  if (isReservedEvent(name)) return "begins with xstate, done or error, which belong to XState";
  if (!eventPattern.test(name)) return "must be 1 to 100 letters, digits, _ . : or -, starting with a letter";
  return inherited.has(name) ? "is a name that every JavaScript object already has" : null;
}
