/**
 * Owns: three sentinels of a test's own over a primary and its replica, impatient ones: what takes them ten seconds by default
 * takes one. They listen on 127.0.0.1 only, and end with the test process.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findRedisServer } from "../../src/redis/ensure.mjs";
import { type ProcessHandle, spawnProgram, waitFor } from "./processes.ts";
import { ask, freePort, type RedisServer } from "./redis-server.ts";

const count = 3;
/** How long a primary answers nobody before it is given up. */
const downAfterMs = 1_000;
const periods = ["info-period", 500, "publish-period", 200, "ping-period", 200, "ask-period", 200] as const;

export interface Sentinels {
  /** Where clients find the primary, whichever it is. */
  readonly url: string;
  /** The port of the primary as the first of them that answers knows it. */
  primaryPort(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts them; resolves when each knows the other two and the replica. */
export async function startSentinels(primary: RedisServer, name = "main"): Promise<Sentinels> {
  const directory = await mkdtemp(join(tmpdir(), "reprise-sentinels-"));
  const started: Started[] = [];
  const stop = async () => {
    await Promise.all(started.map(({ handle }) => handle.stop()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    for (let n = 0; n < count; n += 1) started.push(await startOne(join(directory, `${n}.conf`), primary.port, name));
    for (const { port } of started) await knowsAll(port, name);
  } catch (error) {
    await stop();
    throw error;
  }
  const hosts = started.map(({ port }) => `127.0.0.1:${port}`).join(",");
  return { url: `redis+sentinel://${hosts}/${name}`, primaryPort: () => primaryPort(started, name), stop };
}

interface Started {
  readonly handle: ProcessHandle;
  readonly port: number;
}

async function startOne(file: string, primaryPort: number, name: string): Promise<Started> {
  const found = await findRedisServer();
  const port = await freePort();
  const lines = [
    `port ${port}`,
    "bind 127.0.0.1",
    `sentinel monitor ${name} 127.0.0.1 ${primaryPort} 2`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    `sentinel failover-timeout ${name} 6000`,
  ];
  await writeFile(file, `${lines.join("\n")}\n`);
  const handle = await spawnProgram(found.binary, [file, "--sentinel"], { env: found.env });
  const tell = () => handle.stdout.slice(-1_000);
  await waitFor(async () => (await ask(port, "PING")) === "PONG", { what: "a sentinel", timeoutMs: 30_000, tell });
  await ask(port, "SENTINEL", "DEBUG", ...periods);
  return { handle, port };
}

async function knowsAll(port: number, name: string): Promise<void> {
  const look = async () => {
    const flat = (await ask(port, "SENTINEL", "MASTER", name)) as readonly string[];
    const of = (field: string) => Number(flat[flat.indexOf(field) + 1]);
    return of("num-other-sentinels") === count - 1 && of("num-slaves") === 1;
  };
  await waitFor(look, { what: "a sentinel to know the others and the replica", timeoutMs: 30_000, everyMs: 100 });
}

async function primaryPort(started: readonly Started[], name: string): Promise<number> {
  for (const { port } of started) {
    const address = (await ask(port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name).catch(() => null)) as string[] | null;
    if (address !== null) return Number(address[1]);
  }
  throw new Error("no sentinel answers");
}
