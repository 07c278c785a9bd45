/** Two supervisors, and a worker that is killed: whoever is on call is told once, and once that it is over. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type AdminAddress, type Alert, createSupervisor } from "../../src/index.ts";
import { withOrders } from "../support/fault-child.ts";
import { owned, spawnChild, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";
import type { NotifySaid } from "./notify-words.ts";

const { own, release } = owned();
afterEach(release);

const childFile = new URL("./notify.child.ts", import.meta.url);
const namespace = "watched";
const secret = "of the test";
const isReady = (message: unknown): message is NotifySaid => Object.hasOwn(message as object, "ready");

/** Answers 500 to the first two requests, and keeps what it has taken. */
async function receiver() {
  const taken: (Alert & { readonly namespace: string })[] = [];
  let asked = 0;
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const [, t, v1] = /^t=(\d+),v1=(\w+)$/.exec(String(request.headers["reprise-signature"])) ?? [];
    expect(v1).toBe(createHmac("sha256", secret).update(`${t}.${body}`).digest("hex"));
    asked += 1;
    if (asked > 2) taken.push(JSON.parse(body));
    response.writeHead(asked > 2 ? 204 : 500).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  own({ stop: async () => void server.close() });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, taken, asked: () => asked };
}

test("of two supervisors one tells that a worker was killed, once, and that another has come, once", async () => {
  const [redis, hook] = await Promise.all([startRedisServer(), receiver()]);
  own(redis);
  const boot = async () => {
    const child = own(await spawnChild(childFile, withOrders({ redis: redis.url, namespace, notify: {} })));
    await child.nextMessage(isReady, 60_000);
    return child;
  };
  const watching = async () => {
    const pages: AdminAddress[] = [];
    const supervisor = createSupervisor({
      ...{ redis: redis.url, namespace, sagas: [], everyMs: 200, webhook: { url: hook.url, secret } },
      ...{ admin: { port: 0, onOpen: (page) => pages.push(page) }, onAlert: () => undefined },
      facts: { emit: () => undefined },
    });
    own({ stop: () => supervisor.stop() });
    await supervisor.start();
    await waitFor(async () => supervisor.health().lookedMs !== null, { what: "a first look" });
    return { supervisor, metrics: async () => await (await fetch(`${pages[0]?.url}/metrics`)).text() };
  };

  const worker = await boot();
  const first = await watching();
  const second = await watching();
  expect([first.supervisor.health().isStandby, second.supervisor.health().isStandby]).toEqual([false, true]);
  await waitFor(async () => (await first.metrics()).includes('state="ready"'), { what: "a worker to be seen" });

  expect(await worker.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
  const about = () => hook.taken.filter(({ key }) => key === "workers_lost default").map(({ state }) => state);
  await waitFor(async () => about().length > 0, { what: "an alert", timeoutMs: 30_000 });
  expect(hook.asked()).toBeGreaterThanOrEqual(3);
  await boot();
  await waitFor(async () => about().length > 1, { what: "the all-clear", timeoutMs: 30_000 });
  // Nobody ended its leases but the worker that came, and the supervisor has seen how long that took.
  await waitFor(async () => /reprise_recovery_last_seconds\S* [1-9.]/.test(await first.metrics()), {
    what: "a recovery",
    timeoutMs: 30_000,
  });
  await second.supervisor.stop();
  expect(about()).toEqual(["firing", "resolved"]);
  expect(new Set(hook.taken.map(({ id }) => id)).size).toBe(hook.taken.length);
}, 180_000);

test("when the supervisor that tells has gone, the other tells what holds", async () => {
  const [redis, hook] = await Promise.all([startRedisServer(), receiver()]);
  own(redis);
  const child = own(await spawnChild(childFile, withOrders({ redis: redis.url, namespace, notify: {} })));
  await child.nextMessage(isReady, 60_000);
  const told: string[] = [];
  const watching = async (name: string) => {
    const supervisor = createSupervisor({
      ...{ redis: redis.url, namespace, sagas: [], everyMs: 200, webhook: { url: hook.url, secret } },
      onAlert: ({ key, state }) => void told.push(`${name} ${state} ${key}`),
      facts: { emit: () => undefined },
    });
    own({ stop: () => supervisor.stop() });
    await supervisor.start();
    await waitFor(async () => supervisor.health().seen !== null, { what: "a first look" });
    return supervisor;
  };
  const first = await watching("first");
  await watching("second");
  await child.kill("SIGKILL");
  await waitFor(async () => told.includes("first firing workers_lost default"), {
    what: "an alert",
    timeoutMs: 30_000,
  });
  await first.stop();
  await waitFor(async () => told.includes("second firing workers_lost default"), {
    what: "it again",
    timeoutMs: 30_000,
  });
  expect(told.filter((word) => word.includes("workers_lost"))).toHaveLength(2);
}, 120_000);
