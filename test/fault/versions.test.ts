/**
 * A rolling deploy of real processes: version 2 comes while runs of version 1 are midway, goes back, and comes again. What must
 * hold is what the world saw: every run ends by its own version, no attempt is burnt, nothing is done twice.
 */
import { createClient } from "reprise";
import { FakeWorld, serveFakeWorld } from "reprise/testing";
import { afterEach, expect, test } from "vitest";
import { agreedAt } from "../support/agreed.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { withOrders } from "../support/fault-child.ts";
import { owned, spawnChild, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { isFull } from "./scenarios-here.ts";
import { first, second, services, type VersionOrders } from "./versions-sagas.ts";

const { own, release } = owned();
afterEach(release);

const childFile = new URL("./versions.child.ts", import.meta.url);
const sagas = [first, second];
/** How long each mixture of workers lasts. */
const mixedMs = isFull ? 30_000 : 3_000;
const isReady = (message: unknown): message is object => Object.hasOwn(message as object, "ready");
const ids = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at + 1}`);

async function stage(namespace: string) {
  const redis = own(await startRedisServer());
  const world = new FakeWorld({ services });
  const served = own(await serveFakeWorld(world));
  const place = { redis: redis.url, shards: 1 };
  const client = own(createClient({ ...place, namespace, sagas }));
  const worker = async (...versions: readonly number[]) => {
    const orders: VersionOrders = { redis: redis.url, world: served.url, namespace, versions };
    const child = own(await spawnChild(childFile, withOrders(orders)));
    await child.nextMessage(isReady, 60_000);
    return child;
  };
  const every = async (names: readonly string[], status: string) => {
    const are = async () =>
      (await Promise.all(names.map((id) => client.run(id).get()))).every((run) => run.status === status);
    await waitFor(are, { what: `${names.length} runs to be ${status}`, timeoutMs: 60_000, everyMs: 100 });
  };
  /** Starts one that is expected to end by itself; what it says, and how. */
  const refused = async (...versions: readonly number[]) => {
    const orders: VersionOrders = { redis: redis.url, world: served.url, namespace, versions };
    const child = own(await spawnChild(childFile, withOrders(orders)));
    const { code } = await child.exit;
    return { code, said: child.stderr };
  };
  const fenceOf = async (id: string) =>
    Number(await redis.ask("HGET", `{reprise:${namespace}:0}:run:default:${id}`, "f"));
  const agreed = (names: readonly string[]) => agreedAt(place, { namespace, world }, sagas, names);
  return { world, client, worker, refused, fenceOf, every, agreed };
}

test("R077 R083 R098 50 runs midway on version 1 end by it, through a deploy, a roll-back and a deploy again", async () => {
  const { world, client, worker, every, agreed } = await stage("rolling");
  const waiting = ids("waiting", 30);
  const slow = ids("slow", 10);
  const parked = ids("parked", 10);
  for (const id of parked) world.fault({ service: "check", args: { id }, kind: "refuse", code: "not_yet" });
  const old = [await worker(1), await worker(1)];
  for (const id of [...waiting, ...parked]) await client.start(first, { id }, { id });
  await every(waiting, "waiting");
  await every(parked, "needs_review");
  for (const id of slow) await client.start(first, { id }, { id });
  await every(slow, "running");

  const newer = await worker(2);
  const go = (names: readonly string[]) =>
    Promise.all(names.map((id) => client.run(id, { saga: first }).signal("GO", {})));
  const lasts = () => new Promise((resolve) => setTimeout(resolve, mixedMs));
  // The deploy: one worker of each, and the runs inside of a step are drained by the one that goes.
  expect(await old[0]?.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  const late = ids("late", 10);
  for (const id of late) await client.start(second, { id }, { id });
  await go(waiting.slice(0, 10));
  await lasts();
  // Rolled back: the first version is all there is.
  const back = await worker(1);
  await newer.kill("SIGTERM");
  await go(waiting.slice(10, 20));
  for (const id of parked.slice(0, 5)) await client.run(id).operator.retry({ by: "ann", reason: "it may go" });
  await lasts();
  // And again, by a process that has both.
  const both = await worker(1, 2);
  await Promise.all([old[1]?.kill("SIGTERM"), back.kill("SIGTERM")]);
  for (const id of parked.slice(5)) await client.run(id).operator.retry({ by: "ann", reason: "it may go" });
  await every(slow, "waiting");
  await every(parked, "waiting");
  await every(late, "waiting");
  await go([...waiting.slice(20), ...slow, ...parked, ...late]);
  const all = [...waiting, ...slow, ...parked, ...late];
  await every(all, "completed");
  await both.kill("SIGTERM");

  const versions = await Promise.all(all.map(async (id) => [id, (await client.run(id).get()).version]));
  expect(versions).toEqual(all.map((id) => [id, late.includes(id) ? 2 : 1]));
  const rows = (await Promise.all([...waiting, ...slow, ...late].map((id) => client.run(id).ledger()))).flat();
  expect(new Set(rows.map(({ call }) => `${call.attempt} ${call.send} ${call.interruptions}`))).toEqual(
    new Set(["1 1 0"]),
  );
  expect(world.service("send").counts()).toEqual({ arrivals: 60, effects: 60 });
  expect(world.service("label").counts()).toEqual({ arrivals: 10, effects: 10 });
  expect(world.service("check").counts()).toEqual({ arrivals: 70, effects: 60 });
  const { arrivals, effects, checks } = await agreed(all);
  const seen = "50 runs of version 1 and 10 of version 2 through three mixtures of workers, no attempt burnt";
  leaveEvidence("R077", { arrivals, effects, checks: [seen, ...checks] });
});

test.runIf(isFull)(
  "a run that is asked to move while old and new workers share the queue is moved once, whoever is woken for it",
  async () => {
    const { world, client, worker, every, agreed } = await stage("moving");
    const old = await worker(1);
    const names = ids("moved", 50);
    for (const id of names) await client.start(first, { id }, { id });
    await every(names, "waiting");
    const newer = await worker(2);
    const { runs } = await client.migrateAll({ saga: "rolled", from: 1, by: "ann", reason: "labels are the law" });
    expect(runs.map(({ fate, by }) => `${fate} ${by}`)).toEqual(names.map(() => "moves ann"));
    const moved = async () =>
      (await Promise.all(names.map((id) => client.run(id).get()))).every((run) => run.version === 2);
    await waitFor(moved, { what: "all to have moved", timeoutMs: 90_000, everyMs: 200 });
    await Promise.all(names.map((id) => client.run(id, { saga: second }).signal("GO", {})));
    await every(names, "completed");
    await Promise.all([old.kill("SIGTERM"), newer.kill("SIGTERM")]);
    for (const service of ["check", "label", "send"]) {
      expect(world.service(service).counts()).toEqual({ arrivals: names.length, effects: names.length });
    }
    const { arrivals, effects, checks } = await agreed(names);
    expect({ arrivals, effects }).toEqual({ arrivals: 3 * names.length, effects: 3 * names.length });
    expect(checks.length).toBeGreaterThan(0);
  },
);

test("R077 R078 R098 a worker without the version hands its run back untouched and says so once; one with another structure under it does not start, and says what changed", async () => {
  const { client, worker, refused, fenceOf, every, agreed } = await stage("strangers");
  const old = await worker(1);
  await client.start(first, { id: "r1" }, { id: "r1" });
  await every(["r1"], "waiting");
  await old.kill("SIGTERM");
  const { code, said } = await refused(0);
  expect(code).toBe(2);
  expect(said).toBe(
    "rolled@1 is not what one open run is pinned to; since then:\n" +
      "  step send is gone\n" +
      "  state rolled.send is gone\n" +
      "  state rolled.await_GO, on GO: to rolled.send doing assign -> to rolled.label doing assign\n" +
      "  step label is new\n" +
      "  state rolled.label is new\n" +
      "Make it version 2, and keep rolled@1 as it was beside it until those runs have ended; or wait until they have. " +
      "`reprise check` says what becomes of each\n",
  );
  const stranger = await worker(2);
  await client.run("r1", { saga: first }).signal("GO", {});
  const taken = await fenceOf("r1");
  const isBack = async () => (await fenceOf("r1")) >= taken + 2;
  await waitFor(isBack, { what: "the run to have been handed back twice", timeoutMs: 60_000, everyMs: 50 });
  expect(await client.run("r1").get()).toMatchObject({ version: 1, status: "waiting", review: null });
  expect(stranger.messages.filter((message) => Object.hasOwn(message as object, "unserved"))).toEqual([
    { unserved: "r1" },
  ]);
  const back = await worker(1);
  await stranger.kill("SIGTERM");
  await every(["r1"], "completed");
  await back.kill("SIGTERM");
  const rows = await client.run("r1").ledger();
  expect(rows.map(({ call }) => [call.attempt, call.interruptions])).toEqual([
    [1, 0],
    [1, 0],
  ]);
  const { arrivals, effects, checks } = await agreed(["r1"]);
  const seen = "refused with what changed; handed back twice by another process, said once";
  const refusal = { code: "STRUCTURE_CHANGED", message: said };
  leaveEvidence(["R077", "R078", "R098"], { arrivals, effects, refusal, checks: [seen, ...checks] });
});
