/** A supervisor, and a webhook that is told by it. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, inject, onTestFinished, test } from "vitest";
import { order } from "../../sagas/index.ts";
import { type AdminAddress, type Alert, createSupervisor } from "../../src/index.ts";
import { redisConnections } from "../../src/redis/index.ts";
import { redisStore } from "../../src/store/index.ts";
import { aHeartbeat } from "../support/records.ts";
import { shapeOf } from "../support/shape.ts";
import { top, until } from "./top.ts";

const secret = "a secret of the test";

interface Heard {
  readonly id: string;
  readonly alert: Alert & { readonly namespace: string };
  readonly isSigned: boolean;
}

/** Answers 500 to the first `refuse` requests, and keeps what it has taken. */
async function receiver(refuse: number) {
  const taken: Heard[] = [];
  let asked = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      asked += 1;
      if (asked > refuse) {
        const body = Buffer.concat(chunks).toString();
        const [, t, v1] = /^t=(\d+),v1=(\w+)$/.exec(String(request.headers["reprise-signature"])) ?? [];
        const isSigned = v1 === createHmac("sha256", secret).update(`${t}.${body}`).digest("hex");
        taken.push({ id: String(request.headers["reprise-event-id"]), alert: JSON.parse(body), isSigned });
      }
      response.writeHead(asked > refuse ? 204 : 500).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, taken, asked: () => asked };
}

/** A worker that is gone: it said how it was, and nobody is registered under its id. */
async function deadWorker(namespace: string, names: readonly string[]) {
  const connections = redisConnections(inject("redisUrl"));
  const store = redisStore({ connections, namespace, shards: inject("shards") });
  await store.open();
  onTestFinished(async () => {
    await store.close();
    connections.close();
  });
  for (const name of names) await store.beat(aHeartbeat({ id: name, name }));
}

test("workers that die are one alert and, when others have come, one all-clear, though the webhook fails at first", async () => {
  const { namespace, worker, client } = top([order]);
  const hook = await receiver(2);
  const told: Alert[] = [];
  await deadWorker(namespace, ["eu-1", "eu-2"]);
  let open: (address: AdminAddress) => void = () => undefined;
  const opened = new Promise<AdminAddress>((resolve) => {
    open = resolve;
  });
  const supervisor = createSupervisor({
    ...{ redis: inject("redisUrl"), shards: inject("shards"), namespace, sagas: [], everyMs: 200 },
    webhook: { url: hook.url, secret },
    onAlert: (alert) => {
      told.push(alert);
      throw new Error("whoever is told must not throw, and does");
    },
    admin: { port: 0, onOpen: (address) => open(address) },
    facts: { emit: () => undefined },
  });
  onTestFinished(() => supervisor.stop());
  await supervisor.start();
  await until(() => hook.taken.length > 0);
  expect(hook.asked()).toBe(3);
  expect(hook.taken).toMatchObject([
    {
      isSigned: true,
      alert: {
        namespace,
        state: "firing",
        key: "workers_lost default",
        message: expect.stringContaining("eu-1, eu-2"),
      },
    },
  ]);
  const { url } = await opened;
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('alert="workers_lost",severity="page"');
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  await Promise.all([worker(), worker()]);
  await until(() => hook.taken.length > 1);
  expect(hook.taken[1]).toMatchObject({ isSigned: true, alert: { state: "resolved", key: "workers_lost default" } });
  expect(hook.taken[0]?.id).not.toBe(hook.taken[1]?.id);
  expect(told.map(({ state }) => state)).toEqual(["firing", "resolved"]);
  expect(shapeOf(told[0])).toMatchSnapshot("Alert");
  const { supervisors } = await client.workers();
  expect(supervisors).toMatchObject([{ id: supervisor.id, ageMs: expect.any(Number) }]);
  await supervisor.stop();
  expect((await client.workers()).supervisors).toEqual([]);
  expect(hook.taken).toHaveLength(2);
});

test("its first look finds its connections ready: what is well gives no trouble", async () => {
  const { namespace } = top([order]);
  const troubles: string[] = [];
  const supervisor = createSupervisor({
    ...{ redis: inject("redisUrl"), namespace, shards: inject("shards"), sagas: [order] },
    facts: { emit: (fact) => void (fact.fact === "trouble" && troubles.push(`${fact.where}: ${fact.message}`)) },
    onAlert: () => undefined,
  });
  onTestFinished(() => supervisor.stop());
  await supervisor.start();
  await until(async () => supervisor.health().seen !== null);
  expect(troubles).toEqual([]);
});
