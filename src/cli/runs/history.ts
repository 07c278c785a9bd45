/** `reprise runs history`: a run's log, revision by revision; with `--diff` what differs between two of them. */
import type { RunDifference, RunHandle } from "../../client/index.ts";
import type { LogEntry } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { momentText } from "../base/words.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit.ts";
import { entryText } from "./entry-text.ts";
import { reach } from "./reach.ts";

export const runsHistory = command<[id: string], { readonly diff?: string }>({
  name: "runs history",
  summary: "What a run went through, revision by revision; or what differs between two revisions",
  details:
    "--diff 3..7 folds the log over the saga's machine and compares status, state and context after both revisions, and lists what\nhappened in between. It needs the saga (reprise.config); a log that does not lead there is said so, with exit 1.",
  args: [["<id>", "of the run"]],
  options: [["--diff <from..to>", "two revisions"]],
  examples: [
    "reprise runs history order-o-1",
    "reprise runs history order-o-1 --diff 3..7",
    "reprise runs history order-o-1 --jsonl | jq -c '.data.taken[]'",
  ],
  kinds: ["LogEntryList", "LogEntry", "RunDifference"],
  run: async (cli, { diff }, id) => {
    const run = await reach(cli, id);
    if (diff !== undefined) return await printDifference(cli, run, diff);
    const [log, rows] = [await run.log(), await run.ledger()];
    cli.out.list("LogEntry", {
      items: log,
      id: ({ revision }) => String(revision),
      columns: [
        { title: "rev", cell: ({ revision }) => String(revision), align: "right" },
        { title: "time", cell: ({ at }) => momentText(at) },
        { title: "status", cell: ({ from, to }) => (from === null || from === to ? to : `${from} → ${to}`) },
        { title: "by", cell: ({ actor }) => actor },
        { title: "fence", cell: ({ fence }) => String(fence), wide: true, align: "right" },
        { title: "digest", cell: ({ digest }) => digest, wide: true },
        { title: "what", cell: (entry) => entryText(entry, rows, cli.out) },
      ],
      empty: "",
    });
    return exitCodes.ok;
  },
});

async function printDifference(cli: Cli, run: RunHandle, diff: string): Promise<ExitCode> {
  const [, from, to] = /^(\d{1,9})\.\.(\d{1,9})$/.exec(diff) ?? [];
  if (from === undefined || to === undefined) throw new UsageError(`--diff ${diff}: write two revisions, like 3..7`);
  const difference = await run.difference({ from: Number(from), to: Number(to) });
  const rows = await run.ledger();
  cli.out.document("RunDifference", difference, { lines: () => differenceLines(cli, difference, rows) });
  return difference.problem === null ? exitCodes.ok : exitCodes.failed;
}

function differenceLines(
  { out }: Cli,
  { from, to, changes, entries, problem }: RunDifference,
  rows: Rows,
): readonly Line[] {
  const shown = (value: unknown) => (value === undefined ? "(nothing)" : out.value(value));
  return [
    ink("bold", `revision ${from.revision} (${momentText(from.at)}) → ${to.revision} (${momentText(to.at)})`),
    ...(problem === null ? [] : [ink("red", `✗ the log does not lead there: ${problem}`)]),
    ...changes.flatMap(({ path, before, after }): readonly Line[] => [
      `  ${path === "" ? "(all)" : path}`,
      [ink("red", `    - ${shown(before)}`)],
      [ink("green", `    + ${shown(after)}`)],
    ]),
    ...(changes.length === 0 && problem === null ? ["  nothing of status, state and context differs"] : []),
    ink("bold", "because"),
    ...entries.map((entry: LogEntry): Line => `  ${entry.revision} ${entryText(entry, rows, out)} (${entry.actor})`),
  ];
}

type Rows = Awaited<ReturnType<RunHandle["ledger"]>>;
