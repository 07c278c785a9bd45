/** `reprise slo`: how the runs of a window have done, by what their sagas promise. */
import type { SloReport, SloStanding } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { type Column, tableLines } from "../base/table.ts";
import { durationOf, wholeOf } from "../base/values.ts";
import { counted, lengthText, timeText } from "../base/words.ts";
import { exitCodes, UsageError } from "../exit.ts";

interface Flags {
  readonly window?: string;
  readonly limit?: string;
}

export const sloCommand = command<[sagas: readonly string[]], Flags>({
  name: "slo",
  summary: "Objectives of sagas against what their runs have done, what was prevented, what went on where it was",
  details: "Of the named sagas; of all that have objectives (slo:) unless given. Exit 9 where an objective is not met.",
  args: [["[sagas...]", "names"]],
  options: [
    ["--window <duration>", "runs started within it: 24h, 30d; that of the saga's objectives unless given"],
    ["--limit <n>", "look at so many runs at most, the newest; 1000 unless given"],
  ],
  examples: ["reprise slo", "reprise slo order --window 7d", "reprise slo order refund --json"],
  kinds: ["SloReportList", "SloReport"],
  run: async (cli, flags, names) => {
    const { sagas, tenant } = await cli.place();
    const promising = sagas.filter(({ spec }) => spec.slo !== null).map(({ name }) => name);
    const wanted = names.length > 0 ? names : [...new Set(promising)];
    if (wanted.length === 0)
      throw new UsageError("no saga of this project has objectives (slo: ...): name those that are meant");
    const window = flags.window === undefined ? {} : { window: durationOf(flags.window, "--window") };
    const limit = flags.limit === undefined ? {} : { limit: wholeOf(flags.limit, "--limit", 1, 100_000) };
    const client = await cli.client();
    const reports: SloReport[] = [];
    for (const saga of wanted) reports.push(await client.slo({ saga, tenant, ...window, ...limit }));
    print(cli, reports);
    return reports.every(({ objectives }) => objectives.every(({ isMet }) => isMet))
      ? exitCodes.ok
      : exitCodes.findings;
  },
});

function print({ out }: Cli, reports: readonly SloReport[]): void {
  if (out.format === "table" || out.format === "wide")
    return out.lines(reports.flatMap((report) => linesOf(report, out.plain)));
  out.list("SloReport", { items: reports, id: ({ saga }) => saga, columns: [], empty: "" });
}

function linesOf(report: SloReport, colors: Parameters<typeof tableLines>[2]): readonly Line[] {
  const { saga, from, to, runs, ended, isWhole, objectives, prevented, resumptions, avoided } = report;
  const { reused, found, absorbed } = prevented;
  const more = isWhole ? "" : " (the newest: there are more)";
  return [
    [ink("bold", saga), `  ${timeText(from)} to ${timeText(to)}: ${counted(runs, "run")}${more}, ${ended} ended`],
    ...(objectives.length === 0
      ? ["  no objectives"]
      : tableLines(objectives, columns, colors).map((line) => `  ${line}`)),
    `  duplicates prevented: ${reused + found + absorbed} (${reused} reused, ${found} found, ${absorbed} absorbed)`,
    ...resumptions.map(({ step, times, succeeded }) => `  resumed at ${step}: ${times}, ${succeeded} succeeded`),
    ...(avoided.steps === 0 ? [] : [`  not done again: ${counted(avoided.steps, "step")}`]),
    "",
  ];
}

const columns: readonly Column<SloStanding>[] = [
  { title: "objective", cell: ({ name, budget }) => (budget === null ? name : `${name} (${budget})`) },
  { title: "target", cell: ({ target }) => percent(target), align: "right" },
  { title: "is", cell: ({ share }) => (share === null ? "-" : percent(share)), align: "right" },
  { title: "good/total", cell: ({ good, total }) => `${good}/${total}`, align: "right" },
  { title: "budget left", cell: ({ budgetLeft }) => (budgetLeft === null ? "-" : percent(budgetLeft)), align: "right" },
  {
    title: "p95",
    cell: ({ p95, budget }) => (p95 === null ? "-" : budget === null ? lengthText(p95) : String(p95)),
    align: "right",
  },
  { title: "met", cell: ({ isMet }) => (isMet ? ink("green", "✓ yes") : ink("red", "✗ no")) },
];

function percent(share: number): string {
  return `${(share * 100).toFixed(share >= 0.999 && share < 1 ? 3 : 1)}%`;
}
