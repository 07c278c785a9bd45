/** Runs that are started by the clock, over a real Redis and the pinned BullMQ: ticks, overlaps, what was missed, pause, run now. */
import { Queue } from "bullmq";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { scheduleOf } from "../../src/core/index.ts";
import { type Client, type ScheduleOptions, saga, stepsFor } from "../../src/index.ts";
import { lanePrefix, scheduleQueue, stepLane } from "../../src/queue/jobs.ts";
import { redisConnections } from "../../src/redis/index.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { withStoreAt } from "../support/agreed.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { type Top, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const Input = z.object({ of: z.string() });
const report = step("report", {
  input: Input,
  effect: "keyed",
  action: async ({ input, services, ...call }) => {
    await services.op("reports", { effect: "keyed" }).call("write", input, call);
  },
  noCompensation: "a report stays",
});
/** Ends at once; and one that goes on until it is told to. */
const brief = saga("brief", { version: 1, input: Input })
  .step(report, ({ input }) => input)
  .build();
const endless = saga("endless", { version: 1, input: Input, events: { STOP: z.object({}) } })
  .step(report, ({ input }) => input)
  .waitFor("STOP")
  .build();
const sagas = [brief, endless];
/** What a cluster could do to it, the first test shows. */
const inCluster = inject("redisUrl").includes("cluster=true");
const place = () => ({ redis: inject("redisUrl"), shards: inject("shards") });

type Wish = Pick<ScheduleOptions, "id"> & Partial<ScheduleOptions>;
const everySecond = { every: "1s", input: { of: "x" } } as const;
const put = (client: Client, wish: Wish) =>
  client.schedules.put({ saga: brief, ...everySecond, ...wish } as ScheduleOptions<typeof brief>);
/** The runs of a schedule's ticks, the oldest first. */
async function runsOf(
  client: Client,
  id: string,
): Promise<readonly { readonly id: string; readonly status: string }[]> {
  const { runs } = await client.list({ limit: 200 });
  const mine = runs.filter((run) => run.id.startsWith(`${id}.`));
  return mine.map((run) => ({ id: run.id, status: run.status })).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** BullMQ's own view of what makes schedules tick. */
function ticking({ namespace }: Top): Queue {
  const connections = redisConnections({ url: inject("redisUrl") });
  const connection = connections.commands();
  const queue = new Queue(scheduleQueue, { connection, prefix: lanePrefix(namespace, stepLane) });
  onTestFinished(async () => {
    await queue.close();
    connections.close();
  });
  return queue;
}

test("R024 R025 one of every second ticks at least three times, and a tick that is delivered three times starts one run", async () => {
  const scene = top(sagas);
  const { client, worker, world } = scene;
  const queue = ticking(scene);
  await Promise.all([worker(), worker()]);
  await put(client, { id: "s" });
  let doubled = 0;
  await until(async () => {
    await queue.addBulk([0, 1].map(() => ({ name: "s", data: {}, opts: { removeOnComplete: true } })));
    doubled += 2;
    return (await runsOf(client, "s")).length >= 4;
  }, 30_000);
  await client.schedules.remove("s");
  const runs = await runsOf(client, "s");
  for (const { id } of runs) await client.run(id).result({ timeout: "20s" });
  const ticks = runs.map(({ id }) => id.slice(2));
  expect(new Set(ticks).size).toBe(ticks.length);
  for (const tick of ticks) expect(tick).toMatch(/^\d{8}T\d{6}\.000Z$/);
  const made = world.effects().length;
  expect([made, doubled >= ticks.length]).toEqual([ticks.length, true]);
  const checks = [`${ticks.length} ticks of a second, ${doubled} more jobs for them, one run and one report each`];
  leaveEvidence(["R024", "R025"], { arrivals: world.service("reports").counts().arrivals, effects: made, checks });
}, 60_000);

test.skipIf(inCluster)(
  "while its run goes on: skip starts none, queue waits, cancel_previous cancels it and starts the newest",
  async () => {
    const { client, worker, troubles } = top(sagas);
    await worker();
    for (const overlap of ["skip", "queue", "cancel_previous"] as const) {
      await put(client, { id: overlap, saga: endless, overlap } as Wish);
    }
    const seen = async (id: string) => await client.schedules.get(id);
    await until(async () => (await seen("skip")).skipped >= 2, 20_000);
    await until(async () => (await seen("queue")).pending.length >= 2, 20_000);
    await until(async () => (await runsOf(client, "cancel_previous")).length >= 2, 20_000);
    await client.schedules.pause("skip", { by: "ann", reason: "enough" });
    await client.schedules.pause("cancel_previous", { by: "ann", reason: "enough" });
    expect((await runsOf(client, "skip")).map(({ status }) => status)).toEqual(["waiting"]);
    const cancelled = await runsOf(client, "cancel_previous");
    expect(cancelled[0]?.status).toBe("cancelled");

    const [first, ...none] = await runsOf(client, "queue");
    expect([first?.status, none]).toEqual(["waiting", []]);
    const { pending } = await seen("queue");
    await client.run(first?.id ?? "").signal("STOP", {});
    const second = await until(async () => (await runsOf(client, "queue"))[1], 20_000);
    expect(second.id).toBe(`queue.${new Date(pending[0] ?? 0).toISOString().replaceAll(/[-:]/g, "")}`);
    expect(troubles).toEqual([]);
  },
  90_000,
);

describe.skipIf(inCluster)("five ticks that nobody saw to", () => {
  test.each([
    ["skip", 0],
    ["run_once", 1],
    ["run_all", 5],
  ] as const)(
    "%s: %i of them start a run when a worker comes",
    async (missed, count) => {
      const scene = top(sagas);
      await withStoreAt(place(), scene.namespace, async (store) => {
        const now = await store.now();
        // The last tick was more than a minute ago, and the next comes when the test is over.
        const isFar = (ms: number) => now % ms > 120_000 && ms - (now % ms) > 120_000;
        const everyMs = [3_600_000, 3_300_000, 3_900_000].find(isFar) ?? 3_500_000;
        const begun = (Math.floor(now / everyMs) - 5) * everyMs;
        const of = { id: "s", tenant: "default", saga: "brief", version: 1, input: { of: "x" }, priority: 0 } as const;
        const schedule = scheduleOf({ ...of, timing: { everyMs }, overlap: "queue", missed }, null, begun);
        await store.putSchedule({ id: "s", schedule, expects: null });
      });
      await scene.worker();
      const done = async () => {
        const { pending, current, skipped } = await scene.client.schedules.get("s");
        const isOver = (await runsOf(scene.client, "s")).every(({ status }) => status === "completed");
        return pending.length === 0 && isOver && (current === null ? skipped > 0 : current.started);
      };
      await until(done, 30_000);
      const runs = await runsOf(scene.client, "s");
      expect(runs).toHaveLength(count);
      expect(scene.world.effects()).toHaveLength(runs.length);
    },
    60_000,
  );
});

test.skipIf(inCluster)(
  "paused it starts nothing; run now starts one beside it, once for a request; resumed it ticks; removed it ticks no more",
  async () => {
    const scene = top(sagas);
    const { client, worker } = scene;
    const queue = ticking(scene);
    await worker();
    await put(client, { id: "s" });
    await until(async () => (await runsOf(client, "s")).length >= 1, 20_000);
    const paused = await client.schedules.pause("s", { by: "ann", reason: "audit" });
    expect([paused.nextAt, paused.paused?.by]).toEqual([null, "ann"]);
    await until(async () => (await queue.getJobSchedulersCount()) === 0);
    await until(async () => {
      const { pending, current } = await client.schedules.get("s");
      return pending.length === 0 && current?.started !== false;
    });
    const before = (await runsOf(client, "s")).length;
    const [one, two] = await Promise.all(["r7", "r7"].map((requestId) => client.schedules.runNow("s", { requestId })));
    expect([one?.id, two?.id]).toEqual(["s.now.r7", "s.now.r7"]);
    await one?.result({ timeout: "20s" });
    expect(await runsOf(client, "s")).toHaveLength(before + 1);
    await client.schedules.resume("s");
    await until(async () => (await runsOf(client, "s")).length >= before + 3, 20_000);
    expect(await client.schedules.remove("s")).toBe(true);
    await expect(client.schedules.get("s")).rejects.toMatchObject({ code: "SCHEDULE_NOT_FOUND" });
    await until(async () => (await queue.getJobSchedulersCount()) === 0);
  },
  90_000,
);
