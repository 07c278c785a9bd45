#!/usr/bin/env node
/**
 * `reprise`: the command line. Owns what of it is this process's: its streams, Ctrl-C, its exit code. The first Ctrl-C ends what waits,
 * in order; the second one ends everything at once.
 */
import { exitCodes, Interrupted } from "./exit.ts";
import { runProgram } from "./program.ts";

const abort = new AbortController();
/** `npm start` hands on the Ctrl-C that the terminal has already sent to us: two that come together are one. */
const sameKeyMs = 500;
let firstAt: number | null = null;

function interrupt(): void {
  const now = performance.now();
  if (firstAt !== null && now - firstAt > sameKeyMs) process.exit(exitCodes.interrupted);
  firstAt ??= now;
  abort.abort(new Interrupted());
}

/** Whoever reads our output may stop reading: then there is nothing more to say. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    abort.abort(new Interrupted());
  });
}

const { stdin, stdout, stderr, env } = process;
const argv = process.argv.slice(2);
// The demonstration listens to Ctrl-C by itself: it has processes to end.
const isOurs = argv[0] !== "demo";
if (isOurs) for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interrupt);
process.exitCode = await runProgram(argv, { stdin, stdout, stderr, env, cwd: process.cwd(), signal: abort.signal });
if (isOurs) for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, interrupt);
