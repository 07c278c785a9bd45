/**
 * Going back to a savepoint: what came after it is undone like in any unwind, and then the machine stands there again and its
 * steps are asked for anew (design 7.8). Owns when that is refused, and how the run goes on.
 *
 * Invariants: S1 nothing that stands is made again unless a person says so. S2 no row is called again: the steps are new rows,
 * with operation ids of their own. S3 the machine goes on only when nothing of what came after is open.
 */
import type { SagaSpec, StepSpec } from "../../saga/index.ts";
import { addRow } from "../calls/new-row.ts";
import { type Draft, note, patchRow, rowAt, stepOf } from "../draft.ts";
import { effectiveClass, staysAt } from "../rows.ts";
import type { Cause, Row, Savepoint, Unwind, VerbCommand } from "../run/index.ts";
import { countChange } from "../size.ts";
import { pivotIn, startRewind } from "./unwind-start.ts";

type Rewind = Extract<VerbCommand, { readonly verb: "rewind" }>;

/** Starts to go back; answers why not. */
export function rewind(draft: Draft, { to: state, reason, despite }: Rewind, by: string): string | null {
  const { record, rows, input } = draft;
  const to = record.savepoints.find((each) => each.state === state);
  if (to === undefined) {
    return `it has no savepoint ${state}, but ${record.savepoints.map((each) => each.state).join(", ")}`;
  }
  const problem = despite ? null : objectionToRewind(input.machine.saga, rows, to);
  if (problem !== null) return problem;
  record.interruptions = 0;
  const cause: Cause = { kind: "undone", step: null, message: reason, reference: by };
  startRewind(draft, cause, { to, despitePivot: despite });
  return null;
}

/** What going back would pass, or make again although it stands; `null`: nothing. */
function objectionToRewind(saga: SagaSpec, rows: readonly Row[], to: Savepoint): string | null {
  const after = rows.filter((row) => !staysAt(to, row));
  const pivot = pivotIn(saga, after);
  if (pivot !== null) return `a point of no return was passed since (${pivot}): say despite, and why`;
  const standing = after.find((row) => stays(row, saga));
  if (standing === undefined) return null;
  return `${standing.step} (row ${standing.seq}) is not undone, and would be made again: say despite, and why`;
}

/** Is, or may be, an effect there that the unwind leaves? */
function stays({ step, call, undo, abandoned }: Row, { steps }: SagaSpec): boolean {
  const spec = steps[step] as StepSpec;
  if (abandoned || spec.compensation !== null || effectiveClass(call, spec) === "none") return false;
  const isProvenAbsent = call.state === "not_applied" || call.state === "withdrawn" || call.firstSentAt === null;
  return !isProvenAbsent && undo?.state !== "done";
}

/** A cancel that comes while a run goes back to a savepoint: it goes all the way. */
export function goAllTheWay({ record }: Draft, { to, ...unwind }: Unwind, cause: Cause): void {
  if (to === undefined) return;
  record.cause = cause;
  record.unwind = { ...unwind, cause, ends: "cancelled", despitePivot: false };
}

/** Once everything after it is undone, the machine stands at the savepoint again. */
export function goOnFromSavepoint(draft: Draft): void {
  const { record, rows, input } = draft;
  const to = record.unwind?.to;
  if (to === undefined || record.review !== null) return;
  if (!draft.open.every((seq) => staysAt(to, rowAt(draft, seq)))) return;
  const { state, start } = to;
  for (const row of rows.slice()) if (!staysAt(to, row)) patchRow(draft, row.seq, { told: "nothing" });
  record.unwind = null;
  record.cause = null;
  record.snapshot = start.snapshot;
  record.timers = start.timers.map(({ id, delayMs, event }) => ({ id, at: input.now + delayMs, event }));
  note(draft, { what: "rewound", state, start });
  for (const seq of start.waits) askAnew(draft, rowAt(draft, seq));
}

function askAnew(draft: Draft, row: Row): void {
  const { invoke, region, regionEntry, input, intent } = row;
  countChange(draft, null, input);
  addRow(draft, { step: stepOf(draft, row), key: intent?.key ?? null, invoke, region, regionEntry, input, tool: null });
}
