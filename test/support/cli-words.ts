/** Owns: what a command line in a text names: the command, and the flags that it and every command take. */
import { Readable, Writable } from "node:stream";
import type { Command } from "commander";
import { programFor } from "../../src/cli/program.ts";

const sink = () => new Writable({ write: (_chunk, _encoding, done) => done() });
const signal = new AbortController().signal;
const io = { stdin: Readable.from([]), stdout: sink(), stderr: sink(), env: {}, cwd: process.cwd(), signal };
const program = programFor(io);

function under(parent: Command, name: string | undefined): Command | undefined {
  return parent.commands.find((each) => each.name() === name);
}

/** What is wrong with `reprise ...` as it is written; `null`: it names a command and flags that there are. */
export function problemWith(line: string): string | null {
  const words = line.split(/\s+/).slice(1);
  const [first = "", second = ""] = words;
  const group = under(program, first);
  const command = group === undefined || group.commands.length === 0 ? group : under(group, second);
  if (command === undefined) return `there is no command ${first} ${second}`;
  const flags = [...command.options, ...program.options].flatMap(({ long, short }) => [long, short]);
  const unknown = words.filter((word) => word.startsWith("-")).find((word) => !flags.includes(word.split("=")[0]));
  return unknown === undefined ? null : `${command.name()} takes no ${unknown}`;
}
