/**
 * The Redis of a round: a primary that is killed, frozen, loses its power, and is replaced by a replica that lags.
 *
 * Invariants
 * 1. A power loss takes nothing that was written more than `lostMs` before, and under `always` nothing but an unfinished tail.
 * 2. Whoever connects by a proxy whose target is `target` meets the primary of that moment.
 */
import { appendFile, readdir, stat, truncate } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Random } from "../simulation/random.ts";
import { waitFor } from "../support/processes.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";

/** Under everysec a power loss forgets at most what was written in so much time. */
export const lostMs = 1_500;
const lookMs = 100;
/** So long a replica is cut off before it takes over. */
const lag = { leastMs: 200, mostMs: 1_200 } as const;
/** A command that was being written when the power went. */
const unfinished = "*3\r\n$3\r\nSET\r\n$10\r\nunfini";

interface Size {
  readonly file: string;
  readonly bytes: number;
  readonly at: number;
}

/** What was lost, for the books. */
export interface Loss {
  /** Nothing that was acknowledged before this is lost (ms since 1970). */
  readonly from: number;
  readonly until: number;
  readonly bytes: number;
}

/** Who goes down with the store, goes down at the moment of the loss. */
export type AtLoss = () => Promise<void>;
const nobodyElse: AtLoss = () => Promise.resolve();

export class StorePair {
  #primary: RedisServer;
  readonly #fsync: "always" | "everysec";
  #sizes: Size[] = [];
  readonly #look: NodeJS.Timeout;

  private constructor(primary: RedisServer, fsync: "always" | "everysec") {
    this.#primary = primary;
    this.#fsync = fsync;
    this.#look = setInterval(() => void this.#noteSize(), lookMs);
  }

  static async open(fsync: "always" | "everysec"): Promise<StorePair> {
    return new StorePair(await startRedisServer({ appendfsync: fsync, args: promptly }), fsync);
  }

  get primary(): RedisServer {
    return this.#primary;
  }

  readonly target = (): { readonly host: string; readonly port: number } => {
    const { host, port } = this.#primary;
    return { host, port };
  };

  /** SIGKILL and back: what was written is there. */
  async restart(downMs: number): Promise<void> {
    await this.#primary.kill();
    await pass(downMs);
    await this.#primary.restart();
  }

  /** The machine goes down: what the disk had not got yet is gone. */
  async losePower(random: Random, atLoss: AtLoss = nobodyElse): Promise<Loss> {
    await this.#noteSize();
    await atLoss();
    await this.#primary.kill();
    const until = Date.now();
    const last = this.#sizes.at(-1);
    if (this.#fsync === "always" || last === undefined) {
      if (last !== undefined) await appendFile(last.file, unfinished);
      await this.#primary.restart();
      return { from: until, until, bytes: 0 };
    }
    const { size } = await stat(last.file);
    const early = this.#sizes.find(({ at, file }) => file === last.file && at >= until - lostMs) ?? last;
    const kept = random.between(early.bytes, size);
    await truncate(last.file, kept);
    await this.#primary.restart();
    await this.#rewrite();
    return { from: early.at, until, bytes: size - kept };
  }

  /**
   * Redis (7.0.15) discards a transaction that was cut off, but leaves what it had of it in the file, where the next start would
   * take it for the beginning of whatever was written since. (docs/operations.md)
   */
  async #rewrite(): Promise<void> {
    await this.#primary.ask("BGREWRITEAOF");
    const isDone = async () =>
      !/^aof_rewrite_(?:in_progress|scheduled):1/m.test(String(await this.#primary.ask("INFO", "persistence")));
    await waitFor(isDone, { what: "the append-only file to be rewritten" });
  }

  /** It answers nobody for so long, and keeps every connection. */
  async freeze(ms: number): Promise<void> {
    this.#primary.freeze();
    await pass(ms);
    this.#primary.thaw();
  }

  /** A replica that lags takes over; the old primary is gone for good. */
  async failOver(random: Random, atLoss: AtLoss = nobodyElse): Promise<Loss> {
    const old = this.#primary;
    const link = await ReplicationLink.open(this.target());
    const replica = await startRedisServer({ appendfsync: this.#fsync, args: promptly });
    // Not as a setting: once it is promoted, it comes back as a primary.
    await replica.ask("REPLICAOF", "127.0.0.1", link.port);
    const isInStep = async () => String(await replica.ask("INFO", "replication")).includes("master_link_status:up");
    await waitFor(isInStep, { what: "the replica to be in step", timeoutMs: 30_000 });
    const from = Date.now() - lookMs;
    link.stall();
    await pass(random.between(lag.leastMs, lag.mostMs));
    await atLoss();
    await old.kill();
    const until = Date.now();
    await replica.ask("REPLICAOF", "NO", "ONE");
    this.#primary = replica;
    this.#sizes = [];
    await link.close();
    await old.stop();
    return { from, until, bytes: 0 };
  }

  async stop(): Promise<void> {
    clearInterval(this.#look);
    await this.#primary.stop();
  }

  async #noteSize(): Promise<void> {
    const file = await newestFile(this.#primary.directory);
    if (file === null) return;
    const { size } = await stat(file);
    this.#sizes.push({ file, bytes: size, at: Date.now() });
    this.#sizes = this.#sizes.slice(-50);
  }
}

/** A replica that asks to be in step is served at once. */
const promptly = ["--repl-diskless-sync-delay", "0"];

/** The append-only file that is being written. */
async function newestFile(directory: string): Promise<string | null> {
  const files = join(directory, "appendonlydir");
  const names = await readdir(files).catch(() => []);
  const numbered = names.flatMap((name) => {
    const [, n] = /\.(\d+)\.incr\.aof$/.exec(name) ?? [];
    return n === undefined ? [] : [{ name, n: Number(n) }];
  });
  const newest = numbered.sort((a, b) => b.n - a.n)[0];
  return newest === undefined ? null : join(files, newest.name);
}

/** What a primary says to its replica, passed on unread until it stalls: then the replica hears nothing any more. */
class ReplicationLink {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, port: number, sockets: Set<Socket>) {
    this.#server = server;
    this.port = port;
    this.#sockets = sockets;
  }

  static async open(target: { readonly host: string; readonly port: number }): Promise<ReplicationLink> {
    const sockets = new Set<Socket>();
    const server = createServer((replica) => {
      const primary = connect(target);
      for (const [from, to] of [
        [replica, primary],
        [primary, replica],
      ] as const) {
        sockets.add(from);
        from.on("error", () => undefined).on("close", () => to.destroy());
        from.pipe(to);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const address = server.address();
    return new ReplicationLink(server, typeof address === "object" && address !== null ? address.port : 0, sockets);
  }

  stall(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

export function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
