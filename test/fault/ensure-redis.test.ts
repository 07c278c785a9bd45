import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type EnsuredRedis,
  type EnsureOptions,
  ensureRedis,
  findRedisServer,
  type SharedOptions,
  startServer,
} from "../../src/redis/ensure.mjs";

let scratch: string;
let pathWithoutRedis: string;
/** Filled once by the first unpacking test, then read by the tests that only need a server quickly. */
let filledCache: string;
const started: Pick<EnsuredRedis, "stop">[] = [];

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "reprise-ensure-"));
  pathWithoutRedis = join(scratch, "bin");
  filledCache = join(scratch, "filled");
  await mkdir(pathWithoutRedis);
  for (const name of await readdir("/usr/bin")) {
    if (!/^(redis|valkey)|^docker$/.test(name)) await symlink(join("/usr/bin", name), join(pathWithoutRedis, name));
  }
});

afterEach(async () => {
  for (const redis of started.splice(0)) await redis.stop();
});

afterAll(() => rm(scratch, { recursive: true, force: true }));

function bare(cacheDir: string, path = pathWithoutRedis): EnsureOptions {
  return { cacheDir, env: { PATH: path, HOME: scratch } };
}

async function ensured(options: SharedOptions): Promise<EnsuredRedis> {
  const redis = await ensureRedis(options);
  started.push(redis);
  return redis;
}

async function ask(url: string, ...command: [string, ...string[]]): Promise<unknown> {
  const connection = new Redis(url.replace("unix://", ""), { retryStrategy: null, lazyConnect: true });
  connection.on("error", () => {});
  try {
    await connection.connect();
    return await connection.call(...command);
  } finally {
    connection.disconnect();
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise((settle) => {
    const socket = connect({ path: url.replace("unix://", "") }, () => settle(true));
    socket.on("error", () => settle(false)).on("connect", () => socket.destroy());
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("on a machine without any Redis", () => {
  test("callers at the same time unpack Debian's server, share one cache and one running server, and the last one stops it", async () => {
    const [first, second] = await Promise.all([ensured(bare(filledCache)), ensured(bare(filledCache))]);

    expect([first.source, second.source].sort()).toEqual(["apt", "running"]);
    expect(second.pid).toBe(first.pid);
    expect(await ask(first.url, "PING")).toBe("PONG");
    expect((await readdir(filledCache)).sort()).toEqual([`redis-linux-${process.arch}`, "run"]);

    await first.stop();
    await first.stop();
    expect(await ask(second.url, "PING")).toBe("PONG");

    await second.stop();
    expect(await answers(second.url)).toBe(false);
    expect(isAlive(first.pid!)).toBe(false);
  });

  test("empty package lists, as in a bare image, are fetched into a private place", async () => {
    const shimDir = join(scratch, "empty-lists");
    await mkdir(shimDir);
    await mkdir(join(scratch, "lists/partial"), { recursive: true });
    const shim = `#!/bin/sh\nexec /usr/bin/apt-get -o Dir::State::lists=${join(scratch, "lists")} "$@"\n`;
    await writeFile(join(shimDir, "apt-get"), shim, { mode: 0o755 });
    const path = `${shimDir}:${pathWithoutRedis}`;

    const found = await findRedisServer(bare(join(scratch, "from-empty-lists"), path));

    expect(found.source).toBe("apt");
    expect(await readdir(join(scratch, "lists"))).toEqual(
      expect.not.arrayContaining([expect.stringMatching(/Packages/)]),
    );
  });

  test("with nothing to get one from, the error names three ways out and what was tried", async () => {
    const empty = join(scratch, "empty");
    await mkdir(empty);

    const failure = await ensureRedis(bare(join(scratch, "nowhere"), empty)).catch((error: unknown) => error);

    expect(failure).toMatchObject({ code: "REDIS_NOT_FOUND" });
    expect((failure as Error).message).toMatch(
      /1\. set REDIS_URL.*2\. install one.*3\. start Docker.*Tried:.*apt-get/s,
    );
  });
});

describe("once it is in the cache", () => {
  let dir: string;

  beforeEach(async () => {
    dir = await mkdtemp(join(scratch, "run-"));
    await findRedisServer(bare(filledCache));
  });

  test("a private server syncs every write, evicts nothing and listens on no port", async () => {
    const redis = await ensured({ ...bare(filledCache), dir });

    expect(redis.source).toBe("cache");
    expect(await ask(redis.url, "CONFIG", "GET", "appendonly")).toEqual(["appendonly", "yes"]);
    expect(await ask(redis.url, "CONFIG", "GET", "appendfsync")).toEqual(["appendfsync", "always"]);
    expect(await ask(redis.url, "CONFIG", "GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "noeviction"]);
    expect(await ask(redis.url, "CONFIG", "GET", "port")).toEqual(["port", "0"]);
  });

  test("data survives a stop and the next start", async () => {
    const before = await ensured({ ...bare(filledCache), dir });
    await ask(before.url, "SET", "kept", "yes");
    await before.stop();

    const after = await ensured({ ...bare(filledCache), dir });

    expect(after.pid).not.toBe(before.pid);
    expect(await ask(after.url, "GET", "kept")).toBe("yes");
  });

  test("a server whose starter and holders were killed is joined, not started twice", async () => {
    const orphan = await startServer(await findRedisServer(bare(filledCache)), { dir });
    await mkdir(join(dir, "holders"), { recursive: true });
    await writeFile(join(dir, "holders", `${deadPid}-gone`), "");
    await writeFile(join(dir, "lock"), String(deadPid));

    const redis = await ensured({ ...bare(filledCache), dir });

    expect(redis).toMatchObject({ source: "running", pid: orphan.pid });
    await redis.stop();
    expect(isAlive(orphan.pid)).toBe(false);
  });

  test("a killed server is started again from what it had synced", async () => {
    const before = await ensured({ ...bare(filledCache), dir });
    await ask(before.url, "SET", "kept", "yes");
    process.kill(before.pid!, "SIGKILL");
    await expect.poll(() => answers(before.url)).toBe(false);

    const after = await ensured({ ...bare(filledCache), dir });

    expect(await ask(after.url, "GET", "kept")).toBe("yes");
  });

  test("a stranger's server on our socket is refused and left alone", async () => {
    const stranger = await startServer(await findRedisServer(bare(filledCache)), { dir });
    started.push({ stop: async () => void (await ask(stranger.url, "SHUTDOWN", "NOSAVE").catch(() => {})) });
    await writeFile(join(dir, "redis.pid"), String(process.pid));

    await expect(ensureRedis({ ...bare(filledCache), dir })).rejects.toThrow("which is not ours");

    expect(isAlive(stranger.pid)).toBe(true);
  });

  test("a directory whose path is too long for a socket still gets a server", async () => {
    const redis = await ensured({ ...bare(filledCache), dir: join(dir, "long".repeat(30)) });

    expect(await ask(redis.url, "PING")).toBe("PONG");
  });

  test("a server that cannot start says why", async () => {
    const found = await findRedisServer(bare(filledCache));

    await expect(startServer(found, { dir, args: ["--no-such-setting", "1"] })).rejects.toThrow(/no-such-setting/);
    expect(await readFile(join(dir, "redis.log"), "utf8")).toContain("no-such-setting");
  });
});

describe("REDIS_URL", () => {
  const url = "redis://somewhere:6379";

  test("wins over everything and is never stopped", async () => {
    const redis = await ensureRedis({ env: { ...bare(filledCache).env, REDIS_URL: url, NODE_ENV: "production" } });

    expect(redis).toMatchObject({ url, source: "REDIS_URL" });
    await redis.stop();
  });

  test("is the only thing that production accepts", async () => {
    const options = { cacheDir: filledCache, env: { ...bare(filledCache).env, NODE_ENV: "production" } };

    await expect(ensureRedis(options)).rejects.toMatchObject({ code: "REDIS_NOT_FOUND" });
    await expect(ensureRedis(options)).rejects.toThrow(/REDIS_URL/);
    await expect(findRedisServer(options)).rejects.toThrow(/REDIS_URL/);
  });
});

/** Above the kernel's largest pid: no process ever has it. */
const deadPid = 2 ** 22 + 1;
