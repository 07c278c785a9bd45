/**
 * Both stores, side by side: whatever is done to them, in whatever order, they answer the same. The memory store is what
 * the simulator trusts; this is why it may.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Store } from "../../src/core/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { epochMs } from "./suite/harness.ts";
import { ask, requests } from "./suite/intent-operations.ts";
import { aSequence, Play } from "./suite/operations.ts";
import { type RedisBench, redisBench } from "./suite/redis-bench.ts";
import { say, turnRequests } from "./suite/turn-operations.ts";

const seed = process.env["REPRISE_SEED"];
const repeats = {
  numRuns: Number(process.env["REPRISE_SEQUENCES"] ?? 60),
  ...(seed ? { seed: Number(seed) } : {}),
};

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
      repeats,
    );
  }, 300_000);

  test("answer any sequence of claims and publications of intents alike", async () => {
    const answered = new Set<string>();
    await fc.assert(
      fc.asyncProperty(requests, async (sequence) => {
        await bench.clear();
        let clockMs = 0;
        const memory = memoryStore({ clock: { monotonicMs: () => clockMs }, epochMs, shards: 2 });
        for (const request of sequence) {
          if (request.do === "advance") {
            clockMs += request.ms;
            await bench.advance(request.ms);
            continue;
          }
          const [expected, answer] = await Promise.all([ask(memory, request), ask(bench.store, request)]);
          expect(answer, JSON.stringify(request)).toEqual(expected);
          answered.add((answer as { answer: string }).answer);
        }
      }),
      repeats,
    );
    expect([...answered].sort()).toEqual(["BUSY", "CONFLICT", "DONE", "DUP", "FENCED", "GONE", "MINE", "OK"]);
  }, 300_000);

  test("answer any sequence of asking for turns and giving them alike", async () => {
    const answered = new Set<string>();
    await fc.assert(
      fc.asyncProperty(turnRequests, async (sequence) => {
        await bench.clear();
        let clockMs = 0;
        const memory = memoryStore({ clock: { monotonicMs: () => clockMs }, epochMs, shards: 2 });
        for (const request of sequence) {
          if (request.do === "advance") {
            clockMs += request.ms;
            await bench.advance(request.ms);
            continue;
          }
          const [expected, answer] = await Promise.all([say(memory, request), say(bench.store, request)]);
          expect(answer, JSON.stringify(request)).toEqual(expected);
          if ("answer" in answer) answered.add(answer.answer);
        }
      }),
      repeats,
    );
    expect([...answered].sort()).toEqual(["GONE", "MINE", "WAIT"]);
  }, 300_000);
});
