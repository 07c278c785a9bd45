/** A client that dies, loses answers or is overtaken between taking a plan and sending what it says. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connectedClient } from "../../src/client/index.ts";
import type { CreateCommand, SendCommand, Store } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import { notApplied, saga, step } from "../../src/saga/index.ts";
import { benchTop, wrapped } from "./engine/bench-top.ts";

const input = z.object({ n: z.number() });
const ann = { by: "ann", reason: "it is back", commandId: "c-1" };

/** Parked until the bank is back; every charge is counted. */
function setup(over: (store: Store) => Partial<Store> = () => ({})) {
  const bank = { isAway: true, charges: 0 };
  const charge = step("charge", {
    input,
    effect: "once",
    onExhausted: "review",
    retry: { attempts: 1 },
    action: () => {
      bank.charges += 1;
      if (bank.isAway) throw notApplied("away");
      return null;
    },
    noCompensation: "it is a test",
  });
  const paying = saga("paying", { version: 1, input })
    .step(charge, ({ input }) => input)
    .build();
  const top = benchTop([paying]);
  const options = { namespace: "test", sagas: [paying], maxPayloadBytes: 1_000, maxReplays: 10 };
  const clientOver = (store: Store) => connectedClient({ ...top.ports, store }, options);
  const client = clientOver(top.store);
  const faulty = clientOver(wrapped(over)(top.store));
  const start = async (id: string) => {
    const run = await client.start(paying, { n: 1 }, { id });
    await top.clock.advance(1_000);
    return run;
  };
  return { ...top, bank, client, faulty, start };
}

function lost(): RepriseError {
  return new RepriseError("STORE_UNAVAILABLE", "the store did not answer");
}

describe("a plan that was taken and not sent", () => {
  test("is sent when the same command executes it again, and by no other", async () => {
    let isDown = true;
    const top = setup((store) => ({
      send: (command: SendCommand) => (isDown ? Promise.reject(lost()) : store.send(command)),
    }));
    await top.worker().start();
    const run = await top.start("r1");
    const plan = await run.plan({ mode: "resume" });
    top.bank.isAway = false;
    await expect(top.faulty.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    const other = { ...ann, by: "bob", commandId: "c-2" };
    await expect(top.client.executePlan(plan.id, other)).rejects.toMatchObject({
      code: "PLAN_TAKEN",
      details: { by: "ann", commandId: "c-1" },
    });
    isDown = false;
    await expect(top.faulty.executePlan(plan.id, ann)).resolves.toMatchObject({ isRepeated: true });
    await top.clock.advance(1_000);
    expect((await run.get()).status).toBe("completed");
    expect(top.bank.charges).toBe(2);
  });

  test("does nothing any more once somebody else has moved the run", async () => {
    let isDown = true;
    const top = setup((store) => ({
      send: (command: SendCommand) => (isDown ? Promise.reject(lost()) : store.send(command)),
    }));
    await top.worker().start();
    const run = await top.start("r1");
    const plan = await run.plan({ mode: "resume" });
    await expect(top.faulty.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await run.operator.retry({ by: "bob", reason: "by hand" });
    await top.clock.advance(1_000);
    isDown = false;
    await expect(top.faulty.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "REVIEW_TAKEN" });
    await top.clock.advance(1_000);
    expect(top.bank.charges).toBe(2);
  });
});

describe("a request whose answer was lost", () => {
  test("is not made twice when its plan is executed again", async () => {
    let isLost = true;
    const top = setup((store) => ({
      send: async (command: SendCommand) => {
        const answer = await store.send(command);
        if (isLost) throw lost();
        return answer;
      },
    }));
    await top.worker().start();
    const run = await top.start("r1");
    const plan = await run.plan({ mode: "resume" });
    top.bank.isAway = false;
    await expect(top.faulty.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await top.clock.advance(60_000);
    isLost = false;
    await expect(top.faulty.executePlan(plan.id, ann)).resolves.toMatchObject({ run: "r1", isRepeated: true });
    await top.clock.advance(1_000);
    expect(await run.get()).toMatchObject({ status: "completed", replays: 1 });
    expect(top.bank.charges).toBe(2);
  });

  test.each(["new_run", "fork"] as const)("begins one %s", async (mode) => {
    let isLost = true;
    const top = setup((store) => ({
      create: async (command: CreateCommand) => {
        const answer = await store.create(command);
        if (isLost) throw lost();
        return answer;
      },
    }));
    await top.worker().start();
    const run = await top.start("r1");
    await run.operator.close({ by: "bob", reason: "enough" });
    await top.clock.advance(1_000);
    const plan = await run.plan(mode === "fork" ? { mode, step: "charge", id: "r2" } : { mode, id: "r2" });
    top.bank.isAway = false;
    expect(plan).toMatchObject({ safe: true });
    await expect(top.faulty.executePlan(plan.id, ann)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await top.clock.advance(60_000);
    isLost = false;
    await expect(top.faulty.executePlan(plan.id, ann)).resolves.toMatchObject({ run: "r2", isRepeated: true });
    await top.clock.advance(1_000);
    expect(await top.client.run("r2").get()).toMatchObject({ status: "completed", replayOf: { run: "r1", mode } });
    expect(top.bank.charges).toBe(2);
  });
});

test("a batch that lost its store goes on where it stopped, and does no item twice", async () => {
  let sent = 0;
  const top = setup((store) => ({
    send: async (command: SendCommand) => {
      sent += 1;
      if (sent === 2) throw lost();
      const answer = await store.send(command);
      if (sent === 4) throw lost();
      return answer;
    },
  }));
  await top.worker().start();
  for (const id of ["r1", "r2", "r3"]) await top.start(id);
  const batch = await top.client.replayMany({ filter: { reason: "exhausted" }, mode: "resume" });
  top.bank.isAway = false;
  const wanted = { by: "ann", reason: "it is back", ratePerSecond: 1_000 };
  const execute = async () => {
    const executed = top.faulty.executeBatch(batch.id, wanted).catch((error: RepriseError) => error.code);
    await top.clock.advance(1_000);
    return await executed;
  };
  expect(await execute()).toBe("STORE_UNAVAILABLE");
  expect(await execute()).toBe("STORE_UNAVAILABLE");
  expect(await execute()).toMatchObject({ results: [{ result: "done" }, { result: "done" }, { result: "done" }] });
  // Of the last one nobody was woken: the reconciler finds it.
  await top.clock.advance(60_000);
  expect(top.bank.charges).toBe(6);
  for (const id of ["r1", "r2", "r3"]) {
    expect(await top.client.run(id).get()).toMatchObject({ status: "completed", replays: 1 });
  }
});
