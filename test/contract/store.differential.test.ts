/**
 * Both stores, side by side: whatever is done to them, in whatever order, they answer the same. The memory store is what
 * the simulator trusts; this is why it may.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Store } from "../../src/core/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { epochMs } from "./suite/harness.ts";
import { aSequence, Play } from "./suite/operations.ts";
import { type RedisBench, redisBench } from "./suite/redis-bench.ts";

const sequences = Number(process.env["REPRISE_SEQUENCES"] ?? 60);

describe.runIf(process.env["REPRISE_CONTRACT"] !== "memory")("memory and Redis", () => {
  let bench: RedisBench;
  beforeAll(async () => {
    bench = await redisBench(() => inject("redisUrl"))({ shards: 2, lanes: 2 });
  });
  afterAll(async () => {
    await bench.close();
  });

  test("answer any sequence of operations alike, and hold the same afterwards", async () => {
    await fc.assert(
      fc.asyncProperty(aSequence, async (operations) => {
        await bench.clear();
        let clockMs = 0;
        const memory = memoryStore({ clock: { monotonicMs: () => clockMs }, epochMs, shards: 2, lanes: 2 });
        const stores: readonly Store[] = [memory, bench.store];
        const play = new Play(async (ms) => {
          clockMs += ms;
          await bench.advance(ms);
        });
        for (const operation of operations) {
          const act = play.prepare(operation);
          const [expected, answer] = await Promise.all(stores.map((store) => act(store)));
          expect(answer, JSON.stringify(operation)).toEqual(expected);
          await play.learn(operation, expected);
        }
        const [expected, held] = await Promise.all(stores.map((store) => play.dump(store)));
        expect(held).toEqual(expected);
      }),
      { numRuns: sequences, ...(process.env["REPRISE_SEED"] ? { seed: Number(process.env["REPRISE_SEED"]) } : {}) },
    );
  }, 300_000);
});
