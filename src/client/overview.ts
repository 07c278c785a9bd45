/** A namespace at one glance: what waits, what is done, by whom, and what needs somebody. Bounded, however many runs there are. */
import { type OwedToHook, type Pace, type RunStatus, runStatuses } from "../core/index.ts";
import type { Connection } from "./connection.ts";
import { type InboxItem, inboxPage } from "./inbox.ts";
import { type Workers, workersNow } from "./workers.ts";

/** How many runs stand in each status. */
export type StatusCounts = Readonly<Record<RunStatus, number>>;

/** What waits of a kind. */
export interface Waiting {
  readonly count: number;
  /** How long the oldest does, in ms; `null`: none does. */
  readonly oldestMs: number | null;
}

export interface Overview extends Workers {
  /** Store time. */
  readonly at: number;
  /** Whose runs are counted in `runs` and `sagas`; all else is of all tenants. */
  readonly tenant: string;
  readonly runs: StatusCounts;
  /** Of sagas that are known here or have open runs, by name. */
  readonly sagas: readonly { readonly saga: string; readonly runs: StatusCounts }[];
  /** Runs that want a worker now. */
  readonly backlog: Waiting;
  /** Of all workers, since the last heartbeat of each. */
  readonly pace: Pace;
  readonly parked: number;
  /** Runs that ask people. */
  readonly asking: Waiting;
  /** Parked runs whose outcome nobody knows (of the 500 newest things that need a person). */
  readonly unknown: Waiting;
  /** What webhooks were not told yet. */
  readonly notifications: readonly (Omit<OwedToHook, "oldestAt"> & Pick<Waiting, "oldestMs">)[];
}

const page = 100;
const maxPages = 5;
const maxSagas = 100;

export async function overviewOf(connection: Connection, tenant: string): Promise<Overview> {
  const store = await connection.store();
  const [load, workers, items, { hooks, now }] = await Promise.all([
    store.load(),
    workersNow(connection),
    needed(connection),
    store.noticesOwed(),
  ]);
  const open = load.open.map(({ structure }) => structure.slice(0, structure.indexOf("@")));
  const names = [...new Set([...open, ...connection.options.sagas.map(({ name }) => name)])].sort().slice(0, maxSagas);
  const listings = ["status", ...names.map((name) => `saga:${name}`)].flatMap((of) =>
    runStatuses.map((status) => `${of}:${status}`),
  );
  const counts = await store.count(tenant, listings);
  const countsAt = (nth: number) => statusCounts(counts.slice(nth * runStatuses.length));
  const asked = items.filter(({ kind }) => kind === "approval");
  return {
    ...workers,
    at: now,
    tenant,
    runs: countsAt(0),
    sagas: names.map((saga, nth) => ({ saga, runs: countsAt(nth + 1) })),
    backlog: { count: load.due, oldestMs: ageOf(load.oldestDueAt, load.now) },
    pace: paceOf(workers),
    parked: load.parked,
    asking: { count: load.asking, oldestMs: oldestOf(asked).oldestMs },
    unknown: oldestOf(items.filter(({ reason }) => reason === "unknown_outcome")),
    notifications: hooks.map(({ oldestAt, ...hook }) => ({ ...hook, oldestMs: ageOf(oldestAt, now) })),
  };
}

function statusCounts(counts: readonly number[]): StatusCounts {
  // One for each status, in their order.
  return Object.fromEntries(runStatuses.map((status, at) => [status, counts[at] ?? 0])) as StatusCounts;
}

async function needed(connection: Connection): Promise<readonly InboxItem[]> {
  const items: InboxItem[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < maxPages; pages += 1) {
    const found = await inboxPage(connection, { limit: page, ...(cursor === null ? {} : { cursor }) });
    items.push(...found.items);
    cursor = found.cursor;
    if (cursor === null) break;
  }
  return items;
}

function oldestOf(items: readonly InboxItem[]): Waiting {
  return { count: items.length, oldestMs: items.length === 0 ? null : Math.max(...items.map(({ ageMs }) => ageMs)) };
}

/** What a worker said that is gone by now counts no more. */
function paceOf({ workers }: Workers): Pace {
  const paces = workers.flatMap(({ state, heartbeat }) => (state === "lost" ? [] : (heartbeat?.pace ?? [])));
  const sum = (of: keyof Pace): number => Math.round(10 * paces.reduce((all, pace) => all + pace[of], 0)) / 10;
  return { begun: sum("begun"), ended: sum("ended"), steps: sum("steps") };
}

function ageOf(at: number | null, now: number): number | null {
  return at === null ? null : Math.max(0, now - at);
}
