/** `reprise notifications list`: what webhooks are to be told of, and why they were not yet. */
import type { OwedNotification } from "../../client/index.ts";
import type { OwedToHook } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import type { Column } from "../base/table.ts";
import { wholeOf } from "../base/values.ts";
import { agoText, counted, lengthText, runText, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";

interface Flags {
  readonly hook?: string;
  readonly limit?: string;
}

export const notificationsList = command<[], Flags>({
  name: "notifications list",
  summary: "What webhooks are to be told of: since when, how often it was tried, what came of the last try",
  details: `Of all tenants. A line is a run and the event that its hook is told next; those behind it wait for it. What each hook is owed in all, and how much
of it was dropped for want of room, is said on stderr. Workers go on trying; nothing needs to be done about it here (docs/notifications.md).`,
  options: [
    ["--hook <name>", "only of this one, as notify of the workers names it"],
    ["--limit <n>", "so many runs of each hook at most, owed the longest; 50 unless given"],
  ],
  examples: [
    "reprise notifications list",
    "reprise notifications list --hook billing -o wide",
    "reprise notifications list --jsonl | jq -r 'select(.data.failure.tries > 5) | .data.run'",
  ],
  kinds: ["OwedNotificationList", "OwedNotification"],
  run: async (cli, flags) => {
    const limit = wholeOf(flags.limit ?? "50", "--limit", 1, 1_000);
    const client = await cli.client();
    const hook = flags.hook === undefined ? {} : { hook: flags.hook };
    const { at, hooks, runs } = await client.notifications.owed({ limit, ...hook });
    cli.out.list("OwedNotification", {
      items: runs,
      id: ({ id }) => id,
      columns: columnsFor(cli, await cli.usualTenant(), at),
      empty: `Nothing is owed to ${flags.hook === undefined ? "any hook" : `a hook named ${flags.hook}`}.`,
    });
    for (const each of hooks) if (each.owed > 0 || each.lost > 0) cli.out.note(sumOf(each, at));
    return exitCodes.ok;
  },
});

function columnsFor({ out }: Cli, usual: string, now: number): readonly Column<OwedNotification>[] {
  return [
    { title: "hook", cell: ({ hook }) => ink("bold", hook) },
    { title: "run", cell: ({ tenant, run }) => runText({ tenant, id: run }, usual) },
    { title: "event", cell: ({ event, status }) => `${event} (${status})` },
    { title: "owed for", cell: ({ since }) => lengthText(now - since), align: "right" },
    { title: "behind it", cell: ({ owed }) => String(owed - 1), align: "right" },
    { title: "tries", cell: ({ failure }) => String(failure?.tries ?? 0), align: "right" },
    { title: "again", cell: ({ failure }) => againText(failure, now) },
    { title: "last answer", cell: ({ failure }) => (failure === null ? "-" : ink("red", out.text(failure.why))) },
    { title: "tried at", cell: ({ failure }) => (failure === null ? "-" : timeText(failure.at)), wide: true },
    { title: "id", cell: ({ id }) => id, wide: true },
  ];
}

function againText(failure: OwedNotification["failure"], now: number): string {
  if (failure === null) return "next";
  return failure.againAt <= now ? "due" : agoText(failure.againAt, now);
}

function sumOf({ hook, owed, lost, failing, oldestAt }: OwedToHook, now: number): Line {
  const oldest = oldestAt === null ? "" : `, the oldest for ${lengthText(now - oldestAt)}`;
  const dropped = lost === 0 ? "" : `; ${counted(lost, "event")} dropped for want of room`;
  return `${hook}: ${counted(owed, "event")} owed${oldest}; ${counted(failing, "run")} not taken so far${dropped}`;
}
