/** `reprise migrate`: open runs move to another version of their saga; first it is said what would become of each. */
import type { Client, RunMigration } from "../../client/index.ts";
import { RepriseError } from "../../errors.ts";
import { type Cli, onlyOne } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { type Ink, ink } from "../base/ink.ts";
import { refOf } from "../base/select.ts";
import type { Column } from "../base/table.ts";
import { wholeOf } from "../base/values.ts";
import { counted, runText } from "../base/words.ts";
import { type ExitCode, exitCodes, Interrupted, UsageError } from "../exit.ts";

interface Flags {
  readonly saga?: string;
  readonly from?: string;
  readonly to?: string;
  readonly all?: true;
  readonly limit?: string;
  readonly expect?: string;
}

/** Runs that one command looks at. */
const standardLimit = 1_000;
const countedFrom = 20;
/** Of a dry run nobody is asked why. */
const justLooking = "a dry run";

export const migrateCommand = command<[ids: readonly string[]], Flags>({
  name: "migrate",
  summary: "Move open runs to another version of their saga; says first what would become of each",
  details: `Named runs, those of one version (--saga, --from), or (--all) those of every version older than this project's newest. What fits is asked to move: the
worker of the new version judges it again, where it then stands, and moves it in one commit. What does not fit stays as it is. They are
listed first and confirmed (--yes; above 20 by their number, --expect). Exit 10 if some do not fit, 7 if none does. The store itself has
had one format so far: nothing of it is to be migrated.`,
  args: [["[ids...]", "of runs, or <tenant>/<id>"]],
  options: [
    ["--saga <name>", "open runs of this saga"],
    ["--from <version>", "only of this version; all older ones unless given"],
    ["--to <version>", "the version to move to; the newest of this project unless given"],
    ["--all", "open runs of all sagas of this project"],
    ["--limit <n>", `look at so many runs at most; ${standardLimit} unless given`],
    ["--expect <n>", `how many are meant to move: needed above ${countedFrom} where nobody can be asked`],
  ],
  examples: [
    "reprise migrate --all --dry-run",
    "reprise migrate --saga order --from 1 --reason 'gifts are wrapped now' --yes",
    "reprise migrate order-o-1 --to 2 --reason INC-7 --json",
  ],
  kinds: ["RunMigrationList", "RunMigration"],
  changes: {},
  run: async (cli, flags, ids) => {
    const client = await cli.client();
    const planned = await plannedMoves(cli, client, flags, ids);
    if (cli.globals.dryRun || !planned.some(isFit)) {
      await print(cli, planned);
      return exitOf(planned);
    }
    await confirm(cli, planned.filter(isFit).length, planned, flags.expect);
    const as = { by: cli.by, reason: await cli.reason() };
    return await move(cli, client, planned, as);
  },
});

function isFit({ fate }: RunMigration): boolean {
  return fate !== "refused";
}

async function plannedMoves(
  cli: Cli,
  client: Client,
  flags: Flags,
  ids: readonly string[],
): Promise<readonly RunMigration[]> {
  const { saga, from, all, limit = String(standardLimit) } = flags;
  onlyOne(ids, { saga, from, all });
  const to = flags.to === undefined ? {} : { to: wholeOf(flags.to, "--to", 1, Number.MAX_SAFE_INTEGER) };
  const asked = { ...to, by: cli.by, reason: justLooking, dryRun: true };
  if (ids.length > 0) {
    const tenant = await cli.tenant();
    return await Promise.all(ids.map((id) => client.migrate(refOf(id, tenant), asked)));
  }
  if (saga === undefined && all === undefined) throw new UsageError("--from wants --saga <name>");
  const most = wholeOf(limit, "--limit", 1, 100_000);
  const moves: RunMigration[] = [];
  for (const version of await olderVersions(cli, client, flags)) {
    if (moves.length >= most) break;
    const { tenant } = cli.globals;
    const where = { ...version, ...(tenant === undefined ? {} : { tenant }), limit: most - moves.length };
    const page = await client.migrateAll({ ...asked, ...where });
    moves.push(...page.runs);
    for (const { id } of page.unreadable) cli.out.warn(ink("yellow", `Run ${id} cannot be read and stays as it is.`));
    if (page.cursor !== null) cli.out.warn(ink("yellow", `Only ${counted(moves.length, "run")}; there are more.`));
  }
  return moves;
}

/** Versions with open runs that are to move, of sagas that this project has. */
async function olderVersions(
  cli: Cli,
  client: Client,
  { saga: named, from, to }: Flags,
): Promise<readonly { readonly saga: string; readonly from: number }[]> {
  const only = from === undefined ? null : wholeOf(from, "--from", 1, Number.MAX_SAFE_INTEGER);
  const { sagas } = await cli.place();
  const newest = (name: string) =>
    Math.max(0, ...sagas.filter((each) => each.name === name).map((each) => each.version));
  if (named !== undefined && newest(named) === 0) {
    throw new RepriseError("SAGA_UNKNOWN", `this project has no saga ${named}`, { details: { saga: named } });
  }
  const open = (await client.served()).filter((version) => version.open);
  const versions = open.filter(({ saga, version }) => {
    const target = to === undefined ? newest(saga) : Number(to);
    return (named === undefined || saga === named) && (only === null ? version < target : version === only);
  });
  // Structures of one version are looked at together.
  const names = new Map(versions.map(({ saga, version }) => [`${saga}@${version}`, { saga, from: version }]));
  return [...names.values()];
}

async function confirm(cli: Cli, fit: number, planned: readonly RunMigration[], expect: string | undefined) {
  if (expect !== undefined && expect !== String(fit))
    throw new UsageError(`--expect ${expect}, but ${counted(fit, "run")} would move: nothing was done`);
  cli.out.noteTable(planned.slice(0, countedFrom), columnsFor(await cli.usualTenant()));
  if (planned.length > countedFrom) cli.out.warn(`and ${planned.length - countedFrom} more`);
  const question = `Move ${counted(fit, "run")}?`;
  if (fit > countedFrom) {
    if (expect === undefined) await cli.ask.typed(`${question} Type ${fit}.`, String(fit), `--expect ${fit}`);
  } else if (!cli.globals.yes && expect === undefined) await cli.ask.confirm(question, "--yes");
}

/** What was shown is asked to move, each by itself; what no longer fits is told. */
async function move(
  cli: Cli,
  client: Client,
  planned: readonly RunMigration[],
  as: { readonly by: string; readonly reason: string },
): Promise<ExitCode> {
  const done: RunMigration[] = [];
  for (const plan of planned) {
    if (cli.signal.aborted) break;
    done.push(isFit(plan) ? await moved(client, plan, as) : plan);
  }
  await print(cli, done);
  if (done.length < planned.length) throw new Interrupted();
  cli.out.note("They are moved by a worker of that version, where they then stand: reprise sagas list");
  return exitOf(done);
}

async function moved(
  client: Client,
  plan: RunMigration,
  as: { readonly by: string; readonly reason: string },
): Promise<RunMigration> {
  try {
    return await client.migrate({ tenant: plan.tenant, id: plan.run }, { ...as, to: plan.to });
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code === "STORE_UNAVAILABLE") throw error;
    return { ...plan, fate: "refused", problem: error.message };
  }
}

function exitOf(runs: readonly RunMigration[]): ExitCode {
  if (runs.every(isFit)) return exitCodes.ok;
  return runs.some(isFit) ? exitCodes.partial : exitCodes.unsafe;
}

async function print(cli: Cli, runs: readonly RunMigration[]): Promise<void> {
  const usual = await cli.usualTenant();
  cli.out.list("RunMigration", {
    items: runs,
    id: ({ tenant, run }) => runText({ tenant, id: run }, usual),
    columns: columnsFor(usual),
    empty: "No open run is of an older version: nothing is to be moved.",
  });
}

const fates: Readonly<Record<RunMigration["fate"], Ink>> = {
  moves: ink("green", "✓ moves"),
  later: ink("cyan", "◷ later"),
  refused: ink("red", "✗ refused"),
};

function columnsFor(usual: string): readonly Column<RunMigration>[] {
  return [
    { title: "", cell: ({ fate }) => fates[fate] },
    { title: "run", cell: ({ tenant, run }) => ink("bold", runText({ tenant, id: run }, usual)) },
    { title: "from", cell: ({ from }) => String(from), align: "right" },
    { title: "to", cell: ({ to }) => String(to), align: "right" },
    { title: "note", cell: ({ problem, differences }) => problem ?? differences.join("; ") },
  ];
}
