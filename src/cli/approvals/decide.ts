/**
 * `reprise approve`, `reject`, `respond`: a person's word on what a run asks. Invariant: what counts is what was on the screen; where
 * nobody looks at one the caller names it (`--shown`) or says that whatever is asked now is meant (`--yes`).
 */
import type { DecisionWord } from "../../client/index.ts";
import type { Principal } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Json } from "../../saga/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { jsonOf } from "../base/values.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit.ts";
import { type Asked, approvalName, factsOf, findApproval } from "./find.ts";

interface WhoFlags {
  readonly role?: readonly string[];
  readonly shown?: string;
}

const idArg = ["<id>", "<run>#<row>, as `approvals list` names it; <run> where it asks one thing"] as const;
const whoOptions = [
  ["--role <role>", "a role of who decides (REPRISE_ROLES, separated by commas)", "many"],
  ["--shown <digest>", "what was looked at, as `approvals show` says it: anything else is refused"],
] as const;

/** Whoever runs this command is taken at their word: who may run it is the machine's to say. */
function personOf({ by, io }: Cli, { role }: WhoFlags): Principal {
  const roles = role ?? (io.env["REPRISE_ROLES"] ?? "").split(",").filter((each) => each !== "");
  return { id: by, kind: "person", roles };
}

async function looked(cli: Cli, { approval }: Asked, { shown }: WhoFlags, verb: string): Promise<void> {
  if (shown !== undefined && shown !== approval.shown) {
    throw new RepriseError("APPROVAL_STALE", "what would be carried out is not what was looked at", {
      details: { run: approval.run, seq: approval.seq, n: approval.n, shown, now: approval.shown },
    });
  }
  if (shown !== undefined || cli.globals.yes || cli.globals.dryRun) return;
  if (!cli.ask.isPossible)
    throw new UsageError(`it has to be said what was looked at: give --shown ${approval.shown}, or --yes`);
  cli.out.warn(...factsOf(cli, approval, Date.now()));
  await cli.ask.confirm(`${verb}?`, "--yes");
}

async function say(cli: Cli, asked: Asked, word: DecisionWord, as: Principal): Promise<ExitCode> {
  const { run, approval } = asked;
  const id = approvalName(approval, await cli.usualTenant());
  const decided = cli.globals.dryRun ? { is: "would", changes: [] } : await run.decide(approval, word, { as });
  const { status } = await run.get();
  const data = { id, tenant: run.tenant, run: run.id, word: word.is, by: as.id, ...decided, status };
  const changes = decided.changes.map(
    ({ path, before, after }): Line => `  ${path}: ${cli.out.value(before)} → ${cli.out.value(after)}`,
  );
  const came = decided.is === "would" ? "would be recorded" : decided.is;
  const line: Line = [ink("green", `${word.is} by ${as.id} ${came}`), ` (${id}); run ${run.id} is ${status}`];
  cli.out.document("Decision", data, { id: run.id, lines: () => [line, ...changes] });
  return exitCodes.ok;
}

interface ApproveFlags extends WhoFlags {
  readonly edit?: string;
  readonly form?: string;
}

export const approve = command<[id: string], ApproveFlags>({
  name: "approve",
  summary: "Say yes to what a run asks; with --edit, to other arguments",
  args: [idArg],
  options: [
    ["--edit <json>", "the whole arguments to be carried out instead: JSON, @file, or -"],
    ["--form <json>", "what the approval wants filled in: JSON, @file, or -"],
    ...whoOptions,
  ],
  examples: [
    "reprise approve refund-7#3.1 --role finance --shown 4f2c --reason 'checked the invoice'",
    `reprise approve refund-7 --role finance --edit '{"orderId":"o-1","cents":4000,"openedBy":"ann"}'`,
    "reprise approve loan-3 --role officer --form @form.json --yes --json",
    "reprise approve refund-7 --role finance --dry-run",
  ],
  kinds: ["Decision"],
  changes: {},
  run: async (cli, flags, id) => {
    // They were parsed: what JSON.parse gives is JSON.
    const input = flags.edit === undefined ? {} : { input: (await jsonOf(flags.edit, "--edit", cli.io)) as Json };
    const form = flags.form === undefined ? {} : { form: (await jsonOf(flags.form, "--form", cli.io)) as Json };
    const asked = await findApproval(cli, id);
    await looked(cli, asked, flags, "Approve it");
    const { reason } = cli.globals;
    const word: DecisionWord = { is: "approve", ...input, ...form, ...(reason === undefined ? {} : { reason }) };
    return await say(cli, asked, word, personOf(cli, flags));
  },
});

export const reject = command<[id: string], WhoFlags>({
  name: "reject",
  summary: "Say no to what a run asks",
  args: [idArg],
  options: whoOptions,
  examples: [
    "reprise reject refund-7#3.1 --role finance --reason 'no invoice'",
    "reprise reject refund-7 --shown 4f2c --reason 'no invoice' --json",
    "reprise reject refund-7 --dry-run --reason 'no invoice'",
  ],
  kinds: ["Decision"],
  changes: {},
  run: async (cli, flags, id) => {
    const asked = await findApproval(cli, id);
    await looked(cli, asked, flags, "Reject it");
    return await say(cli, asked, { is: "reject", reason: await cli.reason() }, personOf(cli, flags));
  },
});

export const respond = command<[id: string, text: string], WhoFlags & { readonly answer?: true }>({
  name: "respond",
  summary: "Ask a question back about what a run asks, or answer one; it keeps waiting",
  args: [idArg, ["<text>", "what is said"]],
  options: [["--answer", "it answers a question"], ...whoOptions],
  examples: [
    "reprise respond refund-7 'Which invoice is it?' --role finance --yes",
    "reprise respond refund-7 'It is invoice 12' --answer --by ann --yes",
    "reprise respond refund-7#3.1 'Why so much?' --shown 4f2c --json",
    "reprise respond refund-7 'Which invoice is it?' --dry-run",
  ],
  kinds: ["Decision"],
  changes: { noReason: "its text is what is said" },
  run: async (cli, flags, id, text) => {
    const asked = await findApproval(cli, id);
    await looked(cli, asked, flags, "Say it");
    return await say(cli, asked, { is: flags.answer ? "answer" : "ask_back", text }, personOf(cli, flags));
  },
});
