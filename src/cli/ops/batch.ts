/** `reprise batch list` and `show`: frozen selections of runs (`replay plan` with a filter), and what came of each. */
import type { BatchItem, BatchSummary, ItemResult } from "../../client/index.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { type Column, tableLines } from "../base/table.ts";
import { wholeOf } from "../base/values.ts";
import { counted, runText, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { suspensionText } from "./suspend.ts";

type Item = BatchItem & { readonly result: ItemResult | null };

export const batchList = command<[], { readonly limit?: string }>({
  name: "batch list",
  summary: "Batches that `replay plan` has frozen and that have not expired",
  details:
    "`replay run` executes one, from as many processes as you like; interrupted and run again it goes on where it stopped, and does no item\ntwice. `batch suspend` stops it from anywhere.",
  options: [["--limit <n>", "so many at most, the last to expire first; 50 unless given"]],
  examples: ["reprise batch list", "reprise batch list --limit 5 --json", "reprise batch list -o id"],
  kinds: ["BatchSummaryList", "BatchSummary"],
  run: async (cli, { limit = "50" }) => {
    const batches = await (await cli.client()).batches({ limit: wholeOf(limit, "--limit", 1, 1_000) });
    cli.out.list("BatchSummary", {
      items: batches,
      id: ({ id }) => id,
      columns: summaryColumns,
      empty: "There is no batch. Make one: reprise replay plan --status needs_review",
    });
    return exitCodes.ok;
  },
});

export const batchShow = command<[id: string], object>({
  name: "batch show",
  summary: "A batch that `replay plan` has frozen: its runs, and what came of each so far",
  args: [["<id>", "of the batch"]],
  examples: ["reprise batch show 01J8ZQ", "reprise batch show 01J8ZQ --json", "reprise batch show 01J8ZQ -o wide"],
  kinds: ["BatchReport"],
  run: async (cli, _, id) => {
    const report = await (await cli.client()).batch(id);
    const { results, items, ...batch } = report;
    const joined = items.map((item, at): Item => ({ ...item, result: results[at] ?? null }));
    const usual = await cli.usualTenant();
    const done = joined.filter(({ result }) => result?.result === "done").length;
    cli.out.document("BatchReport", report, {
      id,
      lines: () => [
        [
          ink("bold", id),
          `  ${batch.mode}, ${counted(joined.length, "run")}, ${done} done, made ${timeText(batch.at)}`,
        ],
        batch.by === null ? "nobody has executed it; it may be until it expires" : `executed by ${batch.by}`,
        ...(batch.suspended === null ? [] : [ink("yellow", `‖ ${suspensionText(cli.out, batch.suspended)}`)]),
        "",
        ...tableLines(joined, columnsFor(usual), cli.out.plain),
      ],
    });
    return exitCodes.ok;
  },
});

const summaryColumns: readonly Column<BatchSummary>[] = [
  { title: "batch", cell: ({ id }) => ink("bold", id) },
  { title: "mode", cell: ({ mode }) => mode },
  { title: "runs", cell: ({ runs }) => String(runs), align: "right" },
  { title: "done", cell: ({ done }) => String(done), align: "right" },
  { title: "skipped", cell: ({ skipped }) => String(skipped), align: "right" },
  { title: "failed", cell: ({ failed }) => String(failed), align: "right" },
  { title: "executed by", cell: ({ by }) => by ?? "-" },
  {
    title: "suspended by",
    cell: ({ suspended }) => (suspended === null ? "-" : ink("yellow", `‖ ${suspended.by}`)),
  },
  { title: "made", cell: ({ at }) => timeText(at) },
  { title: "expires", cell: ({ expiresAt }) => timeText(expiresAt) },
];

function columnsFor(usual: string): readonly Column<Item>[] {
  return [
    { title: "run", cell: ({ run, tenant }) => runText({ tenant, id: run }, usual) },
    { title: "safe", cell: ({ safe }) => (safe ? ink("green", "✓ yes") : ink("red", "✗ no")) },
    { title: "result", cell: resultLine },
    {
      title: "why",
      cell: ({ reasons, result }) => (result !== null && "reason" in result ? result.reason : reasons.join("; ")),
    },
  ];
}

function resultLine({ result }: Item): Line {
  if (result === null) return ink("dim", "–");
  return result.result === "done"
    ? ink("green", `✓ ${result.run}`)
    : ink(result.result === "failed" ? "red" : "yellow", result.result);
}
