/**
 * What one process leaves of a run for the next: outputs however empty, the structure it is pinned to, a record that can be
 * read, and an outcome that is decided anew where it died with a child process.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { foldLog, machineOf } from "../../src/core/index.ts";
import { createClient, RepriseError, type Saga, saga } from "../../src/index.ts";
import { FakeWorld } from "../../src/testing/index.ts";
import { withStoreAt } from "../support/agreed.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { owned, spawnProgram } from "../support/processes.ts";
import { until } from "../support/top.ts";
import { Here } from "./scenarios-here.ts";
import { events, Id, isWaiting, keyed, numbered, parcel, Ref, services, step, toId } from "./scenarios-parcel.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterAll(() => here.close());

const sagas: readonly Saga[] = [parcel];
const open = (served: readonly Saga[] = sagas) => here.top(served, new FakeWorld({ services }));

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

  test("R078 R098 belongs to a structure: another one is refused by what differs, and the run says what it waits for", async () => {
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
    expect(message).toContain("Make it version 2, and keep parcel@1 as it was beside it");
    const elsewhere = createClient({ ...here.place, namespace: top.namespace, sagas: [changed] });
    onTestFinished(() => elsewhere.close());
    const { verdict, reasons } = await elsewhere.run("r1").verdict();
    expect([verdict, reasons]).toEqual([
      "BLOCKED",
      [`the saga is not here: parcel version 1 with structure ${registered}`],
    ]);
    await top.worker();
    await run.signal("GO", {});
    await run.result({ timeout: "20s" });
    await here.prove(
      ["R078", "R098"],
      { top, sagas, runs: ["r1"] },
      { checks: ["named what differs, and what to do"], refusal: { code: "STRUCTURE_CHANGED", message } },
    );
  });

  test("R077 of a version that a worker has not goes back untouched, said once; a worker with both versions finishes it", async () => {
    const next = saga("parcel", { version: 2, input: Id, events })
      .step(keyed("pack"), toId)
      .step(keyed("send"), toId)
      .build();
    const top = open([parcel, next]);
    const old = await top.worker({ sagas: [parcel] });
    const run = await top.client.start(parcel, { id: "r1" }, { id: "r1" });
    await until(async () => isWaiting(await run.get()));
    await old.stop();
    const settings = { sweepMs: 50, shutdownMs: 3_000 };
    const without = await top.worker({ sagas: [next], settings });
    const before = [await run.ledger(), await run.log()];
    await run.signal("GO", {});
    const fence = () => here.redis.ask("HGET", `{reprise:${top.namespace}:0}:run:default:r1`, "f");
    const taken = Number(await fence());
    await until(async () => Number(await fence()) >= taken + 2);
    expect([await run.ledger(), await run.log()]).toEqual(before);
    const unserved = top.facts.filter(({ fact }) => fact === "unserved");
    expect(unserved).toEqual([{ fact: "unserved", run: { tenant: "default", id: "r1" }, saga: "parcel", version: 1 }]);
    const newer = await top.client.start(next, { id: "r2" }, { id: "r2" });
    await newer.result({ timeout: "20s" });
    const both = await top.worker({ settings });
    await without.stop();
    await run.result({ timeout: "60s" });
    expect((await run.ledger()).map(({ call }) => [call.state, call.attempt, call.interruptions])).toEqual(
      Array(2).fill(["succeeded", 1, 0]),
    );
    expect(top.world.service("send").counts()).toEqual({ arrivals: 2, effects: 2 });
    await here.prove(
      "R077",
      { top, sagas: [parcel, next], runs: ["r1", "r2"] },
      { checks: [`handed back twice with 0 attempts, said once; ${both.id} went on`] },
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
    const signal = { type: "event", event: "GO", payload: {} } as const;
    await withStoreAt(here.place, top.namespace, async (store) => {
      const run = { tenant: "default", id: "snapshot" };
      await store.send({ run, slot: "event:GO", commandId: "go", by: "test", body: signal });
    });
    await Promise.all(ids.slice(1).map((id) => top.client.run(id, { saga: parcel }).signal("GO", {})));
    await Promise.all(numbered(10).map((id) => top.client.run(id).result({ timeout: "20s" })));
    const { unreadable } = await top.client.list();
    expect(unreadable).toMatchObject([{ id: "snapshot", message: expect.stringContaining("cannot be read") }]);
    const shown = await until(async () => (await top.client.inbox()).unreadable[0]);
    expect(shown).toMatchObject({ id: "snapshot", message: expect.stringContaining("cannot be read") });
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
