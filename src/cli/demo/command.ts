/** `reprise demo`, which is what `npm start` calls: its options and what they mean. What it does is in run.ts. */
import type { Command } from "commander";
import type { ExitCode } from "../exit.ts";
import type { DemoOptions } from "./options.ts";

export function addDemoCommand(program: Command, end: (code: ExitCode) => void): void {
  program
    .command("demo")
    .description("Tell a story on real processes, and compare the ledger with what the world outside saw")
    .option("--once", "never ask for anything: for scripts and CI")
    .option("--json", "print one JSON object at the end of stdout instead of the table")
    .option(
      "--input <file>",
      "run the order saga on your own orders, one JSON object a line (see samples/orders.jsonl)",
    )
    .option("--verify <dir>", "start nothing: compare again what an earlier demo left in this directory")
    .option("--allow-forgetful-store", "also on a REDIS_URL that may forget acknowledged writes")
    .addHelpText("after", examples)
    .action(async (given: DemoOptions, command: Command) => {
      // Flags of every command are read before those of this one.
      const { json } = command.optsWithGlobals<{ readonly json?: true }>();
      const options = json === undefined ? given : { ...given, json };
      // Loaded when it is wanted: client, queue and store are much to load for a sentence of help.
      const { runDemo } = await import("./run.ts");
      end(await runDemo(options));
    });
}

const examples = `
Examples:
  npm start
  npm start -- --once --json
  npm start -- --input samples/orders.jsonl
  reprise demo --verify /tmp/reprise-demo-Ab12Cd

Exit codes: 0 the table agrees and every chapter went as it should · 1 it does not · 2 wrong usage, no line of --input could
be used · 6 no Redis · 10 some lines of --input could not be used · 130 interrupted`;
