/**
 * Acting on several runs at once. Owns: what is frozen, what is asked before, and what is said of each item.
 *
 * Invariants: B1 what is acted on is what was selected and shown: each run by its id, and only while it stands in the status it was
 * selected in. B2 nothing that a reason can be given for is done without one, and of more than `countedFrom` runs not before their number was said. B3 of every
 * run it is said what came of it, also when the command is interrupted. B4 what would be refused as a run stands is not said to be done by
 * --dry-run, and is no part of what a filter selects.
 */
import type { Client, RunHandle } from "../../client/index.ts";
import { hasEnded, type RunStatus, type RunSummary } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import { type ExitCode, exitCodes, Interrupted, UsageError } from "../exit.ts";
import { type Cli, onlyOne } from "./cli.ts";
import { ink } from "./ink.ts";
import {
  type Filter,
  type FilterFlags,
  type FoundRun,
  filterOf,
  filterOptions,
  findRuns,
  refOf,
  statuses,
} from "./select.ts";
import type { Column } from "./table.ts";
import { counted, runText, statusInk } from "./words.ts";

const maxSelected = 1_000;
const openStatuses = statuses.filter((status) => !hasEnded(status));
const countedFrom = 20;
const shownRuns = 20;

export interface SelectFlags extends FilterFlags {
  /** How many runs the caller means. */
  readonly expect?: string;
}

const [[statusFlag, statusAbout], ...otherFilters] = filterOptions;
export const selectOptions = [
  [statusFlag, `${statusAbout}; all that are open unless given`],
  ...otherFilters,
  ["--expect <n>", `how many runs are meant: needed above ${countedFrom} where nobody can be asked`],
] as const;

export interface Item {
  readonly tenant: string;
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  readonly status: RunStatus;
  readonly revision: number;
  readonly review: RunSummary["review"];
}

export interface Selection {
  readonly items: readonly Item[];
  readonly by: "ids" | "filter";
}

/** Throws UsageError, RUN_NOT_FOUND. */
export async function selectRuns(
  cli: Cli,
  ids: readonly string[],
  { expect: _, ...filters }: SelectFlags,
): Promise<Selection> {
  const by = onlyOne(ids, { ...filters });
  const tenant = await cli.tenant();
  const client = await cli.client();
  if (by === "ids") {
    const refs = new Map(ids.map((id) => refOf(id, tenant)).map((ref) => [`${ref.tenant}/${ref.id}`, ref]));
    return { by, items: await Promise.all([...refs.values()].map(async (ref) => await client.run(ref.id, ref).get())) };
  }
  return { by, items: await foundBy(cli, filterOf(filters, Date.now()), tenant) };
}

/** Open runs are asked for by their status: however many have ended since, none is passed over for them. */
async function foundBy(cli: Cli, filter: Filter, tenant: string): Promise<readonly Item[]> {
  const wanted = filter.status === undefined ? openStatuses : [filter.status];
  const found = new Map<string, FoundRun>();
  let isWhole = true;
  for (const status of wanted) {
    const { runs, cursor } = await findRuns(cli, { filter: { ...filter, status }, tenant, limit: maxSelected });
    // One that moves meanwhile may be found twice: as it stands now.
    for (const run of runs) found.set(run.id, run);
    isWhole &&= cursor === null;
  }
  const newest = [...found.values()].toSorted((a, b) => b.createdAt - a.createdAt).slice(0, maxSelected);
  if (!isWhole || newest.length < found.size)
    cli.out.warn(ink("yellow", `Only the newest ${newest.length} of those that fit.`));
  return newest;
}

/** What is done about each run. */
export interface Act {
  /** `cancel`. */
  readonly verb: string;
  /** What is asked before: `Cancel 3 runs? What they did is undone.` */
  readonly question: (runs: string) => string;
  /** Of how many it has to be confirmed; 2 unless given, and always where they were chosen by a filter. */
  readonly confirmFrom?: number;
  /** It changes nothing that had to be explained. */
  readonly needsNoReason?: true;
  /** What it would be refused with, as the run stands; `null`: nothing speaks against it. */
  readonly refusal: (run: Item) => RepriseError | null;
  /** Does it, and says in a word what came of it. */
  readonly perform: (run: RunHandle, by: { readonly by: string; readonly reason: string }) => Promise<string>;
}

export interface ItemResult {
  readonly tenant: string;
  readonly run: string;
  readonly act: string;
  readonly result: "done" | "would" | "skipped" | "failed";
  /** What came of it, or why nothing did. */
  readonly note: string;
}

export async function actOnRuns(cli: Cli, found: Selection, act: Act, flags: SelectFlags): Promise<ExitCode> {
  const selection = found.by === "filter" ? withoutRefused(cli, found, act) : found;
  const { items } = selection;
  if (items.length === 0) {
    cli.out.note("No run fits: nothing is to be done.");
    await printResults(cli, []);
    return exitCodes.ok;
  }
  if (cli.globals.dryRun) return await dryRun(cli, selection, act);
  await confirm(cli, selection, act, flags.expect);
  const as = { by: cli.by, reason: act.needsNoReason === true ? "" : await cli.reason() };
  const client = await cli.client();
  const only = selection.by === "ids" && items.length === 1 ? items[0] : undefined;
  if (only !== undefined) {
    // Of one run the refusal itself is told, with its own exit code.
    const note = await act.perform(client.run(only.id, { tenant: only.tenant }), as);
    await printResults(cli, [resultOf(only, act, "done", note)]);
    return exitCodes.ok;
  }
  return await actOnMany(cli, client, selection, act, as);
}

/** A filter finds runs that the act is not for: those that have ended, for a cancel. */
function withoutRefused(cli: Cli, { by, items }: Selection, act: Act): Selection {
  const kept = items.filter((item) => !hasEnded(item.status) && act.refusal(item) === null);
  const left = items.length - kept.length;
  if (left > 0) cli.out.note(`${counted(left, "run")} that the filter finds cannot take a ${act.verb}: left out.`);
  return { by, items: kept };
}

/** As the act would end: of one run the refusal itself is told, of many what would become of each. */
async function dryRun(cli: Cli, { items, by }: Selection, act: Act): Promise<ExitCode> {
  const refusals = items.map((item) => act.refusal(item));
  const [only] = refusals;
  if (by === "ids" && items.length === 1 && only !== null && only !== undefined) throw only;
  const results = items.map((item, at) => {
    const refusal = refusals[at] ?? null;
    return refusal === null
      ? resultOf(item, act, "would", `it is ${item.status}, at revision ${item.revision}`)
      : resultOf(item, act, "skipped", `${refusal.message} [${refusal.code}]`);
  });
  await printResults(cli, results);
  return results.every(({ result }) => result === "would") ? exitCodes.ok : exitCodes.partial;
}

type As = { readonly by: string; readonly reason: string };

async function actOnMany(cli: Cli, client: Client, selection: Selection, act: Act, as: As): Promise<ExitCode> {
  const results: ItemResult[] = [];
  const progress = cli.out.progress(act.verb, selection.items.length);
  try {
    for (const item of selection.items) {
      if (cli.signal.aborted) break;
      results.push(await performed(client, item, selection, act, as));
      progress.at(results.length);
    }
  } finally {
    progress.end();
  }
  const left = selection.items.slice(results.length);
  results.push(...left.map((item) => resultOf(item, act, "skipped", "interrupted")));
  await printResults(cli, results);
  if (left.length > 0) throw new Interrupted();
  return results.every(({ result }) => result === "done") ? exitCodes.ok : exitCodes.partial;
}

async function performed(client: Client, item: Item, { by }: Selection, act: Act, as: As): Promise<ItemResult> {
  const run = client.run(item.id, { tenant: item.tenant });
  try {
    if (by === "filter") {
      const { status } = await run.get();
      if (status !== item.status) return resultOf(item, act, "skipped", `it was ${item.status} and is ${status}`);
    }
    return resultOf(item, act, "done", await act.perform(run, as));
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code === "STORE_UNAVAILABLE") throw error;
    return resultOf(item, act, "failed", `${error.message} [${error.code}]`);
  }
}

async function confirm(cli: Cli, { items, by }: Selection, act: Act, expect: string | undefined): Promise<void> {
  const { confirmFrom = 2 } = act;
  const count = items.length;
  if (expect !== undefined && expect !== String(count)) {
    throw new UsageError(`--expect ${expect}, but ${counted(count, "run")} would be concerned: nothing was done`);
  }
  if (count < confirmFrom && by === "ids") return;
  cli.out.noteTable(items.slice(0, shownRuns), itemColumns(await cli.usualTenant()));
  if (count > shownRuns) cli.out.warn(`and ${count - shownRuns} more`);
  const question = act.question(counted(count, "run"));
  if (count > countedFrom) {
    if (expect === undefined) await cli.ask.typed(`${question} Type ${count}.`, String(count), `--expect ${count}`);
    return;
  }
  if (!cli.globals.yes && expect === undefined) await cli.ask.confirm(question, "--yes");
}

function itemColumns(usual: string): readonly Column<Item>[] {
  return [
    { title: "status", cell: ({ status }) => statusInk(status) },
    { title: "run", cell: (item) => runText(item, usual) },
    { title: "saga", cell: ({ saga, version }) => `${saga}@${version}` },
    { title: "revision", cell: ({ revision }) => String(revision), align: "right" },
  ];
}

const marks = {
  done: ink("green", "✓ done"),
  would: ink("cyan", "○ would"),
  skipped: ink("yellow", "– skipped"),
  failed: ink("red", "✗ failed"),
} as const;

async function printResults(cli: Cli, items: readonly ItemResult[]): Promise<void> {
  const usual = await cli.usualTenant();
  const name = ({ tenant, run }: ItemResult) => runText({ tenant, id: run }, usual);
  cli.out.list("Act", {
    items,
    id: name,
    columns: [
      { title: "", cell: ({ result }) => marks[result] },
      { title: "run", cell: (item) => ink("bold", name(item)) },
      { title: "act", cell: (item) => item.act },
      { title: "note", cell: ({ note }) => cli.out.text(note) },
    ],
    empty: "",
  });
}

function resultOf({ tenant, id }: Item, { verb }: Act, result: ItemResult["result"], note: string): ItemResult {
  return { tenant, run: id, act: verb, result, note };
}
