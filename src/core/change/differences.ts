/**
 * Where two JSON values differ, in lines that a person reads: `path: before -> after`. Named things in lists (states,
 * invocations, transitions by event) are matched by name, so one that is put in between is one difference and not many.
 */
import { create, type Delta } from "jsondiffpatch";
import type { Json } from "../../saga/index.ts";

/** Differences told of one pair. */
const maxDifferences = 10;
/** Characters shown of a value. */
const maxChars = 80;

/** What has no name is the same where all of it is. */
const differ = create({
  objectHash: (item) => nameOf(item) ?? JSON.stringify(item),
  arrays: { detectMove: false },
});

/** Empty where they are the same. */
export function differencesOf(before: Json, after: Json): readonly string[] {
  const found: string[] = [];
  tell(differ.diff(before, after), { before, after, path: "" }, found);
  const more = found.length - maxDifferences;
  return more > 0 ? [...found.slice(0, maxDifferences), `and ${more} more`] : found;
}

interface Place {
  readonly before: Json | undefined;
  readonly after: Json | undefined;
  readonly path: string;
}

/** What a delta means is in its length: added, changed, taken away; one that is no list goes deeper. */
function tell(delta: Delta, { before, after, path }: Place, found: string[]): void {
  if (delta === undefined) return;
  if (Array.isArray(delta)) {
    const [old, now] = delta.length === 1 ? [undefined, delta[0]] : delta.length === 2 ? delta : [delta[0], undefined];
    found.push(`${path === "" ? "all of it" : path}: ${shown(old)} -> ${shown(now)}`);
  } else if ("_t" in delta) {
    tellList(delta, { before, after, path }, found);
  } else {
    for (const [key, inner] of Object.entries(delta)) {
      const place = {
        before: partOf(before, key),
        after: partOf(after, key),
        path: path === "" ? key : `${path}.${key}`,
      };
      tell(inner, place, found);
    }
  }
}

/** Under `_n` what stood at n, under `n` what stands there. */
function tellList(delta: object, { before, after, path }: Place, found: string[]): void {
  for (const [key, inner] of Object.entries(delta)) {
    if (key === "_t") continue;
    const at = Number(key.replace("_", ""));
    const now = partOf(after, at);
    const old = key.startsWith("_") ? partOf(before, at) : namesake(before, now);
    const name = nameOf(key.startsWith("_") ? old : now) ?? at;
    tell(inner as Delta, { before: old, after: now, path: `${path}[${name}]` }, found);
  }
}

/** What had the same name before. */
function namesake(before: Json | undefined, item: Json | undefined): Json | undefined {
  const name = nameOf(item);
  return Array.isArray(before) && name !== undefined ? before.find((each) => nameOf(each) === name) : undefined;
}

/** A delta goes deeper only where there is an object, or a list, on both sides. */
function partOf(whole: Json | undefined, at: string | number): Json | undefined {
  return (whole as { readonly [key: string | number]: Json })[at];
}

function nameOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { id, event } = value as { readonly id?: unknown; readonly event?: unknown };
  return typeof id === "string" ? id : typeof event === "string" ? event : undefined;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 3)}...`;
}
