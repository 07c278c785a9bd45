/** `reprise runs start`: starts a run, and waits for it where that is wished. */
import type { StartOptions } from "../../client/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Json } from "../../saga/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { durationOf, jsonOf, wholeOf } from "../base/values.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { findDeclared } from "../sagas/find.ts";
import { printRun } from "./print.ts";
import { nameOf, waitForEnd } from "./reach.ts";

/** As a start would refuse it. Throws SAGA_UNKNOWN, INPUT_INVALID. */
async function checkInput(cli: Cli, name: string, input: unknown): Promise<void> {
  const [{ spec }, { decode }] = [await findDeclared(cli, name), await import("../../saga/index.ts")];
  // It was parsed: what JSON.parse gives is JSON.
  const checked = decode(spec.input, input as Json);
  if (checked.ok) return;
  throw new RepriseError("INPUT_INVALID", `input of ${name}: ${checked.problem}`, {
    details: { what: `input of ${name}`, problem: checked.problem },
  });
}

interface Flags {
  readonly input?: string;
  readonly id?: string;
  readonly delay?: string;
  readonly priority?: string;
  readonly wait?: true;
}

export const runsStart = command<[saga: string], Flags>({
  name: "runs start",
  summary: "Start a run of the newest version of a saga",
  details:
    "With --id it is idempotent: the same saga and input answer the run that is there, another input is a conflict (exit 5). With\n--wait the run is printed as it ended; Ctrl-C leaves it alone.",
  args: [["<saga>", "its name"]],
  options: [
    ["-i, --input <json>", "the input: JSON, @file, or - for stdin; {} unless given"],
    ["--id <id>", "of the run: starting again with it changes nothing; a new one unless given"],
    ["--delay <duration>", "start so much later"],
    ["--priority <n>", "0 (first) unless given"],
    ["--wait", "until it has ended, or is parked; --timeout bounds it"],
  ],
  examples: [
    `reprise runs start order -i '{"id":"o-1","cents":4200}' --id order-o-1`,
    "reprise runs start order -i @order.json --wait --timeout 60s",
    "reprise runs start order -i @order.json --dry-run",
    "cat order.json | reprise runs start order -i - --wait --json",
  ],
  kinds: ["Run"],
  changes: { noReason: "the input says what it is for" },
  run: async (cli, flags, saga) => {
    const input = await jsonOf(flags.input ?? "{}", "--input", cli.io);
    if (saga.includes("@"))
      throw new UsageError(`${saga}: a run is of the newest version, so it is started by the name alone`);
    const options: StartOptions = {
      tenant: await cli.tenant(),
      ...(flags.id === undefined ? {} : { id: flags.id }),
      ...(flags.delay === undefined ? {} : { delay: durationOf(flags.delay, "--delay") }),
      ...(flags.priority === undefined ? {} : { priority: wholeOf(flags.priority, "--priority", 0, 2_097_151) }),
    };
    if (cli.globals.dryRun) {
      await checkInput(cli, saga, input);
      cli.out.note(`A run of ${saga} would be started with this input.`);
      cli.out.document("Run", { saga, input, ...options, dryRun: true }, { lines: () => [cli.out.value(input)] });
      return exitCodes.ok;
    }
    const run = await (await cli.client()).startByName(saga, input, options);
    if (flags.wait) {
      cli.out.note(`Started ${await nameOf(cli, run)}.`);
      return await waitForEnd(cli, run);
    }
    printRun(cli, await run.get());
    cli.out.note(`Follow it: reprise runs watch ${await nameOf(cli, run)}`);
    return exitCodes.ok;
  },
});
