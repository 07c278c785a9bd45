/**
 * A service that makes its own endpoint idempotent, as real processes that are killed, frozen and cut off between claim and
 * answer. What counts is what the world noted: its file has one line an effect.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadScripts } from "../../src/store/scripts.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { type Child, owned, spawnChild, waitFor } from "../support/processes.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import type { RedisRequest } from "../support/tcp-link.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import type { Ask, Effect, Refused, Reply, Request } from "./idempotency-words.ts";

/** Long enough for a full machine to claim and call; whoever waits for it to be over waits beside the others. */
const claimFor = 2_000;
const scripts = loadScripts(1);
const directory = mkdtempSync(join(tmpdir(), "reprise-idempotency-"));
const all = owned();
let file = "";
let redis: RedisServer;
let proxy: TcpProxy;
let service: Service;
let other: Service;
let counter = 0;

type Answered = Extract<Reply, { readonly answered: number }>;

/** One process of the service. */
class Service {
  readonly child: Child;

  constructor(child: Child) {
    this.child = child;
  }

  /** The answer, or what was refused. */
  async ask(key: string, more: Partial<Ask> = {}): Promise<Answered | Refused> {
    return await this.reply(this.send(key, more));
  }

  /** Asks until the answer is neither in progress nor unknown. */
  async settle(key: string, more: Partial<Ask> = {}): Promise<Answered> {
    return await waitFor(async () => {
      const answer = await this.ask(key, { recovers: true, ...more });
      return "answered" in answer ? answer : undefined;
    });
  }

  /** Asks, and is told when `fn` stands still. */
  async held(key: string, way: "hold before" | "hold after", more: Partial<Ask> = {}): Promise<number> {
    const id = this.send(key, { way, ...more });
    await this.child.nextMessage((reply): reply is Reply => holdingOf(reply as Reply) === id);
    return id;
  }

  goOn(): void {
    this.child.send({ goOn: true } satisfies Request);
  }

  send(key: string, more: Partial<Ask>): number {
    counter += 1;
    const place = { redis: redis.url, namespace: "service", file, claimFor };
    const ask: Ask = { ...place, id: counter, key, cents: 4_200, way: "straight", recovers: false, ...more };
    this.child.send({ ask } satisfies Request as never);
    return ask.id;
  }

  async reply(id: number): Promise<Answered | Refused> {
    const reply = await this.child.nextMessage((message): message is Reply => endOf(message as Reply) === id);
    if ("answered" in reply) return reply;
    if ("refused" in reply) return reply.error;
    throw new Error("a reply is an answer or a refusal");
  }
}

const holdingOf = (reply: Reply) => ("holding" in reply ? reply.holding : null);
const endOf = (reply: Reply) => ("answered" in reply ? reply.answered : "refused" in reply ? reply.refused : null);

const script = new URL("./idempotency.child.ts", import.meta.url);
async function started(): Promise<Service> {
  const child = all.own(await spawnChild(script));
  await child.nextMessage((message): message is Reply => "ready" in (message as Reply));
  return new Service(child);
}

/** What the world noted of a key. */
function effects(key: string): readonly Effect[] {
  const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  return lines.map((line) => JSON.parse(line) as Effect).filter((effect) => effect.key === key);
}

beforeAll(async () => {
  redis = all.own(await startRedisServer());
  proxy = all.own(await startTcpProxy({ target: { host: redis.host, port: redis.port } }));
  file = join(directory, "world.jsonl");
  [service, other] = await Promise.all([started(), started()]);
  await service.ask("warm-up"); // now the server knows the scripts
});
afterAll(async () => {
  await all.release();
  rmSync(directory, { recursive: true, force: true });
});

describe.concurrent("between claim and answer", () => {
  test("a process killed after its effect: in progress, then unknown for everybody, never again by itself; found, it is replayed", async () => {
    const doomed = await started();
    await doomed.held("after", "hold after");
    expect((await doomed.child.kill()).signal).toBe("SIGKILL");
    const unknown = await waitFor(async () => {
      const answer = await service.ask("after");
      return "code" in answer && answer.code === "IDEMPOTENCY_IN_PROGRESS" ? undefined : answer;
    });
    expect(unknown).toMatchObject({ code: "IDEMPOTENCY_UNKNOWN", details: { httpStatus: 500, interrupted: true } });
    expect(await other.ask("after")).toMatchObject({ code: "IDEMPOTENCY_UNKNOWN" });
    expect(effects("after")).toEqual([{ key: "after", cents: 4_200, pid: doomed.child.pid }]);
    const found = await other.ask("after", { recovers: true });
    const json = JSON.stringify({ charged: 4_200, by: other.child.pid, found: true });
    expect(found).toMatchObject({ json, replayed: true });
    expect(await service.ask("after")).toMatchObject({ json, replayed: true });
    expect(effects("after")).toHaveLength(1);
  });

  test("a process killed before its effect: once its claim is over and the world has no trace of it, it is carried out once", async () => {
    const doomed = await started();
    await doomed.held("before", "hold before");
    expect((await doomed.child.kill()).signal).toBe("SIGKILL");
    const [mine, theirs] = await Promise.all([service.settle("before"), other.settle("before")]);
    expect(mine.json).toBe(theirs.json);
    expect(effects("before")).toHaveLength(1);
    expect(effects("before")[0]?.pid).not.toBe(doomed.child.pid);
  });

  test("a process killed with thirty requests at all stages: every one has exactly one effect in the end, and one answer", async () => {
    const doomed = await started();
    const ways = ["straight", "hold before", "hold after"] as const;
    const keys = Array.from({ length: 30 }, (_, n) => ({ key: `many-${n}`, way: ways[n % 3]! }));
    const reached = keys.map(async ({ key, way }) =>
      way === "straight" ? await doomed.ask(key) : await doomed.held(key, way),
    );
    await Promise.all(reached);
    expect((await doomed.child.kill()).signal).toBe("SIGKILL");
    for (const { key, way } of keys) expect(effects(key), key).toHaveLength(way === "hold before" ? 0 : 1);
    const answers = await Promise.all(keys.map(({ key }) => service.settle(key)));
    for (const [n, { key }] of keys.entries()) {
      expect(effects(key), key).toHaveLength(1);
      expect(await other.ask(key)).toMatchObject({ json: answers[n]?.json, replayed: true });
    }
  });

  test("a process that stood still while another stored an answer does not overwrite it", async () => {
    const frozen = await started();
    const id = await frozen.held("frozen", "hold after");
    frozen.child.freeze();
    const stored = await service.settle("frozen");
    expect(JSON.parse(stored.json)).toMatchObject({ by: service.child.pid, found: true });
    frozen.child.thaw();
    frozen.goOn();
    expect(await frozen.reply(id)).toMatchObject({
      code: "IDEMPOTENCY_CLAIM_LOST",
      details: { httpStatus: 409, called: true },
    });
    for (const process of [frozen, service, other]) {
      expect(await process.ask("frozen")).toMatchObject({ json: stored.json, replayed: true });
    }
    expect(effects("frozen")).toHaveLength(1);
  });
});

test("R116 the same key in many processes at once: one effect, 409 for the others, then one answer for all", async () => {
  const more = await Promise.all([started(), started()]);
  const id = await service.held("same", "hold after", { claimFor: 10_000, namespace: "patient" });
  const ask = (process: Service) => process.ask("same", { namespace: "patient", claimFor: 10_000 });
  const others = [other, ...more];
  for (const answer of await Promise.all(others.flatMap((process) => [ask(process), ask(process)]))) {
    expect(answer).toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS", details: { httpStatus: 409 } });
    expect("details" in answer && answer.details["retryAfterMs"]).toBeGreaterThan(0);
  }
  service.goOn();
  const first = await service.reply(id);
  expect(first).toMatchObject({ replayed: false });
  const json = "json" in first ? first.json : "";
  for (const answer of await Promise.all(others.map(ask))) expect(answer).toMatchObject({ json, replayed: true });
  expect(effects("same")).toHaveLength(1);
  leaveEvidence("R116", { effects: 1, checks: ["6 requests in 3 other processes were refused with 409 meanwhile"] });
});

test("R117 the same key with other arguments is 422, and independent for another tenant", async () => {
  const first = await service.ask("args");
  const conflict = await other.ask("args", { cents: 9_900 });
  expect(conflict).toMatchObject({ code: "IDEMPOTENCY_CONFLICT", details: { httpStatus: 422 } });
  expect(await other.ask("args", { cents: 9_900, tenant: "acme" })).toMatchObject({ replayed: false });
  expect(await other.ask("args")).toMatchObject({ json: "json" in first && first.json, replayed: true });
  expect(effects("args").map(({ cents }) => cents)).toEqual([4_200, 9_900]);
  const { code, message } = conflict as Refused;
  leaveEvidence("R117", { effects: 2, refusal: { code, message }, checks: ["one effect a tenant"] });
});

test("what threw is told apart by what it said: declined is free, anything else is unknown", async () => {
  expect(await service.ask("declined", { way: "refuse" })).toMatchObject({ message: "the card was declined" });
  expect(await other.ask("declined", { cents: 1 })).toMatchObject({ replayed: false });
  expect(effects("declined")).toHaveLength(1);
  expect(await service.ask("hung-up", { way: "throw" })).toMatchObject({ message: "socket hang up" });
  expect(await other.ask("hung-up")).toMatchObject({ code: "IDEMPOTENCY_UNKNOWN", details: { interrupted: false } });
  expect(await other.ask("hung-up", { recovers: true })).toMatchObject({ replayed: true });
  expect(effects("hung-up")).toHaveLength(1);
});

describe("Redis", () => {
  test("killed between claim and answer, and started again: the claim held, and the answer is kept", async () => {
    const patient = { namespace: "outage", claimFor: 10_000 };
    const id = await service.held("outage", "hold after", patient);
    await redis.kill();
    service.goOn();
    await redis.restart();
    const first = await service.reply(id);
    expect(first).toMatchObject({ replayed: false });
    const again = await waitFor(async () => {
      const answer = await other.ask("outage", patient);
      return "answered" in answer ? answer : undefined;
    });
    expect(again).toMatchObject({ json: "json" in first && first.json, replayed: true });
    expect(effects("outage")).toHaveLength(1);
  });

  test.each(["claim_intent", "publish_intent"] as const)(
    "whose answer to %s is lost on the way is asked again: one effect, and its answer is kept",
    async (name) => {
      await service.ask(`through-${name}`, { redis: proxy.url }); // connected, and the server knows the scripts
      const lost = proxy.dropReply(
        ({ words: [command, sha] }: RedisRequest) => command?.toUpperCase() === "EVALSHA" && sha === scripts[name].sha,
      );
      expect(await service.ask(name, { redis: proxy.url })).toMatchObject({ replayed: false });
      expect(lost.hits).toBe(1);
      expect(await other.ask(name)).toMatchObject({ replayed: true });
      expect(effects(name)).toHaveLength(1);
      proxy.heal();
    },
  );
});
