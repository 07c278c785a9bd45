/**
 * Parents and children compared, at rest: F1 every run was started by somebody on record. F2 what a parent says of a child is
 * so. F3 no child of a run that has gone back for good stands, unless a person has left it. F4 a child is of one row. F5 a run
 * that has ended, killed and stopped ones among them, leaves no child of its own going. F6 a child is undone at most once by its
 * parent. F7 a detached child is asked nothing by its parent.
 */
import {
  childRef,
  hasEnded,
  type LogEntry,
  type Row,
  type Run,
  type RunRecord,
  runKey,
  type Store,
  type Taken,
} from "../../src/core/index.ts";

/** A run with its log. */
interface Told {
  readonly run: Run;
  readonly log: readonly LogEntry[];
}
type Known = ReadonlyMap<string, Told>;

export async function checkFamilies(
  store: Pick<Store, "list" | "log">,
  runs: readonly Run[],
): Promise<readonly string[]> {
  const told = await Promise.all(runs.map(async (run) => ({ run, log: await store.log(run.record) })));
  const known = new Map(told.map((each) => [runKey(each.run.record), each]));
  const problems = runs.flatMap((run) => problemsOf(run, known));
  problems.push(...told.flatMap(problemsOfChild));
  const { runs: all } = await store.list({ tenant: "t", limit: 1_000 });
  for (const each of all) if (!known.has(runKey(each))) problems.push(`F1: nobody on record has started ${each.id}`);
  if (known.size !== runs.length) problems.push("F4: a run is a child of two rows");
  return problems;
}

function problemsOf({ record, rows }: Run, known: Known): readonly string[] {
  return rows.filter(({ kind }) => kind === "child").flatMap((row) => problemsOfRow(record, row, known));
}

function problemsOfRow(parent: RunRecord, row: Row, known: Known): readonly string[] {
  const told = known.get(runKey(childRef(parent, row)));
  const child = told?.run.record;
  const { call, undo, seq } = row;
  const say = (what: string) => [`F2: ${parent.id} row ${seq}: ${what} (${child?.status} ${child?.rollback})`];
  if (told === undefined || child === undefined) return mayBeAbsent(row) ? [] : say("its child is not there");
  if (child.parent?.run !== parent.id || child.parent.seq !== seq) return say("it is somebody else's");
  if (child.parent.detached) return [];
  if (hasEnded(parent.status) && !hasEnded(child.status) && call.proof !== "person" && !isClosed(parent, undo))
    return [`F5: ${parent.id} has ended and leaves ${child.id} going (${child.status})`];
  if (isLeft(row) || call.proof === "person" || undo?.call?.proof === "person") return [];
  // Who goes back while nobody knows whether it was started starts it cancelled, so that nobody can start it any more.
  if (call.state === "withdrawn" && undo?.state !== "done") return say("it was withdrawn and is there");
  if (undo?.state === "done" && child.status === "completed") return say("it was called undone");
  if (undo?.state === "done" && child.rollback === "partial") return say("it was called undone and stands in part");
  if (call.state === "not_applied" && child.status === "completed") return say("it was called not applied");
  const isWanted = row.told === "outcome" && undo === null;
  const isTaken = child.status === "completed" || wasUndoneBySomebody(told, parent);
  return isWanted && !isTaken ? say("its result was taken") : [];
}

/** Nobody has started it, or nobody knows: one that goes its own way is not looked for by who goes back. */
function mayBeAbsent(row: Row): boolean {
  const { call, undo } = row;
  if (call.state === "withdrawn" || call.state === "not_applied" || call.proof === "person") return true;
  return isLeft(row) || (call.state === "unknown" && undo?.state === "kept");
}

/** A person has left it as it is. */
function isLeft({ undo }: Row): boolean {
  return undo?.state === "skipped" || undo?.state === "accepted";
}

/** A person has closed the parent over it, or said that it is undone. */
function isClosed({ cancel }: RunRecord, undo: Row["undo"]): boolean {
  return (undo?.state === "accepted" && cancel?.mode !== "kill") || undo?.call?.proof === "person";
}

// ---- what a child was asked

function problemsOfChild({ run: { record }, log }: Told): readonly string[] {
  const { parent, id } = record;
  if (parent === null) return [];
  const asked = askedBy(log, (by) => by === `run ${parent.run}`);
  if (parent.detached && asked.length > 0) return [`F7: ${parent.run} has asked ${id}, which is detached: ${asked}`];
  const undone = asked.filter((each) => each === "undo").length;
  return undone > 1 ? [`F6: ${parent.run} has undone ${id} ${undone} times`] : [];
}

/** A person has undone it alone, after its parent had taken its result. */
function wasUndoneBySomebody({ log }: Told, parent: RunRecord): boolean {
  return askedBy(log, (by) => by !== `run ${parent.id}`).includes("undo");
}

/** What was taken of what they asked; what was refused is none of it. */
function askedBy(log: readonly LogEntry[], isBy: (by: string) => boolean): readonly string[] {
  return log.flatMap(({ taken }) =>
    taken.flatMap((each, at) => (isAsk(each, taken[at + 1]) && isBy(each.by) ? [each.control] : [])),
  );
}

function isAsk(taken: Taken, next: Taken | undefined): taken is Extract<Taken, { readonly what: "control" }> {
  return taken.what === "control" && next?.what !== "refused";
}
