/** Commands that operate an installation, over a real Redis: schedules, objectives, retention, versions of sagas. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { order } from "../../sagas/index.ts";
import type { KeptAct } from "../../src/core/index.ts";
import { type Client, createClient, createWorker, saga, step } from "../../src/index.ts";
import { cli } from "../support/cli.ts";
import { shapeOf } from "../support/shape.ts";

const cwd = resolve(import.meta.dirname, "../..");
const namespace = `cli-${randomUUID().slice(0, 8)}`;
const input = { id: "o-1", sku: "A", cents: 4_200, email: "ada@example.org" };
let client: Client;
const nothing = step("nothing", { input: z.object({}), effect: "none", action: () => null });
const quick = saga("quick", { version: 1, input: z.object({}) })
  .step(nothing, () => ({}))
  .build();

beforeAll(async () => {
  client = createClient({ redis: inject("redisUrl"), namespace, shards: inject("shards"), sagas: [order] });
  await client.schedules.put({
    id: "nightly",
    saga: order,
    input,
    cron: "0 3 * * *",
    timeZone: "Europe/Berlin",
    by: "ops",
    reason: "set up",
  });
});
afterAll(() => client.close());

const env = { REPRISE_SHARDS: String(inject("shards")) };
// What the environment says is read where it is used.
beforeEach(() => void vi.stubEnv("REPRISE_SHARDS", env.REPRISE_SHARDS));
const ask = (...argv: readonly string[]) =>
  cli([...argv, "--redis", inject("redisUrl"), "--namespace", namespace, "--by", "ann"], { cwd, env });
const data = async (...argv: readonly string[]) => {
  const { code, stdout, stderr } = await ask(...argv, "--json", "-q");
  expect(stderr).toBe("");
  return { code, ...JSON.parse(stdout) };
};

test("a schedule is shown, paused with who and why, resumed, and run now", async () => {
  const shown = await data("schedules", "show", "nightly");
  expect([shown.kind, shown.data.cron, shown.data.paused]).toEqual(["Schedule", "0 3 * * *", null]);
  const schedules = await data("schedules", "list");
  expect(schedules.data).toMatchObject([{ id: "nightly", saga: "order" }]);
  expect(shapeOf(schedules)).toMatchSnapshot("ScheduleList");
  const refused = await ask("schedules", "pause", "nightly");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--reason")]);
  await ask("schedules", "pause", "nightly", "--dry-run", "--reason", "a test");
  expect((await client.schedules.get("nightly")).paused).toBeNull();
  await data("schedules", "pause", "nightly", "--reason", "the bank is closed");
  expect((await client.schedules.get("nightly")).paused).toMatchObject({ by: "ann", reason: "the bank is closed" });
  await data("schedules", "resume", "nightly");
  expect((await client.schedules.get("nightly")).paused).toBeNull();
  const started = await data("schedules", "run-now", "nightly", "--request-id", "r1");
  expect(started).toMatchObject({ kind: "ScheduledRun", data: { schedule: "nightly", run: "nightly.now.r1" } });
  expect(shapeOf(started)).toMatchSnapshot("ScheduledRun");
  await data("schedules", "run-now", "nightly", "--request-id", "r1");
  expect((await client.list()).runs.map(({ id }) => id)).toEqual(["nightly.now.r1"]);
  const gone = await ask("schedules", "show", "nowhere");
  expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining("SCHEDULE_NOT_FOUND")]);
});

test("versions say what of them is registered, and that nobody serves their open runs", async () => {
  await client.start(order, input, { id: "open" });
  const { data: versions } = await data("sagas", "list");
  const mine = versions.find(({ saga }: { readonly saga: string }) => saga === "order");
  expect(mine).toMatchObject({ inCode: true, registered: expect.any(String), open: true, workers: 0 });
});

test("retention deletes nothing without --yes, and counts with --dry-run", async () => {
  const counted = await data("gc", "--dry-run");
  expect(counted.data).toEqual({ purged: 0, due: 0, later: 0 });
  expect(shapeOf(counted)).toMatchSnapshot("GcReport");
  const refused = await ask("gc");
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--yes")]);
  expect((await data("gc", "--yes")).kind).toBe("GcReport");
});

test("objectives are reported, and a batch that is not there is said to be", async () => {
  const slo = await data("slo", "order", "--window", "1d");
  expect([slo.code, slo.kind, slo.data[0]]).toMatchObject([0, "SloReportList", { saga: "order", isWhole: true }]);
  expect(shapeOf(slo)).toMatchSnapshot("SloReportList");
  const { code, stderr } = await ask("batch", "show", "nowhere");
  expect([code, stderr]).toEqual([3, expect.stringContaining("PLAN_GONE")]);
});

test("what was done is told with who and why: to runs, schedules and sagas, by deleting, and by looking at secrets", async () => {
  await client.start(order, input, { id: "audited" });
  await ask("runs", "pause", "audited", "--reason", "look first");
  await ask("runs", "cancel", "audited", "--reason", "a test", "--yes");
  await ask("schedules", "pause", "nightly", "--reason", "closed");
  await client.pauseSaga("order", { by: "bob", reason: "the bank is down" });
  await client.resumeSaga("order", { by: "bob", reason: "it is up" });
  await ask("runs", "show", "audited", "--reveal", "--reason", "INC-7");
  await ask("gc", "--yes");
  const { kind, data: all, nextCursor } = await data("audit", "--since", "1h");
  expect([kind, nextCursor]).toEqual(["AuditEntryList", null]);
  expect(all.slice(0, 7).map(({ act, by, reason, about }: KeptAct) => [act, by, reason, about])).toEqual([
    ["gc", "ann", null, null],
    ["reveal", "ann", "INC-7", "runs show audited"],
    ["resume_saga", "bob", "it is up", "saga order"],
    ["pause_saga", "bob", "the bank is down", "saga order"],
    ["pause_schedule", "ann", "closed", "schedule nightly"],
    ["cancel", "ann", "a test", null],
    ["pause", "ann", "look first", null],
  ]);
  expect(shapeOf(all.at(-1))).toMatchSnapshot("AuditEntry");
  const mine = await data("audit", "--run", "audited", "--limit", "1");
  expect(mine.data.map(({ act }: KeptAct) => act)).toEqual(["cancel"]);
  const rest = await data("audit", "--run", "audited", "--cursor", mine.nextCursor);
  expect(rest.data.map(({ act }: KeptAct) => act)).toEqual(["pause"]);
  expect((await data("audit", "--actor", "bob", "--act", "pause_saga")).data).toHaveLength(1);
  const text = await ask("audit", "--limit", "3", "--no-color");
  expect(text.stdout).toMatch(/when +who +did +run +about +why/);
});

test("nothing that a filter has left out is said not to be there", async () => {
  expect((await ask("audit", "--act", "kil")).stderr).toContain("No act on record fits");
  expect((await ask("approvals", "list", "--role", "cook")).stderr).toContain("that the role cook may decide");
  expect((await ask("dlq", "list", "--tenant", "acme")).stderr).toContain("No run of tenant acme is parked");
  expect((await ask("notifications", "list", "--hook", "shopp")).stderr).toContain("a hook named shopp");
});

test("health asks the Redis that the configuration names, whatever its sagas are like, and is a document where that is wished", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reprise-health-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const place = { redis: inject("redisUrl"), namespace, sagas: "./not-there.ts" };
  await writeFile(join(folder, "reprise.config.json"), JSON.stringify(place));
  const health = (...argv: readonly string[]) => cli(["health", ...argv], { cwd: folder, env });
  expect(await health()).toEqual({ code: 0, stdout: "healthy\n", stderr: "" });
  const { code, stdout } = await health("--json");
  expect([code, shapeOf(JSON.parse(stdout))]).toMatchSnapshot("Health");
  const nowhere = await cli(["health"], { cwd: tmpdir() });
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("Give --redis, set REDIS_URL")]);
});

test("changing a schedule leaves an act, whoever does it; the same definition again leaves none", async () => {
  const acts = async () => {
    const { data: all } = await data("audit", "--since", "1h");
    return all
      .filter(({ about }: KeptAct) => about === "schedule daily")
      .map(({ act, by, reason }: KeptAct) => [act, by, reason]);
  };
  const daily = { id: "daily", saga: order, input, every: "1d" } as const;
  await client.schedules.put(daily);
  await client.schedules.put(daily);
  await client.schedules.put({ ...daily, every: "2d", by: "ann", reason: "it is too much" });
  await client.schedules.remove("daily", { by: "bob", reason: "nobody reads it" });
  expect(await acts()).toEqual([
    ["remove_schedule", "bob", "nobody reads it"],
    ["put_schedule", "ann", "it is too much"],
    ["put_schedule", "client", null],
  ]);
});

test("what a webhook is owed is listed with how often it was tried and what came of it", async () => {
  const place = { redis: inject("redisUrl"), namespace: `${namespace}-told`, shards: inject("shards"), sagas: [quick] };
  // Nobody listens there.
  const worker = createWorker({ ...place, notify: { shop: { url: "http://127.0.0.1:1/" } } });
  const asker = createClient(place);
  onTestFinished(async () => {
    await worker.stop();
    await asker.close();
  });
  await worker.start();
  await (await asker.start(quick, {}, { id: "q-1" })).result();
  const where = ["--redis", place.redis, "--namespace", place.namespace];
  const list = (...argv: readonly string[]) => cli(["notifications", "list", ...argv, ...where], { cwd, env });
  const owed = async () => JSON.parse((await list("--json")).stdout);
  await vi.waitFor(async () => expect((await owed()).data[0].failure).not.toBeNull(), { timeout: 10_000 });
  const { kind, data: items } = await owed();
  expect([kind, items]).toMatchObject([
    "OwedNotificationList",
    [{ hook: "shop", run: "q-1", event: "end", owed: 1, failure: { why: expect.stringContaining("fetch failed: ") } }],
  ]);
  expect(shapeOf(items[0])).toMatchSnapshot("OwedNotification");
  const text = await list("--hook", "shop", "--no-color");
  expect(text.stdout).toMatch(/shop +q-1 +end \(completed\)/);
  expect(text.stderr).toContain("shop: 1 event owed");
  expect((await list("--hook", "another", "--json")).stdout).toContain('"data":[]');
});
