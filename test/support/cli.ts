/** The command line in the test's own process: what it printed, and how it ended. */
import { PassThrough } from "node:stream";
import type { Io } from "../../src/cli/base/io.ts";
import { runProgram } from "../../src/cli/program.ts";

export interface Told {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
  /** Columns of the terminal that stdout is; none: it is a file. */
  readonly columns?: number;
  /** Somebody sits there and sees stderr. */
  readonly isWatched?: true;
}

export interface Started {
  readonly told: Promise<Told>;
  /** What it has printed so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
}

export function startCli(argv: readonly string[], options: CliOptions = {}): Started {
  const { env = {}, cwd = "/", stdin = "", signal = new AbortController().signal, columns, isWatched } = options;
  const [out, err] = [collected(), collected()];
  const tty = columns === undefined ? {} : { isTTY: true, columns };
  const io: Io = {
    stdin: Object.assign(new PassThrough().end(stdin), {}),
    stdout: Object.assign(out.stream, tty),
    stderr: Object.assign(err.stream, isWatched ? { isTTY: true } : {}),
    ...{ env, cwd, signal },
  };
  const told = runProgram(argv, io).then((code) => ({ code, stdout: out.text(), stderr: err.text() }));
  return { told, stdout: out.text, stderr: err.text };
}

export function cli(argv: readonly string[], options: CliOptions = {}): Promise<Told> {
  return startCli(argv, options).told;
}

function collected() {
  const chunks: string[] = [];
  const stream = new PassThrough().on("data", (chunk) => void chunks.push(String(chunk)));
  return { stream, text: () => chunks.join("") };
}
