/**
 * Owns: a redis-server of a test's own on a TCP port, to be killed, frozen and started again on the same files.
 *
 * Invariants
 * 1. Restarting keeps port, files and settings: for a client it is the same server.
 * 2. It listens on 127.0.0.1 only, and ends with the test process.
 */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { findRedisServer } from "../../src/redis/ensure.mjs";
import { type Exit, type ProcessHandle, spawnProgram, waitFor } from "./processes.ts";

export interface RedisServerOptions {
  /** `always` when left out. */
  readonly appendfsync?: "always" | "everysec";
  /** Cluster mode: with this one node owning all slots, or as a node of a cluster that is to be made of several. */
  readonly cluster?: boolean | "node";
  /** A free one when left out. */
  readonly port?: number;
  /** Where cluster clients are told to connect: the port of a proxy in front of it. Its own when left out. */
  readonly announcePort?: number;
  /** Further settings, last and winning: `["--maxmemory", "20mb"]`. */
  readonly args?: readonly string[];
}

export interface RedisServer {
  readonly url: string;
  readonly host: "127.0.0.1";
  readonly port: number;
  readonly directory: string;
  /** Of the process that runs now. */
  readonly pid: number;
  /** SIGKILL. Its files stay. */
  kill(): Promise<Exit>;
  /** SIGSTOP: it keeps its connections and answers nobody. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Starts it again on the same port and files, killing it first if it runs. Resolves when it has loaded them. */
  restart(): Promise<void>;
  /** Keeps a copy of its files as they are now. */
  copyFiles(): Promise<RedisFiles>;
  /** Kills it and starts it again with the world that was copied: everything acknowledged since is forgotten. */
  rollBack(files: RedisFiles): Promise<void>;
  /** One command over a connection of its own. */
  ask(command: string, ...args: (string | number)[]): Promise<unknown>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

/** A copy of a server's files. */
export interface RedisFiles {
  readonly copy: string;
}

const startAttempts = 5;
const filesName = "appendonlydir";

/** Starts a redis-server and resolves when it answers (in cluster mode: when its slots are served). */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), "reprise-fault-"));
  try {
    return await startIn(directory, options);
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function startIn(directory: string, options: RedisServerOptions): Promise<RedisServer> {
  const found = await findRedisServer();
  const launch = async (port: number) => {
    const settings = [...settingsOf(directory, port, options), ...(options.args ?? [])];
    const handle = await spawnProgram(found.binary, settings, { env: found.env, cwd: directory });
    await ready(handle, port);
    return handle;
  };
  let { handle, port } = await onFreePort(launch, options.port);
  if (options.cluster === true) await ownAllSlots(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    host: "127.0.0.1",
    port,
    directory,
    get pid() {
      return handle.pid;
    },
    kill: () => handle.kill("SIGKILL"),
    freeze: () => handle.freeze(),
    thaw: () => handle.thaw(),
    restart: async () => {
      await handle.kill("SIGKILL");
      handle = await launch(port);
      if (options.cluster === true) await clusterServes(port);
    },
    copyFiles: async () => {
      const copy = await mkdtemp(join(directory, "copy-"));
      await cp(join(directory, filesName), copy, { recursive: true });
      return { copy };
    },
    rollBack: async ({ copy }) => {
      await handle.kill("SIGKILL");
      await rm(join(directory, filesName), { recursive: true });
      await cp(copy, join(directory, filesName), { recursive: true });
      handle = await launch(port);
    },
    ask: (command, ...args) => ask(port, command, ...args),
    stop: async () => {
      await handle.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function settingsOf(directory: string, port: number, { appendfsync, cluster, announcePort }: RedisServerOptions) {
  const where = ["--bind", "127.0.0.1", "--port", String(port), "--dir", directory, "--daemonize", "no"];
  const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", appendfsync ?? "always"];
  const bounded = ["--maxmemory", "256mb", "--maxmemory-policy", "noeviction"];
  const clustered = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"];
  const announced = ["--cluster-announce-port", String(announcePort ?? port)];
  return [...where, ...durable, ...bounded, ...(cluster ? [...clustered, ...announced] : [])];
}

/** A port that was free a moment ago may be taken by now: another is tried, unless it was asked for. */
async function onFreePort(
  launch: (port: number) => Promise<ProcessHandle>,
  wanted: number | undefined,
): Promise<{ handle: ProcessHandle; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await freePort());
    try {
      return { handle: await launch(port), port };
    } catch (error) {
      if (wanted !== undefined || attempt === startAttempts) throw error;
    }
  }
}

/** A free port whose cluster bus port (10,000 above) exists too. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await new Promise<number>((resolve, reject) => {
      const probe = createServer().once("error", reject);
      probe.listen(0, "127.0.0.1", () => {
        const address = probe.address();
        probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
      });
    });
    if (port > 0 && port + 10_000 <= 65_535) return port;
  }
}

async function ready(handle: ProcessHandle, port: number): Promise<void> {
  const failed = handle.exit.then(() => {
    throw new Error(`redis-server ended while starting:\n${handle.stdout.slice(-2_000)}${handle.stderr}`);
  });
  // A foreign server on that port would answer too: ours is the one with our process's id. PING rejects while it loads.
  const isOurs = async () => {
    if (!handle.isRunning || (await ask(port, "PING")) !== "PONG") return false;
    return String(await ask(port, "INFO", "server")).includes(`process_id:${handle.pid}\r`);
  };
  await Promise.race([waitFor(isOurs, { timeoutMs: 30_000, what: `redis-server on port ${port}` }), failed]);
}

async function ownAllSlots(port: number): Promise<void> {
  await ask(port, "CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
  await clusterServes(port);
}

async function clusterServes(port: number): Promise<void> {
  await waitFor(async () => String(await ask(port, "CLUSTER", "INFO")).includes("cluster_state:ok"), {
    what: "the cluster to serve its slots",
  });
}

/** One command over a connection of its own to a server on this machine. */
export async function ask(port: number, command: string, ...args: (string | number)[]): Promise<unknown> {
  const connection = new Redis({
    host: "127.0.0.1",
    port,
    lazyConnect: true,
    retryStrategy: null,
    commandTimeout: 5_000,
  });
  connection.on("error", () => undefined); // the command itself rejects with it
  try {
    await connection.connect();
    return await connection.call(command, ...args);
  } finally {
    connection.disconnect();
  }
}
