/** `reprise runs list`: runs, newest first. */
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import {
  type FilterFlags,
  type FoundRun,
  filterOf,
  filterOptions,
  findRuns,
  limitOf,
  pageOptions,
} from "../base/select.ts";
import type { Column } from "../base/table.ts";
import { agoText, lengthText, runText, statusInk, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";

interface Flags extends FilterFlags {
  readonly limit?: string;
  readonly cursor?: string;
}

export const runsList = command<[], Flags>({
  name: "runs list",
  summary: "Runs, newest first",
  details:
    "--status and --saga are asked of the store. --step, --since and --tag are looked up run by run, among the newest 1,000 that\nthe others leave; the cursor goes on from there.",
  options: [...filterOptions, ...pageOptions],
  examples: [
    "reprise runs list",
    "reprise runs list --status needs_review --saga order",
    "reprise runs list --since 2h --tag owner=ann -o id",
    "reprise runs list --status failed --jsonl | jq -r .data.id",
  ],
  kinds: ["RunList", "Run", "Cursor"],
  run: async (cli, flags) => {
    const now = Date.now();
    const [{ tenant }, usual] = [await cli.place(), await cli.usualTenant()];
    const wanted = { filter: filterOf(flags, now), tenant, limit: limitOf(flags.limit), cursor: flags.cursor };
    const { runs, unreadable, cursor } = await findRuns(cli, wanted);
    cli.out.list("Run", {
      items: runs,
      nextCursor: cursor,
      id: (run) => runText(run, usual),
      columns: columnsAt(now, usual),
      empty: `No run of tenant ${tenant} fits. Start one: reprise runs start <saga> -i '{ ... }'`,
    });
    if (unreadable > 0) cli.out.warn(ink("red", `${unreadable} more cannot be read: reprise dlq list`));
    return exitCodes.ok;
  },
});

function columnsAt(now: number, usual: string): readonly Column<FoundRun>[] {
  return [
    { title: "status", cell: ({ status }) => statusInk(status) },
    { title: "run", cell: (run) => ink("bold", runText(run, usual)) },
    { title: "saga", cell: ({ saga, version }) => `${saga}@${version}` },
    { title: "waits for", cell: ({ waitingFor, review }) => review?.reason ?? waitingFor ?? "-" },
    { title: "rollback", cell: ({ rollback }) => (rollback === "none" ? "-" : rollback) },
    { title: "age", cell: ({ createdAt }) => agoText(createdAt, now) },
    { title: "took", cell: ({ createdAt, endedAt }) => (endedAt === null ? "-" : lengthText(endedAt - createdAt)) },
    { title: "revision", cell: ({ revision }) => String(revision), wide: true, align: "right" },
    { title: "created", cell: ({ createdAt }) => timeText(createdAt), wide: true },
    { title: "ended", cell: ({ endedAt }) => (endedAt === null ? "-" : timeText(endedAt)), wide: true },
  ];
}
