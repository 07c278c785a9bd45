/** A worker that says how it is, hears that it is to leave, and notices that it takes nothing. */
import { expect, test } from "vitest";
import { z } from "zod";
import { beatMs, type ConsumerSigns, deathOf, type Heartbeat, wedgedAfterMs } from "../../../src/core/index.ts";
import type { Vitals } from "../../../src/engine/index.ts";
import { RepriseError } from "../../../src/errors.ts";
import { saga, step } from "../../../src/saga/index.ts";
import { aHeartbeat } from "../../support/records.ts";
import { benchTop, wrapped } from "./bench-top.ts";

const vitals: Vitals = {
  name: "w",
  host: "h",
  pid: 7,
  version: "v1",
  read: () => ({ lagMs: 3, rssBytes: 4 }),
  stop: () => undefined,
};

function slowOrders(after: (ms: number, then: () => void) => void) {
  const input = z.object({ n: z.number() });
  const wait = step("wait", {
    input,
    effect: "keyed",
    compensate: () => undefined,
    action: () => new Promise((resolve) => after(4_000, () => resolve(null))),
  });
  return saga("orders", { version: 3, input })
    .step(wait, ({ input: given }) => given)
    .build();
}

function topWith(wrap?: Parameters<typeof benchTop>[1]) {
  const after = (ms: number, then: () => void) => void top.clock.after(ms, then);
  const orders = slowOrders(after);
  const top = benchTop([orders], wrap);
  return { top, orders };
}

test("it says who it is and what it has in hand, every five seconds", async () => {
  const { top, orders } = topWith();
  const worker = top.worker({ vitals, queues: ["gpu"] });
  await worker.start();
  await top.start(orders, { n: 1 });
  await top.clock.advance(beatMs - 2_000);
  const first = (await top.store.heartbeats()).heartbeats[0];
  expect(first).toMatchObject({ id: worker.id, name: "w", host: "h", pid: 7, version: "v1", state: "ready", upMs: 0 });
  expect(first).toMatchObject({ pools: ["default"], queues: ["gpu"], sagas: ["orders@3"], storeMs: null });
  expect(first?.slots).toEqual({ busy: 0, total: 15 });
  await top.start(orders, { n: 2 }, "r2");
  await top.clock.advance(2_000);
  const second = (await top.store.heartbeats()).heartbeats[0];
  expect(second).toMatchObject({ upMs: beatMs, storeMs: 0, lagMs: 3, rssBytes: 4, slots: { busy: 1 }, idleMs: 2_000 });
  expect(second?.runs).toEqual([{ tenant: "default", id: "r2" }]);
});

test("asked to drain, it takes no more runs, says so until it has finished, and leaves nothing behind", async () => {
  const { top, orders } = topWith();
  const worker = top.worker({ vitals });
  await worker.start();
  const run = await top.start(orders, { n: 1 });
  await top.clock.advance(3_000);
  await top.store.askToDrain({ worker: worker.id, by: "ann", reason: "deploy" });
  await top.clock.advance(beatMs - 3_000 + 100);
  expect(worker.health().state).toBe("stopped");
  expect(await worker.ended).toMatchObject({ by: "ann", reason: "deploy" });
  expect(await top.store.heartbeats()).toMatchObject({ heartbeats: [], drains: {} });
  expect((await top.store.serving()).owners).toEqual([]);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("while it drains it goes on saying so", async () => {
  const { top, orders } = topWith();
  const worker = top.worker({ vitals });
  await worker.start();
  await top.clock.advance(beatMs - 1_000);
  await top.start(orders, { n: 1 });
  await top.store.askToDrain({ worker: worker.id, by: "ann", reason: "deploy" });
  await top.clock.advance(2_000);
  expect(worker.health().state).toBe("draining");
  const late = await top.start(orders, { n: 2 }, "late");
  await top.clock.advance(30_000);
  expect(worker.health().state).toBe("stopped");
  expect(await top.store.ledger(late)).toEqual([]);
});

test("who never came in says no goodbye", async () => {
  const goodbyes: string[] = [];
  const closed = wrapped((store) => ({
    open: async () => {
      throw new RepriseError("STORE_UNAVAILABLE", "away");
    },
    goodbye: async (owner) => {
      goodbyes.push(owner);
      await store.goodbye(owner);
    },
  }));
  const worker = topWith(closed).top.worker({ vitals });
  await expect(worker.start()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  await worker.stop();
  expect([worker.health().state, goodbyes]).toEqual(["stopped", []]);
});

test("a store that is away is told as such, and no heartbeat follows a goodbye", async () => {
  let isAway = false;
  const beats: Heartbeat[] = [];
  const flaky = wrapped((store) => ({
    beat: async (heartbeat) => {
      if (isAway) throw new RepriseError("STORE_UNAVAILABLE", "away");
      beats.push(heartbeat);
      return await store.beat(heartbeat);
    },
  }));
  const { top } = topWith(flaky);
  const worker = top.worker({ vitals });
  expect(worker.health()).toMatchObject({ state: "starting", storeAnswers: false });
  await worker.start();
  await top.clock.advance(10);
  expect(worker.health()).toMatchObject({ state: "ready", storeAnswers: true, lagMs: 3, supervisedMs: null });
  isAway = true;
  await top.clock.advance(beatMs);
  expect(worker.health().storeAnswers).toBe(false);
  isAway = false;
  await top.clock.advance(beatMs);
  expect(worker.health().storeAnswers).toBe(true);
  const stopping = worker.stop();
  await top.clock.advance(100);
  await stopping;
  const count = beats.length;
  await top.clock.advance(60_000);
  expect(beats).toHaveLength(count);
});

test("it says how long ago a supervisor was there", async () => {
  const { top } = topWith();
  const worker = top.worker({ vitals });
  await worker.start();
  await top.store.beat(aHeartbeat({ role: "supervisor" }));
  await top.clock.advance(beatMs + 7_000);
  expect(worker.health().supervisedMs).toBe(beatMs + 7_000);
});

test("a consumer that shows no sign of life for 90 s is the death of its process, and a canary goes out every 15 s", async () => {
  let aliveAt = 0;
  let sent = 0;
  const send = async (): Promise<void> => {
    sent += 1;
  };
  const signs = (): readonly ConsumerSigns[] => [{ source: "pool-default", isFull: false, aliveAt, tookAt: null }];
  const { top } = topWith();
  const worker = top.worker({
    vitals,
    canaries: { send, close: async () => undefined },
    consumers: () => ({ start: async () => undefined, stop: async () => undefined, signs }),
  });
  await worker.start();
  await top.clock.advance(wedgedAfterMs - 1);
  expect(deathOf(worker.health())).toBeNull();
  expect(sent).toBe(6);
  await top.clock.advance(1);
  expect(deathOf(worker.health())).toContain("90 s");
  await top.clock.advance(beatMs);
  expect((await top.store.heartbeats()).heartbeats).toMatchObject([{ stuckMs: wedgedAfterMs + beatMs }]);
  aliveAt = top.clock.monotonicMs();
  expect(deathOf(worker.health())).toBeNull();
});

test("an event loop that was held up is told", async () => {
  const { top } = topWith();
  await top.worker({ vitals: { ...vitals, read: () => ({ lagMs: 2_500, rssBytes: 1 }) } }).start();
  await top.clock.advance(10);
  expect(top.facts).toContainEqual(expect.objectContaining({ fact: "trouble", where: "event loop" }));
});
