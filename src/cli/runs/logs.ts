/** `reprise runs logs`: a run's log as lines, and, with `--follow`, as it grows. */
import type { RunHandle } from "../../client/index.ts";
import type { LogEntry } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import { timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { entryText } from "./entry-text.ts";
import { leavingIt, reach } from "./reach.ts";

export const runsLogs = command<[id: string], { readonly follow?: true }>({
  name: "runs logs",
  summary: "What a run went through, a line for each commit; with --follow as it happens",
  details:
    "These are the run's own facts. What steps write through `log` goes to the output of their worker, and is not kept by Reprise.",
  args: [["<id>", "of the run"]],
  options: [["-f, --follow", "until it has ended"]],
  examples: ["reprise runs logs order-o-1", "reprise runs logs order-o-1 -f", "reprise runs logs order-o-1 -f --jsonl"],
  kinds: ["LogEntryList", "LogEntry"],
  run: async (cli, { follow }, id) => {
    const run = await reach(cli, id);
    const first = await run.log();
    let seen = await print(cli, run, first, 0);
    if (follow === true) {
      const changes = run.watch()[Symbol.asyncIterator]();
      for (;;) {
        const { done } = await leavingIt(cli, run, changes.next());
        if (done === true) break;
        seen = await print(cli, run, await run.log(), seen);
      }
    }
    return exitCodes.ok;
  },
});

/** Answers the last revision that was printed. */
async function print(cli: Cli, run: RunHandle, log: readonly LogEntry[], seen: number): Promise<number> {
  const { out } = cli;
  const entries = log.filter(({ revision }) => revision > seen);
  if (entries.length === 0) return seen;
  if (out.format === "json" || out.format === "jsonl" || out.format === "id") {
    out.list("LogEntry", { items: entries, id: ({ revision }) => String(revision), columns: [], empty: "" });
  } else {
    const rows = await run.ledger();
    out.lines(
      entries.map((entry) => [
        ink("dim", `${timeText(entry.at)} `),
        `#${entry.revision} ${entry.to}  ${entryText(entry, rows, out)}`,
        ink("dim", `  ${entry.actor}`),
      ]),
    );
  }
  return entries.at(-1)?.revision ?? seen;
}
