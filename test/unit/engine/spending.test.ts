/** An action says what it used: on record when it goes on, told what is left, and stopped past the limit. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { RepriseError } from "../../../src/errors.ts";
import { type ActionContext, type Json, saga, step } from "../../../src/saga/index.ts";
import { benchTop, settings } from "./bench-top.ts";

const input = z.object({ n: z.number() });

/** A saga of one step that does what `act` says. */
function using(act: (context: ActionContext) => Promise<unknown>, more: { readonly queue?: string } = {}) {
  const think = step("think", {
    input,
    effect: "none",
    action: async (context) => {
      await act(context as ActionContext);
      return null;
    },
    retry: { attempts: 2, initial: 0, max: 0 },
    ...more,
  });
  return saga("using", {
    version: 1,
    input,
    budget: ({ input: { n } }) => ({ money: { soft: n / 2, hard: n }, time: { hard: "1h" }, tokens: {} }),
  })
    .step(think, ({ input: given }) => given)
    .build();
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "kept",
    (error: RepriseError) => error.code,
  );

test("what is spent is on record when the action goes on, and the action knows what is left", async () => {
  const said: Json[] = [];
  const sagaOf = using(async ({ spend, budget }) => {
    await new Promise<void>((resolve) => void top.clock.after(1_000, resolve));
    said.push(budget("money"), budget("tokens"), budget("constructor"));
    await spend({ money: 30, tokens: 1_200 });
    said.push(budget("money"));
    said.push((await top.store.read(run))?.budgets["money"]?.used ?? null);
    said.push(budget("time"));
  });
  const top = benchTop([sagaOf]);
  await top.worker().start();
  const run = await top.start(sagaOf, { n: 100 });
  await top.clock.advance(5_000);
  expect(said.slice(0, 5)).toEqual([100, null, null, 70, 30]);
  expect(said[5]).toBeLessThanOrEqual(3_599_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed", budgets: { tokens: { used: 1_200 } } });
});

test("past the hard limit it is recorded, refused, and nothing more is granted before a person raises it", async () => {
  const said: string[] = [];
  const sagaOf = using(async ({ spend }) => {
    said.push(await codeOf(spend({ money: 60 })));
    said.push(await codeOf(spend({ money: 60 })));
    throw new Error("stopped");
  });
  const top = benchTop([sagaOf]);
  await top.worker().start();
  const run = await top.start(sagaOf, { n: 100 });
  await top.clock.advance(60_000);
  expect(said).toEqual(["kept", "BUDGET_EXHAUSTED"]);
  const record = await top.store.read(run);
  expect(record).toMatchObject({
    status: "needs_review",
    review: { reason: "budget" },
    budgets: { money: { used: 120 } },
  });
  expect(top.facts.filter(({ fact }) => fact === "budget")).toEqual([
    { fact: "budget", run, name: "money", used: 60, passed: "soft" },
    { fact: "budget", run, name: "money", used: 120, passed: "hard" },
  ]);
  const verb = { verb: "raise", budget: "money", to: 1_000, reason: "worth it" } as const;
  await top.store.send({ run, slot: "review:1", commandId: "c", by: "ann", body: { type: "verb", verb } });
  await top.clock.advance(10_000);
  expect(said).toEqual(["kept", "BUDGET_EXHAUSTED", "kept", "kept"]);
  expect(await top.store.read(run)).toMatchObject({ status: "failed", budgets: { money: { used: 240, hard: 1_000 } } });
});

test("a worker that dies after it was counted counts it once, under its key", async () => {
  const sagaOf = using(async ({ spend, attempt }) => {
    await spend({ money: 10 }, { key: ["draft", 1] });
    await spend({ money: 10 }, { key: ["draft", 1] });
    await new Promise<void>((resolve) => void top.clock.after(attempt === 1 ? 5_000 : 1, resolve));
  });
  const top = benchTop([sagaOf]);
  const first = await top.mortal();
  const run = await top.start(sagaOf, { n: 100 });
  await top.clock.advance(1_000);
  first.kill();
  await top.worker().start();
  await top.clock.advance(3 * settings.leaseMs);
  expect(await top.store.read(run)).toMatchObject({ status: "completed", budgets: { money: { used: 10 } } });
});

test("what cannot be counted is refused by name, and counts for nothing", async () => {
  const said: string[] = [];
  const sagaOf = using(async ({ spend }) => {
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`n${n}`, 1]));
    const wrong: readonly unknown[] = [
      { steps: 1 },
      { time: 1 },
      { "no name": 1 },
      { toString: 1 },
      { money: -1 },
      { money: Number.NaN },
      { money: "3" },
      null,
      many,
    ];
    for (const uses of wrong) said.push(await codeOf(spend(uses as Record<string, number>)));
    said.push(await codeOf(spend({ money: 1 }, { key: (() => 1) as unknown as Json })));
    said.push(await codeOf(spend({ money: 1 }, { key: "x".repeat(settings.maxPayloadBytes + 1) })));
  });
  const top = benchTop([sagaOf]);
  await top.worker().start();
  const run = await top.start(sagaOf, { n: 100 });
  await top.clock.advance(1_000);
  expect(said).toEqual([...Array.from({ length: 10 }, () => "INPUT_INVALID"), "PAYLOAD_TOO_LARGE"]);
  expect(await top.store.read(run)).toMatchObject({ status: "completed", budgets: { money: { used: 0 } } });
});

test("a worker that has lost the run counts nothing, and is told", async () => {
  const said: string[] = [];
  let isFirst = true;
  const sagaOf = using(async ({ spend, signal }) => {
    if (!isFirst) return;
    isFirst = false;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    said.push(await codeOf(spend({ money: 5 })));
  });
  const top = benchTop([sagaOf]);
  await top.worker().start();
  const run = await top.start(sagaOf, { n: 100 });
  await top.clock.advance(100);
  await top.store.expire({
    owner: (await top.store.log(run)).at(-1)?.actor ?? "",
    serverId: null,
    pulse: null,
    compared: null,
  });
  await top.store.acquire({ run, owner: "thief", token: "stolen", leaseMs: 1_000 });
  await top.clock.advance(2 * settings.renewMs);
  expect(said).toEqual(["LEASE_LOST"]);
  expect(await top.store.read(run)).toMatchObject({ budgets: { money: { used: 0 } } });
});

test("on a named queue nobody counts it, and that is said; what is left is known there too", async () => {
  const said: Json[] = [];
  const sagaOf = using(
    async ({ spend, budget }) => {
      said.push(await codeOf(spend({ money: 1 })), budget("money"));
    },
    { queue: "gpu" },
  );
  const top = benchTop([sagaOf]);
  await top.worker({ queues: ["gpu"] }).start();
  await top.start(sagaOf, { n: 100 });
  await top.clock.advance(5_000);
  expect(said).toEqual(["INPUT_INVALID", 100]);
});

test("a call that is out at its step's deadline is told to stop then, here and on a named queue", async () => {
  for (const queue of [undefined, "gpu"]) {
    const aborted: number[] = [];
    const slow = step("slow", {
      input,
      effect: "none",
      deadline: "20s",
      timeout: "60s",
      ...(queue === undefined ? {} : { queue }),
      action: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            aborted.push(top.clock.monotonicMs());
            reject(new Error("stopped"));
          });
        }),
    });
    const sagaOf = saga("late", { version: 1, input })
      .step(slow, ({ input: given }) => given)
      .build();
    const top = benchTop([sagaOf]);
    await top.worker({ queues: ["gpu"] }).start();
    const began = top.clock.monotonicMs();
    const run = await top.start(sagaOf, { n: 1 });
    await top.clock.advance(30_000);
    expect(aborted).toHaveLength(1);
    expect((aborted[0] ?? 0) - began).toBeGreaterThanOrEqual(19_000);
    expect((aborted[0] ?? 0) - began).toBeLessThanOrEqual(20_500);
    expect(await top.store.read(run)).toMatchObject({ status: "failed", cause: { kind: "step_failed" } });
    expect((await top.store.ledger(run))[0]?.call.error).toMatchObject({ kind: "deadline", attempts: 1 });
  }
});
