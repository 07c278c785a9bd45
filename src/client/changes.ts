/** What differs between two values, part by part: how an edit is shown to people. Pure. */
import { create, type Delta } from "jsondiffpatch";
import type { Json } from "../saga/index.ts";

/** One part that differs. */
export interface Change {
  /** Where, as `lines[0].cents`; empty: the whole. */
  readonly path: string;
  /** `undefined`: it was not there. */
  readonly before?: Json;
  /** `undefined`: it is not there any more. */
  readonly after?: Json;
}

const differ = create({ arrays: { detectMove: false }, omitRemovedValues: false });

/** The parts in which `after` differs from `before`, in their order; items of lists are told apart by their content. */
export function changesOf(before: Json, after: Json): readonly Change[] {
  return merged(partsOf(differ.diff(before, after), ""));
}

function partsOf(delta: Delta, path: string): readonly Change[] {
  if (delta === undefined) return [];
  if (Array.isArray(delta)) return [changeOf(path, delta)];
  const isList = "_t" in delta;
  return Object.entries(delta)
    .filter(([name]) => name !== "_t")
    .flatMap(([name, part]: readonly [string, Delta]) => partsOf(part, placeOf(path, name, isList)));
}

/** In a delta, what was removed from a list stands under `_` and its old place. */
function placeOf(path: string, name: string, isList: boolean): string {
  if (isList) return `${path}[${name.replace("_", "")}]`;
  return path === "" ? name : `${path}.${name}`;
}

/** Deltas are `[added]`, `[before, after]` and `[removed, 0, 0]`. */
function changeOf(path: string, delta: readonly unknown[]): Change {
  // What was compared is JSON.
  const [first, second] = delta as readonly Json[];
  if (delta.length === 1) return { path, after: first as Json };
  if (delta.length === 2) return { path, before: first as Json, after: second as Json };
  return { path, before: first as Json };
}

/** An item that took another one's place is one change. */
function merged(changes: readonly Change[]): readonly Change[] {
  const byPath = new Map<string, Change>();
  for (const change of changes) byPath.set(change.path, { ...byPath.get(change.path), ...change });
  return [...byPath.values()].toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
