/**
 * The workbench of one decision: a run being changed before it becomes a commit. Lives for one `decide` and never leaves
 * core, so `decide` stays pure. Owns how rows and calls are rewritten; decides nothing.
 */
import type { CallSpec, Json, StepSpec } from "../saga/index.ts";
import type { CallOrder, ClaimOrder, DecideInput, Offer, PublishOrder, TurnOrder } from "./decision.ts";
import type { MachineState, MachineView } from "./machine/port.ts";
import type { PermitState } from "./ports.ts";
import { callOf, isAwaited, rowIsOpen, type Side } from "./rows.ts";
import type { Call, InboxEntry, LogEntry, Row, Run, RunRecord, Taken, Undo } from "./run/index.ts";

export type { Side } from "./rows.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** One side of one row. */
export interface Place {
  readonly seq: number;
  readonly side: Side;
}

export interface Draft {
  readonly before: Run;
  readonly input: DecideInput;
  /** The revision that this decision writes. */
  revision: number;
  /** Entries written before its own, in place of those that the store has forgotten. */
  lost: readonly LogEntry[];
  readonly record: Mutable<RunRecord>;
  readonly rows: Row[];
  /** Seqs of the rows that owe something now, ascending. Replaced, never changed, so it may be walked meanwhile. */
  open: readonly number[];
  readonly inbox: InboxEntry[];
  readonly consumed: string[];
  readonly taken: Taken[];
  readonly calls: CallOrder[];
  readonly offers: Offer[];
  readonly claims: ClaimOrder[];
  readonly publishes: PublishOrder[];
  turn: TurnOrder | null;
  readonly abort: string[];
  readonly withdraw: { readonly seq: number; readonly send: number }[];
  readonly settledPermits: number[];
  readonly abortPermits: number[];
  /** Permits of remote workers, as far as the store said. */
  readonly permits: PermitState[];
  /** Positions of events that no transition of `ignoredBy` takes. */
  ignored: Set<number> | null;
  ignoredBy: MachineState | null;
  /** While it unwinds: the rows whose calls may be granted, as far as the order goes. */
  next: ReadonlySet<number>;
  /** How often something was written to the draft: nothing more follows once a round leaves it as it was. */
  writes: number;
  /** The worker is told to stop: nothing is granted or asked. */
  stopping: boolean;
  /** There was more to do than one decision may. */
  more: boolean;
  /** It closes what somebody may have answered in time: it counts only where nothing newer was sent. */
  mustSee: boolean;
  /** It is another driver's to go on with: nothing is concluded here. */
  handsOver: boolean;
}

const none: ReadonlySet<number> = new Set();

export function draftOf(run: Run, input: DecideInput): Draft {
  return {
    before: run,
    input,
    revision: run.record.revision + 1,
    lost: [],
    record: { ...run.record },
    rows: run.rows.slice(),
    open: run.record.open,
    inbox: run.inbox.slice(),
    consumed: [],
    taken: [],
    calls: [],
    offers: [],
    claims: [],
    publishes: [],
    turn: null,
    abort: [],
    withdraw: [],
    settledPermits: [],
    abortPermits: [],
    permits: [],
    ignored: null,
    ignoredBy: null,
    next: none,
    writes: 0,
    stopping: false,
    more: false,
    mustSee: false,
    handsOver: false,
  };
}

/** Has the draft anything to write? */
export function isDirty(draft: Draft): boolean {
  return draft.writes > 0;
}

export function rowAt(draft: Draft, seq: number): Row {
  const row = draft.rows[seq - 1];
  if (row === undefined) throw new RangeError(`run ${draft.record.id} has no ledger row ${seq}`);
  return row;
}

export function putRow(draft: Draft, row: Row): void {
  draft.rows[row.seq - 1] = row;
  draft.writes += 1;
  const { seq } = row;
  const isOpen = draft.open.includes(seq);
  if (rowIsOpen(row) === isOpen) return;
  draft.open = isOpen ? draft.open.filter((open) => open !== seq) : [...draft.open, seq].sort((a, b) => a - b);
}

/** Stops a call of this driver: `action:<seq>`, `undo:<seq>`. */
export function abortCall(draft: Draft, { seq, side }: Place): void {
  draft.abort.push(`${side}:${seq}`);
}

export function patchRow(draft: Draft, seq: number, patch: Partial<Row>): void {
  putRow(draft, { ...rowAt(draft, seq), ...patch });
}

/** The call at a place; throws where there is none (asked only of places that have one). */
export function callAt(draft: Draft, { seq, side }: Place): Call {
  const call = callOf(rowAt(draft, seq), side);
  if (call === null) throw new RangeError(`row ${seq} has no compensation`);
  return call;
}

/** Rewrites a call; a compensation's place in the unwind (`owed`, `sent`) follows what it is now. */
export function patchCall(draft: Draft, place: Place, patch: Partial<Call>): void {
  const row = rowAt(draft, place.seq);
  const call = { ...callAt(draft, place), ...patch };
  if (place.side === "action") return putRow(draft, { ...row, call });
  const state = call.state === "planned" ? "owed" : call.state === "sent" || call.state === "unknown" ? "sent" : null;
  // `callAt` has just found a call in it.
  const undo = row.undo as Undo;
  putRow(draft, { ...row, undo: { ...undo, call, state: state ?? undo.state } });
}

export function note(draft: Draft, taken: Taken): void {
  draft.taken.push(taken);
  draft.writes += 1;
}

export function stepOf(draft: Draft, row: Row): StepSpec {
  const step = draft.input.machine.saga.steps[row.step];
  if (step === undefined) throw new RangeError(`saga ${draft.record.saga} has no step ${row.step}`);
  return step;
}

/** How a side of a row is called and judged today. (An owed compensation that today's code lacks is a defect of its call.) */
export function specOf(draft: Draft, row: Row, side: Side): CallSpec {
  const step = stepOf(draft, row);
  return side === "action" ? step : (step.compensation ?? step);
}

interface Viewed {
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly open: readonly number[];
}

/** What the machine may see of the run, worked out when it is looked at. */
export function viewOf(draft: Viewed): MachineView {
  return new View(draft);
}

class View implements MachineView {
  readonly #draft: Viewed;

  constructor(draft: Viewed) {
    this.#draft = draft;
  }

  get input(): Json {
    return this.#draft.record.input;
  }

  get results(): MachineView["results"] {
    const results: Record<string, Json> = {};
    for (const row of this.#draft.rows) {
      if (row.told === "outcome" && row.tool === null) results[row.step] = row.output;
    }
    return results;
  }

  get invocations(): MachineView["invocations"] {
    // What is open is in the ledger.
    const rows = this.#draft.open.map((seq) => this.#draft.rows[seq - 1] as Row);
    return new Map(rows.filter(isAwaited).map((row) => [row.invoke, row.step]));
  }
}

export function isParked(draft: Draft): boolean {
  return draft.record.review !== null;
}

/** The entry is read; its slot stays taken. */
export function consume(draft: Draft, entry: InboxEntry): void {
  draft.inbox.splice(draft.inbox.indexOf(entry), 1);
  draft.consumed.push(entry.slot);
  draft.writes += 1;
}
