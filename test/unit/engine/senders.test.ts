/** A probe and the processes that may still send what it asks about: who is gone is looked at first. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { SendCommand, Store } from "../../../src/core/index.ts";
import { absent, saga, step } from "../../../src/saga/index.ts";
import { benchTop, settings, wrapped } from "./bench-top.ts";

const input = z.object({ n: z.number() });
/** 2 s to start, 3 s time-out, 1 s grace, 1 s lateness. */
const windowMs = 7_000;

/** One `once` call that hangs the first time; the other side never knows of it. */
function hanging(over: (store: Store) => Partial<Store> = () => ({})) {
  const seen: string[] = [];
  const pay = step("pay", {
    input,
    effect: "once",
    action: () => {
      seen.push("pay");
      return seen.filter((what) => what === "pay").length === 1 ? new Promise<never>(() => undefined) : undefined;
    },
    probe: () => {
      seen.push("probe");
      return absent();
    },
    noCompensation: "paid is paid",
    timeout: "3s",
    lateness: "1s",
  });
  const shop = saga("shop", { version: 1, input })
    .step(pay, ({ input }) => input)
    .build();
  const look = wrapped((store) => ({
    living: async (owners: readonly string[]) => {
      seen.push("look");
      return await store.living(owners);
    },
    ...over(store),
  }));
  return { shop, seen, top: benchTop([shop], look) };
}

/** A worker whose pulse nobody can open. */
async function silent(top: ReturnType<typeof benchTop>) {
  const starting = top.mortal({ silent: true });
  await top.clock.advance(settings.leaseMs);
  return await starting;
}

test("a worker that stands still is outlasted: the call is not made before it is gone, and then once", async () => {
  const { shop, seen, top } = hanging();
  const frozen = await top.mortal();
  const run = await top.start(shop, { n: 1 });
  await top.clock.advance(100);
  frozen.freeze();
  await top.mortal();
  await top.clock.advance(settings.leaseMs + windowMs + 10_000);
  const call = (await top.store.ledger(run))[0]?.call;
  expect(call).toMatchObject({ state: "unknown", senders: [{ send: 1, owner: frozen.worker.id }] });
  expect(seen.filter((what) => what === "pay")).toHaveLength(1);
  const asked = seen.filter((what) => what !== "pay");
  expect(asked.length).toBeGreaterThanOrEqual(4);
  expect(asked).toEqual(asked.map((_, at) => (at % 2 === 0 ? "look" : "probe")));
  frozen.kill();
  await top.clock.advance(60_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(seen.filter((what) => what === "pay")).toHaveLength(2);
});

test("of a worker without a pulse nothing can be known: the deadline is all there is", async () => {
  const { shop, seen, top } = hanging();
  const frozen = await silent(top);
  const run = await top.start(shop, { n: 1 });
  await top.clock.advance(100);
  frozen.freeze();
  await top.mortal();
  await top.clock.advance(settings.leaseMs + windowMs);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(seen.filter((what) => what === "pay")).toHaveLength(2);
});

test("a look that the store does not answer is taken again before the probe is asked", async () => {
  let fails = 2;
  const { shop, seen, top } = hanging((store) => ({
    living: async (owners) => {
      fails -= 1;
      if (fails >= 0) throw new Error("no answer");
      return await store.living(owners);
    },
  }));
  const dying = await silent(top);
  const run = await top.start(shop, { n: 1 });
  await top.clock.advance(100);
  dying.freeze();
  await top.mortal();
  await top.clock.advance(settings.leaseMs + windowMs + 5_000);
  expect(fails).toBeLessThan(0);
  expect(seen).toContain("probe");
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("a worker that lost the run says that it has let go of a call, in a slot of its own", async () => {
  const words: SendCommand[] = [];
  const { shop, top } = hanging((store) => ({
    send: async (command) => {
      words.push(command);
      return await store.send(command);
    },
  }));
  const worker = top.worker();
  await worker.start();
  const run = await top.start(shop, { n: 1 });
  await top.clock.advance(100);
  await top.store.expire({ owner: worker.id, serverId: null, pulse: null, compared: null });
  await top.store.acquire({ run, owner: "thief", token: "stolen", leaseMs: 5_000 });
  await top.clock.advance(4_000);
  expect(words.map(({ slot, body }) => [slot, body.type])).toEqual([["let_go:1:1", "late"]]);
  expect(words[0]?.body).toMatchObject({ seq: 1, send: 1, side: "action", result: { kind: "unknown" } });
  await top.clock.advance(10_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});
