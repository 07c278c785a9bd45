/** What a run went through: its time, and how it stood at two revisions. Reads only; the log is folded by core. */
import { foldLog, type LogEntry, type RunRef, type RunStatus, type Timeline, timelineOf } from "../core/index.ts";
import type { Json } from "../saga/index.ts";
import { type Change, changesOf } from "./changes.ts";
import { invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { judgedRun } from "./judged.ts";

/** How a run stood after one of its revisions. */
export interface StandAt {
  readonly revision: number;
  readonly at: number;
  readonly status: RunStatus;
  /** The machine's state value; `null`: it had not begun. */
  readonly state: Json;
  readonly context: Json;
}

/** What differs between two revisions, and what happened from one to the other. */
export interface RunDifference {
  readonly from: StandAt;
  readonly to: StandAt;
  /** Parts of `status`, `state` and `context` that differ. */
  readonly changes: readonly Change[];
  /** The entries after `from`, up to `to`. */
  readonly entries: readonly LogEntry[];
  /** Why the log does not lead there (it is kept from a later revision on, or the machine is not pure); then nothing is compared but the status. */
  readonly problem: string | null;
}

/** Throws RUN_NOT_FOUND. */
export async function timeline(connection: Connection, run: RunRef): Promise<Timeline> {
  const judged = await judgedRun(connection, run, { withLog: true });
  return timelineOf({ ...judged, log: judged.log ?? [] });
}

/** Throws RUN_NOT_FOUND, SAGA_UNKNOWN, INPUT_INVALID. */
export async function difference(
  connection: Connection,
  run: RunRef,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<RunDifference> {
  const { machine, record, rows, log = [] } = await judgedRun(connection, run, { withLog: true });
  const [before, after] = [entryAt(log, from), entryAt(log, to)];
  if (from >= to) throw invalid("INPUT_INVALID", "from", `revision ${from} is not before revision ${to}`);
  if (machine === null) throw connection.unknownStructure(record.saga, record.version);
  const steps = foldLog(machine, { record, rows }, log);
  const [first, second] = [standAt(before, steps), standAt(after, steps)];
  const problem = problemOf(steps, from, to);
  return {
    ...{ from: first, to: second, problem },
    changes: changesOf(comparedOf(first), comparedOf(second)),
    entries: log.filter(({ revision }) => revision > from && revision <= to),
  };
}

function entryAt(log: readonly LogEntry[], revision: number): LogEntry {
  const entry = log.find((each) => each.revision === revision);
  if (entry !== undefined) return entry;
  const kept = `${log[0]?.revision ?? 1} to ${log.at(-1)?.revision ?? 1}`;
  throw invalid("INPUT_INVALID", "revision", `there is none ${revision}; the log has ${kept}`);
}

type Steps = ReturnType<typeof foldLog>;

function standAt({ revision, at, to: status }: LogEntry, steps: Steps): StandAt {
  const snapshot = steps.find((step) => step.revision === revision && step.problem === null)?.snapshot ?? null;
  return { revision, at, status, state: snapshot?.value ?? null, context: snapshot?.context ?? null };
}

function comparedOf({ status, state, context }: StandAt): Json {
  return { status, state, context };
}

/** Of a log that is read from a later entry on, what comes before is not known. */
function problemOf(steps: Steps, from: number, to: number): string | null {
  const broken = steps.find(({ problem, revision }) => problem !== null && revision <= to);
  if (broken !== undefined) return `revision ${broken.revision}: ${broken.problem}`;
  const first = steps[0]?.revision ?? to;
  return first > from ? `it moved to another version in revision ${first}: what it was before is not known here` : null;
}
