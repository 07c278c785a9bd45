/**
 * Runs under two workers and several clients at once: who has a run keeps it while it works, what is sent to it meanwhile is
 * kept, and restarts leave nothing behind.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isUnavailable } from "../../src/errors.ts";
import type { Saga } from "../../src/index.ts";
import { FakeWorld } from "../../src/testing/index.ts";
import { settings } from "../support/fault-plan.ts";
import { effectsOf, until } from "../support/top.ts";
import { Here, isFull } from "./scenarios-here.ts";
import { duet, isWaiting, numbered, parcel, services } from "./scenarios-parcel.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterAll(() => here.close());

const sagas: readonly Saga[] = [parcel, duet];
const open = () => here.top(sagas, new FakeWorld({ services }));

describe("a run that somebody has", () => {
  test("R086 for three leases is called once: the lease is renewed, and nobody else gets it", async () => {
    const top = open();
    await Promise.all([top.worker({ settings }), top.worker({ settings })]);
    top.world.fault({ service: "pack", kind: "hang-before-apply" });
    const run = await top.client.start(parcel, { id: "r1" }, { id: "r1" });
    const held = await top.world.nextHeld({ service: "pack" });
    const sent = (await run.ledger())[0]?.call.sentAt ?? Number.POSITIVE_INFINITY;
    await until(() => Date.now() - sent > 3 * settings.leaseMs, 20_000);
    expect((await run.log()).at(-1)).toMatchObject({ fence: 1 });
    held.release();
    await run.signal("GO", {});
    await run.result({ timeout: "20s" });
    const [pack] = await run.ledger();
    expect(pack?.call).toMatchObject({ state: "succeeded", send: 1, attempt: 1, interruptions: 0 });
    expect(top.world.service("pack").counts()).toEqual({ arrivals: 1, effects: 1 });
    await here.prove("R086", { top, sagas, runs: ["r1"] }, { checks: ["called once, under fence 1 for three leases"] });
  });

  test("R075 refuses a signal that comes before it, by name, and applies one that comes after its start once", async () => {
    const top = open();
    await top.worker({ settings });
    const sender = top.replica();
    const send = () => sender.run("r1", { saga: parcel }).signal("GO", {}, { id: "paid-1" });
    const error: unknown = await send().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "RUN_NOT_FOUND", details: { tenant: "default", id: "r1" } });
    const run = await top.client.start(parcel, { id: "r1" }, { id: "r1" });
    await until(async () => isWaiting(await run.get()));
    expect(top.world.service("send").counts()).toEqual({ arrivals: 0, effects: 0 });
    expect([await send(), await send()]).toEqual(["accepted", "duplicate"]);
    await run.result({ timeout: "20s" });
    expect((await run.log()).flatMap(({ taken }) => taken).filter(({ what }) => what === "event")).toHaveLength(1);
    expect(top.world.service("send").counts()).toEqual({ arrivals: 1, effects: 1 });
    const refusal = { code: "RUN_NOT_FOUND", message: String((error as Error).message) };
    const checks = ["refused before the start and kept nowhere, accepted and applied once after it"];
    await here.prove("R075", { top, sagas, runs: ["r1"] }, { checks, refusal });
  });

  test("R114 takes a signal at once and applies it later: nobody who sends one waits for a lease", async () => {
    const top = open();
    await top.worker({ settings });
    top.world.fault({ service: "pack", kind: "hang-before-apply" });
    const run = await top.client.start(parcel, { id: "r1" }, { id: "r1" });
    const held = await top.world.nextHeld({ service: "pack" });
    const began = performance.now();
    expect(await run.signal("GO", {}, { id: "s1" })).toBe("accepted");
    expect(performance.now() - began).toBeLessThan(1_000);
    expect(await top.replica().run("r1", { saga: parcel }).signal("GO", {}, { id: "s1" })).toBe("duplicate");
    expect(top.world.service("send").counts()).toEqual({ arrivals: 0, effects: 0 });
    held.release();
    await run.result({ timeout: "20s" });
    expect(effectsOf(top.world)).toEqual(["pack.do", "send.do"]);
    await here.prove(
      "R114",
      { top, sagas, runs: ["r1"] },
      { checks: ["accepted under another's lease, applied after"] },
    );
  });

  test("R074 takes one signal of five with one id from two replicas, and says of four that they were there", async () => {
    const top = open();
    await top.worker();
    const run = await top.client.start(parcel, { id: "r1" }, { id: "r1" });
    await until(async () => (await run.get()).status === "waiting");
    const replicas = [top.client, top.replica()];
    const sends = [0, 1, 0, 1, 0].map((at) => replicas[at]?.run("r1", { saga: parcel }).signal("GO", {}, { id: "s1" }));
    expect((await Promise.all(sends)).sort()).toEqual(["accepted", ...Array(4).fill("duplicate")]);
    await run.result({ timeout: "20s" });
    const heard = (await run.log()).flatMap(({ taken }) => taken.filter(({ what }) => what === "event"));
    expect(heard).toHaveLength(1);
    expect(top.world.service("send").counts()).toEqual({ arrivals: 1, effects: 1 });
    await here.prove("R074", { top, sagas, runs: ["r1"] }, { checks: ["one accepted, four duplicates, heard once"] });
  });

  test("R082 by a worker that drains while its like takes over: each has an id of its own, and all runs finish", async () => {
    const top = open();
    const same = { settings };
    const old = await top.worker(same);
    top.world.fault({ service: "pack", kind: "hang-before-apply" });
    const first = await top.client.start(parcel, { id: "r0" }, { id: "r0" });
    await first.signal("GO", {});
    const held = await top.world.nextHeld({ service: "pack" });
    const drained = old.stop();
    const next = await top.worker(same);
    expect(next.id).not.toBe(old.id);
    const ids = numbered(10);
    const runs = await Promise.all(ids.map((id) => top.client.start(parcel, { id }, { id })));
    await Promise.all(runs.map((run) => run.signal("GO", {})));
    held.release();
    await Promise.all([first, ...runs].map((run) => run.result({ timeout: "20s" })));
    await drained;
    const actors = new Set((await first.log()).slice(1).map(({ actor }) => actor));
    expect(actors.has(old.id)).toBe(true);
    expect(top.world.service("send").counts()).toEqual({ arrivals: 11, effects: 11 });
    await here.prove(
      "R082",
      { top, sagas, runs: ["r0", ...ids] },
      { checks: [`${old.id} drained, ${next.id} went on`] },
    );
  });

  const many = isFull ? 1_000 : 100;

  test(`R097 and that two signals reach while its step is recorded keeps one history, ${many} times`, async () => {
    const top = open();
    await Promise.all([top.worker({ concurrency: 20 }), top.worker({ concurrency: 20 })]);
    const [one, other] = [top.client, top.replica()];
    const ids = numbered(many);
    await one.startMany(
      duet,
      ids.map((id) => ({ id, input: { id } })),
    );
    const both = ids.flatMap((id) => [
      one.run(id, { saga: duet }).signal("HEY", {}, { id: "hey" }),
      other.run(id, { saga: duet }).signal("GO", {}, { id: "go" }),
    ]);
    expect(await Promise.all(both)).toEqual(both.map(() => "accepted"));
    await Promise.all(ids.map((id) => one.run(id).result({ timeout: "100s" })));
    expect(top.world.counts().filter(({ arrivals, effects }) => arrivals !== 1 || effects !== 1)).toEqual([]);
    await here.prove("R097", { top, sagas, runs: ids }, { checks: [`${2 * many} signals, no fork and no gap`] });
  }, 180_000);
});

const yes = () => true;
const notYet = (error: unknown) => {
  if (isUnavailable(error)) return false;
  throw error;
};

describe("everything restarted", () => {
  const times = isFull ? 10 : 2;

  test(`R089 ${times} times leaves at most one wake-up a run, and every run goes on`, async () => {
    const top = open();
    const ids = numbered(20);
    await top.client.startMany(
      parcel,
      ids.map((id) => ({ id, input: { id } })),
    );
    const queued: number[] = [];
    for (let time = 1; time <= times; time += 1) {
      const workers = await Promise.all([top.worker(), top.worker()]);
      await until(async () => (await Promise.all(ids.map((id) => top.client.run(id).get()))).every(isWaiting), 30_000);
      await here.redis.restart();
      await Promise.all(workers.map((worker) => worker.stop()));
      for (const id of ids) queued.push((await here.jobsOf(top.namespace, id)).length);
    }
    expect(Math.max(...queued)).toBeLessThanOrEqual(1);
    await top.worker();
    // The client may not be connected yet after the last restart; one id, so that asking again is safe.
    const isTold = (id: string) => top.client.run(id, { saga: parcel }).signal("GO", {}, { id: "go" });
    for (const id of ids) await until(() => isTold(id).then(yes, notYet), 30_000);
    await Promise.all(ids.map((id) => top.client.run(id).result({ timeout: "60s" })));
    expect(top.world.service("send").counts()).toEqual({ arrivals: 20, effects: 20 });
    await until(async () => (await here.jobsOf(top.namespace, "*")).length === 0, 30_000);
    await here.prove("R089", { top, sagas, runs: ids }, { checks: [`${times} restarts, at most one wake-up a run`] });
  }, 120_000);
});
