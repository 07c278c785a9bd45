/**
 * Timers when something fails around them: Redis is restarted while they fall due, a job comes twice, the clock of the worker is
 * wrong. Each fires once, never before its time by the clock of Redis, and soon after it.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { LogEntry } from "../../src/core/index.ts";
import { saga, stepsFor } from "../../src/index.ts";
import { lanePrefix, poolQueue } from "../../src/queue/jobs.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { withStoreAt } from "../support/agreed.ts";
import { settings } from "../support/fault-plan.ts";
import { waitFor } from "../support/processes.ts";
import { type Top, until } from "../support/top.ts";
import { Here } from "./scenarios-here.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => here.close());

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });
const remind = step("remind", {
  input: Id,
  effect: "once",
  action: async ({ input, services, ...call }) => {
    await services.op("reminders", { effect: "once" }).call("send", input, call);
  },
  noCompensation: "who was reminded stays reminded",
});
const reminderAfter = (name: string, wait: "3s" | "5s") =>
  saga(name, { version: 1, input: Id })
    .wait(wait)
    .step(remind, ({ input }) => input)
    .build();
const short = reminderAfter("short", "3s");
const long = reminderAfter("long", "5s");
const sagas = [short, long];
/** Of a full machine. The product promises a sweep, and a lease where it was held up itself. */
const toleranceMs = 20_000;

const { leaseMs, renewMs, marginMs, commandTimeoutMs, startWithinMs, barrierMs } = settings;

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `r${at + 1}`);
const isWaiting = async ({ client }: Top, id: string) => (await client.run(id).get()).status === "waiting";

interface Fired {
  /** When it was to fire, and when it did, by the store's clock. */
  readonly dueAt: number;
  readonly at: number;
}

/** Of each run the one time that its timer has fired. */
async function firedOf({ namespace }: Top, ids: readonly string[], waitMs: number): Promise<readonly Fired[]> {
  return await withStoreAt(here.place, namespace, async (store) => {
    const logs = await Promise.all(ids.map((id) => store.log({ tenant: "default", id })));
    return logs.map((log) => {
      const fired = log.filter(isFiring);
      expect(fired).toHaveLength(1);
      const begun = log[log.indexOf(fired[0] as LogEntry) - 1] as LogEntry;
      return { dueAt: begun.at + waitMs, at: fired[0]?.at ?? 0 };
    });
  });
}

const isFiring = ({ taken }: LogEntry) => taken.some(({ what }) => what === "timer");
const storeNow = ({ namespace }: Top) => withStoreAt(here.place, namespace, (store) => store.now());

test("R019 fifty of them fall due while Redis is restarted: each fires once and soon, and nobody restarts a process", async () => {
  const top = here.top(sagas);
  // What was there before a restart is left for two leases to those who may remember more of it.
  await top.worker({ settings: { leaseMs, renewMs, marginMs, commandTimeoutMs, startWithinMs, barrierMs } });
  const ids = numbered(50);
  await top.client.startMany(
    long,
    ids.map((id) => ({ id, input: { id } })),
  );
  for (const id of ids) await until(() => isWaiting(top, id), 20_000);
  const { pid } = here.redis;
  expect(await here.redis.kill()).toEqual({ code: null, signal: "SIGKILL" });
  const killedAt = performance.now();
  await waitFor(() => performance.now() - killedAt > 3_000, { what: "timers to fall due without Redis" });
  await here.redis.restart();
  const backAt = await storeNow(top);
  // A client says at once that it cannot reach Redis.
  const reaches = () =>
    isWaiting(top, "r1").then(
      () => true,
      () => false,
    );
  await until(reaches, 30_000);
  await Promise.all(ids.map((id) => top.client.run(id).result({ timeout: "60s" })));
  const fired = await firedOf(top, ids, 5_000);
  const late = fired.map(({ at, dueAt }) => at - Math.max(dueAt, backAt));
  expect(fired.filter(({ at, dueAt }) => at < dueAt)).toEqual([]);
  expect(Math.max(...late)).toBeLessThan(toleranceMs);
  expect(top.world.service("reminders").counts()).toEqual({ arrivals: 50, effects: 50 });
  const proof = { top, sagas, runs: ids };
  const checks = [`redis-server killed for 3 s, 50 timers fired once, at most ${Math.max(...late)} ms late`];
  await here.prove("R019", proof, { killed: [{ pid, signal: "SIGKILL" }], checks });
}, 180_000);

describe("the job of a timer", () => {
  /** As a queue may: more jobs for one run, under numbers that nobody gave out. */
  async function deliver({ namespace }: Top, id: string, numbers: readonly number[]): Promise<void> {
    const queue = `${lanePrefix(namespace, 0)}:${poolQueue("default")}`;
    for (const number of numbers) {
      const job = `default~${id}.${number}`;
      await here.redis.ask("HSET", `${queue}:${job}`, "name", "wake", "data", "{}", "opts", "{}");
      await here.redis.ask("LPUSH", `${queue}:wait`, job);
    }
    await here.redis.ask("ZADD", `${queue}:marker`, 0, "0");
  }

  test("R025 comes again and again, to two workers, early, at its time and late: it fires once", async () => {
    const top = here.top(sagas);
    await Promise.all([top.worker(), top.worker()]);
    await top.client.start(short, { id: "r1" }, { id: "r1" });
    await until(() => isWaiting(top, "r1"), 20_000);
    await deliver(top, "r1", [1_001, 1_002]);
    await until(async () => (await here.jobsOf(top.namespace, "r1")).length === 0, 20_000);
    expect([await isWaiting(top, "r1"), top.world.effects()]).toEqual([true, []]);
    const [timer] = await withStoreAt(here.place, top.namespace, async (store) => {
      const record = await store.read({ tenant: "default", id: "r1" });
      return record?.timers ?? [];
    });
    await until(async () => (await storeNow(top)) >= (timer?.at ?? 0), 20_000);
    await deliver(top, "r1", [1_003, 1_004]);
    await top.client.run("r1").result({ timeout: "30s" });
    await deliver(top, "r1", [1_005]);
    await until(async () => (await here.jobsOf(top.namespace, "r1")).length === 0, 20_000);
    await firedOf(top, ["r1"], 3_000);
    expect(top.world.service("reminders").counts()).toEqual({ arrivals: 1, effects: 1 });
    const checks = ["delivered twice before its time, three times at it, once after the end: one firing in the log"];
    await here.prove("R025", { top, sagas, runs: ["r1"] }, { checks });
  }, 120_000);
});

describe("a worker whose clock is wrong", () => {
  test.each([
    ["ten minutes ahead", 600_000],
    ["ten minutes behind", -600_000],
  ])(
    "%s fires a timer by the clock of Redis: not early, and soon",
    async (_words, skewMs) => {
      const now = Date.now.bind(Date);
      vi.spyOn(Date, "now").mockImplementation(() => now() + skewMs);
      const top = here.top(sagas);
      await top.worker();
      const startedAt = performance.now();
      await top.client.start(short, { id: "r1" }, { id: "r1" });
      await until(() => top.world.effects().length > 0, 30_000);
      const tookMs = performance.now() - startedAt;
      expect(tookMs).toBeGreaterThanOrEqual(3_000);
      await top.client.run("r1").result({ timeout: "30s" });
      const [fired] = await firedOf(top, ["r1"], 3_000);
      expect((fired?.at ?? 0) - (fired?.dueAt ?? 0)).toBeGreaterThanOrEqual(0);
      expect(tookMs).toBeLessThan(3_000 + toleranceMs);
      expect(top.world.service("reminders").counts()).toEqual({ arrivals: 1, effects: 1 });
    },
    120_000,
  );
});
