/** The reference of the command line as a page, made from the program itself. */
import { PassThrough } from "node:stream";
import type { Command } from "commander";
import { commands } from "../../src/cli/commands.ts";
import { programFor } from "../../src/cli/program.ts";

const intro = `# Every command

Made from the program by \`test/unit/cli-program.test.ts\` (\`npx vitest run --project unit test/unit/cli-program.test.ts -u\`); what holds
for all of them is in [cli.md](cli.md).
`;

export function cliReference(): string {
  const stream = new PassThrough();
  const io = { stdin: stream, stdout: stream, stderr: stream, env: {}, cwd: "/", signal: new AbortController().signal };
  const program = programFor(io);
  const globals = ["## Flags of every command", "", ...optionLines(program)].join("\n");
  const sections = leavesOf(program).map(([path, command]) => section(path, command));
  return `${[intro, globals, ...sections]
    .join("\n\n")
    .replace(/\n{3,}/g, "\n\n")
    .trimEnd()}\n`;
}

type Leaf = readonly [path: string, command: Command];

function leavesOf(command: Command, path: readonly string[] = []): readonly Leaf[] {
  return command.commands.flatMap((each): readonly Leaf[] => {
    const here = [...path, each.name()];
    return each.commands.length > 0 ? leavesOf(each, here) : [[here.join(" "), each]];
  });
}

function section(path: string, command: Command): string {
  const spec = commands.find(({ name }) => name === path);
  const args = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return { text: argument.required ? `<${name}>` : `[${name}]`, about: argument.description };
  });
  return [
    `## reprise ${[path, ...args.map(({ text }) => text)].join(" ")}`,
    `${command.description()}.`,
    spec?.details ?? "",
    [...args.map(({ text, about }) => line(text, about)), ...optionLines(command)].join("\n"),
    spec === undefined ? "" : ["```", ...spec.examples, "```"].join("\n"),
    spec === undefined ? "" : `Documents: ${spec.kinds.map((kind) => `\`${kind}\``).join(", ")}.`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function optionLines(command: Command): readonly string[] {
  return command.options.map(({ flags, description }) => line(flags, description));
}

function line(text: string, about: string): string {
  return `- \`${text}\`: ${about}`;
}
