#!/usr/bin/env node
/**
 * `reprise`: the command line. Owns: which commands there are, and that every one of them ends with an exit code and,
 * where something is wrong, a sentence on stderr. Data goes to stdout, chatter to stderr.
 */
import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { addCheckCommand } from "./check.ts";
import { addDemoCommand } from "./demo/command.ts";
import { describeError, type ExitCode, exitCodeOf, exitCodes } from "./exit.ts";
import { addHealthCommand } from "./health.ts";
import { addLintCommand } from "./lint.ts";

function programWith(end: (code: ExitCode) => void): Command {
  const program = new Command("reprise")
    .description("Durable sagas for TypeScript: they survive kill -9, and unwind in reverse.")
    .version(version(), "-v, --version")
    .option("--no-color", "no colours (as NO_COLOR=1)")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(reprise --help says more)")
    .exitOverride();
  addDemoCommand(program, end);
  addLintCommand(program, end);
  addCheckCommand(program, end);
  addHealthCommand(program, end);
  return program;
}

function version(): string {
  const read: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return typeof read === "object" && read !== null && "version" in read ? String(read.version) : "unknown";
}

/** Whoever reads our output may stop reading. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

try {
  await programWith((code) => {
    process.exitCode = code;
  }).parseAsync();
} catch (error) {
  // Commander has already said what was wrong, and ends 0 for --help and --version.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  else {
    console.error(`reprise: ${describeError(error)}`);
    process.exitCode = exitCodeOf(error);
  }
}
