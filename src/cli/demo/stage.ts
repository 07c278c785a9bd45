/**
 * Owns: everything the story needs, started and ended: a Redis, the world, worker processes, a client. What was started is
 * closed in reverse, by its own pid, also when starting fails half-way or somebody presses Ctrl-C.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "../../client/index.ts";
import type { Fact } from "../../core/index.ts";
import { createClient } from "../../orchestrator/index.ts";
import { type EnsuredRedis, ensureRedis } from "../../redis/index.ts";
import type { Saga } from "../../saga/index.ts";
import { type WorldControl, worldControl } from "../../testing/index.ts";
import { UsageError } from "../exit.ts";
import type { Narrator } from "./narrator.ts";
import { type Exit, programPath, RunningProcess } from "./processes.ts";
import { worldFile } from "./story.ts";

/** Two are killed in the story. */
const workersAtOnce = 3;
const workerGraceMs = 10_000;
const worldGraceMs = 5_000;

export interface StageOptions {
  readonly dir: string;
  readonly sagas: readonly Saga[];
  readonly narrator: Narrator;
  readonly allowForgetfulStore: boolean;
  /** Ends everything that waits. */
  readonly abort: AbortController;
}

export class Stage {
  readonly dir: string;
  readonly narrator: Narrator;
  readonly namespace = `demo-${Date.now().toString(36)}`;
  readonly #options: StageOptions;
  readonly #workers: RunningProcess[] = [];
  /** How the log knows each worker. */
  readonly #owners = new Map<string, RunningProcess>();
  readonly #troubles = new Set<string>();
  #redis: EnsuredRedis | undefined;
  #worldProcess: RunningProcess | undefined;
  #world: WorldControl | undefined;
  #client: Client | undefined;
  #isSet: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: StageOptions) {
    this.#options = options;
    this.dir = options.dir;
    this.narrator = options.narrator;
  }

  /** Aborted by Ctrl-C, and when a process ends that should not. */
  get signal(): AbortSignal {
    return this.#options.abort.signal;
  }

  get client(): Client {
    return there(this.#client);
  }

  get world(): WorldControl {
    return there(this.#world);
  }

  /** Starts everything, and says where it is. */
  set(): Promise<void> {
    this.#isSet ??= this.#set();
    return this.#isSet;
  }

  /** kill -9 of one of our workers, by the pid that the world was told. */
  async killWorker(pid: number): Promise<Exit> {
    const worker = this.#workers.find((each) => each.pid === pid);
    if (worker === undefined) throw new Error(`process ${pid} is no worker of ours`);
    return await worker.kill();
  }

  /** The pid of the worker that the log knows by this incarnation. */
  pidOf(owner: string | undefined): number | undefined {
    return owner === undefined ? undefined : this.#owners.get(owner)?.pid;
  }

  /** Drains the workers, so that nothing more can come. */
  async stopWorkers(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop(workerGraceMs)));
  }

  /** Stops everything that is left. It may be called again, early, and while the stage is being set. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** For the second Ctrl-C: everything at once, nothing waited for. */
  abandon(): void {
    for (const each of [...this.#workers, this.#worldProcess]) void each?.kill();
    const { pid, source } = this.#redis ?? {};
    if (pid !== undefined && source !== "running") process.kill(pid, "SIGTERM");
  }

  async #set(): Promise<void> {
    const { narrator, namespace } = this;
    narrator.live("starting Redis and the world");
    await all([this.#startRedis(), this.#startWorld()]);
    narrator.live(`starting ${workersAtOnce} workers`);
    const facts = { emit: (fact: Fact) => this.#tellTrouble(fact) };
    this.#client = createClient({ redis: there(this.#redis).url, namespace, sagas: this.#options.sagas, facts });
    await this.#client.list({ limit: 1 }); // a Redis that is not there is said once, not by every worker
    await this.#startWorkers();
    narrator.live(null);
    for (const line of this.#whereabouts()) narrator.say(line);
  }

  async #startRedis(): Promise<void> {
    const log = (line: string) => this.narrator.say(line);
    this.#redis = await ensureRedis({ dir: join(this.dir, "redis"), log });
  }

  async #startWorld(): Promise<void> {
    this.#worldProcess = this.#start("world", "workers/world", ["--file", worldFile(this.dir)]);
    this.#world = worldControl(String((await this.#whenReady(this.#worldProcess))["url"]));
  }

  async #startWorkers(): Promise<void> {
    try {
      await all(Array.from({ length: workersAtOnce }, (_, index) => this.#startWorker(index + 1)));
    } catch (error) {
      if (!(error instanceof UsageError) || this.#redis?.source !== "REDIS_URL") throw error;
      const hint = "This Redis is yours, from REDIS_URL: unset it, and a fitting one is started for the demonstration";
      throw new UsageError(`${error.message}\n${hint}; or give --allow-forgetful-store.`);
    }
  }

  async #startWorker(number: number): Promise<void> {
    this.signal.throwIfAborted();
    const where = ["--namespace", this.namespace, "--redis", there(this.#redis).url, "--world", this.world.url];
    const forgetful = this.#options.allowForgetfulStore ? ["--allow-forgetful-store"] : [];
    const worker = this.#start(`worker-${number}`, "workers/worker", [...where, ...forgetful]);
    this.#workers.push(worker);
    this.#owners.set(String((await this.#whenReady(worker))["owner"]), worker);
  }

  #start(name: string, program: Parameters<typeof programPath>[0], args: readonly string[]): RunningProcess {
    const logFile = join(this.dir, `${name}.log`);
    return new RunningProcess({ name, program: programPath(program), args, logFile });
  }

  /** Gives what it says when it is ready; from then on its end is the end of the story, unless we ended it. */
  async #whenReady(started: RunningProcess): Promise<Readonly<Record<string, unknown>>> {
    const ready = await started.ready;
    void started.exit.then(({ code, signal }) => {
      if (started.wasStopped) return;
      const how = `${started.name} (pid ${started.pid}) ended by itself (${signal ?? `exit code ${code}`})`;
      this.#options.abort.abort(new UsageError(`${how}; see ${join(this.dir, `${started.name}.log`)}.`));
    });
    return ready;
  }

  async #close(): Promise<void> {
    const { narrator } = this;
    narrator.live("stopping");
    await this.#isSet?.catch(() => {});
    await this.stopWorkers();
    await this.#client?.close();
    await this.#worldProcess?.stop(worldGraceMs);
    await this.#redis?.stop();
    narrator.live(null);
    if (this.#redis?.source !== "REDIS_URL") await rm(join(this.dir, "redis"), { recursive: true, force: true });
    else if (this.#owners.size > 0) narrator.say(`Left in your Redis: the keys of namespace ${this.namespace}.`);
  }

  /** Each trouble once: what keeps the story from going on is thrown besides. */
  #tellTrouble(fact: Fact): void {
    if (fact.fact !== "trouble") return;
    const line = `    (${fact.where}: ${fact.message})`;
    if (!this.#troubles.has(line)) this.narrator.say(this.narrator.colors.dim(line));
    this.#troubles.add(line);
  }

  #whereabouts(): readonly string[] {
    const { bold, dim } = this.narrator.colors;
    const row = (name: string, where: string, more: string) => `  ${bold(name.padEnd(9))}${where}  ${dim(more)}`;
    const { url, source, pid } = there(this.#redis);
    const redis = source === "REDIS_URL" ? "yours, from REDIS_URL" : `started for this, ${pid ? `pid ${pid}` : source}`;
    const pids = this.#workers.map((worker) => `pid ${worker.pid}`).join(", ");
    return [
      row("redis", source === "REDIS_URL" ? "REDIS_URL" : url, `${redis}, namespace ${this.namespace}`),
      row("world", this.world.url, `pid ${this.#worldProcess?.pid}, writes down what it sees`),
      row("workers", pids, "processes that may be killed"),
      row("files", this.dir, "what the world saw, what the ledger claims, logs"),
    ];
  }
}

function there<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the stage is not set");
  return value;
}

/** Like `Promise.all`, but settles only when all have: what was started late is known when it is to be stopped. */
async function all(work: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) if (result.status === "rejected") throw result.reason;
}
