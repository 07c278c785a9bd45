/** `reprise batch show`: a frozen selection of runs (`replay plan` with a filter), and what came of each. */
import type { BatchItem, ItemResult } from "../../client/index.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { type Column, tableLines } from "../base/table.ts";
import { counted, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";

type Item = BatchItem & { readonly result: ItemResult | null };

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
    const done = joined.filter(({ result }) => result?.result === "done").length;
    cli.out.document("BatchReport", report, {
      id,
      lines: () => [
        [
          ink("bold", id),
          `  ${batch.mode}, ${counted(joined.length, "run")}, ${done} done, made ${timeText(batch.at)}`,
        ],
        batch.by === null ? "nobody has executed it; it may be until it expires" : `executed by ${batch.by}`,
        "",
        ...tableLines(joined, columns, cli.out.plain),
      ],
    });
    return exitCodes.ok;
  },
});

const columns: readonly Column<Item>[] = [
  { title: "run", cell: ({ run, tenant }) => (tenant === "default" ? run : `${tenant}/${run}`) },
  { title: "safe", cell: ({ safe }) => (safe ? ink("green", "✓ yes") : ink("red", "✗ no")) },
  { title: "result", cell: resultLine },
  {
    title: "why",
    cell: ({ reasons, result }) => (result !== null && "reason" in result ? result.reason : reasons.join("; ")),
  },
];

function resultLine({ result }: Item): Line {
  if (result === null) return ink("dim", "–");
  return result.result === "done"
    ? ink("green", `✓ ${result.run}`)
    : ink(result.result === "failed" ? "red" : "yellow", result.result);
}
