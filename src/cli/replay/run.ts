/** `reprise replay run`: executes a plan, or a batch of them. */
import { type BatchReport, type Client, refuseSuspended } from "../../client/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { durationOf, wholeOf } from "../base/values.ts";
import { counted, runText } from "../base/words.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit.ts";

interface Flags {
  readonly onlySafe?: true;
  readonly canary?: string;
  readonly canaryWithin?: string;
  readonly rate?: string;
  readonly override?: string;
  readonly expect?: string;
}

const countedFrom = 20;

export const replayRun = command<[plan: string], Flags>({
  name: "replay run",
  summary:
    "Execute a plan, or a batch, that `replay plan` has made: once, and only while the runs lie there as they did",
  details:
    "What is not safe is refused (exit 7), in a batch left out (exit 10), unless --override says why it is meant. A batch that\nstops (exit 10) goes on where it stopped when it is executed again, and does no run twice. `batch suspend` stops it from anywhere; until it is\nresumed it is refused (exit 7).",
  args: [["<plan>", "id of the plan or batch"]],
  options: [
    ["--only-safe", "leave out what is not safe (which is what happens without --override)"],
    ["--canary <n>", "of a batch: so many first, and stop where one of them is parked again"],
    ["--canary-within <duration>", "how long the canaries are watched; 30s unless given"],
    ["--rate <n>", "of a batch: runs a second; 10 unless given"],
    ["--override <why>", "execute it although it is not safe; it stands in the log"],
    ["--expect <n>", `how many runs are meant: needed above ${countedFrom} where nobody can be asked`],
  ],
  examples: [
    "reprise replay run 01J8Z2 --reason 'the bank is back'",
    "reprise replay run 01J8Z2 --only-safe --canary 1 --reason 'the bank is back' --yes",
    "reprise replay run 01J8Z2 --dry-run --json",
  ],
  kinds: ["Replayed", "BatchReport"],
  changes: {},
  run: async (cli, flags, id) => {
    if (flags.onlySafe && flags.override !== undefined) throw new UsageError("--only-safe or --override, not both");
    const client = await cli.client();
    const batch = await batchOf(client, id);
    return batch === null ? await runPlan(cli, client, id, flags) : await runBatch(cli, client, batch, flags);
  },
});

/** `null`: it is the plan of one run. Throws PLAN_GONE. */
async function batchOf(client: Client, id: string): Promise<BatchReport | null> {
  try {
    return await client.batch(id);
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    if (error.code === "INPUT_INVALID") return null;
    if (error.code !== "PLAN_GONE") throw error;
    const message = `there is no plan or batch ${id}, or it has expired: make a new one with reprise replay plan`;
    throw new RepriseError("PLAN_GONE", message, { details: { plan: id } });
  }
}

async function runPlan(cli: Cli, client: Client, id: string, { canary, override }: Flags): Promise<ExitCode> {
  if (canary !== undefined) throw new UsageError("--canary is for a batch: this is the plan of one run");
  const { dryRun } = cli.globals;
  const replayed = await client.executePlan(id, {
    ...{ by: cli.by, dryRun, reason: dryRun ? "dry run" : await cli.reason() },
    ...(override === undefined ? {} : { override }),
  });
  const { mode } = replayed;
  const run = runText({ tenant: replayed.tenant, id: replayed.run }, await cli.usualTenant());
  if (dryRun) {
    cli.out.document(
      "Replayed",
      { plan: id, ...replayed, dryRun },
      { id: run, lines: () => [`${mode} would be requested; run ${run} would go on. replay plan has said how.`] },
    );
    return exitCodes.ok;
  }
  cli.out.document(
    "Replayed",
    { plan: id, ...replayed, dryRun },
    {
      id: run,
      lines: () => [[ink("green", `✓ ${mode}`), ` is requested; run ${run} goes on`]],
    },
  );
  cli.out.note(`Follow it: reprise runs watch ${run}`);
  return exitCodes.ok;
}

async function runBatch(cli: Cli, client: Client, batch: BatchReport, flags: Flags): Promise<ExitCode> {
  // Nobody is asked about what would be refused.
  refuseSuspended(batch);
  const wanted = batch.items.filter(({ safe }) => safe || flags.override !== undefined).length;
  if (cli.globals.dryRun) {
    cli.out.document(
      "BatchReport",
      { ...batch, dryRun: true },
      {
        id: batch.id,
        lines: () => [
          `${counted(wanted, "run")} of ${batch.items.length} would be executed`,
          ...reportLines(cli, batch),
        ],
      },
    );
    return exitCodes.ok;
  }
  await confirm(cli, wanted, batch.items.length, flags);
  const by = { by: cli.by, reason: await cli.reason() };
  const progress = cli.out.progress("replay", batch.items.length);
  const executed = client.executeBatch(batch.id, {
    ...{ ...by, onProgress: (done: number) => progress.at(done) },
    ...(flags.override === undefined ? {} : { override: flags.override }),
    ...(flags.canary === undefined ? {} : { canary: wholeOf(flags.canary, "--canary", 1, 1_000) }),
    ...(flags.canaryWithin === undefined ? {} : { canaryWithin: durationOf(flags.canaryWithin, "--canary-within") }),
    ...(flags.rate === undefined ? {} : { ratePerSecond: wholeOf(flags.rate, "--rate", 1, 1_000) }),
  });
  const report = await executed.finally(() => progress.end());
  cli.out.document("BatchReport", report, { id: report.id, lines: () => reportLines(cli, report) });
  if (report.suspended !== null)
    cli.out.note(`To go on: reprise batch resume ${report.id} --reason ..., then replay run again`);
  const isWhole = report.stopped === null && report.results.every((result) => result?.result === "done");
  return isWhole ? exitCodes.ok : exitCodes.partial;
}

async function confirm(cli: Cli, wanted: number, all: number, { expect, override }: Flags): Promise<void> {
  if (expect !== undefined && expect !== String(wanted)) {
    throw new UsageError(`--expect ${expect}, but ${counted(wanted, "run")} would be executed: nothing was done`);
  }
  if (expect !== undefined || wanted === 0) return;
  const question = `Execute ${counted(wanted, "plan")} of ${all}${override === undefined ? "" : ", also those that are not safe"}?`;
  if (wanted > countedFrom) await cli.ask.typed(`${question} Type ${wanted}.`, String(wanted), `--expect ${wanted}`);
  else if (!cli.globals.yes) await cli.ask.confirm(question, "--yes");
}

function reportLines({ out }: Cli, { items, results, stopped }: BatchReport): readonly Line[] {
  const size = Math.max(0, ...items.map(({ run }) => run.length));
  return [
    ...items.map(({ run, reasons }, at): Line => {
      const result = results[at] ?? null;
      if (result === null)
        return [
          ink("dim", "  ○ "),
          run.padEnd(size),
          `  not yet${reasons.length === 0 ? "" : `: ${out.text(reasons.join("; "))}`}`,
        ];
      if (result.result === "done") return [ink("green", "  ✓ "), run.padEnd(size), `  run ${result.run} goes on`];
      return [
        ink(result.result === "failed" ? "red" : "yellow", "  – "),
        run.padEnd(size),
        `  ${result.result}: ${out.text(result.reason)}`,
      ];
    }),
    ...(stopped === null ? [] : [ink("red", `✗ stopped: ${out.text(stopped)}`)]),
  ];
}
