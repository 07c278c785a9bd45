/**
 * Whoever wants to hear of runs hears of each, though it fails, hangs and is away, though another one never answers, and though
 * whoever tells it is killed after it was heard and before that was written.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { docPage } from "../support/doc-program.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { withOrders } from "../support/fault-child.ts";
import { type Child, owned, spawnChild, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { ending, type NotifySaid, parking, resting, told } from "./notify-words.ts";

const { own, release } = owned();
afterEach(release);

const namespace = "notify";
const secret = "of the test";
const childFile = new URL("./notify.child.ts", import.meta.url);
const isReady = (message: unknown): message is NotifySaid => Object.hasOwn(message as object, "ready");

interface Heard {
  readonly id: string;
  readonly event: string;
  readonly run: string;
  readonly revision: number;
}
type Answer = (heard: Heard, response: ServerResponse) => void | Promise<void>;

/** Keeps all that it has answered with a 2xx, in order. */
async function receiver(isSigned: (secret: string, header: string, body: string) => boolean) {
  const heard: Heard[] = [];
  const ids: string[] = [];
  let answer: Answer = (_, response) => void response.writeHead(204).end();
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    expect(isSigned(secret, String(request.headers["reprise-signature"]), body)).toBe(true);
    const word = JSON.parse(body) as Heard;
    expect(request.headers["reprise-event-id"]).toBe(word.id);
    ids.push(word.id);
    response.on("finish", () => {
      if (response.statusCode < 300) heard.push(word);
    });
    await answer(word, response);
  };
  const server = createServer((request, response) => void take(request, response));
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const goAway = () => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  own({ stop: goAway });
  return {
    ...{ url: `http://127.0.0.1:${port}/`, heard, ids, goAway },
    comeBack: () => listen(port),
    answers: (next: Answer) => {
      answer = next;
    },
  };
}

async function stage(shards: string) {
  const page = own(docPage("notifications"));
  // It is the program of the page, written out by `docPage`.
  const { isSigned } = (await import(`${page.directory}/verify.ts`)) as {
    isSigned(secret: string, header: string, body: string): boolean;
  };
  const redis = own(await startRedisServer());
  const hook = await receiver(isSigned);
  const deaf = await receiver(isSigned);
  deaf.answers(() => undefined);
  const notify = { shop: { url: hook.url, secret }, deaf: { url: deaf.url, secret } };
  const orders = withOrders({ redis: redis.url, namespace, notify });
  const options = { ...orders, env: { ...orders.env, REPRISE_SHARDS: shards } };
  const client = own(createClient({ redis: redis.url, namespace, sagas: told, shards: Number(shards) }));
  const boot = async () => {
    const child = own(await spawnChild(childFile, options));
    return { child, id: (await child.nextMessage(isReady, 60_000)).ready };
  };
  const raw = new Redis(redis.url);
  own({ stop: async () => raw.disconnect() });
  return { hook, deaf, client, boot, raw };
}

test("P13 each end, wait and park is heard at least once, in order, signed, under one id, whatever the receiver and the kills do", async () => {
  const { hook, deaf, client, boot, raw } = await stage("2");
  let refusals = 3;
  hook.answers((_, response) => {
    refusals -= 1;
    if (refusals === 2) return; // it hangs
    response.writeHead(refusals >= 0 ? 500 : 204).end();
  });
  const workers = new Map<string, Child>();
  for (let n = 0; n < 2; n += 1) {
    const { child, id } = await boot();
    workers.set(id, child);
  }
  const start = async (from: number) => {
    for (let n = from; n < from + 10; n += 1) {
      await client.start(ending, {}, { id: `ending-${n}` });
      await client.start(resting, {}, { id: `resting-${n}` });
      await client.start(parking, {}, { id: `parking-${n}` });
    }
  };
  const isHeard = (from: number, to: number) => {
    const events = new Set(hook.heard.map(({ run, event }) => `${run} ${event}`));
    const wanted = Array.from({ length: to - from }, (_, at) => from + at).flatMap((n) => [
      ...[`ending-${n} end`, `resting-${n} wait`, `resting-${n} end`, `parking-${n} park`],
    ]);
    return wanted.every((word) => events.has(word));
  };
  await start(0);
  await waitFor(async () => isHeard(0, 10), {
    ...{ what: "the first runs to be heard of", timeoutMs: 60_000 },
    tell: () => JSON.stringify(hook.heard.map(({ id, event }) => `${id} ${event}`)),
  });

  await hook.goAway();
  await start(10);
  await waitFor(async () => (await raw.zcard("{reprise:notify:0}:box:shop")) > 5, { what: "a debt" });
  await hook.comeBack();
  await waitFor(async () => isHeard(10, 20), { what: "what was owed to be heard of", timeoutMs: 60_000 });

  // Killed after it was heard and before it could write that down: the answer comes when it is dead.
  let killed: string | null = null;
  const kills: { readonly pid: number; readonly signal: string }[] = [];
  hook.answers(async (word, response) => {
    if (killed === null) {
      killed = word.id;
      for (const shard of [0, 1]) {
        const teller = await raw.get(`{reprise:notify:${shard}}:teller:shop`);
        const worker = workers.get(teller ?? "");
        if (worker?.isRunning !== true) continue;
        const { signal } = await worker.kill("SIGKILL");
        kills.push({ pid: worker.pid, signal: String(signal) });
      }
      workers.set("another", (await boot()).child);
    }
    response.writeHead(204).end();
    if (response.destroyed) hook.heard.push(word);
  });
  await start(20);
  await waitFor(async () => isHeard(20, 30), { what: "those after the kill to be heard of", timeoutMs: 90_000 });
  expect(kills).toContainEqual({ pid: expect.any(Number), signal: "SIGKILL" });
  expect(hook.ids.filter((id) => id === killed).length).toBeGreaterThan(1);

  const byId = new Map(hook.heard.map((word) => [word.id, JSON.stringify(word)]));
  expect(hook.heard.map((word) => JSON.stringify(word)).every((text) => [...byId.values()].includes(text))).toBe(true);
  const first = [...new Map([...hook.heard].reverse().map((word) => [word.id, word])).values()];
  const orderOf = (run: string) => hook.heard.filter((word) => word.run === run).map(({ revision }) => revision);
  for (const run of new Set(hook.heard.map((word) => word.run))) {
    const revisions = [...new Set(orderOf(run))];
    expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
  }
  expect(first).toHaveLength(120);
  expect(deaf.ids.length).toBeGreaterThan(0);
  expect(deaf.heard).toEqual([]);
  await waitFor(async () => (await raw.zcard("{reprise:notify:0}:box:shop")) === 0, { what: "no debt" });
  expect(await raw.zcard("{reprise:notify:0}:box:deaf")).toBeGreaterThan(0);
  const checks = ["120 events of 90 runs heard, in order, under one id each; another hook never answered"];
  leaveEvidence("P13", { killed: kills, effects: first.length, checks });
}, 240_000);
