/**
 * What a test leaves behind to show that it saw something: one line a claim in `test/.evidence.jsonl`. A title that
 * carries an id (`P09`, `I3`, `R035`) must leave a line with that id; `scripts/evidence.mjs` fails `npm test` otherwise.
 */
import { appendFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { CheckReport } from "./checker.ts";

const file = fileURLToPath(new URL("../.evidence.jsonl", import.meta.url));

/** At least one of these must be there: a line with nothing observed is no evidence. */
export interface Observed {
  /** Processes that were killed, and the signal with which they were seen to end. */
  readonly killed?: readonly { readonly pid: number; readonly signal: string }[];
  readonly arrivals?: number;
  readonly effects?: number;
  /** What was checked, in words (the checker's invariants among them). */
  readonly checks: readonly string[];
  /** For a refusal: its code and message. */
  readonly refusal?: { readonly code: string; readonly message: string };
  /** For a suite: its name and how many tests it ran. */
  readonly suite?: { readonly name: string; readonly count: number };
}

/** Appends one line for each id. */
export function leaveEvidence(ids: string | readonly string[], observed: Observed): void {
  for (const id of typeof ids === "string" ? [ids] : ids) {
    appendFileSync(file, `${JSON.stringify({ id, at: new Date().toISOString(), ...observed })}\n`);
  }
}

/** The three witnesses agree: what the checker counted and checked is left for each id, beside what else was seen. */
export function leaveProof(
  ids: string | readonly string[],
  { violations, arrivals, effects, checks }: CheckReport,
  seen: Pick<Observed, "killed" | "checks">,
): void {
  expect(violations).toEqual([]);
  leaveEvidence(ids, { ...seen, arrivals, effects, checks: [...seen.checks, ...checks] });
}
