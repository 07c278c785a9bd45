/**
 * Races that are made, 500 pairs of each, over memory and over Redis: two workers who look at one schedule, one of them held before
 * or after each of its requests while the other does all there is to do; and a signal that meets the commit of a driver.
 */
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { type Store, scheduleOf, type Ticks } from "../../src/core/index.ts";
import type { EngineContext } from "../../src/engine/context.ts";
import { ScheduleDesk } from "../../src/engine/schedules.ts";
import { saga, step } from "../../src/saga/index.ts";
import { aCommit, aSend, fresh } from "../support/records.ts";
import { acquired, type Bench, committed, created, epochMs, held, leaseMs, type OpenBench } from "./suite/harness.ts";
import { openMemory } from "./suite/memory-bench.ts";
import { redisBench } from "./suite/redis-bench.ts";

const pairs = 500;
const adapters: readonly (readonly [string, OpenBench])[] = [
  ["memory", openMemory],
  ...(process.env["REPRISE_CONTRACT"] === "memory" ? [] : [["Redis", redisBench(() => inject("redisUrl"))] as const]),
];

describe.each(adapters)("over %s", (_name, open) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await open({ shards: 1, lanes: 1 });
  });
  afterEach(() => bench.close());

  test("two schedulers at one tick start one run, wherever one of them is held up", async () => {
    const everyMs = 60_000;
    const ids = Array.from({ length: pairs }, (_, n) => `s${n}`);
    const troubles: string[] = [];
    for (const [n, id] of ids.entries()) {
      const wish = { id, tenant: "default", saga: "report", version: 1, input: {}, priority: 0 } as const;
      const overlap = (["skip", "queue", "cancel_previous"] as const)[n % 3] as "skip";
      const schedule = scheduleOf({ ...wish, timing: { everyMs }, overlap, missed: "skip" }, null, epochMs);
      await bench.store.putSchedule({ id, schedule, expects: null });
    }
    await bench.advance(everyMs);
    const heldAt = new Set<number>();
    await forEachPair(async (n) => {
      const id = `s${n}`;
      const other = lookerOver(bench.store, troubles);
      const point = n % (2 * requestsPerTick);
      const slow = lookerOver(
        interrupted(bench.store, point, async () => {
          heldAt.add(point);
          await other(id);
        }),
        troubles,
      );
      await slow(id);
    });
    expect(troubles).toEqual([]);
    expect(heldAt.size).toBe(2 * requestsPerTick);
    const { runs } = await bench.store.list({ limit: 1_000 });
    const tick = new Date(epochMs + everyMs).toISOString().replaceAll(/[-:]/g, "");
    expect(runs.map(({ id }) => id).toSorted()).toEqual(ids.map((id) => `${id}.${tick}`).toSorted());
    for (const schedule of (await bench.store.listSchedules()).schedules) {
      expect(schedule).toMatchObject({ pending: [], skipped: 0, problem: null, doneUntil: epochMs + everyMs });
      expect(schedule.current).toMatchObject({ tick: epochMs + everyMs, started: true });
    }
  }, 60_000);

  test("a signal that meets the commit which ends a run is looked at before it, or told that the run has ended", async () => {
    const answers = { seen: 0, ended: 0 };
    await forEachPair(async (n) => {
      const { lease, record } = await held(bench.store);
      const signal = () => bench.store.send(aSend(record, `event:${fresh("e")}`));
      const end = aCommit(record, { record: { status: "completed", endedAt: epochMs }, release: true });
      const commit = () => bench.store.commit({ lease, commit: end, leaseMs });
      const [said, sent] = await meeting(n, commit, signal);
      if (said.answer === "INBOX") {
        expect([sent.answer, said.inbox.length, (await bench.store.read(record))?.revision]).toEqual(["OK", 1, 1]);
        answers.seen += 1;
      } else {
        expect([said.answer, sent]).toMatchObject(["OK", { answer: "ENDED", status: "completed" }]);
        answers.ended += 1;
      }
    });
    expect(answers.seen).toBeGreaterThanOrEqual(pairs / 3);
    expect(answers.ended).toBeGreaterThanOrEqual(pairs / 3);
  }, 60_000);

  test("a signal that meets the commit after which a run rests is looked at before it, or wakes the run", async () => {
    const answers = { seen: 0, woken: 0 };
    await forEachPair(async (n) => {
      const { lease, record } = await held(bench.store);
      const rest = aCommit(record, { release: true, due: epochMs + 60_000 });
      const commit = () => bench.store.commit({ lease, commit: rest, leaseMs });
      const [said, sent] = await meeting(n, commit, () => bench.store.send(aSend(record, `event:${fresh("e")}`)));
      expect(sent.answer).toBe("OK");
      const wakeUp = sent.answer === "OK" ? sent.wake : null;
      if (said.answer === "INBOX") answers.seen += 1;
      else {
        expect([said.answer, wakeUp?.run.id]).toEqual(["OK", record.id]);
        expect((await acquired(bench.store, record)).answer.inbox).toHaveLength(1);
        answers.woken += 1;
      }
    });
    expect(answers.seen).toBeGreaterThanOrEqual(pairs / 3);
    expect(answers.woken).toBeGreaterThanOrEqual(pairs / 3);
  }, 60_000);

  test("signals keep their order, whichever commit they meet", async () => {
    const record = await created(bench.store);
    const { lease } = await acquired(bench.store, record);
    const slots = Array.from({ length: 20 }, (_, n) => `event:e${n}`);
    let current = record;
    for (const slot of slots) {
      const [next] = await Promise.all([committed(bench.store, lease, current), bench.store.send(aSend(record, slot))]);
      current = next;
    }
    const entries = (await bench.store.inbox(record)).toSorted((a, b) => a.position - b.position);
    expect(entries.map(({ slot }) => slot)).toEqual(slots);
  });
});

/** The pairs have nothing to do with each other: some at a time. */
async function forEachPair(race: (n: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < pairs; from += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, n) => race(from + n)));
  }
}

/** One before the other, the other before the one, or both at once. */
async function meeting<One, Other>(
  n: number,
  commit: () => Promise<One>,
  signal: () => Promise<Other>,
): Promise<readonly [One, Other]> {
  switch (n % 3) {
    case 0: {
      const sent = await signal();
      return [await commit(), sent];
    }
    case 1: {
      const said = await commit();
      return [said, await signal()];
    }
    default:
      return n % 2 === 0 ? await Promise.all([commit(), signal()]) : swapped(await Promise.all([signal(), commit()]));
  }
}

function swapped<One, Other>([other, one]: readonly [Other, One]): readonly [One, Other] {
  return [one, other];
}

// ---- who looks at schedules

const write = step("write", { input: z.object({}), effect: "none", action: () => null });
const report = saga("report", { version: 1, input: z.object({}) })
  .step(write, () => ({}))
  .build();
/** What a look at a tick asks of the store, from the first look to the one that finds nothing left to do. */
const scheduleRequests = ["getSchedule", "putSchedule", "now", "create"] as const;
const requestsPerTick = 9;

/** Looks at a schedule, as a worker to whom its tick was delivered. */
function lookerOver(store: Store, troubles: string[]): (id: string) => Promise<void> {
  let tick: (id: string) => Promise<void> = async () => undefined;
  const ticks: Ticks = {
    keep: async () => undefined,
    set: async () => undefined,
    remove: async () => undefined,
    start: async (onTick) => {
      tick = onTick;
    },
    stop: async () => undefined,
  };
  // What a desk uses of a worker.
  const context = {
    store: { ...bound(store), listSchedules: async () => ({ schedules: [], now: epochMs }) },
    wakeUps: { wake: async () => undefined },
    clock: { monotonicMs: () => 0, after: () => () => undefined },
    facts: {
      emit: (fact: { readonly fact: string; readonly message?: string }) => {
        if (fact.fact === "trouble") troubles.push(String(fact.message));
      },
    },
    background: () => undefined,
  } as unknown as EngineContext;
  const desk = new ScheduleDesk({ context, ticks, sagas: [report] });
  return async (id) => {
    await desk.start();
    await tick(id);
    await desk.stop(0);
  };
}

function bound(store: Store): Partial<Store> {
  const { getSchedule, putSchedule, now, create, read, send } = store;
  return Object.fromEntries(
    Object.entries({ getSchedule, putSchedule, now, create, read, send }).map(([name, method]) => [
      name,
      (...args: never[]) => (method as (...given: never[]) => unknown).apply(store, args),
    ]),
  );
}

/** `meanwhile` happens before (even points) or after (odd ones) one of the requests, once. */
function interrupted(store: Store, point: number, meanwhile: () => Promise<void>): Store {
  let requests = 0;
  const methods = scheduleRequests.map((name) => [
    name,
    async (...args: never[]) => {
      const isHere = requests === Math.floor(point / 2);
      requests += 1;
      if (isHere && point % 2 === 0) await meanwhile();
      const answer = await (store[name] as (...given: never[]) => Promise<unknown>).apply(store, args);
      if (isHere && point % 2 === 1) await meanwhile();
      return answer;
    },
  ]);
  return new Proxy(store, {
    get: (target, name) =>
      (Object.fromEntries(methods) as Readonly<Record<string | symbol, unknown>>)[name] ?? Reflect.get(target, name),
  });
}
