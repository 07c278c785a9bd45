/** A saga that is paused: workers stop granting, give its runs back untouched, and take them up again when it is over. */
import { expect, test } from "vitest";
import { z } from "zod";
import { RepriseError } from "../../../src/errors.ts";
import { saga, step } from "../../../src/saga/index.ts";
import { benchTop, wrapped } from "./bench-top.ts";

const input = z.object({ n: z.number() });
const why = { by: "ann", reason: "the bank is down" };

/** A saga of two steps that take `ms` each, and the calls that were made. */
function twoSteps(name: string, ms: number, after: (ms: number, then: () => void) => void, queue?: string) {
  const calls: string[] = [];
  const make = <const Of extends string>(of: Of) =>
    step(of, {
      input,
      effect: "keyed",
      compensate: () => undefined,
      ...(queue === undefined ? {} : { queue }),
      action: ({ run }) =>
        new Promise((resolve) => {
          calls.push(`${of} ${run.id}`);
          after(ms, () => resolve(null));
        }),
    });
  const made = saga(name, { version: 1, input })
    .step(make("a"), ({ input: given }) => given)
    .step(make("b"), ({ input: given }) => given)
    .build();
  return { saga: made, calls };
}

function topOf(ms: number, queue?: string, wrap?: Parameters<typeof benchTop>[1]) {
  const after = (wait: number, then: () => void) => void top.clock.after(wait, then);
  const orders = twoSteps("orders", ms, after, queue);
  const trips = twoSteps("trips", ms, after);
  const top = benchTop([orders.saga, trips.saga], wrap);
  return { top, orders, trips };
}

test("within two seconds nothing is granted; what is out ends and is recorded; other sagas go on", async () => {
  const { top, orders, trips } = topOf(5_000);
  await top.worker().start();
  const [run, trip] = [await top.start(orders.saga, { n: 1 }), await top.start(trips.saga, { n: 1 }, "t1")];
  await top.clock.advance(1_000);
  await top.store.pauseSaga({ saga: "orders", ...why });
  await top.clock.advance(60_000);
  expect(orders.calls).toEqual(["a r1"]);
  expect(await top.store.read(run)).toMatchObject({ status: "running" });
  expect((await top.store.ledger(run))[0]).toMatchObject({ call: { state: "succeeded" } });
  expect(await top.store.read(trip)).toMatchObject({ status: "completed" });
  await top.store.resumeSaga("orders");
  await top.clock.advance(2_000);
  expect(orders.calls).toEqual(["a r1", "b r1"]);
  await top.clock.advance(10_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("new starts are accepted and wait, none is lost, and what they cost meanwhile does not grow with time", async () => {
  let acquired = 0;
  const counted = wrapped((store) => ({
    acquire: async (command) => {
      acquired += 1;
      return await store.acquire(command);
    },
  }));
  const { top, orders } = topOf(1, undefined, counted);
  await top.store.pauseSaga({ saga: "orders", ...why });
  await top.worker().start();
  const ids = Array.from({ length: 150 }, (_, n) => `r${n}`);
  for (const id of ids) await top.start(orders.saga, { n: 1 }, id);
  await top.clock.advance(5_000);
  const before = acquired;
  await top.clock.advance(3_600_000);
  expect(acquired).toBe(before);
  expect(before).toBeLessThanOrEqual(2 * ids.length);
  expect(orders.calls).toEqual([]);
  await top.store.resumeSaga("orders");
  await top.clock.advance(10_000);
  for (const id of ids) expect(await top.store.read({ tenant: "default", id })).toMatchObject({ status: "completed" });
  expect(orders.calls).toHaveLength(2 * ids.length);
});

test("a worker that starts while it is paused drives none of it, and one that starts after it takes up all", async () => {
  const { top, orders } = topOf(1);
  await top.store.pauseSaga({ saga: "orders", ...why });
  const first = top.worker();
  await first.start();
  const run = await top.start(orders.saga, { n: 1 });
  await top.clock.advance(10_000);
  const stopping = first.stop();
  await top.clock.advance(20_000);
  await stopping;
  await top.store.resumeSaga("orders");
  await top.clock.advance(60_000);
  expect(orders.calls).toEqual([]);
  await top.worker().start();
  await top.clock.advance(3_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("a run that was put on the shelf by a worker that had not heard of the end is found there", async () => {
  let deaf = false;
  const hardOfHearing = wrapped((store) => ({
    pausedSagas: async () => {
      if (deaf) throw new RepriseError("STORE_UNAVAILABLE", "away");
      return await store.pausedSagas();
    },
  }));
  const { top, orders } = topOf(1, undefined, hardOfHearing);
  await top.store.pauseSaga({ saga: "orders", ...why });
  await top.worker().start();
  deaf = true;
  await top.store.resumeSaga("orders");
  const run = await top.start(orders.saga, { n: 1 });
  await top.clock.advance(10_000);
  expect(orders.calls).toEqual([]);
  expect(top.facts.some((fact) => fact.fact === "trouble" && fact.where === "paused sagas")).toBe(true);
  deaf = false;
  await top.clock.advance(6_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("a call that lies in a named queue is not begun, and is offered again when it is over", async () => {
  const { top, orders } = topOf(1, "gpu");
  await top.worker().start();
  const run = await top.start(orders.saga, { n: 1 });
  await top.clock.advance(1_000);
  expect((await top.store.ledger(run))[0]?.call.state).toBe("offered");
  await top.store.pauseSaga({ saga: "orders", ...why });
  await top.worker({ queues: ["gpu"], pools: [] }).start();
  await top.clock.advance(30_000);
  expect(orders.calls).toEqual([]);
  await top.store.resumeSaga("orders");
  await top.clock.advance(30_000);
  expect(orders.calls).toEqual(["a r1", "b r1"]);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("a cancel that is sent meanwhile is kept and counts when it is over", async () => {
  const { top, orders } = topOf(5_000);
  await top.worker().start();
  const run = await top.start(orders.saga, { n: 1 });
  await top.clock.advance(1_000);
  await top.store.pauseSaga({ saga: "orders", ...why });
  await top.clock.advance(10_000);
  const body = { type: "cancel", mode: "compensate", reason: "no" } as const;
  await top.store.send({ run, slot: "cancel", commandId: "c", by: "ann", body });
  await top.clock.advance(10_000);
  expect(await top.store.read(run)).toMatchObject({ status: "running" });
  await top.store.resumeSaga("orders");
  await top.clock.advance(5_000);
  expect(await top.store.read(run)).toMatchObject({ status: "cancelled", rollback: "complete" });
  expect(orders.calls).toEqual(["a r1"]);
});
