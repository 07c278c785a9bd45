/** Acts in memory: the counterpart of `lua/shared.audit.lua`. */
import { type Act, type ActsPage, type ActsQuery, maxActsKept } from "../../core/index.ts";
import { type ActPlace, actsPage, decodeActCursor, newestFirst } from "../act-cursor.ts";

interface Entry {
  readonly at: number;
  readonly seq: number;
  readonly act: Act;
}

/** Of one shard, in order. */
export type Acts = Entry[];

export function remember(acts: Acts, act: Act | null | undefined, now: number): void {
  if (act === null || act === undefined) return;
  const last = acts.at(-1);
  acts.push({ at: now, seq: last?.at === now ? last.seq + 1 : 0, act: structuredClone(act) });
  if (acts.length > maxActsKept) acts.shift();
}

export function actsOf(shards: readonly { readonly acts: Acts }[], { since = 0, cursor, limit }: ActsQuery): ActsPage {
  const after = cursor === undefined ? null : decodeActCursor(cursor);
  const isWanted = (place: ActPlace) => place.at >= since && (after === null || newestFirst(after, place) < 0);
  const all = shards.flatMap(({ acts }, shard) => acts.map((entry) => ({ ...entry, shard }))).filter(isWanted);
  return actsPage(all, limit, ({ act }) => structuredClone(act));
}
