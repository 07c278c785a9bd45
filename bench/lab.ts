/**
 * What a bench works with: Redis servers of its own and measured processes, all stopped by `close`. Invariants: 1. no
 * server or process that was not started here is touched. 2. what is measured runs compiled and with default settings,
 * whatever the environment says.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { type FoundRedis, findRedisServer, startServer } from "../src/redis/ensure.mjs";
import { type ContestantName, Subject } from "./subject.ts";
import { addressOf } from "./subjects/redis.ts";

export interface ServerOptions {
  readonly appendfsync?: "always" | "everysec";
}

/** A Redis of its own on a unix socket. */
export class Server {
  readonly url: string;
  readonly #client: Redis;
  readonly #stop: () => Promise<void>;

  constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.#client = new Redis({ ...addressOf(url) });
    this.#stop = stop;
  }

  /** CPU it has used so far, in ms. */
  async cpuMs(): Promise<number> {
    const info = await this.#client.info("cpu");
    return 1_000 * (numberIn(info, "used_cpu_user") + numberIn(info, "used_cpu_sys"));
  }

  /** Commands carried out so far, those within scripts included, and how many of them were scripts. */
  async commands(): Promise<{ readonly all: number; readonly scripts: number }> {
    const info = await this.#client.info("all");
    return {
      all: numberIn(info, "total_commands_processed"),
      scripts: callsIn(info, "evalsha") + callsIn(info, "eval"),
    };
  }

  /** How many keys have names that match. */
  async keysLike(pattern: string): Promise<number> {
    let count = 0;
    for await (const keys of this.#client.scanStream({ match: pattern, count: 10_000 })) count += keys.length;
    return count;
  }

  async usedBytes(): Promise<number> {
    return numberIn(await this.#client.info("memory"), "used_memory");
  }

  async empty(): Promise<void> {
    await this.#client.flushall("SYNC");
  }

  async stop(): Promise<void> {
    this.#client.disconnect();
    await this.#stop();
  }
}

function numberIn(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(.*)\r$`, "m").exec(info)?.[1]);
}

function callsIn(info: string, command: string): number {
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, "m").exec(info)?.[1] ?? 0);
}

interface Stoppable {
  stop(): Promise<unknown>;
}

export class Lab {
  readonly #program: string;
  readonly #found: FoundRedis;
  readonly #directory: string;
  readonly #warmUp: number;
  readonly #things: Stoppable[] = [];
  readonly #warm = new Map<ContestantName, Promise<Subject>>();
  #servers = 0;
  #closing: Promise<void> | null = null;

  private constructor(program: string, found: FoundRedis, directory: string, warmUp: number) {
    this.#program = program;
    this.#found = found;
    this.#directory = directory;
    this.#warmUp = warmUp;
  }

  /** `warmUp`: sagas that a process has done before it is measured. */
  static async open(program: string, warmUp: number): Promise<Lab> {
    const directory = await mkdtemp(join(tmpdir(), "reprise-bench-"));
    return new Lab(program, await findRedisServer(), directory, warmUp);
  }

  /** Rewriting the AOF in the middle of a round would be measured too: it is off for everybody. */
  async server({ appendfsync = "everysec" }: ServerOptions = {}): Promise<Server> {
    this.#servers += 1;
    const args = ["--appendfsync", appendfsync, "--auto-aof-rewrite-percentage", "0"];
    const dir = join(this.#directory, `redis-${this.#servers}`);
    const started = await startServer(this.#found, { dir, args });
    return this.own(new Server(started.url, () => started.stop()));
  }

  /** A new process. */
  async subject(name: ContestantName, env: Readonly<Record<string, string>> = {}): Promise<Subject> {
    return this.own(await Subject.start(this.#program, name, env));
  }

  /** A new process that has worked already. */
  async warmed(name: ContestantName): Promise<Subject> {
    return this.own(await this.#warmed(name));
  }

  /** The one process of this contestant that lives through all benches: compiled by V8, and the same in every lane. */
  async warm(name: ContestantName): Promise<Subject> {
    const known = this.#warm.get(name);
    if (known !== undefined) return await known;
    const started = this.#warmed(name);
    this.#warm.set(name, started);
    return await started;
  }

  /** Has it stopped by `clear`. */
  own<T extends Stoppable>(thing: T): T {
    this.#things.push(thing);
    return thing;
  }

  /** Stops what a bench has started. */
  async clear(): Promise<void> {
    for (const thing of this.#things.splice(0).reverse()) await thing.stop();
  }

  /** Calling it again waits for the same: who interrupts a bench has it fail meanwhile. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.clear();
    for (const subject of this.#warm.values()) await (await subject).stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #warmed(name: ContestantName): Promise<Subject> {
    const subject = await Subject.start(this.#program, name, {});
    const server = await this.server();
    const place = { url: server.url, namespace: `warm-${name}`, concurrency: 50 };
    const load = { saga: "order", count: this.#warmUp, from: 0 } as const;
    await subject.order("fill", place, load);
    await subject.order("drain", place, load);
    await server.empty();
    return subject;
  }
}
