/** A batch that is suspended by somebody else while it is executed, at each moment that there is. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type BatchReport,
  type BatchSuspension,
  connectedClient,
  type ExecuteBatchOptions,
} from "../../src/client/index.ts";
import type { Store } from "../../src/core/index.ts";
import type { RepriseError } from "../../src/errors.ts";
import { notApplied, saga, step } from "../../src/saga/index.ts";
import { benchTop, wrapped } from "./engine/bench-top.ts";

const input = z.object({ n: z.number() });
const runs = ["r1", "r2", "r3", "r4"];
const ann = { by: "ann", reason: "the bank is back", ratePerSecond: 10 };
const bob = { by: "bob", reason: "it refuses again" };
const byBob = "suspended by bob: it refuses again";

/** Four runs that are parked until the bank is back, selected; the charges of each are counted from then on. */
async function setup() {
  const bank = { isAway: true, charges: [] as number[] };
  const charge = step("charge", {
    input,
    effect: "once",
    onExhausted: "review",
    retry: { attempts: 1 },
    action: ({ input: { n } }) => {
      if (bank.isAway) throw notApplied("away");
      bank.charges.push(n);
      return null;
    },
    noCompensation: "it is a test",
  });
  const paying = saga("paying", { version: 1, input })
    .step(charge, ({ input }) => input)
    .build();
  const top = benchTop([paying]);
  const options = { namespace: "test", sagas: [paying], maxPayloadBytes: 1_000, maxReplays: 10 };
  const clientOver = (over: (store: Store) => Partial<Store> = () => ({})) =>
    connectedClient({ ...top.ports, store: wrapped(over)(top.store) }, options);
  const client = clientOver();
  const worker = top.worker();
  await worker.start();
  for (const [n, id] of runs.entries()) await client.start(paying, { n }, { id });
  await top.clock.advance(1_000);
  const { id: batch } = await client.replayMany({ filter: { reason: "exhausted" }, mode: "resume", expiresIn: "10m" });
  bank.isAway = false;
  const suspend = () => client.suspendBatch(batch, bob);
  /** Executes it for so long at most. */
  const execute = async (by = client, given: Partial<ExecuteBatchOptions> = {}, ms = 10_000) => {
    const executed = by.executeBatch(batch, { ...ann, ...given });
    // It is awaited below; it may be refused while time goes by.
    executed.catch(() => undefined);
    await top.clock.advance(ms);
    return await executed;
  };
  /** A client that comes to some of its words only after (or right before) somebody has suspended the batch. */
  const interrupted = (word: Word, n: number, moment: "before" | "after", id = batch) => {
    let asked = 0;
    return clientOver((store) => ({
      [word]: async (...given: readonly never[]) => {
        asked += 1;
        const isNow = asked === n;
        if (isNow && moment === "before") await client.suspendBatch(id, bob);
        const answer = await (store[word] as (...given: readonly never[]) => Promise<unknown>)(...given);
        if (isNow && moment === "after") await client.suspendBatch(id, bob);
        return answer;
      },
    }));
  };
  return { ...top, bank, client, clientOver, worker, batch, suspend, execute, interrupted };
}

type Word = "takePlan" | "send" | "noteResult" | "getSuspension";

/** Places of the items about which something was done. */
function doneOf({ results }: BatchReport) {
  return results.flatMap((result, place) => (result?.result === "done" ? [place] : []));
}

describe("a batch that is suspended while it is executed", () => {
  test("stops before the next item, and what was done stays on record", async () => {
    const top = await setup();
    const report = await top.execute(top.interrupted("noteResult", 2, "after"));
    expect(report).toMatchObject({ stopped: byBob, suspended: bob });
    expect(doneOf(report)).toEqual([0, 1]);
    expect(top.bank.charges).toHaveLength(2);
    expect(await top.client.batch(top.batch)).toEqual({ ...report, stopped: null });
  });

  // The batch itself is taken first.
  test.each([
    ["taken", "takePlan", 2],
    ["sent", "send", 1],
    ["noted", "noteResult", 1],
  ] as const)("finishes the item that is about to be %s", async (_, word, n) => {
    const top = await setup();
    const report = await top.execute(top.interrupted(word, n, "before"));
    expect([report.stopped, doneOf(report)]).toEqual([byBob, [0]]);
    expect(top.bank.charges).toHaveLength(1);
  });

  test("begins one item at most if it was told to go on before, however late it hears that", async () => {
    const top = await setup();
    const report = await top.execute(top.interrupted("getSuspension", 2, "after"));
    expect([report.stopped, doneOf(report)]).toEqual([byBob, [0, 1]]);
    expect(top.bank.charges).toHaveLength(2);
  });

  test("begins none after it was acknowledged, if it waits for its rate meanwhile", async () => {
    const top = await setup();
    const executed = top.client.executeBatch(top.batch, { ...ann, ratePerSecond: 0.1 });
    await top.clock.advance(15_000);
    await top.suspend();
    const acknowledged = doneOf(await top.client.batch(top.batch));
    await top.clock.advance(60_000);
    const report = await executed;
    expect([report.stopped, doneOf(report), acknowledged]).toEqual([byBob, [0, 1], [0, 1]]);
    expect(top.bank.charges).toHaveLength(2);
  });

  test("stops everybody who executes it", async () => {
    const top = await setup();
    const executed = ["ann", "carl"].map((by) =>
      top.clientOver().executeBatch(top.batch, { ...ann, by, ratePerSecond: 0.1 }),
    );
    await top.clock.advance(1_000);
    await top.suspend();
    await top.clock.advance(60_000);
    for (const report of await Promise.all(executed)) {
      expect([report.stopped, doneOf(report)]).toEqual([byBob, [0]]);
    }
    expect(top.bank.charges).toHaveLength(1);
  });

  test("stops between canaries", async () => {
    const top = await setup();
    const report = await top.execute(top.interrupted("noteResult", 1, "after"), { canary: 3 });
    expect([report.stopped, doneOf(report)]).toEqual([byBob, [0]]);
    expect(top.bank.charges).toHaveLength(1);
  });

  test("does not wait until its canaries were watched long enough", async () => {
    const top = await setup();
    await top.worker.stop();
    const executed = top.client.executeBatch(top.batch, { ...ann, canary: 2, canaryWithin: "1h" });
    await top.clock.advance(10_000);
    await top.suspend();
    await top.clock.advance(10_000);
    const report = await executed;
    expect([report.stopped, doneOf(report)]).toEqual([byBob, [0, 1]]);
  });

  test("says nothing more of what is left out, so that it can still be executed with an override", async () => {
    const top = await setup();
    const { id } = await top.client.replayMany({ filter: { reason: "exhausted" }, mode: "new_run" });
    const report = await top.interrupted("noteResult", 1, "after", id).executeBatch(id, ann);
    expect(report.stopped).toBe(byBob);
    expect(report.results.map((result) => result?.result ?? null)).toEqual(["skipped", null, null, null]);
  });

  test("does nothing more once it has expired", async () => {
    const top = await setup();
    const { id } = await top.client.replayMany({
      ...{ filter: { reason: "exhausted" }, mode: "resume" },
      expiresIn: "15s",
    });
    const executed = top.client.executeBatch(id, { ...ann, ratePerSecond: 0.1 }).catch((error: RepriseError) => error);
    await top.clock.advance(60_000);
    expect(await executed).toMatchObject({ code: "PLAN_GONE" });
    expect(top.bank.charges).toHaveLength(2);
  });
});

describe("a suspended batch", () => {
  test("is not executed: it is said who suspended it, why, since when, and what to do", async () => {
    const top = await setup();
    const { suspended } = await top.suspend();
    const refused = await top.client.executeBatch(top.batch, ann).catch((error: RepriseError) => error);
    expect(refused).toMatchObject({
      code: "BATCH_SUSPENDED",
      message: expect.stringMatching(
        new RegExp(`suspended by bob: it refuses again \\(.*Z\\).*reprise batch resume ${top.batch} --reason`),
      ),
      details: { batch: top.batch, ...suspended },
    });
    await top.clock.advance(60_000);
    expect(top.bank.charges).toEqual([]);
    expect(await top.client.batch(top.batch)).toMatchObject({ by: null, suspended });
    expect(await top.client.batches()).toMatchObject([{ id: top.batch, suspended, done: 0 }]);
  });

  test("that is resumed goes on where it stopped, and does no item twice", async () => {
    const top = await setup();
    const { suspended } = await top.execute(top.interrupted("noteResult", 2, "before"));
    const resumed = await top.client.resumeBatch(top.batch, { by: "carl", reason: "it is back" });
    expect(resumed).toEqual({ batch: top.batch, was: suspended, suspended: null });
    const report = await top.execute();
    expect(report).toMatchObject({ stopped: null, suspended: null, by: "ann" });
    expect(doneOf(report)).toEqual([0, 1, 2, 3]);
    expect(top.bank.charges.toSorted()).toEqual([0, 1, 2, 3]);
  });

  test("that somebody suspends again stays his who was first; one that is not suspended cannot be resumed", async () => {
    const top = await setup();
    const nobody: BatchSuspension = { batch: top.batch, was: null, suspended: null };
    expect(await top.client.resumeBatch(top.batch, bob)).toEqual(nobody);
    const { suspended } = await top.suspend();
    expect(suspended).toMatchObject(bob);
    const again = await top.client.suspendBatch(top.batch, { by: "carl", reason: "me too" });
    expect(again).toEqual({ batch: top.batch, was: suspended, suspended });
    await top.client.resumeBatch(top.batch, ann);
    expect(await top.client.resumeBatch(top.batch, ann)).toEqual(nobody);
    const { acts } = await top.client.audit();
    expect(acts.map(({ act, by, reason, run, about }) => [act, by, reason, run, about])).toEqual([
      ["resume_batch", "ann", ann.reason, null, `batch ${top.batch}`],
      ["suspend_batch", "bob", bob.reason, null, `batch ${top.batch}`],
    ]);
  });

  test.each(["suspendBatch", "resumeBatch"] as const)("%s takes a batch that is there, and a reason", async (word) => {
    const top = await setup();
    const plan = await top.client.run("r1").plan({ mode: "resume" });
    await expect(top.client[word](plan.id, bob)).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await expect(top.client[word]("nothing", bob)).rejects.toMatchObject({ code: "PLAN_GONE" });
    const silent = { by: "bob", reason: " " };
    await expect(top.client[word](top.batch, silent)).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await top.clock.advance(600_000);
    await expect(top.client[word](top.batch, bob)).rejects.toMatchObject({ code: "PLAN_GONE" });
    expect((await top.client.audit()).acts).toEqual([]);
  });

  test.each(["suspendBatch", "resumeBatch"] as const)(
    "that expires while it is asked for is gone (%s)",
    async (word) => {
      const top = await setup();
      const late = top.clientOver((store) => ({
        setSuspension: async (command) => {
          await top.clock.advance(600_000);
          return await store.setSuspension(command);
        },
      }));
      await expect(late[word](top.batch, bob)).rejects.toMatchObject({ code: "PLAN_GONE" });
    },
  );
});
