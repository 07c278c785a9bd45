/**
 * A worker of `reprise dev`: a process of its own, since modules that were read once are not read again. Owns starting it, hearing that it
 * serves, and its end. Invariants: none outlives `end`; none goes on when this process is gone, however it ended: nobody holds its stdin then.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Cli } from "../base/cli.ts";

/** What a worker says of itself once it serves. */
export interface Ready {
  readonly id: string;
  readonly pid: number;
  readonly sagas: readonly string[];
}

export interface DevWorker {
  /** `null`: it has ended before it served. */
  readonly ready: Promise<Ready | null>;
  /** SIGTERM; SIGKILL where that takes longer than `graceMs`, which loses nothing. */
  end(): Promise<void>;
}

/** What is under way may end; a call that takes longer is found out by the next worker. */
const graceMs = 5_000;

export function startDevWorker(cli: Cli, redis: string): DevWorker {
  const { io, globals } = cli;
  const flags = Object.entries({ config: globals.config, namespace: globals.namespace });
  const argv = flags.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  const child = spawn(
    process.execPath,
    [...process.execArgv, mainFile(), "worker", "--json", "--admin-port", "0", "--until-stdin-ends", ...argv],
    { cwd: io.cwd, env: { ...io.env, REDIS_URL: redis }, stdio: ["pipe", "pipe", "pipe"] },
  );
  // It may be gone when its end of the pipe is closed.
  child.stdin.on("error", () => undefined);
  const ended = once(child, "close").catch(() => undefined);
  createInterface(child.stderr).on("line", (line) => cli.out.warn(readable(line)));
  const ready = new Promise<Ready | null>((resolve) => {
    createInterface(child.stdout).on("line", (line) => resolve(readyIn(line)));
    void ended.then(() => resolve(null));
  });
  return {
    ready,
    end: async () => {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** The program that this is part of: compiled, or as it is written. */
function mainFile(): string {
  const [compiled, source] = ["../main.js", "../main.ts"].map((file) => fileURLToPath(new URL(file, import.meta.url)));
  return existsSync(compiled ?? "") ? (compiled ?? "") : (source ?? "");
}

/** It prints one document. */
function readyIn(line: string): Ready {
  return (JSON.parse(line) as { readonly data: Ready }).data;
}

/** An error comes as a document; what else it says is passed on as it is. */
function readable(line: string): string {
  try {
    const { error } = JSON.parse(line) as { readonly error?: { readonly message?: string; readonly code?: string } };
    return error?.message === undefined ? line : `reprise: ${error.message} [${error.code ?? "?"}]`;
  } catch {
    return line;
  }
}
