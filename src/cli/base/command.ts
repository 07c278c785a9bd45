/**
 * The shape of a command of `reprise`.
 *
 * A command is one small file `src/cli/<group>/<verb>.ts` that exports one `command({ ... })`; `src/cli/commands.ts` lists them all.
 * That is everything: help, global flags, exit codes, errors, colours, Ctrl-C, and closing the client are seen to.
 *
 *     export const workersList = command<[], { readonly pool?: string }>({
 *       name: "workers list",                                   // all words but the last are groups (describe new ones in commands.ts)
 *       summary: "Workers that live, and what they serve",
 *       options: [["--pool <name>", "only those of this pool"]],
 *       examples: ["reprise workers list", "reprise workers list --pool default", "reprise workers list --json"],
 *       kinds: ["WorkerList"],                                  // of the documents that it prints
 *       run: async (cli, flags) => {
 *         const client = await cli.client();                    // closed by itself
 *         cli.out.list("Worker", { items, id, columns, empty }); // or cli.out.document(kind, data, { lines })
 *         return exitCodes.ok;
 *       },
 *     });
 *
 * Rules: data goes through `cli.out.document`, `list` or `lines`, everything else through `cli.out.note` (stderr). Text of users is
 * never coloured or joined by hand: lines are made of pieces (`ink.ts`), which are cleaned. What changes something says so (`changes`), takes
 * `--dry-run`, a `--reason` (`cli.reason()`), and asks through `cli.ask` (a script is told the flag it lacks); several runs at once go
 * through `bulk.ts`. A refusal is thrown (RepriseError, UsageError). Whatever is much to load is imported inside `run`.
 * `test/unit/cli-program.test.ts` demands of every command a summary, three examples that parse, and documents that are documented.
 */
import { Command, type Help } from "commander";
import type { ExitCode } from "../exit.ts";
import type { Cli } from "./cli.ts";

/** `["-i, --input <json>", "what it is"]`; `many`: it may be given several times. */
export type OptionSpec = readonly [flags: string, about: string, many?: "many"];

/** It changes something: it takes `--dry-run` and `--reason`, or says here why not. */
export interface Changes {
  readonly noDryRun?: string;
  readonly noReason?: string;
}

export interface CommandSpec<Args extends readonly unknown[] = readonly never[], Flags = object> {
  readonly name: string;
  readonly summary: string;
  /** What else there is to know, in a paragraph or two. */
  readonly details?: string;
  /** `["<id>", "which run"]`; `<>` is needed, `[]` is not, `...` takes all that follow. */
  readonly args?: readonly (readonly [name: string, about: string])[];
  readonly options?: readonly OptionSpec[];
  readonly examples: readonly [string, string, string, ...string[]];
  /** Kinds of the documents it prints with `--json`. */
  readonly kinds: readonly string[];
  /** Left out: it only looks. */
  readonly changes?: Changes;
  run(cli: Cli, flags: Flags, ...args: Args): Promise<ExitCode>;
}

/** What a command comes to for the program: what was declared, and a `run` that takes what commander has read. */
export type AnyCommand = CommandSpec<readonly unknown[], object>;

/**
 * Declares a command. `Args` and `Flags` say what `args` and `options` make commander read: text, `undefined` where it was not
 * given, `true` for a flag without a value, a list of texts for `...` and `many`.
 */
export function command<Args extends readonly unknown[], Flags extends object>(
  spec: CommandSpec<Args, Flags>,
): AnyCommand {
  // Commander reads what `args` and `options` declare, in that order; the author names the same in `Args` and `Flags`.
  return spec as unknown as AnyCommand;
}

/** How it is run by the program: with what commander has read. */
export type Runner = (spec: AnyCommand, flags: object, args: readonly unknown[]) => Promise<void>;

/** Puts a command into its groups, making those that are not there yet. */
export function addCommand(program: Command, spec: AnyCommand, groups: ReadonlyMap<string, string>, run: Runner): void {
  const words = spec.name.split(" ");
  const parent = words.slice(0, -1).reduce((above, word, at) => {
    const known = above.commands.find((each) => each.name() === word);
    return known ?? above.command(word).description(groups.get(words.slice(0, at + 1).join(" ")) ?? "");
  }, program);
  const made = new Command(words.at(-1)).description(spec.summary).copyInheritedSettings(parent);
  for (const [name, about] of spec.args ?? []) made.argument(name, about);
  for (const [flags, about, many] of spec.options ?? []) {
    if (many === undefined) made.option(flags, about);
    else
      made.option(flags, `${about} (several times)`, (text: string, before: readonly string[] = []) => [
        ...before,
        text,
      ]);
  }
  made.addHelpText("after", () => helpAfter(spec, made.createHelp(), made.configureOutput().getOutHelpWidth?.()));
  made.action(async (...given: readonly unknown[]) => {
    // Commander calls with the arguments, then the options, then the command.
    await run(spec, given.at(-2) as object, given.slice(0, -2));
  });
  parent.addCommand(made);
}

const usualHelpColumns = 80;

/** Examples are shown as they stand, to be copied. */
function helpAfter({ details, examples }: AnyCommand, help: Help, columns: number = usualHelpColumns): string {
  const about = details === undefined ? "" : `\n${help.boxWrap(details.replaceAll("\n", " "), columns)}\n`;
  return `${about}\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}\n\nFlags of every command: reprise --help`;
}
