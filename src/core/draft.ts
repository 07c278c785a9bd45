/**
 * The workbench of one decision: a run being changed before it becomes a commit. Lives for one `decide` and never leaves
 * core, so `decide` stays pure. Owns how rows and calls are rewritten; decides nothing.
 */
import type { CallSpec, EffectClass, StepSpec } from "../saga/index.ts";
import type { CallOrder, DecideInput, Offer } from "./decision.ts";
import type { MachineView } from "./machine-port.ts";
import type { Call, InboxEntry, Review, Row, Run, RunRecord, Taken } from "./run.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
export type Side = "action" | "undo";

export interface Draft {
  readonly before: Run;
  readonly input: DecideInput;
  readonly record: Mutable<RunRecord>;
  readonly rows: Row[];
  readonly changed: Set<number>;
  readonly inbox: InboxEntry[];
  readonly consumed: string[];
  readonly taken: Taken[];
  readonly calls: CallOrder[];
  readonly offers: Offer[];
  readonly abort: Set<string>;
  readonly withdraw: { readonly seq: number; readonly send: number }[];
  readonly settledPermits: number[];
  readonly abortPermits: number[];
  /** Live permits told by the store: no offer is repeated for them. */
  readonly permits: Map<number, { readonly until: number }>;
  stopping: boolean;
}

export function draftOf(run: Run, input: DecideInput): Draft {
  return {
    before: run,
    input,
    record: { ...run.record },
    rows: run.rows.slice(),
    changed: new Set(),
    inbox: run.inbox.slice(),
    consumed: [],
    taken: [],
    calls: [],
    offers: [],
    abort: new Set(),
    withdraw: [],
    settledPermits: [],
    abortPermits: [],
    permits: new Map(),
    stopping: false,
  };
}

/** Has the draft anything to write? */
export function isDirty(draft: Draft): boolean {
  return draft.taken.length > 0 || draft.changed.size > 0 || draft.consumed.length > 0;
}

export function rowAt(draft: Draft, seq: number): Row {
  const row = draft.rows[seq - 1];
  if (row === undefined) throw new RangeError(`run ${draft.record.id} has no ledger row ${seq}`);
  return row;
}

export function putRow(draft: Draft, row: Row): Row {
  draft.rows[row.seq - 1] = row;
  draft.changed.add(row.seq);
  return row;
}

export function patchRow(draft: Draft, seq: number, patch: Partial<Row>): Row {
  return putRow(draft, { ...rowAt(draft, seq), ...patch });
}

/** The call of one side of a row. */
export function callOf(row: Row, side: Side): Call | null {
  return side === "action" ? row.call : (row.undo?.call ?? null);
}

export function patchCall(draft: Draft, seq: number, side: Side, patch: Partial<Call>): Row {
  const row = rowAt(draft, seq);
  if (side === "action") return putRow(draft, { ...row, call: { ...row.call, ...patch } });
  if (row.undo === null || row.undo.call === null) return row;
  return putRow(draft, { ...row, undo: { ...row.undo, call: { ...row.undo.call, ...patch } } });
}

export function note(draft: Draft, taken: Taken): void {
  draft.taken.push(taken);
}

export function stepOf(draft: Draft, row: Row): StepSpec {
  const step = draft.input.machine.saga.steps[row.step];
  if (step === undefined) throw new RangeError(`saga ${draft.record.saga} has no step ${row.step}`);
  return step;
}

/** How a side of a row is called and judged today. */
export function specOf(draft: Draft, row: Row, side: Side): CallSpec {
  const step = stepOf(draft, row);
  return side === "action" ? step : (step.compensation ?? step);
}

const strictness: Readonly<Record<EffectClass, number>> = { none: 0, idempotent: 1, keyed: 2, once: 3 };

/** The stricter of the class at the first `sent` and today's. */
export function effectiveClass(call: Call, spec: CallSpec): EffectClass {
  return strictness[call.effect] >= strictness[spec.effect] ? call.effect : spec.effect;
}

/** A call nobody has made yet. */
export function newCall(effect: EffectClass, now: number): Call {
  return {
    state: "planned",
    attempt: 0,
    send: 0,
    effect,
    firstSentAt: null,
    firstSentRevision: null,
    sentAt: null,
    deadline: null,
    fence: null,
    nextAt: now,
    doubtUntil: null,
    interruptions: 0,
    probes: 0,
    probeAt: null,
    error: null,
    proof: null,
    evidence: null,
    generation: 1,
  };
}

/** Does the row still owe anything? */
export function rowIsOpen(row: Row): boolean {
  const { state } = row.call;
  if (state === "planned" || state === "offered" || state === "sent") return true;
  if (row.undo !== null) return row.undo.state === "owed" || row.undo.state === "sent" || row.undo.state === "halted";
  return state === "unknown" || (state !== "withdrawn" && !row.told && !row.abandoned);
}

/** What the machine may see of the run. */
export function viewOf(draft: Draft): MachineView {
  const results: Record<string, Row["output"]> = {};
  const invocations = new Map<string, string>();
  for (const row of draft.rows) {
    if (row.call.state === "succeeded" && !row.unusable) results[row.step] = row.output;
    if (!row.told && !row.abandoned && row.call.state !== "withdrawn") invocations.set(row.invoke, row.step);
  }
  return { input: draft.record.input, results, invocations };
}

export function isParked(draft: Draft): boolean {
  return draft.record.review !== null;
}

/** Parks the run for a person; the first reason stands until a verb is taken. */
export function park(draft: Draft, review: Omit<Review, "n" | "since">): void {
  if (draft.record.review !== null) return;
  const n = draft.record.reviews + 1;
  draft.record.reviews = n;
  draft.record.review = { ...review, n, since: draft.input.now };
  note(draft, { what: "parked", note: `${review.reason}: ${review.message}` });
}
