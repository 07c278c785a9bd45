/**
 * Owns: everything the story needs, started and ended: a Redis, the world, worker processes, a client. What was started is
 * closed in reverse, by its own pid, also when starting fails half-way or somebody presses Ctrl-C.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "../../client/index.ts";
import type { Fact } from "../../core/index.ts";
import { createClient } from "../../orchestrator.ts";
import { type EnsuredRedis, ensureRedis } from "../../redis/index.ts";
import type { Saga } from "../../saga/index.ts";
import { type WorldControl, worldControl } from "../../testing/index.ts";
import { UsageError } from "../exit.ts";
import type { Narrator } from "./narrator.ts";
import { type Exit, programPath, type RunningProcess, startProcess } from "./processes.ts";
import { worldFile } from "./story.ts";

const workersAtOnce = 2;
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
  readonly #processes: RunningProcess[] = [];
  readonly #spawned = new Set<Pick<RunningProcess, "kill">>();
  readonly #expectedToEnd = new Set<number>();
  #workersStarted = 0;
  #redis: EnsuredRedis | undefined;
  #world: (RunningProcess & { readonly url: string }) | undefined;
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
    if (this.#client === undefined) throw new Error("the stage is not set");
    return this.#client;
  }

  get world(): WorldControl {
    if (this.#world === undefined) throw new Error("the stage is not set");
    return worldControl(this.#world.url);
  }

  /** Starts everything, and says where it is. */
  set(): Promise<void> {
    this.#isSet ??= this.#set();
    return this.#isSet;
  }

  /** kill -9 of one of our workers, by the pid that the world was told. */
  async killWorker(pid: number): Promise<Exit> {
    const worker = this.#processes.find((each) => each.pid === pid && each !== this.#world);
    if (worker === undefined) throw new Error(`process ${pid} is no worker of ours`);
    this.#expectedToEnd.add(pid);
    const exit = await worker.kill();
    // The story goes on with the workers that are left; the new one joins when it is ready.
    void this.#addWorker().catch((error: unknown) => this.#options.abort.abort(error));
    return exit;
  }

  /** How the story calls a worker that the log knows by its incarnation. */
  workerCalled(owner: string | undefined): string | undefined {
    const worker = this.#processes.find(({ ready }) => ready["owner"] === owner);
    return worker === undefined ? undefined : `worker ${worker.pid}`;
  }

  async #addWorker(): Promise<void> {
    this.signal.throwIfAborted();
    this.#workersStarted += 1;
    const where = ["--namespace", this.namespace, "--redis", this.#redis?.url ?? "", "--world", this.#world?.url ?? ""];
    const forgetful = this.#options.allowForgetfulStore ? ["--allow-forgetful-store"] : [];
    await this.#start(`worker-${this.#workersStarted}`, "workers/worker", [...where, ...forgetful]);
  }

  /** Drains the workers, so that nothing more can come. */
  async stopWorkers(): Promise<void> {
    const workers = this.#processes.filter((each) => each !== this.#world);
    await Promise.all(workers.map((worker) => this.#stop(worker, workerGraceMs)));
  }

  /** Stops everything that is left. It may be called again, early, and while the stage is being set. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** For the second Ctrl-C: everything at once, nothing waited for. */
  abandon(): void {
    for (const process of this.#spawned) void process.kill();
    if (this.#redis?.pid !== undefined && this.#redis.source !== "running") process.kill(this.#redis.pid, "SIGTERM");
  }

  async #set(): Promise<void> {
    const { narrator } = this;
    narrator.live("starting Redis and the world");
    await all([this.#startRedis(), this.#startWorld()]);
    narrator.live("starting two workers");
    const redis = this.#redis?.url;
    const facts = { emit: (fact: Fact) => this.#tellTrouble(fact) };
    this.#client = createClient({ redis, namespace: this.namespace, sagas: this.#options.sagas, facts });
    await all(Array.from({ length: workersAtOnce }, () => this.#addWorker()));
    narrator.live(null);
    for (const line of this.#whereabouts()) narrator.say(line);
  }

  async #startRedis(): Promise<void> {
    const log = (line: string) => this.narrator.say(line);
    this.#redis = await ensureRedis({ dir: join(this.dir, "redis"), log });
  }

  async #startWorld(): Promise<void> {
    const world = await this.#start("world", "workers/world", ["--file", worldFile(this.dir)]);
    this.#world = Object.assign(world, { url: String(world.ready["url"]) });
  }

  async #start(name: string, program: Parameters<typeof programPath>[0], args: readonly string[]) {
    const started = await startProcess({
      name,
      program: programPath(program),
      args,
      logFile: join(this.dir, `${name}.log`),
      onSpawn: (process) => void this.#spawned.add(process),
    });
    this.#processes.push(started);
    void started.exit.then((exit) => this.#noticeEnd(started, exit));
    return started;
  }

  #noticeEnd({ name, pid }: RunningProcess, { code, signal }: Exit): void {
    if (this.#expectedToEnd.has(pid)) return;
    const log = join(this.dir, `${name}.log`);
    const how = signal ?? `exit code ${code}`;
    this.#options.abort.abort(new UsageError(`${name} (pid ${pid}) ended unexpectedly (${how}); see ${log}.`));
  }

  async #stop(process: RunningProcess, graceMs: number): Promise<void> {
    this.#expectedToEnd.add(process.pid);
    await process.stop(graceMs);
  }

  async #close(): Promise<void> {
    this.narrator.live("stopping");
    await this.#isSet?.catch(() => {});
    await this.stopWorkers();
    await this.#client?.close();
    if (this.#world !== undefined) await this.#stop(this.#world, worldGraceMs);
    // A process that never became ready is not on the list of those that did.
    await Promise.all([...this.#spawned].map((process) => process.kill()));
    await this.#redis?.stop();
    this.narrator.live(null);
    if (this.#redis?.source === "REDIS_URL") this.narrator.say(`Left in your Redis: the keys of ${this.namespace}.`);
    else await rm(join(this.dir, "redis"), { recursive: true, force: true });
  }

  #tellTrouble(fact: Fact): void {
    if (fact.fact === "trouble") this.narrator.say(this.narrator.colors.dim(`    (${fact.where}: ${fact.message})`));
  }

  #whereabouts(): readonly string[] {
    const redis = this.#redis;
    if (redis === undefined) return [];
    const { bold, dim } = this.narrator.colors;
    const workers = this.#processes.filter((each) => each !== this.#world).map(({ pid }) => `pid ${pid}`);
    const own = redis.source === "REDIS_URL" ? "your REDIS_URL" : `started for this, pid ${redis.pid ?? "in docker"}`;
    const row = (name: string, where: string, more: string) => `  ${bold(name.padEnd(9))}${where}  ${dim(more)}`;
    return [
      row("redis", redis.source === "REDIS_URL" ? "REDIS_URL" : redis.url, `${own}, namespace ${this.namespace}`),
      row("world", this.#world?.url ?? "", `pid ${this.#world?.pid}, writes down what it sees`),
      row("workers", workers.join(", "), "real processes"),
      row("files", this.dir, "the world's file, the claims, logs"),
    ];
  }
}

/** Like `Promise.all`, but settles only when all have: what was started late is known when it is to be stopped. */
async function all(work: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) if (result.status === "rejected") throw result.reason;
}
