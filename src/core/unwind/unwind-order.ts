/**
 * The order of going back: strict reverse of the order of first `sent` (its revision, then seq); under `parallel-regions`
 * rows of sibling regions side by side; children of one batch as many at once as were begun at once. Owns which rows are
 * next. Linear in the number of rows.
 *
 * Siblings are told by what their rows keep: two regions of one parallel state, same entry, nothing nested deeper. Where
 * that cannot be seen (regions within regions, one region entered again) the strict order is kept, which is always right.
 */
import { type Draft, rowAt, stepOf } from "../draft.ts";
import { hasUndone, isUndone, staysAt } from "../rows.ts";
import type { Row } from "../run/index.ts";

/**
 * Visits each row that is not undone and that no later one holds back, latest first. A row that the visit leaves undone
 * (`kept`, not needed) holds nothing back. Answers the seqs of the others.
 */
export function visitNext(draft: Draft, visit: (row: Row) => void): ReadonlySet<number> {
  const apart = draft.input.machine.saga.unwind === "parallel-regions";
  const next = new Set<number>();
  const holding: Row[] = [];
  // Most are told by this alone, which matters where a list of thousands goes back.
  const left = draft.rows.filter((row) => !hasUndone(row) && !isDone(draft, row.seq));
  for (const { seq } of latestFirst(left)) {
    const row = rowAt(draft, seq);
    const isBeside = (other: Row) => (apart && areSiblings(other, row)) || areFanned(draft, other, row);
    if (holding.every(isBeside) && hasRoom(draft, next, row)) {
      visit(row);
      if (isDone(draft, seq)) continue;
      next.add(seq);
    } else if (!apart) return next;
    if (!holding.some((other) => isSamePlace(other, row))) holding.push(row);
  }
  return next;
}

function isDone(draft: Draft, seq: number): boolean {
  const row = rowAt(draft, seq);
  return staysAt(draft.record.unwind?.to, row) || isUndone(row, stepOf(draft, row));
}

/** Rows with something sent. They are nearly in order, which is what makes the sort linear. */
export function latestFirst(rows: readonly Row[]): readonly Row[] {
  const sent = rows.filter(({ call }) => call.firstSentRevision !== null);
  return sent.sort((a, b) => revisionOf(b) - revisionOf(a) || b.seq - a.seq);
}

/** Of a row with something sent. */
function revisionOf({ call }: Row): number {
  return call.firstSentRevision as number;
}

/** Children of one batch: runs of their own, begun side by side, and undone so. */
function areFanned(draft: Draft, a: Row, b: Row): boolean {
  if (a.kind !== "child" || b.kind !== "child" || a.tool === null || a.tool.parent !== b.tool?.parent) return false;
  return stepOf(draft, rowAt(draft, a.tool.parent)).batch !== undefined;
}

/** As many of them at once as were begun at once. */
function hasRoom(draft: Draft, next: ReadonlySet<number>, { kind, tool }: Row): boolean {
  if (kind !== "child" || tool === null) return true;
  const { batch } = stepOf(draft, rowAt(draft, tool.parent));
  const beside = [...next].filter((seq) => rowAt(draft, seq).tool?.parent === tool.parent);
  return beside.length < (batch?.concurrency ?? 1);
}

function areSiblings(a: Row, b: Row): boolean {
  const [of, within] = [a.region.at(-1), b.region.at(-1)];
  if (of === undefined || within === undefined || of === within || a.regionEntry !== b.regionEntry) return false;
  return isSameParallel(a.region, b.region) && parentOf(of) === parentOf(within);
}

/** Rows of one place hold back the same others. */
function isSamePlace(a: Row, b: Row): boolean {
  const isSameBatch = a.tool?.parent === b.tool?.parent;
  return (
    isSameBatch &&
    a.regionEntry === b.regionEntry &&
    a.region.length === b.region.length &&
    a.region.at(-1) === b.region.at(-1)
  );
}

function isSameParallel(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.slice(0, -1).every((region, depth) => region === b[depth]);
}

function parentOf(region: string): string {
  return region.slice(0, region.lastIndexOf("."));
}
