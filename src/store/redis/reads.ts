/** Reads: a record, a ledger, a log, an inbox, pages of listings, the registry of structures. They take no locks. */
import {
  type InboxEntry,
  type ListPage,
  type ListQuery,
  type LogEntry,
  openListing,
  type RegisteredSaga,
  type Row,
  type RunRecord,
  type RunRef,
  structureName,
  type UnreadableRun,
} from "../../core/index.ts";
import { decodeLog, decodeRecord, decodeRow, refersToLedger, type StoredRecord } from "../codec.ts";
import {
  answers,
  byPlace,
  decodeCursor,
  encodeCursor,
  listingsFor,
  type Place,
  pageLimit,
  summaryOf,
} from "../cursor.ts";
import { listingKey } from "../keys.ts";
import { entriesOf } from "./replies.ts";
import type { Wire } from "./wire.ts";

/** The server's time, or the highest it ever told. */
export async function now(wire: Wire): Promise<number> {
  const { clock } = wire.shard(0);
  const [time, highest] = await wire.ask("now", () => Promise.all([wire.client.time(), wire.client.get(clock)]));
  return Math.max(Number(time[0]) * 1_000 + Math.floor(Number(time[1]) / 1_000), Number(highest ?? 0));
}

export async function read(wire: Wire, run: RunRef): Promise<RunRecord | null> {
  const { keys, args } = readCall(wire, run);
  const stored = storedOf(await wire.run<ReadReply>("read", keys, args));
  if (stored === null) return null;
  if (!refersToLedger(stored)) return decodeRecord(run, stored);
  // The run has ended: its rows are what they were when the record was written, unless a late result reopens it now.
  const rows = await ledger(wire, run);
  return decodeRecord(run, stored, (seq) => rows[seq - 1]?.output ?? null);
}

type ReadReply = readonly [string | null, ...(string | null)[]];

function readCall(wire: Wire, run: RunRef) {
  const { run: key, record } = wire.find(run);
  return { keys: [key, record], args: [] };
}

function storedOf([text, revision, status, pool = null, priority = null]: ReadReply): StoredRecord | null {
  if (typeof status !== "string") return null;
  // A run without its record is not absent, it is corrupt: an empty text says so when it is decoded.
  return {
    text: text ?? "",
    revision: Number(revision),
    status,
    pool,
    priority: priority === null ? null : Number(priority),
  };
}

export async function ledger(wire: Wire, run: RunRef): Promise<readonly Row[]> {
  const { member, shard } = wire.find(run);
  const rows = await wire.ask("ledger", () => wire.client.lrange(`${shard.prefix}ledger:${member}`, 0, -1));
  return rows.map((row, at) => decodeRow(run, at + 1, row));
}

/** What is still kept of those revisions. */
export async function log(wire: Wire, run: RunRef, from: number, to: number): Promise<readonly LogEntry[]> {
  const first = Math.max(from, 1);
  if (Number.isFinite(to) && to < first) return [];
  const part = await readLog(wire, run, first, to);
  if (part.entries !== null) return part.entries;
  const whole = await readLog(wire, run, 1, to);
  return (whole.entries ?? []).filter(({ revision }) => revision >= first);
}

async function readLog(wire: Wire, run: RunRef, from: number, to: number) {
  const { member, shard, run: key } = wire.find(run);
  const args = [from, Number.isFinite(to) ? to : ""];
  const [first, kept, entries] = await wire.run<ReadLogReply>("read_log", [key, `${shard.prefix}log:${member}`], args);
  return { entries: decodeLog(run, first, entries, first === kept) };
}

type ReadLogReply = readonly [first: number, kept: number, entries: readonly string[]];

export async function inbox(wire: Wire, run: RunRef): Promise<readonly InboxEntry[]> {
  const { member, shard } = wire.find(run);
  const entries = await wire.ask("inbox", () => wire.client.hgetall(`${shard.prefix}inbox:${member}`));
  return entriesOf(run, Object.entries(entries).flat());
}

/** Merges the narrowest listings of every shard, newest first. */
export async function list(wire: Wire, query: ListQuery): Promise<ListPage> {
  const tenant = query.tenant ?? "default";
  const after = query.cursor === undefined ? null : decodeCursor(query.cursor);
  const limit = pageLimit(query);
  const keys = listingsFor(query).flatMap((listing) =>
    wire.shards.map(({ prefix }) => prefix + listingKey(tenant, listing)),
  );
  const places = (await Promise.all(keys.map((key) => placesIn(wire, key, after, limit + 1)))).flat().sort(byPlace);
  const unique = places.filter((place, at) => at === 0 || place.id !== places[at - 1]?.id);
  const page = unique.slice(0, limit);
  const { records, unreadable } = await recordsOf(
    wire,
    page.map(({ id }) => ({ tenant, id })),
  );
  const last = page.at(-1);
  return {
    runs: records.filter((record) => answers(record, query)).map(summaryOf),
    unreadable,
    cursor: last === undefined || unique.length === page.length ? null : encodeCursor(last),
  };
}

/** The first `count` places of one listing after the cursor. Many runs may have been created in the cursor's ms. */
export async function placesIn(wire: Wire, key: string, after: Place | null, count: number): Promise<readonly Place[]> {
  const newest = after === null ? "+inf" : after.createdAt;
  const found: Place[] = [];
  for (let offset = 0; ; offset += count) {
    const flat = await wire.ask("list", () =>
      wire.client.zrevrangebyscore(key, newest, "-inf", "WITHSCORES", "LIMIT", offset, count),
    );
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const place = { id: flat[at] as string, createdAt: Number(flat[at + 1]) };
      if (after === null || byPlace(after, place) < 0) found.push(place);
    }
    if (found.length >= count || flat.length < 2 * count) return found;
  }
}

interface Records {
  readonly records: readonly RunRecord[];
  readonly unreadable: readonly UnreadableRun[];
}

export async function recordsOf(wire: Wire, runs: readonly RunRef[]): Promise<Records> {
  const records = new Array<RunRecord | null>(runs.length).fill(null);
  const unreadable: UnreadableRun[] = [];
  const readShard = async (places: readonly number[]) => {
    const calls = places.map((n) => readCall(wire, runs[n] as RunRef));
    const replies = await wire.runMany<ReadReply>("read", calls);
    for (const [at, n] of places.entries()) {
      const stored = storedOf(replies[at] as ReadReply);
      const run = runs[n] as RunRef;
      try {
        records[n] = stored === null ? null : decodeRecord(run, stored);
      } catch (error) {
        unreadable.push({ ...run, message: error instanceof Error ? error.message : String(error) });
      }
    }
  };
  await Promise.all([...wire.byShard(runs).values()].map(readShard));
  return { records: records.flatMap((record) => record ?? []), unreadable };
}

/** What is registered of a version. */
export async function registered(wire: Wire, key: string, saga: string, version: number) {
  const stored = await wire.ask("registered", () => wire.client.hget(key, `${saga}@${version}`));
  return stored === null ? null : registeredOf({ saga, version }, stored);
}

/** Registers a structure, unless another one of the same saga and version has open runs. */
export async function register(wire: Wire, key: string, saga: RegisteredSaga) {
  const name = `${saga.saga}@${saga.version}`;
  for (;;) {
    const stored = await wire.ask("register", () => wire.client.hget(key, name));
    const before = stored === null ? null : registeredOf(saga, stored);
    if (before?.hash === saga.hash && before.schemas === saga.schemas) return { answer: "OK" } as const;
    if (before !== null && before.hash !== saga.hash) {
      const openRuns = await countOpen(wire, structureName(before));
      if (openRuns > 0) return { answer: "CHANGED", registered: before, openRuns } as const;
    }
    const text = `${saga.hash}\n${saga.structure}\n${saga.schemas}`;
    if ((await wire.run<string>("register", [key], [name, text, stored ?? ""])) === "OK") {
      return before === null ? ({ answer: "OK" } as const) : ({ answer: "OK", replaced: before } as const);
    }
  }
}

/** In lines: the hash, the structure, the schemas. */
function registeredOf({ saga, version }: Pick<RegisteredSaga, "saga" | "version">, stored: string): RegisteredSaga {
  const [hash = "", structure = "", schemas = ""] = stored.split("\n");
  return { saga, version, hash, structure, schemas };
}

export async function countOpen(wire: Wire, structure: string): Promise<number> {
  const listing = openListing(structure);
  const counts = await wire.ask("register", () =>
    Promise.all(wire.shards.map(({ prefix }) => wire.client.zcard(prefix + listing))),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** How many runs of a tenant are in each listing. */
export async function countRuns(wire: Wire, tenant: string, listings: readonly string[]): Promise<readonly number[]> {
  const countIn = async (listing: string): Promise<number> => {
    const keys = wire.shards.map(({ prefix }) => prefix + listingKey(tenant, listing));
    const counts = await Promise.all(keys.map((key) => wire.client.zcard(key)));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  return await wire.ask("count", () => Promise.all(listings.map(countIn)));
}
