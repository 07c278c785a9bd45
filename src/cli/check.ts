/** `reprise check`: its options and what they mean. What is printed is in check-report.ts. */
import type { Command } from "commander";
import type { CheckedRun } from "../client/index.ts";
import { type ExitCode, exitCodes } from "./exit.ts";

interface CheckFlags {
  readonly sagas: readonly string[];
  /** Flags of every command. */
  readonly redis?: string;
  readonly namespace?: string;
  readonly json?: true;
  readonly jsonl?: true;
}

export function addCheckCommand(program: Command, end: (code: ExitCode) => void): void {
  program
    .command("check")
    .description("Say what becomes of every open run when this code is deployed; writes nothing")
    .requiredOption(
      "--sagas <modules...>",
      "modules that export the sagas the new workers will serve, TypeScript or JavaScript",
    )
    .option("--redis <url>", "where the runs are (REDIS_URL)")
    .option("--namespace <name>", "whose runs (REPRISE_NAMESPACE)")
    .option("--json", "print one JSON document")
    .option("--jsonl", "print a line for each run that does not simply go on, then the document")
    .addHelpText("after", examples)
    .action(async (_: object, command: Command) => {
      const flags = command.optsWithGlobals<CheckFlags>();
      // Loaded when it is wanted: client and store are much to load for a sentence of help.
      const [{ checkDeploy }, { importSagas }, { printJson, printText }] = await Promise.all([
        import("../orchestrator.ts"),
        import("./modules.ts"),
        import("./check-report.ts"),
      ]);
      const { redis, namespace } = flags;
      const onRun = flags.jsonl ? printRun : undefined;
      const sagas = await importSagas(flags.sagas);
      const report = await checkDeploy({ redis, namespace, sagas, onRun });
      if (flags.json || flags.jsonl) printJson("CheckReport", report);
      else printText(report);
      end(report.ok ? exitCodes.ok : exitCodes.findings);

      function printRun(run: CheckedRun): void {
        if (run.fate !== "goes_on") printJson("CheckedRun", run);
      }
    });
}

const examples = `
Examples:
  reprise check --sagas dist/sagas.js
  reprise check --sagas sagas/order.ts sagas/trip.ts --redis redis://10.0.0.5:6379 --json
  reprise check --sagas dist/sagas.js && kubectl rollout restart deployment/worker

Exit codes: 0 every run goes on, or moves when it is asked to · 2 wrong usage, a module cannot be read · 6 Redis cannot be
reached · 9 a run would break, cannot be read, or is served by nobody`;
