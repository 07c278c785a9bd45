/** Runs of one key take turns, over a real Redis: how many at once, in which order, and what they hold meanwhile. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Client, saga, step } from "../../src/index.ts";
import type { FakeWorld } from "../../src/testing/index.ts";
import { top, until } from "./top.ts";

interface Log {
  readonly began: string[];
  readonly now: Set<string>;
  most: number;
}

/** Steps that note when they begin, and end when the test lets them. */
function workshop(limit: number) {
  const log: Log = { began: [], now: new Set(), most: 0 };
  const gates = new Map<string, () => void>();
  let open = false;
  const work = step("work", {
    input: z.object({ customer: z.string(), job: z.string() }),
    effect: "none",
    timeout: "30s",
    action: async ({ input }) => {
      log.began.push(input.job);
      log.now.add(input.job);
      log.most = Math.max(log.most, log.now.size);
      if (!open) await new Promise<void>((resolve) => gates.set(input.job, resolve));
      log.now.delete(input.job);
    },
  });
  const input = z.object({ customer: z.string(), job: z.string() });
  const concurrency = { key: ({ input: { customer } }: { input: { customer: string } }) => customer, limit };
  const workshopSaga = saga("workshop", { version: 1, input, concurrency })
    .step(work, ({ input: of }) => of)
    .build();
  return {
    log,
    workshopSaga,
    end: (job: string) => gates.get(job)?.(),
    letGo: () => {
      open = true;
      for (const go of gates.values()) go();
    },
  };
}

const statusOf = async (client: Client, id: string) => {
  const { status, waitingFor } = await client.run(id).get();
  return waitingFor === null ? status : `${status}: ${waitingFor}`;
};
const noWorld = undefined as FakeWorld | undefined;

describe("one at a time", () => {
  test("the others wait for the limit, in order of start, and each begins when the one before it has ended", async () => {
    const { log, workshopSaga, end } = workshop(1);
    const { client, worker, troubles } = top([workshopSaga], noWorld);
    await worker();
    const jobs = ["e", "d", "c", "b", "a"];
    for (const job of jobs) await client.start(workshopSaga, { customer: "ann", job }, { id: job });
    await until(async () => (await statusOf(client, "a")) === "waiting: limit");
    for (const [at, job] of jobs.entries()) {
      await until(() => log.began.length === at + 1);
      expect(log.began.at(-1)).toBe(job);
      end(job);
      await client.run(job).result({ timeout: "10s" });
    }
    expect(log.most).toBe(1);
    expect(troubles).toEqual([]);
  });

  test("of fifty started at once each has its turn, in the order of their starts, with fewer workers than runs", async () => {
    const { log, workshopSaga, letGo } = workshop(1);
    const { client, worker } = top([workshopSaga], noWorld);
    letGo();
    const jobs = Array.from({ length: 50 }, (_, n) => `j${(n * 37) % 50}`);
    await client.startMany(
      workshopSaga,
      jobs.map((job) => ({ input: { customer: "ann", job }, id: job })),
    );
    await Promise.all([worker({ concurrency: 3 }), worker({ concurrency: 3 })]);
    for (const job of jobs) await client.run(job).result({ timeout: "25s" });
    const startOf = async (job: string) => (await client.run(job).get()).startAt;
    const starts = await Promise.all(log.began.map(startOf));
    expect(log.began.toSorted()).toEqual(jobs.toSorted());
    // (Each shard has a clock of its own, so those given first need not be the first to be started.)
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    expect(log.most).toBe(1);
  });

  test("two customers do not wait for each other, and a waiting run holds no worker", async () => {
    const { log, workshopSaga, letGo } = workshop(1);
    const { client, worker } = top([workshopSaga], noWorld, { lanes: 1 });
    await worker({ concurrency: 2 });
    for (const job of ["a1", "a2", "a3", "a4"]) await client.start(workshopSaga, { customer: "ann", job }, { id: job });
    await until(() => log.began.includes("a1"));
    await client.start(workshopSaga, { customer: "bob", job: "b1" }, { id: "b1" });
    await until(() => log.began.includes("b1"));
    expect(log.began).toEqual(["a1", "b1"]);
    letGo();
    for (const job of ["a2", "a3", "a4", "b1"]) await client.run(job).result({ timeout: "10s" });
  });

  test("one that is cancelled while it waits leaves the line, and is begun never", async () => {
    const { log, workshopSaga, letGo } = workshop(1);
    const { client, worker } = top([workshopSaga], noWorld);
    await worker();
    for (const job of ["a", "b", "c"]) await client.start(workshopSaga, { customer: "ann", job }, { id: job });
    await until(async () => (await statusOf(client, "b")) === "waiting: limit");
    await client.run("b").cancel({ reason: "not wanted", by: "ann" });
    await until(async () => (await statusOf(client, "b")) === "cancelled");
    letGo();
    await client.run("c").result({ timeout: "10s" });
    expect(log.began).toEqual(["a", "c"]);
  });
});

test("three at a time are three at a time", async () => {
  const { log, workshopSaga, end, letGo } = workshop(3);
  const { client, worker } = top([workshopSaga], noWorld);
  await worker();
  const jobs = Array.from({ length: 12 }, (_, n) => `j${n}`);
  for (const job of jobs) await client.start(workshopSaga, { customer: "ann", job }, { id: job });
  await until(() => log.began.length === 3);
  await until(async () => (await statusOf(client, "j11")) === "waiting: limit");
  expect([...log.began].sort()).toEqual(["j0", "j1", "j2"]);
  end("j1");
  await until(() => log.began.length === 4);
  expect(log.began.at(-1)).toBe("j3");
  letGo();
  for (const job of jobs) await client.run(job).result({ timeout: "20s" });
  expect(log.most).toBe(3);
});

test("an input whose key cannot be had is refused, and no run is made", async () => {
  const broken = saga("broken", {
    version: 1,
    input: z.object({ customer: z.string() }),
    concurrency: { key: ({ input }) => (input.customer === "" ? null : input.customer) },
  })
    .wait("1s")
    .step(step("nothing", { input: z.json(), effect: "none", action: async () => undefined }), () => null)
    .build();
  const { client } = top([broken], noWorld);
  const refused = client.start(broken, { customer: "" }, { id: "r1" });
  await expect(refused).rejects.toMatchObject({ code: "INPUT_INVALID", message: expect.stringContaining("key") });
  await expect(client.run("r1").get()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
});
