/**
 * `reprise demo`, which is what `npm start` calls: sets the stage, tells the story, compares what the ledger claims with
 * what the world observed, and ends 0 only if they agree and every chapter went as told.
 */
import { setMaxListeners } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { type Colors, colorsFor } from "../colors.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit.ts";
import { chapters, playChapter } from "./chapters.ts";
import { onInterrupt } from "./interrupt.ts";
import { narrate } from "./narrator.ts";
import type { OrderList } from "./orders.ts";
import { playOrders, readOrderFile, tellAboutList } from "./own-orders.ts";
import { unlessAborted } from "./patience.ts";
import { loadSagas } from "./processes.ts";
import { type Report, reportOn } from "./report.ts";
import { Stage } from "./stage.ts";
import { claimsFile, type PlayedChapter, readStory, worldFile, writeStory } from "./story.ts";
import { renderReport } from "./table.ts";

interface DemoOptions {
  readonly once?: true;
  readonly json?: true;
  readonly input?: string;
  readonly verify?: string;
  readonly allowForgetfulStore?: true;
}

export function addDemoCommand(program: Command, end: (code: ExitCode) => void): void {
  program
    .command("demo")
    .description("Tell a story on real processes, and compare the ledger with what the world outside saw")
    .option("--once", "never ask for anything: for scripts and CI")
    .option("--json", "print one JSON object at the end of stdout instead of the table")
    .option(
      "--input <file>",
      "run the order saga on your own orders, one JSON object a line (see samples/orders.jsonl)",
    )
    .option("--verify <dir>", "start nothing: compare again what an earlier demo left in this directory")
    .option("--allow-forgetful-store", "also on a REDIS_URL that may forget acknowledged writes")
    .addHelpText("after", examples)
    .action(async (options: DemoOptions) => {
      end(options.verify === undefined ? await tell(options) : await verify(options.verify, options));
    });
}

const examples = `
Examples:
  npm start
  npm start -- --once --json
  npm start -- --input samples/orders.jsonl
  reprise demo --verify /tmp/reprise-demo-Ab12Cd

Exit codes: 0 the table agrees and every chapter went as told · 1 it does not · 2 wrong usage, no line of --input could
be used · 6 no Redis · 10 some lines of --input could not be used · 130 interrupted`;

async function tell(options: DemoOptions): Promise<ExitCode> {
  const narrator = narrate(process.stderr);
  const sagas = await loadSagas();
  const own =
    options.input === undefined ? null : { path: options.input, list: await readOrderFile(options.input, sagas) };
  if (own !== null) tellAboutList(own.path, own.list, narrator);
  const dir = await mkdtemp(join(tmpdir(), "reprise-demo-"));
  const abort = new AbortController();
  setMaxListeners(0, abort.signal); // one for each order that is waited for
  const stage = new Stage({ dir, sagas, narrator, abort, allowForgetfulStore: options.allowForgetfulStore === true });
  const stopListening = onInterrupt(abort, () => stage.abandon());
  try {
    await play(stage, own);
  } finally {
    await stage.close();
    narrator.close();
    stopListening();
  }
  return await judge(dir, options, own?.list ?? null);
}

/** Plays the story, or the user's own orders, and leaves the claims in the directory. */
async function play(stage: Stage, own: { readonly path: string; readonly list: OrderList } | null): Promise<void> {
  const { narrator, signal, dir, namespace } = stage;
  narrator.say(
    narrator.colors.bold("Reprise: sagas that survive kill -9, and never lie about what happened outside\n"),
  );
  const played: PlayedChapter[] = [];
  if (own === null || own.list.orders.length > 0) await unlessAborted(stage.set(), signal);
  if (own === null) {
    for (const [index, chapter] of chapters.entries()) played.push(await playChapter(stage, chapter, index + 1));
  } else if (own.list.orders.length > 0) {
    played.push(await playOrders(stage, own.path, own.list.orders));
  }
  // Only when nobody can call the world any more is its file complete.
  await stage.stopWorkers();
  await writeStory(dir, { format: 1, namespace, chapters: played });
}

async function verify(given: string, options: DemoOptions): Promise<ExitCode> {
  if (options.input !== undefined) throw new UsageError("--verify compares an earlier demo: it takes no --input.");
  return await judge(resolve(given), options, null);
}

async function judge(dir: string, options: DemoOptions, list: OrderList | null): Promise<ExitCode> {
  const { story, witness } = await readStory(dir);
  const report = reportOn(story, witness);
  if (options.json) console.log(JSON.stringify(asJson(report, dir, list)));
  else console.log(asText(report, dir, colorsFor(process.stdout)));
  if (!report.ok) return exitCodes.failed;
  if (list === null || list.errors.length === 0) return exitCodes.ok;
  return list.orders.length > 0 ? exitCodes.partial : exitCodes.usage;
}

function asJson({ chapters, differences }: Report, dir: string, list: OrderList | null): unknown {
  return {
    chapters: chapters.map(({ name, ok, problems, claimed, observed }) => ({ name, ok, claimed, observed, problems })),
    differences: differences.length,
    differenceRows: differences,
    ...(list === null ? {} : { inputErrors: list.errors, repeatedLines: list.repeated }),
    dir,
  };
}

function asText(report: Report, dir: string, colors: Colors): string {
  const again = `npm start -- --verify ${dir}`;
  const where = [`world's file  ${worldFile(dir)}`, `claims        ${claimsFile(dir)}`, `compare again ${again}`];
  return ["", renderReport(report, colors), "", ...where.map((line) => colors.dim(line))].join("\n");
}
