/** `reprise batch suspend` and `resume`: stops whoever executes a batch, and lets it be executed again. */
import type { BatchSuspension } from "../../client/index.ts";
import type { Suspension } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import type { Out } from "../base/out.ts";
import { timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";

const idArg = ["<id>", "of the batch"] as const;

export const batchSuspend = command<[id: string], object>({
  name: "batch suspend",
  summary: "Stop a batch, wherever it is executed, until it is resumed",
  details: `Once this has answered no item is begun any more. The one that each executing process has under way is finished and noted, and that process
ends with exit 10. Runs that go on already are left alone: \`reprise runs pause\` is for those.`,
  args: [idArg],
  examples: [
    "reprise batch suspend 01J8ZQ --reason 'the bank is down again'",
    "reprise batch suspend 01J8ZQ --dry-run",
    "reprise batch suspend 01J8ZQ --reason INC-7 --json",
  ],
  kinds: ["BatchSuspension"],
  changes: {},
  run: async (cli, _, id) => {
    const client = await cli.client();
    if (cli.globals.dryRun) return dryRun(cli, id, (await client.batch(id)).suspended, "suspend");
    const answer = await client.suspendBatch(id, { by: cli.by, reason: await cli.reason() });
    print(cli, { ...answer, dryRun: false }, suspendLines(cli.out, answer));
    cli.out.note(`What came of it so far: reprise batch show ${id}`);
    return exitCodes.ok;
  },
});

export const batchResume = command<[id: string], object>({
  name: "batch resume",
  summary: "Let a suspended batch be executed again",
  details: "Nothing is executed by it: `reprise replay run` then goes on where it stopped, and does no item twice.",
  args: [idArg],
  examples: [
    "reprise batch resume 01J8ZQ --reason 'the bank is back'",
    "reprise batch resume 01J8ZQ --dry-run",
    "reprise batch resume 01J8ZQ --reason INC-7 --json",
  ],
  kinds: ["BatchSuspension"],
  changes: {},
  run: async (cli, _, id) => {
    const client = await cli.client();
    if (cli.globals.dryRun) return dryRun(cli, id, (await client.batch(id)).suspended, "resume");
    const answer = await client.resumeBatch(id, { by: cli.by, reason: await cli.reason() });
    print(cli, { ...answer, dryRun: false }, resumeLines(cli.out, answer));
    cli.out.note(`Go on with it: reprise replay run ${id} --reason ...`);
    return exitCodes.ok;
  },
});

/** Who has suspended a batch, when and why. */
export function suspensionText(out: Out, { by, reason, at }: Suspension): string {
  return `suspended by ${by}, ${timeText(at)}: ${out.text(reason)}`;
}

function suspendLines(out: Out, { was, suspended }: BatchSuspension): readonly Line[] {
  if (was !== null) return [`Nothing was changed: it is ${suspensionText(out, was)}`];
  return suspended === null ? [] : [ink("yellow", `‖ ${suspensionText(out, suspended)}`)];
}

function resumeLines(out: Out, { was }: BatchSuspension): readonly Line[] {
  if (was === null) return ["Nothing was changed: it is not suspended."];
  return [[ink("green", "✓ resumed"), `; it was ${suspensionText(out, was)}`]];
}

function dryRun(cli: Cli, batch: string, suspended: Suspension | null, word: "suspend" | "resume") {
  const stands = suspended === null ? "not suspended" : suspensionText(cli.out, suspended);
  const changes = (suspended === null) === (word === "suspend");
  const would = changes ? `it would be ${word === "suspend" ? "suspended" : "resumed"}` : "nothing would be changed";
  print(cli, { batch, was: suspended, suspended, dryRun: true }, [`It is ${stands}; ${would}.`]);
  return exitCodes.ok;
}

function print({ out }: Cli, data: BatchSuspension & { readonly dryRun: boolean }, lines: readonly Line[]): void {
  out.document("BatchSuspension", data, { id: data.batch, lines: () => lines });
}
