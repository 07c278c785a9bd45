/** `reprise runs watch`: a run's changes until it has ended. */
import type { RunView } from "../../client/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { momentText, statusInk } from "../base/words.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { exitOf, leavingIt, nameOf, reach } from "./reach.ts";

export const runsWatch = command<[id: string], object>({
  name: "runs watch",
  summary: "Changes of a run as they come, until it has ended",
  details:
    "With --jsonl each change is one document, with --json only the last one is printed. Exit 1 if it ended failed or cancelled; with\n--timeout exit 8 if it goes on. Ctrl-C leaves the run alone.",
  args: [["<id>", "of the run"]],
  examples: [
    "reprise runs watch order-o-1",
    "reprise runs watch order-o-1 --timeout 5m",
    "reprise runs watch order-o-1 --jsonl | jq -r .data.status",
  ],
  kinds: ["Run"],
  run: async (cli, _, id) => {
    const run = await reach(cli, id);
    const { timeoutMs } = cli.globals;
    const until = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs);
    const changes = run.watch()[Symbol.asyncIterator]();
    let last: RunView | null = null;
    for (;;) {
      const next = await leavingIt(cli, run, before(changes.next(), until));
      if (next === "late") {
        cli.out.warn(lateText(last, await nameOf(cli, run)));
        return exitCodes.timeout;
      }
      if (next.done === true) break;
      last = next.value;
      if (cli.out.format !== "json") print(cli, last);
    }
    if (last === null) throw new UsageError(`nothing was heard of ${id}`);
    if (cli.out.format === "json") print(cli, last);
    return exitOf(last);
  },
});

/** Who waits no longer is told how it stands: what is parked does not go on by itself. */
function lateText(last: RunView | null, name: string): string {
  if (last?.status === "needs_review") return `It is parked, and waits for a person: reprise dlq show ${name}`;
  return `It has not ended${last === null ? "" : `: it is ${last.status}`}. Look at it again: reprise runs watch ${name}`;
}

async function before<Value>(promise: Promise<Value>, until: AbortSignal | null): Promise<Value | "late"> {
  if (until === null) return await promise;
  if (until.aborted) return "late";
  const late = new Promise<"late">((resolve) => until.addEventListener("abort", () => resolve("late"), { once: true }));
  return await Promise.race([promise, late]);
}

function print({ out }: Cli, view: RunView): void {
  const { status, state, waitingFor, review, revision, endedAt } = view;
  const line: Line = [
    ink("dim", `${momentText(endedAt ?? Date.now())} `),
    statusInk(status),
    `  ${state === null ? "" : out.value(state)}`,
    waitingFor === null ? "" : `  waits for ${waitingFor}`,
    review === null ? "" : `  ${out.text(review.message)}`,
    ink("dim", `  #${revision}`),
  ];
  out.document("Run", view, { id: view.id, lines: () => [line] });
}
