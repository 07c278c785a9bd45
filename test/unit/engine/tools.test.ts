/** Tools in the whole engine under virtual time: values that one would not expect, and what happens while one is out. */
import { expect, test } from "vitest";
import { z } from "zod";
import { type Saga, saga, step } from "../../../src/saga/index.ts";
import { benchTop } from "./bench-top.ts";

function mailing(
  action: (tools: Readonly<Record<string, (input: unknown, options?: object) => Promise<unknown>>>) => unknown,
) {
  const made: unknown[] = [];
  const mail = step("mail", {
    input: z.json(),
    output: z.json(),
    effect: "once",
    noCompensation: "it is gone",
    action: ({ input }) => {
      made.push(input);
      return input;
    },
  });
  const large = step("large", { input: z.json(), output: z.json(), effect: "none", action: () => "x".repeat(200_000) });
  const agent = step("agent", {
    input: z.json(),
    output: z.json(),
    effect: "none",
    uses: { mail, large },
    retry: { attempts: 1 },
    // The test says what it calls, and with what.
    action: async ({ tools }) => (await action(tools as never)) as never,
  });
  const one: Saga = saga("one", { version: 1, input: z.json() })
    .step(agent, () => null)
    .build() as never;
  return { one, made };
}

async function played(action: Parameters<typeof mailing>[0]) {
  const { one, made } = mailing(action);
  const top = benchTop([one]);
  await top.store.open();
  const run = await top.start(one, null);
  const worker = top.worker();
  await worker.start();
  await top.clock.advance(20_000);
  const record = await top.store.read(run);
  const rows = await top.store.ledger(run);
  await Promise.all([worker.stop(), top.clock.advance(30_000)]);
  return { made, record, rows };
}

test("a tool that is called 200 times at once under one key is made once", async () => {
  const { made, record, rows } = await played(({ mail }) =>
    Promise.all(Array.from({ length: 200 }, () => mail?.("ann", { key: "ann" }))),
  );
  expect(record?.status).toBe("completed");
  expect(made).toEqual(["ann"]);
  expect(rows[1]?.tool?.asks).toBe(200);
});

test.each([[0], [""], [false], [[]], [{}], [[[[["deep"]]]]], ["long ".repeat(10_000)]])(
  "%j is a key like any other",
  async (key) => {
    const { made, record } = await played(async ({ mail }) => [
      await mail?.("a", { key }),
      await mail?.("a", { key }),
      await mail?.("b", { key: ["other", key] }),
    ]);
    expect(record?.status).toBe("completed");
    expect(made).toEqual(["a", "b"]);
  },
);

test.each([[0], [""], [false], [[]], [{}], ["long ".repeat(10_000)]])(
  "%j is an intent like any other",
  async (intent) => {
    const { made, record } = await played(async ({ mail }) => [
      await mail?.("a", { intent }),
      await mail?.("a", { intent }),
    ]);
    expect(record?.status).toBe("completed");
    expect(made).toEqual(["a"]);
  },
);

test.each([[["a", undefined]], [Number.NaN], ["x".repeat(200_000)], [() => 1]])(
  "what is no JSON, or too large, is refused as a key",
  async (key) => {
    const { made, record } = await played(({ mail }) => mail?.("a", { key }));
    expect([made, record?.status]).toEqual([[], "failed"]);
  },
);

test("an action that is over has no tools any more", async () => {
  let later: Promise<unknown> = Promise.resolve();
  const { made, record } = await played(({ mail }) => {
    later = new Promise((resolve) => setImmediate(resolve))
      .then(() => mail?.("a", { key: 1 }))
      .catch((error: unknown) => Reflect.get(error as object, "code"));
    return null;
  });
  expect(await later).toBe("LEASE_LOST");
  expect([made, record?.status]).toEqual([[], "completed"]);
});

test("a tool whose output is too large happened, and is put to a person", async () => {
  const { record } = await played(({ large }) => large?.(null));
  expect(record).toMatchObject({ status: "needs_review", review: { reason: "defect" } });
});

/** A tool that takes three seconds and does not hear of any abort, used by an action that waits for it. */
async function disturbed(
  agentTimeout: "1500ms" | "20s",
  disturb: (top: ReturnType<typeof benchTop>, stop: () => Promise<void>) => Promise<void>,
) {
  const log: string[] = [];
  const state: { top?: ReturnType<typeof benchTop> } = {};
  const pay = step("pay", {
    input: z.json(),
    output: z.json(),
    effect: "once",
    timeout: "10s",
    action: async () => {
      log.push("asked");
      await new Promise<void>((resolve) => state.top?.clock.after(3_000, resolve));
      log.push("paid");
      return "receipt";
    },
    compensate: { run: () => void log.push("paid back") },
  });
  const agent = step("agent", {
    input: z.json(),
    output: z.json(),
    effect: "none",
    uses: { pay },
    timeout: agentTimeout,
    retry: { attempts: 5, initial: "100ms" },
    action: async ({ tools }) => await tools.pay(null, { key: "pay" }),
  });
  const one: Saga = saga("one", { version: 1, input: z.json() })
    .step(agent, () => null)
    .build() as never;
  const top = benchTop([one]);
  state.top = top;
  await top.store.open();
  const run = await top.start(one, null);
  const worker = top.worker();
  await worker.start();
  await top.clock.advance(1_000);
  expect(log).toEqual(["asked"]);
  await disturb(top, () => worker.stop());
  await top.clock.advance(60_000);
  const record = await top.store.read(run);
  await Promise.all([worker.stop(), top.clock.advance(30_000)]);
  return { log, status: record?.status };
}

async function send(top: ReturnType<typeof benchTop>, slot: string, body: object): Promise<void> {
  const run = { tenant: "default", id: "r1" };
  const sent = await top.store.send({ run, slot, commandId: slot, by: "ops", body: body as never });
  if (sent.answer === "OK" && sent.wake !== null) await top.queue.wakeUps.wake([sent.wake]);
}

test("while a tool is out its action runs out of time: made again it waits for the same call", async () => {
  const { log, status } = await disturbed("1500ms", () => Promise.resolve());
  expect({ log, status }).toEqual({ log: ["asked", "paid"], status: "completed" });
});

test("while a tool is out the run is paused and resumed: nothing is made twice", async () => {
  const { log, status } = await disturbed("20s", async (top) => {
    await send(top, "control:1", { type: "control", control: "pause", reason: "look" });
    await top.clock.advance(10_000);
    await send(top, "control:2", { type: "control", control: "resume", reason: "seen" });
  });
  expect({ log, status }).toEqual({ log: ["asked", "paid"], status: "completed" });
});

test("while a tool is out the run is cancelled: what it did all the same is undone, once", async () => {
  const { log, status } = await disturbed("20s", (top) =>
    send(top, "cancel", { type: "cancel", mode: "compensate", reason: "no" }),
  );
  expect({ log, status }).toEqual({ log: ["asked", "paid", "paid back"], status: "cancelled" });
});

test("while a tool is out its worker stops: it is waited for, and the next worker's action meets its outcome", async () => {
  const { log, status } = await disturbed("20s", async (top, stop) => {
    await Promise.all([stop(), top.clock.advance(15_000)]);
    await top.worker().start();
  });
  expect({ log, status }).toEqual({ log: ["asked", "paid"], status: "completed" });
});
