/** `reprise audit`: who did what, to which run or to what else, and why. */
import type { KeptAct } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import type { Column } from "../base/table.ts";
import { timeOf, wholeOf } from "../base/values.ts";
import { runText, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";

interface Flags {
  readonly since?: string;
  readonly actor?: string;
  readonly run?: string;
  readonly act?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export const auditCommand = command<[], Flags>({
  name: "audit",
  summary:
    "Who did what: signals, cancels, decisions, verbs, replays, batches stopped, pauses, drains, deletions, and looks at secrets",
  details: `Of all tenants, unless --tenant is given. An act is kept by the very write that it is. The newest 10,000 of each shard are kept, also when their runs
are deleted; the log of a run that is there has them all (runs history). Signals of an application that names nobody are not among them.`,
  options: [
    ["--since <time>", "not older than: 2h, 7d, or a time"],
    ["--actor <name>", "by whom"],
    ["--run <id>", "to which run"],
    ["--act <word>", "which act: cancel, kill, approve, resolve, replay, drain, gc, reveal, ..."],
    ["--limit <n>", "so many at most; 50 unless given"],
    ["--cursor <cursor>", "go on from there"],
  ],
  examples: [
    "reprise audit --since 24h",
    "reprise audit --actor ann --act kill",
    "reprise audit --run order-o-1 --jsonl | jq -r '.data.by + \" \" + .data.act'",
  ],
  kinds: ["AuditEntryList", "AuditEntry", "Cursor"],
  run: async (cli, flags) => {
    const limit = wholeOf(flags.limit ?? "50", "--limit", 1, 1_000);
    // Times are those of the store; a clock that is a little off finds a little more or less.
    const since = flags.since === undefined ? {} : { since: timeOf(flags.since, "--since", Date.now()) };
    const client = await cli.client();
    const { acts, cursor } = await client.audit({ limit, ...since, ...namedBy(cli, flags) });
    const usual = await cli.usualTenant();
    cli.out.list("AuditEntry", {
      items: acts,
      nextCursor: cursor,
      id: ({ id }) => id,
      columns: columnsFor(cli, usual),
      empty: "No act on record fits. What a run has been through: reprise runs history <id>",
    });
    return exitCodes.ok;
  },
});

function namedBy({ globals: { tenant } }: Cli, { actor, run, act, cursor }: Flags) {
  return {
    ...(actor === undefined ? {} : { by: actor }),
    ...(run === undefined ? {} : { run }),
    ...(act === undefined ? {} : { act }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

function columnsFor({ out }: Cli, usual: string): readonly Column<KeptAct>[] {
  return [
    { title: "when", cell: ({ at }) => timeText(at) },
    { title: "who", cell: ({ by }) => out.text(by) },
    { title: "did", cell: ({ act }) => ink("bold", act) },
    { title: "run", cell: ({ run }) => (run === null ? "-" : runText(run, usual)) },
    { title: "about", cell: ({ about }) => out.text(about ?? "-") },
    { title: "why", cell: ({ reason }) => out.text(reason ?? "-") },
  ];
}
