/** How much waits in the store, read without a lock: what is told is about right, and costs the runs nothing. */
import { askingListing, parkedListing, type StoreLoad, type Timed } from "../../core/index.ts";
import type { ShardKeys } from "../keys.ts";
import { countOpen, now } from "./reads.ts";
import type { Wire } from "./wire.ts";

/** Shares looked at in a shard, of those whose runs wait for room. */
const maxShares = 1_000;

interface Waiting {
  readonly due: number;
  readonly oldestDueAt: number | null;
}

export async function load(wire: Wire): Promise<Timed<StoreLoad>> {
  const time = await now(wire);
  const shards = await Promise.all(wire.shards.map((shard) => waitingIn(wire, shard, time)));
  const oldest = shards.flatMap(({ oldestDueAt }) => oldestDueAt ?? []);
  const [open, parked, asking] = await Promise.all([
    openRuns(wire),
    countIn(wire, parkedListing),
    countIn(wire, askingListing),
  ]);
  return {
    due: shards.reduce((sum, { due }) => sum + due, 0),
    oldestDueAt: oldest.length === 0 ? null : Math.min(...oldest),
    open,
    parked,
    asking,
    now: time,
  };
}

async function waitingIn(wire: Wire, shard: ShardKeys, time: number): Promise<Waiting> {
  const { client } = wire;
  const [overdue, first, queued, starts, late] = await wire.ask("load", () =>
    Promise.all([
      client.zcount(shard.due, "-inf", time),
      client.zrangebyscore(shard.due, "-inf", "+inf", "WITHSCORES", "LIMIT", 0, 1),
      client.hgetall(shard.queued),
      client.lrange(shard.fair, 0, maxShares - 1),
      client.lrange(shard.fairLate, 0, maxShares - 1),
    ]),
  );
  const lines = [...starts.map((share) => `due:${share}`), ...late.map((share) => `late:${share}`)];
  const waiting = await Promise.all(lines.map((line) => lineOf(wire, shard.prefix + line)));
  const handedOut = Object.entries(queued).reduce(
    (sum, [share, n]) => sum + (share.startsWith(":") ? 0 : Number(n)),
    0,
  );
  const ages = [scoreOf(first), ...waiting.map(({ oldestDueAt }) => oldestDueAt)].filter((at) => at !== null);
  const since = Math.min(...ages);
  return {
    due: overdue + handedOut + waiting.reduce((sum, { due }) => sum + due, 0),
    oldestDueAt: since <= time ? since : null,
  };
}

async function lineOf(wire: Wire, key: string): Promise<Waiting> {
  const { client } = wire;
  const [due, first] = await wire.ask("load", () =>
    Promise.all([client.zcard(key), client.zrangebyscore(key, "-inf", "+inf", "WITHSCORES", "LIMIT", 0, 1)]),
  );
  return { due, oldestDueAt: scoreOf(first) };
}

function scoreOf([, score]: readonly string[]): number | null {
  return score === undefined ? null : Number(score);
}

async function openRuns(wire: Wire): Promise<StoreLoad["open"]> {
  const names = await wire.ask("load", () =>
    Promise.all(wire.shards.map(({ structures }) => wire.client.smembers(structures))),
  );
  const structures = [...new Set(names.flat())].sort();
  const runs = await Promise.all(structures.map((structure) => countOpen(wire, structure)));
  return structures.flatMap((structure, at) => ((runs[at] ?? 0) > 0 ? [{ structure, runs: runs[at] ?? 0 }] : []));
}

async function countIn(wire: Wire, listing: string): Promise<number> {
  const counts = await wire.ask("load", () =>
    Promise.all(wire.shards.map(({ prefix }) => wire.client.zcard(prefix + listing))),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
