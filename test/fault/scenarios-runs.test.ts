/**
 * Runs under two workers and several clients at once: who has a run keeps it while it works, what is sent to it meanwhile is
 * kept, what it was handed over by one process is there for the next, and restarts leave nothing behind.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { foldLog, machineOf } from "../../src/core/index.ts";
import { RepriseError, type Saga, saga, stepsFor } from "../../src/index.ts";
import { FakeWorld, type ServiceProfile, type WorldClient } from "../../src/testing/index.ts";
import { withStoreAt } from "../support/agreed.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { settings } from "../support/fault-plan.ts";
import { owned, spawnProgram } from "../support/processes.ts";
import { effectsOf, until } from "../support/top.ts";
import { Here, isFull } from "./scenarios-here.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterAll(() => here.close());

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });
const Ref = z.object({ ref: z.string() });
const toId = ({ input: { id } }: { readonly input: { readonly id: string } }) => ({ id });
const services: Readonly<Record<string, ServiceProfile>> = {
  pack: { effect: "keyed", query: true },
  send: { effect: "keyed", query: true },
};

function keyed<const Name extends string>(name: Name) {
  return step(name, {
    input: Id,
    output: Ref,
    effect: "keyed",
    action: async ({ input, services: world, ...call }) => {
      const made = await world.op(name).call("do", input, call);
      return { ref: String(made["ref"]) };
    },
    noCompensation: "nothing is undone here",
    timeout: "60s",
  });
}

const events = { GO: z.object({}), HEY: z.object({}) };
const parcel = saga("parcel", { version: 1, input: Id, events })
  .step(keyed("pack"), toId)
  .waitFor("GO")
  .step(keyed("send"), toId)
  .build();
const duet = saga("duet", { version: 1, input: Id, events })
  .step(keyed("pack"), toId)
  .waitFor("GO")
  .waitFor("HEY")
  .step(keyed("send"), toId)
  .build();
const sagas: readonly Saga[] = [parcel, duet];
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `r${at + 1}`);
const open = (served: readonly Saga[] = sagas) => here.top(served, new FakeWorld({ services }));

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

describe("what a run was handed over", () => {
  const values = { nothing: undefined, none: null, empty: "", zero: 0, no: false, list: [] } as const;

  test("R080 is there for the next process as it was, however empty, and is not asked for again", async () => {
    const called: string[] = [];
    const giving = <const Name extends keyof typeof values>(name: Name) =>
      step(name, {
        input: Id,
        ...(name === "nothing" ? {} : { output: z.json() }),
        effect: "none",
        action: () => {
          called.push(name);
          return values[name] as z.output<ReturnType<typeof z.json>>;
        },
      });
    const hollow = saga("hollow", { version: 1, input: Id, events })
      .step(giving("nothing"), toId)
      .step(giving("none"), toId)
      .step(giving("empty"), toId)
      .step(giving("zero"), toId)
      .step(giving("no"), toId)
      .step(giving("list"), toId)
      .waitFor("GO")
      .step(keyed("send"), toId)
      .build();
    const top = open([hollow]);
    const first = await top.worker();
    const run = await top.client.start(hollow, { id: "r1" }, { id: "r1" });
    await until(async () => (await run.get()).status === "waiting");
    await first.stop();
    await top.worker();
    await run.signal("GO", {});
    const {
      send: _send,
      GO: _go,
      ...kept
    } = (await run.result({ timeout: "20s" })) as Readonly<Record<string, unknown>>;
    expect(kept).toEqual({ ...values, nothing: null });
    expect(called).toEqual(Object.keys(values));
    const states = (await run.ledger()).map(({ call }) => [call.state, call.attempt]);
    expect(states).toEqual(Array(7).fill(["succeeded", 1]));
    await here.prove(
      "R080",
      { top, sagas: [hollow], runs: ["r1"] },
      { checks: ["six empty outputs kept, none asked again"] },
    );
  });

  test("R078 belongs to a structure: another one is refused by what differs, and the run says what it waits for", async () => {
    const changed = saga("parcel", { version: 1, input: Id, events })
      .step(keyed("pack"), toId)
      .step(keyed("send"), toId)
      .build();
    const top = open();
    const old = await top.worker();
    const run = await top.client.start(parcel, { id: "r1" }, { id: "r1" });
    await until(async () => (await run.get()).status === "waiting");
    await old.stop();
    const refused = await top.worker({ sagas: [changed] }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RepriseError);
    expect(refused).toMatchObject({ code: "STRUCTURE_CHANGED", details: { saga: "parcel", version: 1, openRuns: 1 } });
    const { registered, hash, differences } = (refused as RepriseError).details;
    expect([registered === hash, Array.isArray(differences) && differences.length > 0]).toEqual([false, true]);
    const { message } = refused as RepriseError;
    expect(message).toContain("Raise its version");
    await top.worker();
    await run.signal("GO", {});
    await run.result({ timeout: "20s" });
    await here.prove(
      "R078",
      { top, sagas, runs: ["r1"] },
      { checks: ["named what differs, and what to do"], refusal: { code: "STRUCTURE_CHANGED", message } },
    );
  });

  test("R088 is damaged for one run alone: it is named with what cannot be read, a changed log does not fold, all others go on", async () => {
    const top = open();
    await top.worker();
    const ids = ["snapshot", "history", ...numbered(10)];
    await Promise.all(ids.map((id) => top.client.start(parcel, { id }, { id })));
    await until(async () => (await Promise.all(ids.map((id) => top.client.run(id).get()))).every(isWaiting));
    const key = (of: string, id: string) => `{reprise:${top.namespace}:0}:${of}:default:${id}`;
    const text = String(await here.redis.ask("GET", key("rec", "snapshot")));
    await here.redis.ask("SET", key("rec", "snapshot"), text.replace('"', "'"));
    const log = await top.client.run("history").log();
    const digest = log.at(-1)?.digest ?? "";
    const entry = String(await here.redis.ask("LINDEX", key("log", "history"), "-1"));
    const other = (digest.startsWith("A") ? "B" : "A") + digest.slice(1);
    await here.redis.ask("LSET", key("log", "history"), "-1", entry.replace(digest, other));
    await Promise.all(ids.slice(1).map((id) => top.client.run(id, { saga: parcel }).signal("GO", {})));
    await Promise.all(numbered(10).map((id) => top.client.run(id).result({ timeout: "20s" })));
    const { unreadable } = await top.client.list();
    expect(unreadable).toMatchObject([{ id: "snapshot", message: expect.stringContaining("cannot be read") }]);
    const damaged = top.client.run("snapshot");
    const error = await damaged.get().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "RECORD_CORRUPT", details: { run: "default:snapshot" } });
    const problem = await withStoreAt(here.place, top.namespace, async (store) => {
      const run = { tenant: "default", id: "history" };
      const [record, rows, entries] = await Promise.all([store.read(run), store.ledger(run), store.log(run)]);
      if (record === null) throw new Error("the run is gone");
      return foldLog(machineOf(parcel.spec), { record, rows }, entries).find((each) => each.problem !== null);
    });
    expect(problem).toMatchObject({ revision: log.length, problem: expect.stringContaining("its digest is") });
    const { arrivals, effects } = top.world.service("send").counts();
    const refusal = { code: "RECORD_CORRUPT", message: String((error as Error).message) };
    const checks = [`one record and one entry changed by a byte, ${effects} others completed`];
    leaveEvidence("R088", { arrivals, effects, checks, refusal });
  });

  test("R011 by a child process that is killed is in doubt, and asked for again: no job stays active for ever", async () => {
    const children = owned();
    onTestFinished(children.release);
    let attempts = 0;
    const spawned = step("send", {
      input: Id,
      output: Ref,
      effect: "keyed",
      action: async ({ input, services: world, ...call }) => {
        attempts += 1;
        const script = attempts === 1 ? "setInterval(() => {}, 1_000)" : "";
        const child = children.own(await spawnProgram(process.execPath, ["-e", script]));
        if (attempts === 1) process.kill(child.pid, "SIGKILL");
        const { signal } = await child.exit;
        if (signal !== null) throw new Error(`the child was ended by ${signal}`);
        const made = await world.op("send").call("do", input, call);
        return { ref: String(made["ref"]) };
      },
      noCompensation: "nothing is undone here",
      retry: { attempts: 3, backoff: "fixed", initial: "20ms", max: "20ms", jitter: false },
    });
    const delegated = saga("delegated", { version: 1, input: Id }).step(spawned, toId).build();
    const top = open([delegated]);
    await top.worker();
    const run = await top.client.start(delegated, { id: "r1" }, { id: "r1" });
    await run.result({ timeout: "20s" });
    const [row] = await run.ledger();
    expect([attempts, row?.call.attempt]).toEqual([2, 2]);
    expect(top.world.service("send").counts()).toEqual({ arrivals: 1, effects: 1 });
    await until(async () => (await here.jobsOf(top.namespace, "r1")).length === 0);
    await here.prove(
      "R011",
      { top, sagas: [delegated], runs: ["r1"] },
      { checks: ["decided anew after the child's death"] },
    );
  });
});

describe("everything restarted", () => {
  const times = isFull ? 10 : 3;

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
    for (const id of ids) await top.client.run(id, { saga: parcel }).signal("GO", {}, { id: "go" });
    await Promise.all(ids.map((id) => top.client.run(id).result({ timeout: "60s" })));
    expect(top.world.service("send").counts()).toEqual({ arrivals: 20, effects: 20 });
    await until(async () => (await here.jobsOf(top.namespace, "*")).length === 0, 30_000);
    await here.prove("R089", { top, sagas, runs: ids }, { checks: [`${times} restarts, at most one wake-up a run`] });
  }, 120_000);
});

function isWaiting({ status }: { readonly status: string }): boolean {
  return status === "waiting";
}
