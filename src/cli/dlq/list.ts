/** `reprise dlq list` and `groups`: runs that are parked for a person. */
import type { InboxItem, InboxQuery } from "../../client/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import { limitOf, pageOptions } from "../base/select.ts";
import { agoText, runText, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { allLetters, groupsOf, type LetterGroup, type Letters, lettersPage } from "./letters.ts";

interface Flags {
  readonly all?: true;
  readonly limit?: string;
  readonly cursor?: string;
}

async function queryOf(cli: Cli, { all }: Flags): Promise<InboxQuery> {
  return all ? {} : { tenant: await cli.tenant() };
}

function nothingParked({ tenant }: InboxQuery): string {
  return `No run${tenant === undefined ? "" : ` of tenant ${tenant}`} is parked for a person.`;
}

/** What lies there and cannot be read is never passed over. */
function warnOfUnreadable({ out }: Cli, { unreadable }: Letters): void {
  for (const { tenant, id, message } of unreadable)
    out.warn(ink("red", `✗ ${tenant}/${id} cannot be read: ${out.text(message)}`));
}

export const dlqList = command<[], Flags>({
  name: "dlq list",
  summary: "Dead letters: runs that are parked for a person",
  options: [["--all", "of all tenants"], ...pageOptions],
  examples: ["reprise dlq list", "reprise dlq list --all -o wide", "reprise dlq list --jsonl | jq -r .data.id"],
  kinds: ["DeadLetterList", "DeadLetter", "Cursor"],
  run: async (cli, flags) => {
    const { limit, cursor } = flags;
    const query = {
      ...(await queryOf(cli, flags)),
      limit: limitOf(limit),
      ...(cursor === undefined ? {} : { cursor }),
    };
    const letters = await lettersPage(cli, query);
    const usual = await cli.usualTenant();
    cli.out.list("DeadLetter", {
      items: letters.items,
      nextCursor: letters.cursor,
      id: (item) => runText(item, usual),
      columns: [
        { title: "run", cell: (item: InboxItem) => ink("bold", runText(item, usual)) },
        { title: "saga", cell: ({ saga, version }) => `${saga}@${version}` },
        { title: "step", cell: ({ step }) => step ?? "-" },
        { title: "reason", cell: ({ reason }) => ink("red", `! ${reason}`) },
        { title: "parked", cell: ({ since, ageMs }) => agoText(since, since + ageMs) },
        { title: "takes", cell: ({ verbs }) => verbs.join(", ") },
        { title: "message", cell: ({ message }) => cli.out.text(message), wide: true },
        { title: "since", cell: ({ since }) => timeText(since), wide: true },
      ],
      empty: `${nothingParked(query)} What runs ask people: reprise approvals list`,
    });
    warnOfUnreadable(cli, letters);
    return exitCodes.ok;
  },
});

export const dlqGroups = command<[], { readonly all?: true }>({
  name: "dlq groups",
  summary: "Dead letters grouped by saga, step and reason, the most frequent first",
  details: "Among the newest 1,000 parked runs.",
  options: [["--all", "of all tenants"]],
  examples: ["reprise dlq groups", "reprise dlq groups --all", "reprise dlq groups --json"],
  kinds: ["DeadLetterGroupList", "DeadLetterGroup"],
  run: async (cli, flags) => {
    const query = await queryOf(cli, flags);
    const letters = await allLetters(cli, query);
    const [now, usual] = [Date.now(), await cli.usualTenant()];
    cli.out.list("DeadLetterGroup", {
      items: groupsOf(letters.items),
      id: ({ saga, step, reason }) => `${saga}/${step ?? "-"}/${reason}`,
      columns: [
        { title: "count", cell: ({ count }: LetterGroup) => String(count), align: "right" },
        { title: "saga", cell: ({ saga, version }) => ink("bold", `${saga}@${version}`) },
        { title: "step", cell: ({ step }) => step ?? "-" },
        { title: "reason", cell: ({ reason }) => ink("red", `! ${reason}`) },
        { title: "first", cell: ({ first }) => agoText(first, now) },
        { title: "last", cell: ({ last }) => agoText(last, now) },
        { title: "for example", cell: ({ examples }) => examples.map((each) => runText(each, usual)).join(", ") },
      ],
      empty: nothingParked(query),
    });
    warnOfUnreadable(cli, letters);
    if (letters.cursor !== null) cli.out.warn(ink("yellow", `Only the newest ${letters.items.length}.`));
    return exitCodes.ok;
  },
});
