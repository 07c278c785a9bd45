/**
 * Owns: finding runs by more than the store can be asked for. Listings are asked by tenant, status and saga; what else is wished is
 * looked up run by run, newest first.
 *
 * Invariants: S1 at most `maxLooked` runs are looked at, and it is said when there were more. S2 the cursor goes on where this
 * stopped, without a gap.
 */
import type { Client, LedgerRow, RunView } from "../../client/index.ts";
import type { RunStatus, RunSummary } from "../../core/index.ts";
import { UsageError } from "../exit.ts";
import type { Cli } from "./cli.ts";
import { oneOf, pairOf, timeOf, wholeOf } from "./values.ts";

/** Runs that one command looks at. */
const maxLooked = 1_000;
/** Read at once, where each is looked up by itself. */
const pageSize = 200;

export const statuses = [
  "running",
  "waiting",
  "paused",
  "needs_review",
  "unwinding",
  "completed",
  "failed",
  "cancelled",
] as const satisfies readonly RunStatus[];

/** The flags of a selection. */
export interface FilterFlags {
  readonly status?: string;
  readonly saga?: string;
  readonly step?: string;
  readonly since?: string;
  readonly tag?: readonly string[];
}

export const filterOptions = [
  ["--status <status>", `only these: ${statuses.join(", ")}`],
  ["--saga <name>", "only runs of this saga"],
  ["--step <name>", "only runs with an open row of this step"],
  ["--since <time>", "only runs made since: 2h, or a date"],
  ["--tag <key=value>", "only runs whose attributes say so", "many"],
] as const;

export interface Filter {
  readonly status: RunStatus | undefined;
  readonly saga: string | undefined;
  readonly step: string | undefined;
  /** ms since 1970. */
  readonly since: number | undefined;
  readonly tags: readonly (readonly [key: string, value: unknown])[];
}

/** Throws UsageError. */
export function filterOf(flags: FilterFlags, now: number): Filter {
  return {
    status: flags.status === undefined ? undefined : oneOf(flags.status, "--status", statuses),
    saga: flags.saga,
    step: flags.step,
    since: flags.since === undefined ? undefined : timeOf(flags.since, "--since", now),
    tags: (flags.tag ?? []).map((text) => pairOf(text, "--tag")),
  };
}

/** What was looked up of a run beside its summary; absent: nothing had to be. */
export interface FoundRun extends RunSummary {
  readonly attributes?: RunView["attributes"];
}

export interface Found {
  readonly runs: readonly FoundRun[];
  readonly unreadable: number;
  readonly cursor: string | null;
}

export interface Wanted {
  readonly filter: Filter;
  readonly tenant: string;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Newest first. Throws what `client.list` throws. */
export async function findRuns(cli: Cli, wanted: Wanted): Promise<Found> {
  const { filter, tenant, limit } = wanted;
  const client = await cli.client();
  const runs: FoundRun[] = [];
  let unreadable = 0;
  let cursor = wanted.cursor;
  for (let looked = 0; ; ) {
    // Never more than are still wanted: the cursor stands between pages.
    const size = Math.min(limit - runs.length, pageSize, maxLooked - looked);
    const page = await client.list({
      tenant,
      ...askedOf(filter),
      limit: size,
      ...(cursor === undefined ? {} : { cursor }),
    });
    unreadable += page.unreadable.length;
    for (const run of page.runs) {
      const found = await matching(client, run, filter);
      if (found !== null) runs.push(found);
    }
    looked += page.runs.length + page.unreadable.length;
    cursor = page.cursor ?? undefined;
    const oldest = page.runs.at(-1)?.createdAt;
    if (filter.since !== undefined && oldest !== undefined && oldest < filter.since) cursor = undefined;
    if (cursor === undefined || runs.length >= limit || looked >= maxLooked) {
      if (cursor !== undefined && runs.length < limit) cli.out.note(`Looked at ${looked} runs; there are more.`);
      return { runs, unreadable, cursor: cursor ?? null };
    }
  }
}

function askedOf({ status, saga }: Filter): { readonly status?: RunStatus; readonly saga?: string } {
  return { ...(status === undefined ? {} : { status }), ...(saga === undefined ? {} : { saga }) };
}

/** `null`: it is not wanted. */
async function matching(client: Client, run: RunSummary, { since, step, tags }: Filter): Promise<FoundRun | null> {
  if (since !== undefined && run.createdAt < since) return null;
  if (step === undefined && tags.length === 0) return run;
  const handle = client.run(run.id, { tenant: run.tenant });
  if (step !== undefined && !stepsAt(await handle.ledger(), run).includes(step)) return null;
  if (tags.length === 0) return run;
  const { attributes } = await handle.get();
  return tags.every(([key, value]) => JSON.stringify(attributes[key]) === JSON.stringify(value))
    ? { ...run, attributes }
    : null;
}

/** The steps a run stands at: those of its open rows, and the one that a person is asked about. */
export function stepsAt(rows: readonly LedgerRow[], { review }: Pick<RunSummary, "review">): readonly string[] {
  const open = rows.filter(({ seq, call, undo }) => {
    const isOut = ["planned", "claiming", "offered", "sent", "unknown"].includes(call.state);
    return isOut || undo?.state === "owed" || undo?.state === "sent" || undo?.state === "halted" || seq === review?.seq;
  });
  return [...new Set(open.map(({ step }) => step))];
}

export const pageOptions = [
  ["--limit <n>", "how many at most, 1 to 1000; 50 unless given"],
  ["--cursor <cursor>", "nextCursor of the page before"],
] as const;

export function limitOf(text: string | undefined, standard = 50): number {
  return text === undefined ? standard : wholeOf(text, "--limit", 1, maxLooked);
}

/** `<tenant>/<id>` or `<id>`. Throws UsageError where it can be neither. */
export function refOf(text: string, tenant: string): { readonly tenant: string; readonly id: string } {
  const parts = text.split("/");
  if (parts.length > 2 || parts.includes("")) throw new UsageError(`${text} is neither <run> nor <tenant>/<run>`);
  const [first = "", second] = parts;
  return second === undefined ? { tenant, id: first } : { tenant: first, id: second };
}
