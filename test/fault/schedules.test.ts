/** Replicas that put their schedule at every boot and are killed over and over: it ticks as one, and nothing piles up. */
import { Queue } from "bullmq";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { lanePrefix, scheduleQueue, stepLane } from "../../src/queue/jobs.ts";
import { redisConnections } from "../../src/redis/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { withOrders } from "../support/fault-child.ts";
import { type Child, owned, spawnChild, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { everySecond, sweeping, type TickSaid } from "./schedules-words.ts";

const { own, release } = owned();
afterEach(release);

const replicas = 4;
const generations = process.env["REPRISE_SIZE"] === "full" ? 5 : 2;
const namespace = "ticks";
const childFile = new URL("./schedules.child.ts", import.meta.url);
const isReady = (message: unknown): message is TickSaid => Object.hasOwn(message as object, "ready");

test(`R022 four replicas killed ${replicas * generations} times, each puts the schedule at boot: one job waits, one run a second`, async () => {
  const redis = own(await startRedisServer());
  const orders = withOrders({ redis: redis.url, namespace });
  const client = own(createClient({ redis: redis.url, namespace, sagas: [sweeping] }));
  const connections = own(redisConnections({ url: redis.url }));
  const queue = own(
    new Queue(scheduleQueue, { connection: connections.commands(), prefix: lanePrefix(namespace, stepLane) }),
  );
  const most = { schedulers: 0, pending: 0 };
  const look = async () => {
    const { waiting = 0, delayed = 0, prioritized = 0 } = await queue.getJobCounts("waiting", "delayed", "prioritized");
    most.schedulers = Math.max(most.schedulers, await queue.getJobSchedulersCount());
    most.pending = Math.max(most.pending, waiting + delayed + prioritized);
  };
  const boot = async (): Promise<Child> => {
    const child = own(await spawnChild(childFile, orders));
    await child.nextMessage(isReady, 60_000);
    await look();
    return child;
  };
  const together = () => Promise.all(Array.from({ length: replicas }, boot));

  let alive = await together();
  const killed: { readonly pid: number; readonly signal: string }[] = [];
  for (let generation = 0; generation < generations; generation += 1) {
    for (const child of alive) {
      expect(await child.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
      killed.push({ pid: child.pid, signal: "SIGKILL" });
    }
    alive = await together();
  }
  const ticks = async () => {
    const { runs } = await client.list({ limit: 500 });
    return runs.map(({ createdAt: _, id }) => id.slice(everySecond.id.length + 1)).sort();
  };
  const before = (await ticks()).length;
  await waitFor(async () => (await ticks()).length >= before + 4, { what: "more ticks", timeoutMs: 60_000 });
  await look();

  expect(most).toEqual({ schedulers: 1, pending: 1 });
  const times = (await ticks()).map(timeOf);
  const gaps = times.slice(1).map((at, n) => at - (times[n] ?? 0));
  expect(gaps).toEqual(gaps.map(() => 1_000));
  const checks = [`${times.length} ticks, a second apart, one run each; one job waited at most`];
  leaveEvidence("R022", { killed, effects: times.length, checks });
}, 240_000);

/** `20261130T094429.000Z`. */
function timeOf(tick: string): number {
  return Date.parse(tick.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)/, "$1-$2-$3T$4:$5:"));
}
