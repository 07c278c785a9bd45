/** `reprise completion`: a script for the shell, made from the commands themselves, so that it needs nothing at run time. */
import type { AnyCommand } from "../base/command.ts";
import { command } from "../base/command.ts";
import { globalOptions } from "../base/globals.ts";
import { oneOf } from "../base/values.ts";
import { exitCodes } from "../exit.ts";

/** Where a word may be written after other words: the words so far, and what may follow. */
type Tree = ReadonlyMap<string, readonly string[]>;

/** `all`: every command; this one is among them, so they are asked for when it is run. */
export function completionOf(all: () => readonly AnyCommand[]): AnyCommand {
  return command<[shell: string], object>({
    name: "completion",
    summary: "Print a completion script for a shell",
    args: [["<shell>", "bash, zsh or fish"]],
    examples: [
      "reprise completion bash > /etc/bash_completion.d/reprise",
      'eval "$(reprise completion zsh)"',
      "reprise completion fish > ~/.config/fish/completions/reprise.fish",
    ],
    kinds: ["Completion"],
    run: async (cli, _, given) => {
      const shell = oneOf(given, "the shell", ["bash", "zsh", "fish"]);
      const tree = treeOf([...all(), ...olderCommands]);
      const script = shell === "fish" ? fishScript(tree) : bashScript(tree, shell, valuedIn(all()));
      cli.out.document("Completion", { shell, script: script.join("\n") }, { lines: () => script });
      return exitCodes.ok;
    },
  });
}

/** Those that have not the common shape. */
const olderCommands: readonly Pick<AnyCommand, "name" | "options">[] = [{ name: "demo" }];

function treeOf(all: readonly Pick<AnyCommand, "name" | "options">[]): Tree {
  const tree = new Map<string, readonly string[]>();
  const add = (at: string, words: readonly string[]) => tree.set(at, [...new Set([...(tree.get(at) ?? []), ...words])]);
  for (const { name, options = [] } of all) {
    const words = name.split(" ");
    for (const [at, word] of words.entries()) add(words.slice(0, at).join(" "), [word]);
    add(
      name,
      options.flatMap(([flags]) => longOf(flags)),
    );
  }
  return tree;
}

function longOf(flags: string): readonly string[] {
  return /--[a-z-]+/.exec(flags) ?? [];
}

const globalWords = globalOptions.flatMap(([flags]) => longOf(flags)).join(" ");

/** Flags that a value follows: it is no command, whatever it is called. */
function valuedIn(all: readonly Pick<AnyCommand, "options">[]): readonly string[] {
  const flags = [...globalOptions, ...all.flatMap(({ options = [] }) => options)].map(([text]) => text);
  const valued = flags.filter((text) => text.includes("<"));
  return [...new Set(valued.flatMap((text) => text.match(/(?<![\w-])--?[a-z][a-z-]*/g) ?? []))];
}

function bashScript(tree: Tree, shell: "bash" | "zsh", valued: readonly string[]): readonly string[] {
  return [
    ...(shell === "zsh" ? ["autoload -Uz bashcompinit && bashcompinit"] : []),
    "_reprise() {",
    `  local word="\${COMP_WORDS[COMP_CWORD]}" path="" next i valued=" ${valued.join(" ")} "`,
    "  for ((i = 1; i < COMP_CWORD; i++)); do",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    '    if [[ "$valued" == *" ${COMP_WORDS[i]} "* ]]; then ((i++)); continue; fi',
    `    next="\${path:+$path }\${COMP_WORDS[i]}"`,
    '    case "$next" in',
    `      ${[...tree.keys()]
      .filter((key) => key !== "")
      .map((key) => `"${key}"`)
      .join("|")}) path="$next" ;;`,
    "    esac",
    "  done",
    '  local words=""',
    // What follows such a flag is the user's: a file, if the shell knows one.
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    '  if [[ "$valued" == *" ${COMP_WORDS[COMP_CWORD - 1]} "* ]]; then COMPREPLY=(); return; fi',
    '  case "$path" in',
    ...[...tree].map(([key, words]) => `    "${key}") words="${words.join(" ")}" ;;`),
    "  esac",
    `  [[ "$word" == -* ]] && words="$words ${globalWords}"`,
    '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
    "}",
    "complete -o default -F _reprise reprise",
  ];
}

function fishScript(tree: Tree): readonly string[] {
  return [
    "function __reprise_at",
    "  set -l words (string match -v -- '-*' (commandline -opc)[2..-1])",
    `  test "$words" = "$argv"`,
    "end",
    ...[...tree].flatMap(([key, words]) =>
      words.map(
        (word) =>
          `complete -c reprise ${word.startsWith("-") ? "" : "-f "}-n '__reprise_at ${key}' ${word.startsWith("-") ? `-l ${word.slice(2)}` : `-a ${word}`}`,
      ),
    ),
    ...globalWords.split(" ").map((word) => `complete -c reprise -l ${word.slice(2)}`),
  ];
}
