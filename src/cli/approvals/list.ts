/** `reprise approvals list` and `show`: what people are asked. */
import type { PendingApproval } from "../../client/index.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import { limitOf, pageOptions } from "../base/select.ts";
import { agoText, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { approvalName, factsOf, findApproval } from "./find.ts";

interface Flags {
  readonly role?: string;
  readonly all?: true;
  readonly limit?: string;
  readonly cursor?: string;
}

export const approvalsList = command<[], Flags>({
  name: "approvals list",
  summary: "What runs ask people, newest runs first",
  options: [
    ["--role <role>", "only what somebody of this role may decide"],
    ["--all", "of all tenants"],
    ...pageOptions,
  ],
  examples: ["reprise approvals list", "reprise approvals list --role finance", "reprise approvals list --all --jsonl"],
  kinds: ["ApprovalList", "Approval", "Cursor"],
  run: async (cli, { role, all, limit, cursor }) => {
    const tenant = await cli.tenant();
    const page = await (await cli.client()).approvals({
      limit: limitOf(limit),
      ...(all ? {} : { tenant }),
      ...(role === undefined ? {} : { role }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const [now, usual] = [Date.now(), await cli.usualTenant()];
    cli.out.list("Approval", {
      items: page.approvals,
      nextCursor: page.cursor,
      id: (approval) => approvalName(approval, usual),
      columns: [
        { title: "id", cell: (approval: PendingApproval) => ink("bold", approvalName(approval, usual)) },
        { title: "question", cell: ({ question }) => cli.out.text(question) },
        { title: "saga", cell: ({ saga, version }) => `${saga}@${version}` },
        { title: "why a person", cell: ({ rule }) => (rule === null ? "-" : cli.out.text(rule)) },
        { title: "may decide", cell: ({ roles }) => roles.join(", ") || "anybody else" },
        { title: "asked", cell: ({ since }) => agoText(since, now) },
        { title: "until", cell: ({ expiresAt }) => (expiresAt === null ? "-" : agoText(expiresAt, now)) },
        { title: "with", cell: ({ input }) => cli.out.value(input), wide: true },
        { title: "since", cell: ({ since }) => timeText(since), wide: true },
      ],
      empty: `${nothingOf(all ? null : tenant, role)} What is asked is decided with: reprise approve <id>, reprise reject <id>`,
    });
    return exitCodes.ok;
  },
});

/** Said of those that were looked at alone. */
function nothingOf(tenant: string | null, role: string | undefined): string {
  const whom =
    role === undefined ? "Nobody is asked anything" : `Nobody is asked anything that the role ${role} may decide`;
  return `${whom}${tenant === null ? "" : ` by runs of tenant ${tenant}`}.`;
}

export const approvalsShow = command<[id: string], object>({
  name: "approvals show",
  summary: "One thing that people are asked: exactly what would be carried out, who may decide, what happens otherwise",
  args: [["<id>", "<run>#<row>, as `approvals list` names it; <run> where it asks one thing"]],
  examples: [
    "reprise approvals show refund-7#3.1",
    "reprise approvals show refund-7",
    "reprise approvals show refund-7#3 --json",
  ],
  kinds: ["Approval"],
  run: async (cli, _, id) => {
    const { approval } = await findApproval(cli, id);
    const name = approvalName(approval, await cli.usualTenant());
    cli.out.document("Approval", approval, { id: name, lines: () => factsOf(cli, approval, Date.now()) });
    cli.out.note(`Decide: reprise approve ${name} --shown ${approval.shown}, or reprise reject ${name} --reason ...`);
    return exitCodes.ok;
  },
});
