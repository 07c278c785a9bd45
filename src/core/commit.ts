/**
 * The one write that moves a run, as a value, and what it makes of the run it is applied to. The Redis script and
 * `evolve` apply the same commit; the contract suite holds them to the same result.
 */
import type { LogEntry, Row, Run, RunRecord, RunRef } from "./run/index.ts";
import { hasEnded } from "./run/index.ts";

export interface Commit {
  /** The same commit sent again is answered `DUP`. */
  readonly commitId: string;
  readonly run: RunRef;
  /** The revision it was decided on; the new record has the next one, after those of `lost`. */
  readonly expects: number;
  readonly record: RunRecord;
  /** Rows that changed or are new, by seq ascending; new ones follow the ledger without a gap. */
  readonly rows: readonly Row[];
  readonly log: LogEntry;
  /** Entries before it in place of those that the store has forgotten: no revision is given twice (`change/rollback.ts`). */
  readonly lost: readonly LogEntry[];
  /** Inbox slots consumed: the entry goes, the slot stays taken. */
  readonly consumed: readonly string[];
  /** Highest inbox position that was looked at; the answer carries what is newer. */
  readonly seen: number;
  /** Listings left and joined (see `listingsOf`). */
  readonly leave: readonly string[];
  readonly join: readonly string[];
  /** Waits and reviews open after it (`review:<n>`); `send` to another one is answered `GONE`. */
  readonly openSlots: readonly string[];
  /** Of a run that has ended: it may be deleted from then on; `null`: it is kept. */
  readonly keepUntil: number | null;
  /** Store time at which it was decided; refused as `CLOCK` when it is ahead of the store's. */
  readonly now: number;
  /** When the run next wants attention; `null`: not by itself. Only written as a score with `release`. */
  readonly due: number | null;
  /** Nothing is left to do inline: the lease is given back by this very write. */
  readonly release: boolean;
  /** Refused as `INBOX` when entries above `seen` are there: it ends or parks the run, or gives it back. */
  readonly mustSee: boolean;
  /** Offered rows that this commit withdraws, abandons or quiesces: refused as `PERMITTED` if one has a permit. */
  readonly withdraw: readonly { readonly seq: number; readonly send: number }[];
  /** Permits (by row seq) that go with this commit, because the outcome is recorded. */
  readonly settledPermits: readonly number[];
  /** Permits (by row seq) whose holders are to stop: their next renewal is answered `ABORT`. */
  readonly abortPermits: readonly number[];
}

/** The run after `commit`. */
export function evolve(run: Run, commit: Commit): Run {
  return {
    record: commit.record,
    rows: withRows(run.rows, commit.rows),
    inbox:
      commit.consumed.length === 0 ? run.inbox : run.inbox.filter((entry) => !commit.consumed.includes(entry.slot)),
  };
}

function withRows(rows: readonly Row[], changed: readonly Row[]): readonly Row[] {
  if (changed.length === 0) return rows;
  const next = rows.slice();
  for (const row of changed) next[row.seq - 1] = row;
  return next;
}

/** The listing of all parked runs. */
export const parkedListing = "parked";

/** The listing of all runs that ask people. */
export const askingListing = "asking";

/** The listing, shared by all tenants, of runs that no worker can read. Kept by `setAside` and `acquire`. */
export const unreadableListing = "unreadable";

/** What a run is pinned to, by name: `<saga>@<version>#<hash>`. */
export function structureName({ saga, version, hash }: Pick<RunRecord, "saga" | "version" | "hash">): string {
  return `${saga}@${version}#${hash}`;
}

/** The listing of the open runs of one structure, given by its name. */
export function openListing(structure: string): string {
  return `open:${structure}`;
}

/**
 * The listings a record is in. `open:`, `parked` and `asking` are shared by all tenants, the others are per tenant. An ended run is
 * in two.
 */
export function listingsOf(record: RunRecord): readonly string[] {
  const lists = [`status:${record.status}`, `saga:${record.saga}:${record.status}`];
  if (hasEnded(record.status)) return lists;
  lists.push(openListing(structureName(record)));
  if (record.status === "needs_review") lists.push(parkedListing);
  if (record.asks.length > 0) lists.push(askingListing);
  for (const [name, value] of Object.entries(record.attributes)) lists.push(`attribute:${name}=${String(value)}`);
  return lists;
}
