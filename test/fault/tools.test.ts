import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cluster, Redis } from "ioredis";
import { worldClient, worldControl } from "reprise/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { owned, spawnChild, spawnProgram, waitFor } from "../support/processes.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const { own, release } = owned();
afterEach(release);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const childFile = new URL("./tools.child.ts", import.meta.url);

interface Echo {
  readonly echo: unknown;
  readonly pid: number;
}

const isReady = (message: unknown): message is { ready: true } => Object.hasOwn(message as object, "ready");
const isEcho = (message: unknown): message is Echo => Object.hasOwn(message as object, "echo");

describe("a process", () => {
  async function child(...args: string[]) {
    return own(await spawnChild(childFile, { args, env: { TOOLS_VARIABLE: "v" } }));
  }

  test("talks by IPC under the pid that is killed, and its end says by which signal", async () => {
    const process = await child("a", "b");
    await process.nextMessage(isReady);
    process.send("hello");
    expect(await process.nextMessage(isEcho)).toEqual({ echo: "hello", pid: process.pid });
    expect(await process.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
    expect(process.isRunning).toBe(false);
    expect(isAlive(process.pid)).toBe(false);
    expect(process.stdout).toBe("args a b variable v\n");
    await process.stop();
  });

  test("that is frozen answers nothing until it is thawed, and each message is given once", async () => {
    const process = await child();
    await process.nextMessage(isReady);
    process.freeze();
    await waitFor(async () => /\) T /.test(await readFile(`/proc/${process.pid}/stat`, "utf8")), { what: "a stop" });
    process.send(1);
    process.send(2);
    expect(process.messages.filter(isEcho)).toEqual([]);
    process.thaw();
    expect((await process.nextMessage(isEcho)).echo).toBe(1);
    expect((await process.nextMessage(isEcho)).echo).toBe(2);
    process.freeze();
    await process.stop();
    expect(await process.exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(() => process.thaw()).toThrow("has ended");
  });

  test("that fails says why to whoever waits for its message", async () => {
    const process = await child("--fail");
    await process.nextMessage(isReady);
    await expect(process.nextMessage(isEcho)).rejects.toThrow("as told");
    expect((await process.exit).code).toBe(1);
  });

  test("that cannot be started is an error", async () => {
    await expect(spawnProgram("/no/such/program", [])).rejects.toThrow("ENOENT");
  });
});

describe("waiting", () => {
  test("gives the first answer, and takes an exception for not yet", async () => {
    let asked = 0;
    const condition = () => {
      asked += 1;
      if (asked < 3) throw new Error("not yet");
      return `at ${asked}`;
    };
    expect(await waitFor(condition, { everyMs: 1 })).toBe("at 3");
  });

  test("ends in time, even when the condition never answers", async () => {
    const never = () => new Promise<true>(() => undefined);
    const waiting = waitFor(never, { timeoutMs: 20, what: "a miracle", tell: () => "told" });
    await expect(waiting).rejects.toThrow(/20 ms in vain for a miracle.*\ntold/);
  });
});

describe("owned", () => {
  test("is released in reverse, to the end, whatever fails", async () => {
    const order: number[] = [];
    const some = owned();
    some.own({ stop: () => void order.push(1) });
    some.own({ stop: () => Promise.reject(new Error("no")) });
    some.own({ close: () => void order.push(3) });
    await expect(some.release()).rejects.toThrow("not everything could be stopped");
    await some.release();
    expect(order).toEqual([3, 1]);
  });
});

describe("the world as a process", () => {
  const worldFile = new URL("../../workers/world.ts", import.meta.url);
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "reprise-world-"));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  async function startWorld(file: string) {
    const process = own(await spawnChild(worldFile, { args: ["--file", file] }));
    const line = await waitFor(() => /^.*\n/.exec(process.stdout)?.[0], { what: "the world's address" });
    return { process, address: JSON.parse(line) as { url: string; pid: number; file: string } };
  }

  test("tells that it applied, and bears witness after the caller was killed before its answer", async () => {
    const file = join(directory, "world.jsonl");
    const { process: world, address } = await startWorld(file);
    expect(address).toMatchObject({ pid: world.pid, file });
    const control = worldControl(address.url);
    await control.fault({ service: "payments", action: "charge", kind: "apply-then-hang" });
    const caller = own(await spawnChild(childFile));
    await caller.nextMessage(isReady);
    caller.send(address.url);
    const held = await control.nextHeld();
    expect(held).toMatchObject({ applied: true, pid: caller.pid, operationId: "o-1/charge/1" });
    expect((await caller.kill()).signal).toBe("SIGKILL");
    const { chargeId } = await worldClient(address.url).payments.charge(
      { orderId: "o-1", cents: 4200 },
      { operationId: "o-1/charge/1" },
    );
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { n: 1, kind: "arrival", pid: caller.pid, fault: "apply-then-hang" },
      { n: 2, kind: "effect", pid: caller.pid, ref: chargeId },
      { n: 3, kind: "arrival", pid: process.pid, deduplicated: true, ref: chargeId },
    ]);
    expect(await world.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(world.stderr).toBe("");
  });

  test("says why it does not start", async () => {
    const file = join(directory, "world.jsonl");
    await writeFile(file, "{}\n");
    const process = own(await spawnChild(worldFile, { args: ["--file", file] }));
    expect((await process.exit).code).toBe(2);
    expect(process.stderr).toContain("already holds the lines of a world");
  });
});

describe("a redis-server", () => {
  test.each(["always", "everysec"] as const)("with appendfsync %s keeps what it said after SIGKILL", async (fsync) => {
    const redis = own(await startRedisServer({ appendfsync: fsync }));
    const before = redis.pid;
    expect(await redis.ask("CONFIG", "GET", "appendfsync")).toEqual(["appendfsync", fsync]);
    await redis.ask("SET", "k", "v");
    expect(await redis.kill()).toEqual({ code: null, signal: "SIGKILL" });
    await expect(redis.ask("PING")).rejects.toThrow();
    await redis.restart();
    expect(redis.pid).not.toBe(before);
    expect(await redis.ask("GET", "k")).toBe("v");
    await redis.restart();
    expect(await redis.ask("GET", "k")).toBe("v");
    await redis.stop();
    await redis.stop();
    await expect(access(redis.directory)).rejects.toThrow("ENOENT");
  });

  test("that is frozen answers after it is thawed", async () => {
    const redis = own(await startRedisServer());
    redis.freeze();
    let isAnswered = false;
    const answer = redis.ask("PING").then((pong) => {
      isAnswered = true;
      return pong;
    });
    await waitFor(async () => /\) T /.test(await readFile(`/proc/${redis.pid}/stat`, "utf8")), { what: "a stop" });
    expect(isAnswered).toBe(false);
    redis.thaw();
    expect(await answer).toBe("PONG");
  });

  test("in cluster mode serves all slots, also after a restart, and sends clients to its proxy", async () => {
    const proxy = own(await startTcpProxy({ target: () => ({ host: "127.0.0.1", port: redis.port }) }));
    const redis: RedisServer = own(await startRedisServer({ cluster: true, announcePort: proxy.port }));
    const cluster = new Cluster([{ host: "127.0.0.1", port: proxy.port }]);
    cluster.on("error", () => undefined); // it looks for the server while that restarts
    own({ stop: () => cluster.disconnect() });
    await cluster.set("{a}k", "v");
    await cluster.set("{b}k", "w");
    expect(cluster.nodes().map(({ options }) => options.port)).toEqual([proxy.port]);
    expect(proxy.commands.get("SET")).toBe(2);
    await redis.restart();
    expect(await redis.ask("GET", "{b}k")).toBe("w");
  });

  test("takes further settings, and a setting that does not fit is told in its words", async () => {
    const redis = own(await startRedisServer({ args: ["--maxmemory-policy", "allkeys-lru"] }));
    expect(await redis.ask("CONFIG", "GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "allkeys-lru"]);
    const wrong = startRedisServer({ port: redis.port });
    await expect(wrong).rejects.toThrow(/Address already in use/);
  });
});

describe("a proxy", () => {
  let redis: RedisServer;
  let proxy: TcpProxy;
  const script = "return redis.call('INCRBY', KEYS[1], ARGV[1])";

  beforeAll(async () => {
    redis = await startRedisServer();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    await redis.ask("FLUSHALL");
    proxy = own(await startTcpProxy({ target: { host: redis.host, port: redis.port } }));
  });

  /** A client that neither resends nor waits for a better time: what it is told is what happened to its request. */
  async function client(more: { protocol?: 2 | 3 } = {}): Promise<Redis> {
    const connection = new Redis(proxy.url, {
      lazyConnect: true,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: null,
      ...more,
    });
    connection.on("error", () => undefined);
    own({ stop: () => connection.disconnect() });
    await connection.connect();
    return connection;
  }

  const incrementOf = (key: string) => (request: { words: readonly string[] }) => {
    return request.words[0]?.toUpperCase() === "INCR" && request.words[1] === key;
  };

  test("passes large and many requests on unchanged and counts them by command", async () => {
    const connection = await client();
    const value = "ä\r\n$5\r\n".repeat(40_000);
    await connection.set("large", value);
    expect(await connection.get("large")).toBe(value);
    const answers = await Promise.all(Array.from({ length: 500 }, () => connection.incr("n")));
    expect(answers).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
    const batch = await connection.multi().incr("n").hset("h", { a: "1", b: "2" }).hgetall("h").exec();
    expect(batch?.map(([, answer]) => answer)).toEqual([501, 2, { a: "1", b: "2" }]);
    expect(await connection.eval(script, 1, "n", 9)).toBe(510);
    expect(proxy.commands.get("INCR")).toBe(501);
    expect(proxy.commands.get("EXEC")).toBe(1);
    proxy.resetCounts();
    expect(proxy.commands.size).toBe(0);
  });

  test("loses the reply of the n-th matching request only: it was carried out, and those before it are answered", async () => {
    const connection = await client();
    const lost = proxy.dropReply(incrementOf("k"), { nth: 2 });
    const answers = await Promise.allSettled([
      connection.incr("k"),
      connection.incr("other"),
      connection.incr("k"),
      connection.incr("k"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
    expect((await lost.hit).words).toEqual(expect.arrayContaining(["k"]));
    expect(lost.hits).toBe(1);
    expect(Number(await redis.ask("GET", "k"))).toBeGreaterThanOrEqual(2);
    expect(await (await client()).incr("other")).toBe(2);
  });

  test("that delays still delivers what was answered before the reply that it loses", async () => {
    const connection = await client();
    proxy.delay(20);
    proxy.dropReply(incrementOf("k"));
    const answers = await Promise.allSettled([connection.incr("other"), connection.incr("k")]);
    expect(answers).toMatchObject([{ status: "fulfilled", value: 1 }, { status: "rejected" }]);
    expect(await redis.ask("GET", "k")).toBe("1");
  });

  test("loses a reply and leaves the connection open and silent", async () => {
    const connection = await client();
    const lost = proxy.dropReply(incrementOf("k"), { ending: "silence" });
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    connection.incr("k").then(settle, settle);
    connection.incr("k").then(settle, settle);
    await lost.hit;
    await waitFor(async () => (await redis.ask("GET", "k")) !== null);
    expect(isSettled).toBe(false);
    expect(connection.status).toBe("ready");
    expect(await (await client()).ping()).toBe("PONG");
    proxy.heal();
    await waitFor(() => isSettled);
  });

  test("holds a reply until another connection has done its part", async () => {
    const [first, second] = [await client(), await client()];
    const held = proxy.holdReply(incrementOf("k"));
    const answer = first.incr("k");
    await held.hit;
    expect(await second.incr("k")).toBe(2);
    held.release();
    expect(await answer).toBe(1);
    expect(await first.incr("k")).toBe(3);
  });

  test("holds a request, so that a later one overtakes it", async () => {
    const [first, second] = [await client(), await client()];
    const held = proxy.holdRequest(incrementOf("k"));
    const answers = Promise.all([first.incr("k"), first.incr("k")]);
    await held.hit;
    expect(await second.incr("k")).toBe(1);
    held.release();
    expect(await answers).toEqual([2, 3]);
  });

  test("drops a request before it arrives", async () => {
    const connection = await client();
    const dropped = proxy.dropRequest(incrementOf("k"));
    await expect(connection.incr("k")).rejects.toThrow();
    await dropped.hit;
    expect(await redis.ask("GET", "k")).toBe(null);
  });

  test("cuts what is open and takes new connections, until it refuses them too", async () => {
    const connection = await client();
    proxy.cut();
    await waitFor(() => connection.status === "end");
    expect(proxy.connections).toBe(0);
    expect(await (await client()).ping()).toBe("PONG");
    proxy.refuse();
    await expect(client()).rejects.toThrow();
    proxy.heal();
    expect(await (await client()).ping()).toBe("PONG");
  });

  test("refuses, or silences, only the connections that wait for the answer to a request", async () => {
    const waits = ({ words: [command] }: { words: readonly string[] }) => command?.toUpperCase() === "BLPOP";
    const waiting = async () => {
      const connection = await client();
      connection.blpop("list", 0).catch(() => undefined);
      await waitFor(() => proxy.asking(waits) === 1);
      return connection;
    };
    const [other, refused] = [await client(), await waiting()];
    proxy.refuse(waits);
    await waitFor(() => refused.status === "end");
    await expect(client()).rejects.toThrow();
    proxy.heal();
    const silenced = await waiting();
    proxy.silence(waits);
    let hasEnded = false;
    silenced.once("end", () => {
      hasEnded = true;
    });
    silenced.disconnect(); // nobody answers its good-bye
    expect([await other.incr("k"), await (await client()).ping(), hasEnded]).toEqual([1, "PONG", false]);
    proxy.heal();
    await waitFor(() => hasEnded);
  });

  test("half open, nobody hears anything, not even that the server died", async () => {
    const other = own(await startRedisServer());
    proxy = own(await startTcpProxy({ target: { host: other.host, port: other.port } }));
    const connection = await client();
    proxy.halfOpen();
    let isSettled = false;
    const answer = connection.ping().finally(() => {
      isSettled = true;
    });
    answer.catch(() => undefined);
    await other.kill();
    expect([isSettled, connection.status]).toEqual([false, "ready"]);
    await other.restart();
    proxy.heal();
    await expect(answer).rejects.toThrow();
    expect(await (await client()).ping()).toBe("PONG");
  });

  test("frozen toward the client, requests are carried out; toward the server, they are not", async () => {
    const connection = await client();
    proxy.freeze("client");
    const first = connection.incr("k");
    await waitFor(async () => (await redis.ask("GET", "k")) === "1");
    proxy.freeze("server");
    proxy.thaw("client");
    expect(await first).toBe(1);
    const second = connection.incr("k");
    await waitFor(() => proxy.commands.get("INCR") === 2);
    expect(await redis.ask("GET", "k")).toBe("1");
    proxy.thaw("server");
    expect(await second).toBe(2);
  });

  test("delays both ways and keeps the order", async () => {
    const connection = await client();
    proxy.delay(40);
    const started = performance.now();
    const slow = connection.incr("k");
    await waitFor(() => proxy.commands.get("INCR") === 1);
    proxy.delay(0);
    const answers = await Promise.all([slow, connection.incr("k")]);
    expect(answers).toEqual([1, 2]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(39);
  });

  test("passes on what subscribers hear, and RESP3", async () => {
    const [subscriber, publisher] = [await client(), await client({ protocol: 3 })];
    const heard = new Promise((resolve) => subscriber.once("message", (_channel, message) => resolve(message)));
    await subscriber.subscribe("news");
    await publisher.publish("news", "hello");
    expect(await heard).toBe("hello");
    await publisher.hset("h", { a: "1" });
    expect(await publisher.hgetall("h")).toEqual({ a: "1" });
  });

  test("closes twice, with connections open", async () => {
    const connection = await client();
    await Promise.all([proxy.close(), proxy.close()]);
    await waitFor(() => connection.status === "end");
  });
});
