/**
 * Owns: the processes that the demonstration starts: where their programs are, that they are ready, and that each of them
 * ends, by its own pid, whatever happens.
 *
 * Invariants
 * 1. Only a process started here is signalled, and never after it was seen to end.
 * 2. A Ctrl-C in the terminal reaches none of them: each has a process group of its own, and is stopped in order.
 * 3. If we are killed outright they notice that their IPC channel is gone, and end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isSaga, type Saga } from "../../saga/index.ts";
import { UsageError } from "../exit.ts";

const readyTimeoutMs = 30_000;
const root = fileURLToPath(new URL("../../../", import.meta.url));
const runsFromSource = import.meta.url.endsWith(".ts");

/** The processes and sagas that the story is told with, as TypeScript beside a checkout or as built beside the package. */
export function programPath(name: "workers/world" | "workers/worker" | "sagas/index"): string {
  const path = runsFromSource ? join(root, `${name}.ts`) : join(root, "build", `${name}.js`);
  if (existsSync(path)) return path;
  const hint = runsFromSource ? "Is this a whole checkout?" : "Run `npm run build` in a checkout of Reprise.";
  throw new UsageError(`The demonstration needs ${path}, which is not there. ${hint}`);
}

/** The example sagas, as the workers serve them. */
export async function loadSagas(): Promise<readonly Saga[]> {
  const path = programPath("sagas/index");
  const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href);
  const listed = module["sagas"];
  if (Array.isArray(listed) && listed.every(isSaga)) return listed;
  throw new UsageError(`${path} should export \`sagas\`, a list of sagas.`);
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProcessOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where its stderr goes. */
  readonly logFile: string;
}

/** A process that was started; `ready` says when it can be used. */
export class RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** The JSON line it prints when it is ready; rejects, with its own last words, when it ends before. */
  readonly ready: Promise<Readonly<Record<string, unknown>>>;
  readonly exit: Promise<Exit>;
  /** Nobody need wonder why it ended: we ended it. */
  wasStopped = false;
  readonly #child: ChildProcess;

  constructor(options: ProcessOptions) {
    const child = spawned(options);
    this.name = options.name;
    this.#child = child;
    this.pid = child.pid ?? -1; // without a pid it was never started: `error` follows, and nothing is signalled
    this.exit = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
      child.once("error", () => resolve({ code: null, signal: null }));
    });
    this.ready = this.#whenReady(child, options);
    void this.ready.catch(() => {}); // whoever starts it waits for it
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined;
  }

  /** kill -9; resolves when it is gone. */
  kill(): Promise<Exit> {
    this.wasStopped = true;
    if (!this.hasEnded) this.#child.kill("SIGKILL");
    return this.exit;
  }

  /** SIGTERM, and kill -9 when it takes longer than `graceMs`. It may be called again. */
  async stop(graceMs: number): Promise<Exit> {
    this.wasStopped = true;
    if (!this.hasEnded) this.#child.kill("SIGTERM");
    const late = setTimeout(() => void this.kill(), graceMs);
    const exit = await this.exit;
    clearTimeout(late);
    return exit;
  }

  async #whenReady(child: ChildProcess, options: ProcessOptions): Promise<Readonly<Record<string, unknown>>> {
    const late = setTimeout(() => void this.kill(), readyTimeoutMs);
    try {
      return await Promise.race([readyLine(child), endedEarly(this.exit, options)]);
    } finally {
      clearTimeout(late);
    }
  }
}

function spawned({ program, args, logFile }: ProcessOptions): ChildProcess {
  const flags = runsFromSource ? ["--conditions=source", "--import", "tsx"] : [];
  const log = openSync(logFile, "a");
  const child = spawn(process.execPath, [...flags, program, ...args], {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", log, "ipc"],
  });
  closeSync(log);
  return child;
}

function readyLine(child: ChildProcess): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    if (child.stdout === null) return reject(new Error("the process has no stdout"));
    // Later lines are read as well, so that the process never waits for us.
    createInterface({ input: child.stdout }).on("line", (line) => {
      const read = parsed(line);
      if (read !== null) resolve(read);
    });
  });
}

function parsed(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "event" in value ? { ...value } : null;
  } catch {
    return null;
  }
}

async function endedEarly(exit: Promise<Exit>, { name, logFile }: ProcessOptions): Promise<never> {
  const { code, signal } = await exit;
  const how = signal === "SIGKILL" ? `was not ready within ${readyTimeoutMs / 1_000} s` : "ended while starting";
  throw new UsageError(`${name} ${how} (${signal ?? `exit code ${code}`}).${lastWords(logFile)}`);
}

function lastWords(logFile: string): string {
  const lines = readFileSync(logFile, "utf8").trim().split("\n").slice(-6).join("\n");
  return lines === "" ? "" : ` It said:\n${lines}`;
}
