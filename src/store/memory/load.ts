/** How much waits in the shards of the memory store. The counterpart of `redis/load.ts`. */
import { askingListing, openListing, parkedListing, type StoreLoad } from "../../core/index.ts";
import type { Backlog } from "./backlog.ts";
import type { Shard } from "./shard.ts";

export function load(shards: readonly Shard[], time: number): StoreLoad {
  const overdue = shards.flatMap(({ due }) => [...due.values()].filter((at) => at <= time));
  const waiting = shards.flatMap(({ starts, late }) => [...timesIn(starts), ...timesIn(late)]);
  const handedOut = shards.flatMap(({ queued }) =>
    [...queued].flatMap(([share, n]) => (share.startsWith(":") ? [] : n)),
  );
  const since = [...overdue, ...waiting];
  return {
    due: since.length + handedOut.reduce((sum, n) => sum + n, 0),
    oldestDueAt: since.length === 0 ? null : Math.min(...since),
    open: openRuns(shards),
    parked: countIn(shards, parkedListing),
    asking: countIn(shards, askingListing),
  };
}

function timesIn({ waiting }: Backlog): readonly number[] {
  return [...waiting.values()].flatMap((members) => [...members.values()]);
}

function openRuns(shards: readonly Shard[]): StoreLoad["open"] {
  const prefix = openListing("");
  const keys = new Set(shards.flatMap(({ listings }) => [...listings.keys()].filter((key) => key.startsWith(prefix))));
  return [...keys].sort().flatMap((key) => {
    const runs = countIn(shards, key);
    return runs > 0 ? [{ structure: key.slice(prefix.length), runs }] : [];
  });
}

function countIn(shards: readonly Shard[], listing: string): number {
  return shards.reduce((sum, { listings }) => sum + (listings.get(listing)?.size ?? 0), 0);
}
