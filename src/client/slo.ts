/**
 * How the runs of a saga have done in a window, read from what the store keeps of them. Owns what is read and how much of it;
 * what counts is core's (`core/telling/slo.ts`). Nothing is written.
 */
import {
  type RunRef,
  type RunSummary,
  type SloReport,
  type Story,
  sloReport,
  type Tally,
  tallyOf,
} from "../core/index.ts";
import type { Duration } from "../saga/index.ts";
import { checkedDuration, checkedId, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { defaultTenant } from "./start.ts";

export interface SloQuery {
  /** Name of the saga; the objectives are those of its newest version that this client was given. */
  readonly saga: string;
  /** Runs started within it: that of the saga's objectives unless given, or `"30d"`. */
  readonly window?: Duration;
  /** `default` unless given. */
  readonly tenant?: string;
  /** At most so many runs are looked at, the newest first: 1,000 unless given, 100,000 at most. */
  readonly limit?: number;
}

const standardWindow = "30d";
const standardLimit = 1_000;
const maxLimit = 100_000;
const pageSize = 100;
/** Runs read at once. */
const atOnce = 20;

/** Throws SAGA_UNKNOWN, INPUT_INVALID, ID_INVALID, STORE_UNAVAILABLE. */
export async function sloOfSaga(connection: Connection, query: SloQuery): Promise<SloReport> {
  const { slo } = connection.newest(query.saga).spec;
  const windowMs = checkedDuration(query.window ?? slo?.windowMs ?? standardWindow, "window");
  const limit = checkedLimit(query.limit);
  const to = await connection.storeNow();
  const from = to - windowMs;
  const budget = slo?.objectives.find(({ name }) => name === "cost")?.budget ?? null;
  const tallies: Tally[] = [];
  let isWhole = true;
  for await (const page of pagesOf(connection, query, from)) {
    const wanted = page.slice(0, limit - tallies.length);
    for (let at = 0; at < wanted.length; at += atOnce) {
      const stories = await Promise.all(wanted.slice(at, at + atOnce).map((run) => storyOf(connection, run)));
      for (const story of stories) if (story !== null) tallies.push(tallyOf(story, budget));
    }
    isWhole = wanted.length === page.length;
    if (!isWhole) break;
  }
  return sloReport(slo, tallies, { saga: query.saga, from, to, isWhole });
}

/** Runs that were created from `from` on, newest first. */
async function* pagesOf(connection: Connection, { saga, tenant = defaultTenant }: SloQuery, from: number) {
  const store = await connection.store();
  const query = { saga, tenant: checkedId(tenant, "the tenant"), limit: pageSize };
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list(cursor === undefined ? query : { ...query, cursor });
    const within = page.runs.filter(({ createdAt }) => createdAt >= from);
    yield within;
    cursor = within.length < page.runs.length ? null : page.cursor;
  }
}

async function storyOf(connection: Connection, { tenant, id }: RunSummary): Promise<Story | null> {
  const store = await connection.store();
  const run: RunRef = { tenant, id };
  const [record, rows, log] = await Promise.all([store.read(run), store.ledger(run), store.log(run)]);
  return record === null ? null : { record, rows, log };
}

function checkedLimit(limit = standardLimit): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit;
  throw invalid("INPUT_INVALID", "limit", `it is a whole number from 1 to ${maxLimit}`);
}
