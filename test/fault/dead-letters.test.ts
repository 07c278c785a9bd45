/** SIGKILL between the commit that parks a run and the letter that shows it. */
import { Queue } from "bullmq";
import { createClient } from "reprise";
import { FakeWorld, serveFakeWorld } from "reprise/testing";
import { afterEach, expect, test } from "vitest";
import { order } from "../../sagas/index.ts";
import { redisConnections } from "../../src/redis/index.ts";
import { withOrders } from "../support/fault-child.ts";
import { owned, spawnChild, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";
import type { LetterOrders, LetterSaid } from "./dead-letters-words.ts";

const { own, release } = owned();
afterEach(release);

const namespace = "letters";
const childFile = new URL("./dead-letters.child.ts", import.meta.url);
const isReady = (message: unknown): message is LetterSaid => Object.hasOwn(message as object, "ready");

test("a run whose worker died before it was shown is shown by the next one, and the world heard nothing twice", async () => {
  const redis = own(await startRedisServer());
  const world = new FakeWorld();
  const served = own(await serveFakeWorld(world));
  world.fault({ service: "mail", action: "send", kind: "reset-after-apply" });
  const worker = async (dies: boolean) => {
    const orders: LetterOrders = { redis: redis.url, world: served.url, namespace, dies };
    const child = own(await spawnChild(childFile, withOrders(orders)));
    await child.nextMessage(isReady, 60_000);
    return child;
  };
  const client = createClient({ redis: redis.url, namespace, sagas: [order] });
  own(client);
  const connections = redisConnections(redis.url);
  own(connections);
  const connection = connections.commands();
  await connections.ready(connection);
  const queue = new Queue("dead-letter", { connection, prefix: `{reprise:${namespace}:w0}` });
  own(queue);

  const victim = await worker(true);
  const input = { id: "o-1", sku: "A", cents: 4_200, email: "a@example.com" };
  const run = await client.start(order, input, { id: "r1" });
  expect(await victim.exit).toEqual({ code: null, signal: "SIGKILL" });
  expect((await run.get()).status).toBe("needs_review");
  expect(await queue.getJobCounts("failed", "wait", "active")).toEqual({ failed: 0, wait: 0, active: 0 });

  await worker(false);
  const shown = async () => (await queue.getFailed())[0];
  const job = await waitFor(shown, { what: "the letter", timeoutMs: 30_000 });
  expect([job.id, job.failedReason]).toEqual(["default~r1~1", (await run.get()).review?.message]);
  expect(world.service("mail").counts()).toEqual({ arrivals: 1, effects: 1 });
});
