/** A run that goes round for a very long time: what a turn writes, and what is kept of all of them. */
import { expect, onTestFinished, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { foldLog, machineOf } from "../../src/core/index.ts";
import { defaultSettings, saga, step } from "../../src/index.ts";
import { FakeWorld } from "../../src/testing/index.ts";
import { withStoreAt } from "../support/agreed.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { topAt } from "../support/top.ts";

const turns = 5_000;
/** Turns over which what is written is averaged. */
const window = 100;

test("R069 a run of 5,000 turns completes; a turn writes as much at the end as at the beginning, and the log is trimmed", async () => {
  const redis = await startRedisServer({ appendfsync: "everysec" });
  onTestFinished(() => redis.stop());
  const bytesWritten = async () =>
    Number(/aof_current_size:(\d+)/.exec(String(await redis.ask("INFO", "persistence")))?.[1]);
  const measured = new Map<number, number>();
  const count = step("count", {
    input: z.object({ turn: z.int() }),
    output: z.object({ turn: z.int() }),
    effect: "keyed",
    action: async ({ input: { turn } }) => {
      if ([window, 2 * window, turns - window, turns].includes(turn)) measured.set(turn, await bytesWritten());
      return { turn: turn + 1 };
    },
    noCompensation: "nothing is undone here",
  });
  interface Seen {
    readonly context: { readonly turn: number };
    readonly event: { readonly output: { readonly turn: number } };
  }
  const machine = setup({ actors: { count } }).createMachine({
    id: "loop",
    context: { turn: 1 },
    initial: "turning",
    states: {
      turning: {
        invoke: {
          src: "count",
          input: ({ context }: Seen) => ({ turn: context.turn }),
          onDone: [
            { guard: ({ event }: Seen) => event.output.turn > turns, target: "done" },
            {
              target: "turning",
              reenter: true,
              actions: assign((({ event }: Seen) => ({ turn: event.output.turn })) as never),
            },
          ],
        },
      },
      done: { type: "final" },
    },
  } as never);
  // The machine is put together here; `saga` judges it.
  const loop = saga("loop", { version: 1, input: z.object({}) }).machine(machine as never);
  const place = { redis: redis.url, shards: 1 };
  const top = topAt(place, [loop], new FakeWorld());
  await top.worker();
  const run = await top.client.start(loop, {}, { id: "r1" });
  await run.result({ timeout: "100s" });

  const over = (from: number) => ((measured.get(from + window) ?? 0) - (measured.get(from) ?? 0)) / window;
  const [early, late] = [over(window), over(turns - window)];
  expect(early).toBeGreaterThan(100);
  expect(late).toBeLessThan(1.25 * early + 50);

  await withStoreAt(place, top.namespace, async (store) => {
    const ref = { tenant: "default", id: "r1" };
    const [record, rows, log] = await Promise.all([store.read(ref), store.ledger(ref), store.log(ref)]);
    if (record === null) throw new Error("the run is gone");
    expect(rows).toHaveLength(turns);
    expect(log.length).toBeGreaterThanOrEqual(defaultSettings.logEntries);
    expect(log.length).toBeLessThanOrEqual(2 * defaultSettings.logEntries + 1);
    expect(log[0]?.revision).toBe(record.logFrom);
    expect(log[0]?.taken[0]).toMatchObject({ what: "stood", base: { after: expect.stringMatching(/^[\w-]{22}$/) } });
    const steps = foldLog(machineOf(loop.spec), { record, rows }, log);
    expect(steps.filter(({ problem }) => problem !== null)).toEqual([]);
    expect(log.at(-1)?.digest).toBe(record.logDigest);
    const checks = [
      `${turns} turns, ${Math.round(early)} bytes a turn at ${window}, ${Math.round(late)} at ${turns}`,
      `the log is kept from revision ${record.logFrom} of ${record.revision}, and follows by its digests from there`,
    ];
    leaveEvidence("R069", { effects: turns, checks });
  });
});
