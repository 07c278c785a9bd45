/** How often and how many at once a step queue is worked on, as the world sees it. */
import { expect, test } from "vitest";
import { z } from "zod";
import { saga, step } from "../../src/index.ts";
import { top, until } from "./top.ts";

interface Calls {
  readonly at: number[];
  now: number;
  most: number;
}

const input = z.object({});
const send = step("send", {
  ...{ input, effect: "none", queue: "mail" },
  action: async ({ services }) => {
    const calls = services as Calls;
    calls.at.push(performance.now());
    calls.now += 1;
    calls.most = Math.max(calls.most, calls.now);
    await new Promise((resolve) => setTimeout(resolve, 20));
    calls.now -= 1;
    return null;
  },
});
const mailing = saga("mailing", { version: 1, input })
  .step(send, () => ({}))
  .build();

const limit = { max: 5, durationMs: 1_000 };

test("two workers together call no more often than the queue's limit says, and all are called", async () => {
  const { client, worker } = top([mailing]);
  const calls: Calls = { at: [], now: 0, most: 0 };
  const queues = [{ name: "mail", concurrency: 2, limit }];
  await Promise.all([worker({ services: calls, queues }), worker({ services: calls, queues })]);
  const runs = 18;
  await client.startMany(
    mailing,
    Array.from({ length: runs }, () => ({ input: {} })),
  );
  await until(() => calls.at.length === runs, 30_000);
  const at = calls.at.slice().sort((a, b) => a - b);
  // The window is BullMQ's: it begins with the first call in it. So the call after two windows' worth comes a window later at least.
  for (let n = 0; n + 2 * limit.max < runs; n += 1) {
    expect((at[n + 2 * limit.max] ?? 0) - (at[n] ?? 0)).toBeGreaterThan(limit.durationMs * 0.9);
  }
  expect((at[3 * limit.max] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(3 * limit.durationMs * 0.9);
  expect(calls.most).toBeLessThanOrEqual(4);
}, 60_000);

test("without a limit as many are called at once as workers take, and no more", async () => {
  const { client, worker } = top([mailing]);
  const calls: Calls = { at: [], now: 0, most: 0 };
  await worker({ services: calls, queues: [{ name: "mail", concurrency: 3 }] });
  await client.startMany(
    mailing,
    Array.from({ length: 30 }, () => ({ input: {} })),
  );
  await until(() => calls.at.length === 30, 20_000);
  expect(calls.most).toBe(3);
}, 40_000);
