/**
 * What is asked about the runs of all tenants: pages of the listings they share, and who serves which structures. An
 * owner's structures are kept for the namespace and written after its registration, so that what is kept of an owner that
 * is not registered is left over from one that is gone.
 */
import type { RunRecord, RunRef, Serving, SharedPage, SharedQuery } from "../../core/index.ts";
import { decodeRow } from "../codec.ts";
import { decodeSharedCursor, encodeCursor, pageLimit, sharedDepth, sharedPlaces, sharedRunOf } from "../cursor.ts";
import { runOf } from "../keys.ts";
import { countOpen, now, placesIn, recordsOf } from "./reads.ts";
import type { Wire } from "./wire.ts";

const separator = " ";

export async function listShared(wire: Wire, query: SharedQuery): Promise<SharedPage> {
  const after = query.cursor === undefined ? null : decodeSharedCursor(query.cursor);
  const limit = pageLimit(query);
  const depth = sharedDepth(query);
  const keys = query.listings.flatMap((listing) => wire.shards.map(({ prefix }) => prefix + listing));
  const lists = await Promise.all(keys.map((key) => placesIn(wire, key, after, depth)));
  const { places, next } = sharedPlaces(lists, { depth, limit, tenant: query.tenant });
  const runs = places.map(({ id }) => runOf(id));
  const [found, hands] = await Promise.all([recordsOf(wire, runs), handsOf(wire, runs)]);
  const handOf = (run: RunRef) => hands.get(wire.find(run).member) ?? free;
  const records = found.records.filter((record) => handOf(record).problem === null);
  const steps = await Promise.all(records.map((record) => stepOf(wire, record)));
  const setAside = found.records.flatMap((record) => {
    const { problem } = handOf(record);
    return problem === null ? [] : [{ tenant: record.tenant, id: record.id, message: problem }];
  });
  return {
    runs: records.map((record, at) => sharedRunOf(record, steps[at] ?? null, handOf(record).holder)),
    unreadable: [...found.unreadable, ...setAside],
    cursor: next === null ? null : encodeCursor(next),
  };
}

/** The step that its review is about, read from that row alone. */
async function stepOf(wire: Wire, record: RunRecord): Promise<string | null> {
  const seq = record.review?.seq ?? null;
  if (seq === null) return null;
  const { member, shard } = wire.find(record);
  const row = await wire.ask("list", () => wire.client.lindex(`${shard.prefix}ledger:${member}`, seq - 1));
  if (row === null) return null;
  try {
    return decodeRow(record, seq, row).step;
  } catch {
    // One that cannot be read hides none of the others; whoever acquires the run says so.
    return null;
  }
}

interface Hand {
  /** Whose lease it is in; `null`: nobody's. */
  readonly holder: string | null;
  /** Why it was set aside; `null`: it was not. */
  readonly problem: string | null;
}
const free: Hand = { holder: null, problem: null };

async function handsOf(wire: Wire, runs: readonly RunRef[]): Promise<ReadonlyMap<string, Hand>> {
  const time = await now(wire);
  const found = runs.map((run) => wire.find(run));
  const asked = () => Promise.all(found.map(({ run }) => wire.client.hmget(run, "o", "u", "z")));
  const leases = await wire.ask("list", asked);
  return new Map(
    found.map(({ member }, at) => {
      const [owner = null, until, problem = null] = leases[at] ?? [];
      return [member, { holder: Number(until) > time ? owner : null, problem }] as const;
    }),
  );
}

export async function serving(wire: Wire, serves: string): Promise<Serving> {
  const names = wire.ask("serving", () =>
    Promise.all(wire.shards.map(({ structures }) => wire.client.smembers(structures))),
  );
  const structures = [...new Set((await names).flat())];
  const counts = await Promise.all(structures.map((structure) => countOpen(wire, structure)));
  const [kept, registered] = await wire.ask("serving", () =>
    Promise.all([wire.client.hgetall(serves), registeredOwners(wire)]),
  );
  return {
    open: structures.filter((_, at) => (counts[at] ?? 0) > 0),
    owners: registered.map((owner) => ({ owner, serves: (kept[owner] ?? "").split(separator).filter(Boolean) })),
  };
}

function registeredOwners(wire: Wire): Promise<string[]> {
  return wire.client.hkeys(wire.shard(0).owners);
}

export async function sayServed(wire: Wire, serves: string, owner: string, structures: readonly string[]) {
  await wire.ask("hello", () => wire.client.hset(serves, owner, structures.join(separator)));
}

/** Forgets what owners that are gone have served. */
export async function forgetServed(wire: Wire, serves: string): Promise<void> {
  await wire.ask("goodbye", async () => {
    const kept = await wire.client.hkeys(serves);
    const registered = new Set(await registeredOwners(wire));
    const gone = kept.filter((owner) => !registered.has(owner));
    if (gone.length > 0) await wire.client.hdel(serves, ...gone);
  });
}
