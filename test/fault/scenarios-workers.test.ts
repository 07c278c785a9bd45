/** Workers that are killed, take themselves down or stand still, while others stay: nothing is lost and nothing doubled. */
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Exit, waitFor } from "../support/processes.ts";
import type { Play } from "./scenarios-play.ts";
import { branches, waitMs } from "./scenarios-sagas.ts";
import { isFull, Scene, type SceneWorker } from "./scenarios-scene.ts";

const healthy = 20;
const fans = isFull ? 100 : 20;
const kills = isFull ? 5 : 1;
/** How much later than due a timer may fire: found by a sweep, woken by a job, on a busy machine. */
const toleranceMs = 5_000;
let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const completed = (ids: readonly string[]) => ids.map(() => "completed");

describe.concurrent("a worker process", () => {
  test("R004 that blocks its event loop for 1.5 leases has its answer refused: one charge, made by the zombie", async () => {
    const [play, zombie, stayer] = await Promise.all([scene.play("r004"), scene.worker(), scene.stayer()]);
    const blocked = await zombie.serve(play.namespace);
    await play.start("payment", "r1", "spin");
    await waitFor(async () => (await play.counts("charge")).effects === 1, { what: "the charge", timeoutMs: 30_000 });
    const owner = await stayer.serve(play.namespace);
    expect((await play.rest("r1")).status).toBe("completed");
    writeFileSync(scene.spinEnds, "");
    expect(await zombie.hears("fenced")).toMatchObject({ run: "r1" });
    expect(await play.counts("charge")).toMatchObject({ arrivals: 1, effects: 1 });
    const actors = (await play.log("r1")).slice(1).map(({ actor }) => actor);
    expect(actors.indexOf(owner)).toBeGreaterThan(actors.lastIndexOf(blocked));
    expect(zombie.child.stderr).not.toMatch(/unhandled/i);
    expect(await zombie.terminate()).toEqual({ code: 0, signal: null });
    await play.prove("R004", {
      checks: [`pid ${zombie.pid} blocked, was fenced, committed nothing more, and ended with 0`],
    });
  });

  test("R009 that a run takes down costs that run: it is parked after three, the other twenty complete", async () => {
    const play = await scene.play("r009");
    const workers = await Promise.all([scene.worker(), scene.worker(), scene.worker()]);
    await play.start("gamble", "poison", "abort");
    const ids = await play.startMany("gamble", healthy);
    const ends: Exit[] = [];
    for (const worker of workers) {
      worker.serve(play.namespace, { isDefault: true }).catch(() => undefined); // it may not live to say so
      ends.push(await worker.child.exit);
    }
    expect(ends).toEqual(workers.map(() => ({ code: null, signal: "SIGABRT" })));
    await (await scene.stayer()).serve(play.namespace, { isDefault: true });
    const records = await play.restAll(ids);
    expect(records.map(({ status }) => status)).toEqual(completed(ids));
    expect(await play.rest("poison")).toMatchObject({ status: "needs_review", review: { reason: "poison" } });
    const { runs } = await play.client.reviews({ tenant: "t" });
    expect(runs.map(({ id, reason }) => ({ id, reason }))).toEqual([{ id: "poison", reason: "poison" }]);
    expect((await play.counts("risky")).effects).toBe(healthy);
    const killed = workers.map(({ pid }) => ({ pid, signal: "SIGABRT" }));
    await play.prove("R009", {
      killed,
      checks: ["parked as poison after three crashed takes, the other 20 completed"],
    });
  });

  test("R059 killed with all others while a timer runs: it fires once, not before its time and soon after it", async () => {
    const play = await scene.play("r059");
    const [all, next] = await Promise.all([Promise.all([scene.worker(), scene.worker()]), scene.worker()]);
    for (const worker of all) await worker.serve(play.namespace);
    await play.start("reminder", "r1");
    const timer = await waitFor(async () => (await play.record("r1")).timers[0], {
      what: "the wait",
      timeoutMs: 30_000,
    });
    const beganAt = (await play.log("r1")).at(-1)?.at ?? 0;
    await storeTime(play, beganAt + 1_000);
    const exits = await Promise.all(all.map((worker) => worker.child.kill("SIGKILL")));
    expect(exits).toEqual(all.map(() => ({ code: null, signal: "SIGKILL" })));
    await storeTime(play, beganAt + 2_000);
    await next.serve(play.namespace);
    const servedAt = await play.store.now();
    expect((await play.rest("r1")).status).toBe("completed");
    const fired = (await play.log("r1")).filter((entry) => entry.taken.some(({ what }) => what === "timer"));
    expect(fired).toHaveLength(1);
    const firedAt = fired[0]?.at ?? 0;
    const lateMs = firedAt - Math.max(timer.at, servedAt);
    expect([timer.at - beganAt >= waitMs, firedAt >= timer.at, lateMs < toleranceMs]).toEqual([true, true, true]);
    expect(await play.counts("remind")).toMatchObject({ arrivals: 1, effects: 1 });
    const killed = all.map(({ pid }) => ({ pid, signal: "SIGKILL" }));
    await play.prove("R059", { killed, checks: [`nobody from 1 s to 2 s; fired once, ${lateMs} ms after its time`] });
  });
});

test(`R016 a worker killed among ${fans} runs of ${branches} branches: all runs complete, every branch once`, async () => {
  const [play, stayer] = await Promise.all([scene.play("r016"), scene.stayer()]);
  for (let at = 1; at <= branches; at += 1)
    scene.world.fault({ service: `branch${at}`, kind: "slow", ms: 400, times: "always" });
  const ids = await play.startMany("fan", fans);
  const victims: SceneWorker[] = [];
  while (victims.length < kills) victims.push(await scene.worker());
  await stayer.serve(play.namespace, { concurrency: 2 });
  await killWhileItGoesOn(play, victims);
  const records = await play.restAll(ids, 100_000);
  expect(records.map(({ status }) => status)).toEqual(completed(ids));
  const made = (await play.entries()).filter(({ kind }) => kind === "effect").map(({ operationId }) => operationId);
  const perRun = ids.map((id) => new Set(made.filter((operation) => operation.split("/")[2] === id)).size);
  expect(perRun).toEqual(ids.map(() => branches));
  expect(made).toHaveLength(fans * branches);
  const killed = victims.map(({ pid }) => ({ pid, signal: "SIGKILL" }));
  await play.prove("R016", { killed, checks: [`${fans} of ${fans} runs completed with ${branches} branches each`] });
}, 300_000);

/** Lets one worker after another help, and kills it when some more branches have been called. */
async function killWhileItGoesOn(play: Play, victims: readonly SceneWorker[]): Promise<void> {
  const called = () => scene.world.counts().filter(({ service }) => service.startsWith("branch")).length;
  for (const victim of victims) {
    await victim.serve(play.namespace, { concurrency: 4 });
    const already = called();
    const more = () => called() - already >= (fans * branches) / (4 * kills);
    await waitFor(more, { what: "further branches to be called", timeoutMs: 60_000 });
    expect(await victim.child.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
  }
}

/** Waits until the store's clock says so: no test sleeps, but a timer needs time. */
async function storeTime(play: Play, at: number): Promise<void> {
  await waitFor(async () => (await play.store.now()) >= at, { what: "the store's time to pass", everyMs: 25 });
}
