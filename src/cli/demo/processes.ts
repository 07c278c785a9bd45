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

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** The JSON line it printed when it was ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  readonly exit: Promise<Exit>;
  readonly hasEnded: boolean;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<Exit>;
  /** SIGTERM, and kill -9 when it takes longer than `graceMs`. It may be called again. */
  stop(graceMs: number): Promise<Exit>;
}

export interface ProcessOptions {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Where its stderr goes. */
  readonly logFile: string;
  readonly onSpawn?: (process: Omit<RunningProcess, "ready">) => void;
}

/** Starts a process and resolves when it says that it is ready; rejects with its own last words when it ends before. */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  const child = spawned(options);
  const running = new Running(options.name, child);
  options.onSpawn?.(running);
  const late = setTimeout(() => void running.kill(), readyTimeoutMs);
  try {
    const ready = await Promise.race([readyLine(child), endedEarly(running, options)]);
    return Object.assign(running, { ready });
  } finally {
    clearTimeout(late);
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

async function endedEarly(running: Running, { name, logFile }: ProcessOptions): Promise<never> {
  const { code, signal } = await running.exit;
  const how = signal === "SIGKILL" ? `was not ready within ${readyTimeoutMs / 1_000} s` : "ended while starting";
  throw new UsageError(`${name} ${how} (${signal ?? `exit code ${code}`}).${lastWords(logFile)}`);
}

function lastWords(logFile: string): string {
  const lines = readFileSync(logFile, "utf8").trim().split("\n").slice(-6).join("\n");
  return lines === "" ? "" : ` It said:\n${lines}`;
}

class Running implements Omit<RunningProcess, "ready"> {
  readonly name: string;
  readonly pid: number;
  readonly exit: Promise<Exit>;
  readonly #child: ChildProcess;

  constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#child = child;
    this.pid = child.pid ?? -1; // without a pid it was never started: `error` follows, and nothing is signalled
    this.exit = new Promise((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
      child.once("error", () => resolve({ code: null, signal: null }));
    });
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined;
  }

  kill(): Promise<Exit> {
    if (!this.hasEnded) this.#child.kill("SIGKILL");
    return this.exit;
  }

  async stop(graceMs: number): Promise<Exit> {
    if (!this.hasEnded) this.#child.kill("SIGTERM");
    const late = setTimeout(() => void this.kill(), graceMs);
    const exit = await this.exit;
    clearTimeout(late);
    return exit;
  }
}
