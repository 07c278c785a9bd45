/** `purge` and `expiring`: runs that have ended and whose time is over are deleted. */
import {
  expiringListing,
  isIdKept,
  keptFor,
  listingsOf,
  type PurgeAnswer,
  type RunRecord,
  type RunRef,
  type Timed,
} from "../../core/index.ts";
import { listingKey, runOf } from "../keys.ts";
import { purgeAgainMs } from "../limits.ts";
import { now, recordsOf } from "./reads.ts";
import type { Wire } from "./wire.ts";

export async function purge(
  wire: Wire,
  shard: number,
  limit: number,
  idsKeptMs: number | null,
): Promise<Timed<PurgeAnswer>> {
  const { prefix, clock, gone } = wire.shard(shard);
  const keys = [`${prefix}${expiringListing}`, clock, gone];
  const [time, ...members] = await wire.run<readonly [number, ...string[]]>("expired", keys, [limit, purgeAgainMs]);
  const { records } = await recordsOf(wire, members.map(runOf));
  const free = await withoutParents(wire, records);
  const replies = await wire.runMany<"OK" | "BUSY" | "ABSENT">(
    "purge",
    free.map((record) => purgeCall(wire, record, idsKeptMs === null ? "+inf" : time + idsKeptMs)),
  );
  const purged = free.filter((_, at) => replies[at] === "OK").map(({ tenant, id }) => ({ tenant, id }));
  return { purged, more: members.length >= limit, now: time };
}

/** Those whose parent is not there any more, or does not look after them. */
async function withoutParents(wire: Wire, records: readonly RunRecord[]): Promise<readonly RunRecord[]> {
  const kept = await Promise.all(records.map((record) => isThere(wire, keptFor(record))));
  return records.filter((_, at) => kept[at] === false);
}

async function isThere(wire: Wire, run: RunRef | null): Promise<boolean> {
  if (run === null) return false;
  return (await wire.ask("purge", () => wire.client.exists(wire.find(run).run))) === 1;
}

function purgeCall(wire: Wire, record: RunRecord, freeAt: number | "+inf") {
  const { member, shard, run, record: stored } = wire.find(record);
  const { prefix, due, gone } = shard;
  const own = ["ledger", "log", "inbox", "slots", "permit"].map((kind) => `${prefix}${kind}:${member}`);
  const listings = listingsOf(record).map((listing) => prefix + listingKey(record.tenant, listing));
  const keys = [run, due, `${prefix}${expiringListing}`, gone, stored, ...own, ...listings];
  return { keys, args: [member, record.id, record.revision, isIdKept(record) ? freeAt : ""] };
}

/** How many runs wait for their time, and for how many it has come. */
export async function expiring(wire: Wire): Promise<{ readonly due: number; readonly later: number }> {
  const time = await now(wire);
  const countIn = async (key: string) => {
    const [due, all] = await Promise.all([wire.client.zcount(key, "-inf", time), wire.client.zcard(key)]);
    return { due, later: all - due };
  };
  const keys = wire.shards.map(({ prefix }) => prefix + expiringListing);
  const counts = await wire.ask("expiring", () => Promise.all(keys.map(countIn)));
  return counts.reduce((sum, { due, later }) => ({ due: sum.due + due, later: sum.later + later }));
}
