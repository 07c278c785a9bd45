import { expect, test } from "vitest";
import { z } from "zod";
import type { Consumer, ConsumerOptions } from "../../../src/core/index.ts";
import { RepriseError } from "../../../src/errors.ts";
import { saga, step } from "../../../src/saga/index.ts";
import { benchTop, settings, wrapped } from "./bench-top.ts";

const input = z.object({ n: z.number() });

/** One keyed step that notes its calls. */
function oneStep() {
  const calls: string[] = [];
  const act = step("act", {
    input,
    effect: "keyed",
    action: ({ operationId }) => {
      calls.push(operationId);
      return null;
    },
    compensate: () => undefined,
  });
  const one = saga("one", { version: 1, input })
    .step(act, ({ input }) => input)
    .build();
  return { one, calls };
}

/** A queue that hands over what a test gives it, also to a worker that stops: BullMQ fetches one job ahead. */
function handedBy() {
  let wanted: ConsumerOptions | null = null;
  const idle: Consumer = { start: async () => undefined, stop: async () => undefined, signs: () => [] };
  return {
    consumers: (options: ConsumerOptions) => {
      wanted = options;
      return idle;
    },
    wake: (run: { readonly tenant: string; readonly id: string }) => wanted?.onWake(run),
  };
}

test("a worker that stops hands back at once what was fetched for it, for another, which drives it once", async () => {
  const { one, calls } = oneStep();
  const top = benchTop([one]);
  const hands = handedBy();
  const leaver = top.worker({ consumers: hands.consumers });
  await leaver.start();
  const run = await top.start(one, { n: 1 }, "r1", { wake: false });
  const stopped = leaver.stop();
  await hands.wake(run);
  await top.clock.advance(10);
  await stopped;
  expect([calls, (await top.store.read(run))?.revision]).toEqual([[], 1]);
  await top.worker().start();
  await top.clock.advance(100);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(calls).toHaveLength(1);
});

test("a worker that stops while owners are to come first takes nothing, not even to hand it back", async () => {
  const { one } = oneStep();
  let isAway = false;
  const acquired: number[] = [];
  const top = benchTop(
    [one],
    wrapped((store) => ({
      due: (shard, limit) =>
        isAway ? Promise.reject(new RepriseError("STORE_UNAVAILABLE", "away")) : store.due(shard, limit),
      acquire: (command) => {
        acquired.push(top.clock.monotonicMs());
        return store.acquire(command);
      },
    })),
  );
  const hands = handedBy();
  const leaver = top.worker({ consumers: hands.consumers });
  await leaver.start();
  await top.clock.advance(1_000);
  isAway = true;
  await top.clock.advance(settings.leaseMs);
  const run = await top.start(one, { n: 1 }, "r1", { wake: false });
  const stopped = leaver.stop();
  const handled = hands.wake(run);
  await top.clock.advance(1_000);
  await Promise.all([handled, stopped]);
  expect(acquired).toEqual([]);
});
