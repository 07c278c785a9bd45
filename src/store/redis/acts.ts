/** `note` and `acts`: a stream in each shard, written by the scripts that an act is, and by `note_act`. */
import type { Act, ActsPage, ActsQuery } from "../../core/index.ts";
import { type ActPlace, actsPage, decodeActCursor } from "../act-cursor.ts";
import type { Wire } from "./wire.ts";

/** As a script takes it; empty: none is to be kept. */
export function actText(act: Act | null | undefined): string {
  return act === null || act === undefined ? "" : JSON.stringify(act);
}

export async function note(wire: Wire, act: Act): Promise<void> {
  const { clock, audit } = wire.shard(0);
  await wire.run("note_act", [clock, audit], [actText(act)]);
}

export async function acts(wire: Wire, query: ActsQuery): Promise<ActsPage> {
  const after = query.cursor === undefined ? null : decodeActCursor(query.cursor);
  const lists = await wire.ask("acts", () =>
    Promise.all(
      wire.shards.map(async ({ audit }, shard) => {
        const from = after === null ? "+" : endIn(shard, after);
        const until = query.since === undefined ? "-" : String(Math.floor(query.since));
        const entries = await wire.client.xrevrange(audit, from, until, "COUNT", query.limit + 1);
        return entries.map(([id, fields]) => ({ ...placeOf(id, shard), text: fields[1] ?? "null" }));
      }),
    ),
  );
  // They were written by `remember`.
  return actsPage(lists.flat(), query.limit, ({ text }) => JSON.parse(text) as Act);
}

/** Where a shard goes on: shards of one ms follow one another from the last to the first. */
function endIn(shard: number, { at, seq, shard: last }: ActPlace): string {
  if (shard < last) return String(at);
  return shard === last ? `(${at}-${seq}` : `(${at}-0`;
}

function placeOf(id: string, shard: number): ActPlace {
  const [at, seq] = id.split("-").map(Number);
  return { at: at ?? 0, seq: seq ?? 0, shard };
}
