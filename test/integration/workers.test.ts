/** Workers as others see them: heartbeats, states, and asking one to leave. */
import { expect, test } from "vitest";
import { order } from "../../sagas/index.ts";
import { top, until } from "./top.ts";

const input = { id: "o-1", sku: "A", cents: 4_200, email: "a@example.com" };

test("workers are listed with what they serve and how they are, until they say goodbye", async () => {
  const { client, worker } = top([order]);
  expect(await client.workers()).toEqual({ workers: [], supervisors: [], unserved: [] });
  const [one, two] = await Promise.all([worker({ name: "a" }), worker({ name: "b", concurrency: 3 })]);
  const seen = await until(async () => {
    const { workers } = await client.workers();
    return workers.length === 2 && workers.every(({ heartbeat }) => heartbeat !== null) ? workers : null;
  });
  expect(seen.map(({ id, state, heartbeat }) => [id, state, heartbeat?.name])).toEqual([
    [one.id, "ready", "a"],
    [two.id, "ready", "b"],
  ]);
  const [, b] = seen;
  expect(b).toMatchObject({ heartbeat: { pid: process.pid, slots: { busy: 0, total: 3 }, pools: ["default"] } });
  expect(b?.serves).toEqual([expect.stringMatching(/^order@\d+#/)]);
  expect(b?.heartbeat?.rssBytes).toBeGreaterThan(10_000_000);
  await Promise.all([one.stop(), two.stop()]);
  expect((await client.workers()).workers).toEqual([]);
});

test("a worker that is asked to leave does, by itself; the other one goes on", async () => {
  const { client, worker } = top([order]);
  const [one, two] = await Promise.all([worker({ name: "a" }), worker({ name: "b" })]);
  await until(async () => (await client.workers()).workers.every(({ heartbeat }) => heartbeat !== null));
  const asked = await client.drain(one.id, { by: "ann", reason: "deploy" });
  expect(asked).toMatchObject({ by: "ann", reason: "deploy" });
  expect(await client.drain(one.id, { by: "bob", reason: "me too" })).toEqual(asked);
  expect(await one.ended).toEqual(asked);
  expect(one.health().state).toBe("stopped");
  const run = await client.start(order, input);
  await run.result({ timeout: "10s" });
  expect((await client.workers()).workers.map(({ id }) => id)).toEqual([two.id]);
});

test("nobody is asked who was not heard of, and nobody without a reason", async () => {
  const { client } = top([order]);
  await expect(client.drain("nobody", { by: "ann", reason: "deploy" })).rejects.toMatchObject({
    code: "WORKER_NOT_FOUND",
  });
  await expect(client.drain("a:b", { by: "ann", reason: "deploy" })).rejects.toMatchObject({ code: "ID_INVALID" });
  await expect(client.drain("nobody", { by: "ann", reason: " " })).rejects.toMatchObject({ code: "INPUT_INVALID" });
});
