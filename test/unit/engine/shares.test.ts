/** What runs below a run spend together: never more than its limit, whoever dies; and only a person raises that. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { InboxBody, RunRecord, RunRef } from "../../../src/core/index.ts";
import { child, type Saga, type Step, saga, step, withChildren } from "../../../src/saga/index.ts";
import { benchTop } from "./bench-top.ts";

const Shape = z.object({ calls: z.array(z.int()) });
const properties = { seed: 20_261_130, numRuns: process.env["REPRISE_SIZE"] === "quick" ? 5 : 12 };

/** Steps that cost 1 each, said under a key, as many as the input says; below each of them that many again. */
class House {
  readonly begun: string[] = [];
  readonly top: ReturnType<typeof benchTop>;
  readonly parent: Saga;

  constructor(hard: number, { isDeep = false, concurrency = 3, share = { money: 2 } } = {}) {
    const use = step("use", {
      input: z.object({ n: z.int() }),
      effect: "idempotent",
      noCompensation: "used is used",
      action: async ({ operationId, spend }) => {
        this.begun.push(operationId);
        await new Promise<void>((resolve) => void this.top.clock.after(20, resolve));
        await spend({ money: 1 }, { key: operationId });
      },
    });
    const leaf = saga("leaf", { version: 1, input: z.object({ calls: z.int() }) })
      .each(({ input }) => Array.from({ length: input.calls }, (_, n) => ({ n })), use, { size: 50, as: "uses" })
      .build();
    const middle = saga("middle", { version: 1, input: z.object({ calls: z.int() }) })
      .each(({ input }) => [input, input], child(leaf, { share: { money: 1 } }), {
        size: 50,
        concurrency: 2,
        as: "leaves",
      })
      .build();
    const below = child((isDeep ? middle : leaf) as never, { name: "below", share }) as unknown as Step;
    this.parent = saga("top", { version: 1, input: Shape, budget: { money: { soft: hard / 2, hard } } })
      .each(({ input }) => input.calls.map((calls) => ({ calls })), below as never, {
        size: 50,
        concurrency,
        as: "all",
      })
      .build() as unknown as Saga;
    this.top = benchTop(withChildren([this.parent]));
  }

  /** Different calls that were begun. */
  get used(): number {
    return new Set(this.begun).size;
  }

  async record(run: RunRef): Promise<RunRecord> {
    const found = await this.top.store.read(run);
    if (found === null) throw new Error("it is gone");
    return found;
  }

  /** A person raises the limit. */
  async raise(run: RunRef, n: number, to: number): Promise<void> {
    const { store, queue } = this.top;
    const body = { type: "verb", verb: { verb: "raise", budget: "money", to, reason: "worth it" } } as const;
    const sent = await store.send({ run, slot: `review:${n}`, commandId: `raise ${n}`, by: "ann", body });
    if (sent.answer === "OK" && sent.wake !== null) await queue.wakeUps.wake([sent.wake]);
  }
}

describe("children together", () => {
  test("use no more than their parent may, whoever dies meanwhile; a person is asked, once, at the top", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 12 }),
        fc.boolean(),
        fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 3 }),
        async (calls, hard, isDeep, kills) => {
          const house = new House(hard, { isDeep });
          const { top, parent } = house;
          const run = await top.start(parent, { calls });
          let worker = await top.mortal();
          for (const after of kills) {
            await top.clock.advance(after);
            worker.kill();
            worker = await top.mortal();
          }
          const wanted = calls.reduce((sum, n) => sum + n * (isDeep ? 2 : 1), 0);
          let limit = hard;
          for (let round = 0; ; round += 1) {
            await top.clock.advance(150_000);
            expect(house.used).toBeLessThanOrEqual(limit);
            const record = await house.record(run);
            if (record.status === "completed") break;
            expect([record.status, record.review?.reason]).toEqual(["needs_review", "budget"]);
            expect(house.used).toBe(limit);
            limit += 3;
            await house.raise(run, record.review?.n ?? 0, limit);
            if (round > 30) throw new Error("it does not end");
          }
          expect(house.used).toBe(wanted);
          expect((await house.record(run)).budgets["money"]?.used ?? 0).toBe(wanted);
          await worker.worker.stop();
        },
      ),
      properties,
    );
  });

  test("are given what their step says at a time, and what one leaves is another's", async () => {
    const house = new House(6, { concurrency: 2, share: { money: 4 } });
    await house.top.worker().start();
    const run = await house.top.start(house.parent, { calls: [1, 3, 2] });
    await house.top.clock.advance(600_000);
    expect(await house.record(run)).toMatchObject({
      status: "completed",
      budgets: { money: { used: 6, warned: true } },
    });
    const given = (await house.top.store.log(run)).flatMap(({ taken }) =>
      taken.flatMap((each) => (each.what === "budget" && each.share !== undefined ? [[each.seq, each.share]] : [])),
    );
    expect(given.slice(0, 2)).toEqual([
      [2, 4],
      [3, 2],
    ]);
  });
});

describe("an action of a child that says more than its share", () => {
  /** It uses 8 five times in one call; its parent gives 10 at a time. */
  async function spending(hard: number) {
    const said: string[] = [];
    const think = step("think", {
      input: z.object({}),
      effect: "none",
      timeout: "10m",
      action: async ({ spend }) => {
        for (let n = 1; n <= 5; n += 1) {
          await spend({ money: 8 }, { key: n }).catch((error: { code: string }) => said.push(error.code));
          said.push(`said ${n}`);
        }
      },
    });
    const thought = saga("thought", { version: 1, input: z.object({}) })
      .step(think, () => ({}))
      .build();
    const parent = saga("thinking", { version: 1, input: z.object({}), budget: { money: { hard } } })
      .step(child(thought, { share: { money: 10 } }), () => ({}))
      .build();
    const top = benchTop(withChildren([parent as unknown as Saga]));
    await top.worker().start();
    const run = await top.start(parent as unknown as Saga, {});
    await top.clock.advance(60_000);
    const status = async (id: string) => (await top.store.read({ ...run, id }))?.status;
    const send = async (slot: string, body: InboxBody) => {
      const sent = await top.store.send({ run, slot, commandId: slot, by: "ann", body });
      if (sent.answer === "OK" && sent.wake !== null) await top.queue.wakeUps.wake([sent.wake]);
      await top.clock.advance(60_000);
    };
    return { top, run, said, status, send };
  }

  test("waits for more, and goes on", async () => {
    const { top, run, said, status } = await spending(100);
    expect([said.length, await status("r1")]).toEqual([5, "completed"]);
    expect((await top.store.read(run))?.budgets["money"]).toMatchObject({ used: 40 });
  });

  test("waits for the person whom its parent asks where nothing is left", async () => {
    const { said, status, send } = await spending(30);
    expect([said, await status("r1")]).toEqual([["said 1", "said 2", "said 3"], "needs_review"]);
    await send("review:1", { type: "verb", verb: { verb: "raise", budget: "money", to: 100, reason: "worth it" } });
    expect([said.length, await status("r1")]).toEqual([5, "completed"]);
  });

  test("is told that there is no more where its parent was given up meanwhile", async () => {
    const { said, status, send } = await spending(30);
    await send("review:1", { type: "verb", verb: { verb: "close", reason: "enough" } });
    expect([await status("r1"), await status("r1.1")]).toEqual(["failed", "completed"]);
    expect(said).toContain("BUDGET_EXHAUSTED");
  });

  test("waits no more once its run is cancelled", async () => {
    const { said, status, send } = await spending(30);
    await send("cancel", { type: "cancel", mode: "compensate", reason: "no" });
    expect(said).toContain("said 4");
    expect([await status("r1"), await status("r1.1")]).toEqual(["cancelled", "cancelled"]);
  });
});
