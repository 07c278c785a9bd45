/**
 * A fork: a new run that begins where another one stood before one of its steps. Owns where that was (read back from the log,
 * and verified by its digests), which rows go with it, and what it must not touch.
 *
 * Invariants: F1 what had happened before is reused: it is not called again, it belongs to the other run, and the fork never
 * undoes it. F2 what the machine waited for then is asked for anew, under operation ids of the fork. F3 where the log does not
 * lead to what its digests say, or a reused effect is not there any more, there is no fork.
 */
import type { StepSpec } from "../../saga/index.ts";
import { newIntent } from "../calls/new-row.ts";
import { type Stand, standBefore } from "../change/fold.ts";
import { begin } from "../decide.ts";
import { entryDigest } from "../digest.ts";
import { operationId } from "../ids.ts";
import type { Machine, MachineState } from "../machine/port.ts";
import { newCall, rowIsOpen } from "../rows.ts";
import type { ForkStart, LogEntry, Row, RunRecord, UndoState } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import type { Judged } from "../telling/verdict.ts";

/** The moment before a step, as the log tells it. */
export type Moment =
  | {
      readonly ok: true;
      readonly start: ForkStart;
      /** Rows whose outputs the machine had. */
      readonly used: ReadonlySet<number>;
    }
  | { readonly ok: false; readonly problem: string };

/** Finds when the run had just asked for a row. */
export function momentBefore({ record, rows, log = [] }: Judged, machine: Machine, seq: number): Moment {
  const entries = log.filter(({ revision }) => revision <= record.revision);
  if (entries.length < record.revision - record.logFrom + 1) return notReproducible("the log is not whole");
  const stand = standBefore(machine, { record, rows }, entries, seq);
  return "problem" in stand ? notReproducible(stand.problem) : momentOf(stand, seq);
}

function momentOf({ snapshot, asked, waits, used, timers }: Stand, seq: number): Moment {
  if (!waits.includes(seq)) return notReproducible(`row ${seq} was left in the moment in which it was asked for`);
  // A row is asked for by a turn, and a turn leaves a snapshot.
  return { ok: true, used, start: { snapshot: snapshot as MachineState, rows: asked, waits, timers } };
}

function notReproducible(why: string): Moment {
  return { ok: false, problem: `what it was before that step cannot be told (not_reproducible): ${why}` };
}

/** Why the rows before the moment cannot be reused; `null`: they can. */
export function objectionToReuse(
  { record, rows }: Judged,
  { start, used }: Extract<Moment, { readonly ok: true }>,
): string | null {
  if (record.unwind !== null && !hasEnded(record.status)) return "it is being undone";
  for (const row of reused(rows, start)) {
    const { call, undo, step, seq } = row;
    if (call.state !== "succeeded" && rowIsOpen(row))
      return `${step} (row ${seq}) is open: nobody knows what it will be`;
    const isGone = undo !== null && !stays.has(undo.state);
    if (used.has(seq) && isGone) return `${step} (row ${seq}) is undone, or is to be: its outcome cannot be reused`;
  }
  return null;
}

/** What became of an effect that is there. */
const stays: ReadonlySet<UndoState> = new Set(["kept", "skipped", "accepted", "not_needed"]);

function reused(rows: readonly Row[], { rows: count, waits }: ForkStart): readonly Row[] {
  return rows.slice(0, count).filter(({ seq }) => !waits.includes(seq));
}

/** How a fork comes to be. */
export interface ForkInput {
  readonly judged: Judged;
  readonly machine: Machine;
  readonly moment: Extract<Moment, { readonly ok: true }>;
  /** Of the new run. */
  readonly id: string;
  readonly now: number;
  /** What it is executed by. */
  readonly plan: string;
  readonly by: string;
  readonly reason: string;
  readonly trace?: string | null;
}

/** The first record, ledger and log entry of a fork. */
export function fork(input: ForkInput): {
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly log: LogEntry;
} {
  const { judged, machine, moment, id, now, plan, by, reason, trace = null } = input;
  const { start, used } = moment;
  const { record: of } = judged;
  const { tenant, hash, priority, revision } = of;
  const origin = { run: of.id, revision, plan, by, reason };
  const first = begin({
    ...{ machine, hash, tenant, id, input: of.input, priority, now, startAt: now },
    replays: of.replays + 1,
    trace,
    replayOf: { mode: "fork", start, ...origin },
  });
  const rows = judged.rows.slice(0, start.rows).map((row) => {
    return start.waits.includes(row.seq) ? askedAnew(row, machine, now) : kept(judged, row, used.has(row.seq));
  });
  const digest = entryDigest(hash, first.log, start.snapshot);
  const record: RunRecord = {
    ...first.record,
    snapshot: start.snapshot,
    rows: rows.length,
    open: rows.filter(rowIsOpen).map(({ seq }) => seq),
    regionEntries: entriesOf(rows),
    timers: start.timers.map(({ id: timer, delayMs, event }) => ({ id: timer, at: now + delayMs, event })),
    logDigest: digest,
  };
  return { record, rows, log: { ...first.log, digest } };
}

function askedAnew(row: Row, { saga }: Machine, now: number): Row {
  // The log has just been read back over this very machine.
  const { effect, deadlineMs } = saga.steps[row.step] as StepSpec;
  // People are asked by the fork itself.
  const blank = {
    approval: null,
    progress: null,
    output: null,
    unusable: false,
    abandoned: false,
    told: null,
    undo: null,
  } as const;
  const intent = row.intent === null ? null : newIntent(row.intent.key);
  const { spent: _, ...asked } = row;
  const dueBy = deadlineMs === null ? null : now + deadlineMs;
  return { ...asked, ...blank, dueBy, call: newCall(effect, now), intent, child: null, reference: null };
}

/** It happened in the other run, which answers for it: to its intent, too. */
function kept({ namespace, record }: Judged, row: Row, isUsed: boolean): Row {
  if (row.call.state !== "succeeded" || row.undo?.state === "done") return row;
  const known = operationId(namespace, record, row);
  const told = isUsed ? "outcome" : row.told;
  const undo = { state: "kept", call: null, reason: `it belongs to run ${record.id} (${known})` } as const;
  return { ...row, told, call: { ...row.call, state: "reused" }, intent: null, undo };
}

/** A region was entered as often as its rows say. */
function entriesOf(rows: readonly Row[]): Readonly<Record<string, number>> {
  const entries: Record<string, number> = {};
  for (const { region, regionEntry } of rows) {
    const innermost = region.at(-1);
    if (innermost !== undefined) entries[innermost] = Math.max(entries[innermost] ?? 0, regionEntry);
  }
  return entries;
}
