/**
 * One connection of a worker to Redis fails while its others are well: it falls silent, is cut for a moment, or is cut in the
 * middle of a command. The worker goes on by itself, in the database it was told, and nothing shows outside.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadScripts } from "../../src/store/scripts.ts";
import { toldOf } from "../support/fault-crash.ts";
import type { Room } from "../support/fault-room.ts";
import { done } from "../support/fault-sagas.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";
import type { Match } from "../support/tcp-link.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const isFull = process.env["REPRISE_SIZE"] === "full";
/** How long BullMQ's read of a queue blocks; that bounds how long a silence may go unnoticed. */
const blockMs = 5_000;
/** In the stated size a connection is silenced again whenever it was opened anew, for as long as this. */
const silenceMs = isFull ? 60_000 : 0;
const backlog = 10;
const cutMs = 300;
const cuts = isFull ? 50 : 8;
const cutCommands = isFull ? 50 : 10;
/** That of every connection here; the default one is for what lost its way. */
const database = 5;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

interface Served {
  readonly room: Room;
  /** Between the worker and Redis. The room has its own connections. */
  readonly proxy: TcpProxy;
}

/** A room, and a worker process of its own that serves nothing else. */
async function served(name: string): Promise<Served> {
  const proxy = await stage.proxy();
  const [room, worker] = await Promise.all([
    stage.room(name, `${stage.redis.url}/${database}`),
    stage.worker(null, `${proxy.url}/${database}`),
  ]);
  await worker.serve(name);
  return { room, proxy };
}

function asks(wanted: string): Match {
  return ({ words: [command] }) => command?.toUpperCase() === wanted;
}

const blockingRead = asks("BZPOPMIN");

/** Waits until the worker has nothing to do but to wait for a job. */
async function waitsForJob(proxy: TcpProxy): Promise<void> {
  const isWaiting = () => proxy.asking(blockingRead) === 1;
  await waitFor(isWaiting, { timeoutMs: 30_000, what: "the worker to wait for a job" });
}

/** All of them are completed; the world saw each call once. */
async function expectDone(room: Room, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    expect((await room.rest(id)).status, await toldOf(room, id)).toBe("completed");
    expect(await room.counts(id)).toMatchObject(done);
  }
}

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}-${at + 1}`);
const msSince = (began: number) => Math.round(performance.now() - began);

/**
 * Silences a connection and lets a backlog come, again and again for as long as the size says. The world says when the
 * worker was back: before that it heard of no job.
 */
async function silenced(room: Room, silence: () => Promise<void>): Promise<readonly string[]> {
  const began = performance.now();
  const told: string[] = [];
  do {
    await silence();
    const silentAt = Date.now();
    const ids = named(`r${told.length + 1}`, backlog);
    for (const id of ids) await room.start("whole", { id });
    await expectDone(room, ids);
    const arrivals = (await room.entries()).filter(({ kind, at }) => kind === "arrival" && Date.parse(at) >= silentAt);
    const backMs = Math.min(...arrivals.map(({ at }) => Date.parse(at) - silentAt));
    expect([arrivals.length, backMs < 2 * blockMs]).toEqual([backlog * Object.keys(done).length, true]);
    told.push(`back ${backMs} ms after it fell silent, ${backlog} runs completed by ${Date.now() - silentAt} ms`);
  } while (msSince(began) < silenceMs);
  return told;
}

describe.concurrent("a connection of a worker", () => {
  test("R020 on which it waits for jobs falls silent: it is opened anew within two block timeouts, the backlog drains", async () => {
    const { room, proxy } = await served("r020-waits");
    const checks = await silenced(room, async () => {
      await waitsForJob(proxy);
      proxy.silence(blockingRead);
    });
    await room.prove("R020", { checks: ["the connection that blocks was half open", ...checks] });
  });

  test("R020 on which it takes jobs falls silent: it is opened anew as soon, the backlog drains", async () => {
    const { room, proxy } = await served("r020-takes");
    const checks = await silenced(room, async () => {
      await proxy.dropReply(asks("PING"), { ending: "silence" }).hit;
    });
    await room.prove("R020", { checks: ["the connection that takes jobs was half open", ...checks] });
  });

  test(`R054 on which it waits for jobs is cut for ${cutMs} ms, ${cuts} times: each time it takes the next job at once`, async () => {
    const { room, proxy } = await served("r054");
    const tookMs: number[] = [];
    for (const id of named("r", cuts)) {
      await waitsForJob(proxy);
      proxy.refuse(blockingRead);
      const cutAt = performance.now();
      await room.start("whole", { id });
      await waitFor(() => msSince(cutAt) > cutMs, { what: "the cut to be over" });
      expect(await room.counts(id)).toEqual({});
      proxy.heal();
      await expectDone(room, [id]);
      tookMs.push(msSince(cutAt));
    }
    // A read that hangs would be given up when it has blocked for too long, no sooner.
    expect(Math.max(...tookMs)).toBeLessThan(blockMs);
    const checks = [`cut ${cuts} times on port ${proxy.port}, runs completed after ${tookMs.join(", ")} ms`];
    await room.prove("R054", { checks });
  });
});

const isScript = asks("EVALSHA");
const { sha: commit } = loadScripts(1).commit;
const commands: readonly { readonly what: string; readonly is: Match }[] = [
  { what: "a commit", is: (request) => isScript(request) && request.words[1] === commit },
  {
    what: "taking a job",
    is: (request) => isScript(request) && request.words.some((word) => word.endsWith(":active")),
  },
  { what: "waiting for a job", is: blockingRead },
];

test(`R056 cut ${cutCommands} times in the middle of a command, with database ${database}: database 0 stays empty`, async () => {
  const { room, proxy } = await served("r056");
  const ids = named("r", cutCommands);
  const selections = () => proxy.commands.get("SELECT") ?? 0;
  const before = selections();
  const struck = new Set<string>();
  for (const [at, id] of ids.entries()) {
    const { what, is } = commands[at % commands.length]!;
    const isLate = at % 2 === 0;
    const cut = isLate ? proxy.dropReply(is) : proxy.dropRequest(is);
    await room.start("whole", { id });
    await cut.hit;
    struck.add(`${what}, ${isLate ? "its reply lost" : "not arrived"}`);
  }
  await expectDone(room, ids);
  expect(selections()).toBeGreaterThanOrEqual(before + cutCommands);
  expect(await stage.redis.ask("INFO", "keyspace")).toMatch(/^# Keyspace\r\ndb5:keys=\d+,[^\r]*\r\n$/);
  expect(await stage.redis.ask("DBSIZE")).toBe(0);
  const checks = [`cut in ${[...struck].join("; ")}`, "database 0 has 0 keys"];
  await room.prove("R056", { checks });
});
