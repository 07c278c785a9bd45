/**
 * Owns: which commands there are, and that every one of them ends with an exit code and, where something is wrong, a sentence on
 * stderr (with `--json`, a document).
 */
import { Command, CommanderError } from "commander";
import { redact, redactValue } from "../redact.ts";
import { Cli } from "./base/cli.ts";
import { type AnyCommand, addCommand } from "./base/command.ts";
import { errorDocument } from "./base/error-shape.ts";
import { addGlobals, globalsOf } from "./base/globals.ts";
import { clean } from "./base/ink.ts";
import type { Io } from "./base/io.ts";
import { escaped } from "./base/out.ts";
import { colorsIn } from "./colors.ts";
import { commands, groups } from "./commands.ts";
import { addDemoCommand } from "./demo/command.ts";
import { type ExitCode, exitCodeOf, exitCodes, exitMeanings, runbookFrom, UsageError } from "./exit.ts";
import { packageVersion } from "./version.ts";

/** Runs one command line (without `node` and the program) and answers its exit code. It never throws. */
export async function runProgram(argv: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok;
  const said: string[] = [];
  const program = programFor(io, said, (ended) => {
    code = ended;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    const wrong = error instanceof CommanderError ? usageOf(error, helpFor(program, argv)) : error;
    if (wrong === null) return exitCodes.ok;
    if (wrong === "help") {
      // A group without a verb: its help, as an error.
      io.stderr.write(said.join(""));
      return exitCodes.usage;
    }
    printError(wrong, argv, io);
    return exitCodeOf(wrong);
  }
}

/** The whole tree, for help and documentation. */
export function programFor(io: Io, said: string[] = [], end: (code: ExitCode) => void = () => {}): Command {
  const program = new Command("reprise")
    .description("Durable sagas for TypeScript: they survive kill -9, and unwind in reverse.")
    .version(packageVersion(), "-v, --version")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      // What commander says is told in the form that was asked for.
      writeErr: (text) => void said.push(text),
      getOutHasColors: () => colorsIn(io.stdout, io.env, true).isColorSupported,
    });
  addGlobals(program);
  const meanings = Object.entries(exitMeanings).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`);
  program.addHelpText("after", `\nExit codes:\n${meanings.join("\n")}`);
  addDemoCommand(program, end);
  for (const spec of commands) addCommand(program, spec, groups, (...given) => run(program, io, given, end));
  return program;
}

type Given = readonly [spec: AnyCommand, flags: object, args: readonly unknown[]];

async function run(program: Command, io: Io, [spec, flags, args]: Given, end: (code: ExitCode) => void): Promise<void> {
  const cli = new Cli(globalsOf(program), io, { command: spec.name, args });
  try {
    end(await spec.run(cli, flags, ...args));
  } finally {
    await cli.close();
  }
}

/** `null`: it was asked for help, or the version. */
function usageOf({ exitCode, code, message }: CommanderError, help: string): UsageError | "help" | null {
  if (code === "commander.help") return "help";
  if (exitCode === 0) return null;
  const said = message.replace(/^error: /, "").replace(/\.$/, "");
  return new UsageError(`${said.replaceAll("\n", " ")} (${help} says more)`);
}

/** The help of the command that was meant, as far as one was. */
function helpFor(program: Command, argv: readonly string[]): string {
  let at = program;
  for (const word of argv) at = at.commands.find((each) => each.name() === word) ?? at;
  const path: string[] = [];
  for (let each: Command | null = at; each !== null; each = each.parent) path.unshift(each.name());
  return [...path, "--help"].join(" ");
}

function printError(error: unknown, argv: readonly string[], io: Io): void {
  const document = errorDocument(error);
  if (wantsJson(argv)) {
    io.stderr.write(`${escaped(JSON.stringify(document, redactValue))}\n`);
    return;
  }
  const { message, code, hint, runbook } = document.error;
  const { red, dim } = colorsIn(io.stderr, io.env, !argv.includes("--no-color"));
  const text = redact(runbook === null ? message : `${message} [${code}]`);
  const lines = text.split("\n").map(clean);
  io.stderr.write(`${red("reprise:")} ${lines.join("\n")}\n`);
  if (hint !== null) io.stderr.write(`${dim(`  what to do: ${hint}`)}\n`);
  if (runbook !== null) io.stderr.write(`${dim(`  Runbook: ${runbookFrom(runbook)}`)}\n`);
}

/** Also of a line that could not be read. */
function wantsJson(argv: readonly string[]): boolean {
  return argv.some((word, at) => {
    const form = word === "-o" || word === "--output" ? argv[at + 1] : word.replace(/^(?:--output=|-o)/, "");
    return word === "--json" || word === "--jsonl" || (/^(-o|--output)/.test(word) && /^jsonl?$/.test(form ?? ""));
  });
}
