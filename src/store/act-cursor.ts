/** Pages of acts, newest first, over all shards. An act's id is its place: `<ms>-<n>.<shard>`, which is the cursor too. */
import type { Act, ActsPage, KeptAct } from "../core/index.ts";
import { RepriseError } from "../errors.ts";

export interface ActPlace {
  readonly at: number;
  /** Of those of one ms. */
  readonly seq: number;
  readonly shard: number;
}

/** The first `limit` of what all shards have, which is at least one more where there is more. */
export function actsPage<Entry extends ActPlace>(
  entries: readonly Entry[],
  limit: number,
  read: (entry: Entry) => Act,
): ActsPage {
  const page = [...entries].sort(newestFirst).slice(0, limit);
  const acts = page.map((entry): KeptAct => ({ id: idOf(entry), at: entry.at, ...read(entry) }));
  return { acts, cursor: entries.length > page.length ? (acts.at(-1)?.id ?? null) : null };
}

/** Throws CURSOR_INVALID. */
export function decodeActCursor(cursor: string): ActPlace {
  const [, at, seq, shard] = /^(\d{1,16})-(\d{1,16})\.(\d{1,4})$/.exec(cursor) ?? [];
  if (shard !== undefined) return { at: Number(at), seq: Number(seq), shard: Number(shard) };
  throw new RepriseError("CURSOR_INVALID", "this is no cursor of the audit", {
    details: { cursor: cursor.slice(0, 80) },
  });
}

export function newestFirst(a: ActPlace, b: ActPlace): number {
  return b.at - a.at || b.shard - a.shard || b.seq - a.seq;
}

function idOf({ at, seq, shard }: ActPlace): string {
  return `${at}-${seq}.${shard}`;
}
