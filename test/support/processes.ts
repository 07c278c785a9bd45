/**
 * Owns: the processes of a test: starting one, talking to it, killing, stopping and resuming it by its pid, and seeing
 * how it ended.
 *
 * Invariants
 * 1. Only a process started here is ever signalled, by its own pid, and never after it was seen to end.
 * 2. Nothing started here outlives the test process that started it.
 */
import { type ChildProcess, type Serializable, type StdioOptions, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bundledProgram } from "./bundles.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const maxOutputCharacters = 1_000_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProcessHandle {
  readonly pid: number;
  /** What it has written so far (the last million characters). */
  readonly stdout: string;
  readonly stderr: string;
  /** Settles when it has ended and its output is read to the end. */
  readonly exit: Promise<Exit>;
  readonly isRunning: boolean;
  /** Sends a signal and, if it is one that ends a process, waits for the end. */
  kill(signal?: "SIGKILL" | "SIGTERM" | "SIGINT"): Promise<Exit>;
  /** SIGSTOP: it stands still with its connections open. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Ends it whatever state it is in; does nothing when it has ended. */
  stop(): Promise<void>;
}

export interface Child extends ProcessHandle {
  /** Every message it has sent by IPC. */
  readonly messages: readonly unknown[];
  send(message: Serializable): void;
  /** The first message, sent already or still to come, that fits; each is given once. Rejects when the child ends. */
  nextMessage<T>(fits: (message: unknown) => message is T, timeoutMs?: number): Promise<T>;
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export interface SpawnOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The repository when left out. */
  readonly cwd?: string;
}

/** Starts any program and keeps it on the list of what must not outlive this process. Rejects if it cannot be started. */
export async function spawnProgram(
  command: string,
  args: readonly string[],
  options: SpawnOptions = {},
): Promise<ProcessHandle> {
  return new Running(await spawned(command, args, options));
}

export interface ChildOptions extends SpawnOptions {
  readonly args?: readonly string[];
  /** TypeScript is read module by module as it is written, where it is the loading that matters; else it is bundled. */
  readonly asWritten?: boolean;
}

/** Starts a program of this repository as a process of its own, with IPC: TypeScript bundled, a built `.mjs` as it is. */
export async function spawnChild(
  file: string | URL,
  { args = [], asWritten = false, ...options }: ChildOptions = {},
): Promise<Child> {
  const path = file instanceof URL ? fileURLToPath(file) : file;
  const loader = asWritten ? ["--conditions=source", "--import", "tsx"] : [];
  const program = asWritten || path.endsWith(".mjs") ? path : await bundledProgram(path);
  return new Talking(await spawned(process.execPath, [...loader, program, ...args], { ...options, ipc: true }));
}

async function spawned(
  command: string,
  args: readonly string[],
  { env, cwd = repository, ipc = false }: SpawnOptions & { readonly ipc?: boolean },
): Promise<ChildProcess> {
  const stdio: StdioOptions = ["ignore", "pipe", "pipe", ...(ipc ? (["ipc"] as const) : [])];
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio });
  await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

class Running implements ProcessHandle {
  readonly pid: number;
  readonly exit: Promise<Exit>;
  stdout = "";
  stderr = "";
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    if (child.pid === undefined) throw new Error("the process has no pid");
    this.#child = child;
    this.pid = child.pid;
    this.exit = new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        this[name] = (this[name] + text).slice(-maxOutputCharacters);
      });
    }
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): Promise<Exit> {
    if (this.isRunning) this.#child.kill(signal);
    return this.exit;
  }

  freeze(): void {
    this.#signal("SIGSTOP");
  }

  thaw(): void {
    this.#signal("SIGCONT");
  }

  async stop(): Promise<void> {
    await this.kill();
  }

  #signal(signal: NodeJS.Signals): void {
    if (!this.isRunning || !this.#child.kill(signal)) throw new Error(`process ${this.pid} has ended: no ${signal}`);
  }
}

class Talking extends Running implements Child {
  readonly messages: unknown[] = [];
  readonly #given = new Set<number>();
  readonly #process: ChildProcess;

  constructor(child: ChildProcess) {
    super(child);
    this.#process = child;
    child.on("message", (message) => void this.messages.push(message));
  }

  send(message: Serializable): void {
    this.#process.send(message);
  }

  async nextMessage<T>(fits: (message: unknown) => message is T, timeoutMs = 30_000): Promise<T> {
    const found = await waitFor(() => this.#take(fits), {
      timeoutMs,
      what: `a message of process ${this.pid}`,
      tell: () => this.stderr.slice(-2_000),
    });
    return found.message;
  }

  #take<T>(fits: (message: unknown) => message is T): { readonly message: T } | undefined {
    for (const [index, message] of this.messages.entries()) {
      if (this.#given.has(index) || !fits(message)) continue;
      this.#given.add(index);
      return { message };
    }
    if (this.isRunning) return undefined;
    throw new WaitIsVain(`process ${this.pid} has ended: ${this.stderr.slice(-2_000)}`);
  }
}

/** Thrown by a condition that can no longer come true. */
export class WaitIsVain extends Error {
  override readonly name = "WaitIsVain";
}

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  /** What is waited for: the error says so. */
  readonly what?: string;
  /** Said beside it when it did not come true. */
  readonly tell?: () => unknown;
}

/**
 * Asks until the answer is neither `undefined` nor `false`, and gives it. An exception counts as not yet.
 * Rejects after `timeoutMs` (20 s) with what was waited for, the last answer or exception, and what there is to tell.
 */
export async function waitFor<T>(
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  { timeoutMs = 20_000, everyMs = 10, what = "a condition", tell }: WaitOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  const expiry = timer(timeoutMs);
  let last: unknown = "the condition did not answer";
  try {
    do {
      try {
        const answer = await Promise.race([condition(), expiry.promise]);
        if (answer !== undefined && answer !== false) return answer;
        last = answer;
      } catch (error) {
        if (error instanceof WaitIsVain) throw error;
        last = error;
      }
      await timer(everyMs).promise;
    } while (performance.now() < deadline);
  } finally {
    expiry.clear();
  }
  const told = tell === undefined ? "" : `\n${String(tell())}`;
  throw new Error(`waited ${timeoutMs} ms in vain for ${what}; last: ${String(last)}${told}`, { cause: last });
}

function timer(ms: number): { readonly promise: Promise<undefined>; clear(): void } {
  let handle: NodeJS.Timeout | undefined;
  const promise = new Promise<undefined>((resolve) => {
    handle = setTimeout(resolve, ms, undefined);
  });
  return { promise, clear: () => clearTimeout(handle) };
}

/** What one test owns: everything handed to `own` is stopped by `release`, the last one first. */
export interface Owned {
  own<T extends { stop(): unknown } | { close(): unknown }>(resource: T): T;
  release(): Promise<void>;
}

/** `const world = owned(); afterEach(world.release);` */
export function owned(): Owned {
  const resources: ({ stop(): unknown } | { close(): unknown })[] = [];
  return {
    own: (resource) => {
      resources.push(resource);
      return resource;
    },
    release: async () => {
      const failures: unknown[] = [];
      for (const resource of resources.splice(0).reverse()) {
        try {
          await ("stop" in resource ? resource.stop() : resource.close());
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, "not everything could be stopped");
    },
  };
}
