/**
 * Parents and children compared, at rest: F1 every run was started by somebody on record. F2 what a parent says of a child is
 * so. F3 no child of a run that has gone back for good stands, unless a person has left it. F4 a child is of one row.
 */
import { childRef, hasEnded, type Row, type Run, type RunRecord, runKey, type Store } from "../../src/core/index.ts";

export async function checkFamilies(store: Pick<Store, "list">, runs: readonly Run[]): Promise<readonly string[]> {
  const known = new Map(runs.map((run) => [runKey(run.record), run]));
  const problems = runs.flatMap((run) => problemsOf(run, known));
  const { runs: all } = await store.list({ tenant: "t", limit: 1_000 });
  for (const each of all) if (!known.has(runKey(each))) problems.push(`F1: nobody on record has started ${each.id}`);
  if (known.size !== runs.length) problems.push("F4: a run is a child of two rows");
  return problems;
}

function problemsOf({ record, rows }: Run, known: ReadonlyMap<string, Run>): readonly string[] {
  return rows.filter(({ kind }) => kind === "child").flatMap((row) => problemsOfRow(record, row, known));
}

function problemsOfRow(parent: RunRecord, row: Row, known: ReadonlyMap<string, Run>): readonly string[] {
  const child = known.get(runKey(childRef(parent, row)))?.record;
  const { call, undo, seq } = row;
  const say = (what: string) => [`F2: ${parent.id} row ${seq}: ${what} (${child?.status} ${child?.rollback})`];
  if (child === undefined) {
    const mayBe = call.state === "withdrawn" || call.state === "not_applied" || call.proof === "person" || isLeft(row);
    return mayBe ? [] : say("its child is not there");
  }
  if (child.parent?.run !== parent.id || child.parent.seq !== seq) return say("it is somebody else's");
  if (child.parent.detached || isLeft(row) || call.proof === "person" || undo?.call?.proof === "person") return [];
  if (call.state === "withdrawn") return say("it was withdrawn and is there");
  if (hasEnded(parent.status) && !hasEnded(child.status)) return say("its parent has ended and it has not");
  if (undo?.state === "done" && child.status === "completed") return say("it was called undone");
  if (undo?.state === "done" && child.rollback === "partial") return say("it was called undone and stands in part");
  if (call.state === "not_applied" && child.status === "completed") return say("it was called not applied");
  const isWanted = row.told === "outcome" && undo === null;
  return isWanted && child.status !== "completed" ? say("its result was taken") : [];
}

/** A person has left it as it is. */
function isLeft({ undo }: Row): boolean {
  return undo?.state === "skipped" || undo?.state === "accepted";
}
