/** A whole engine over the memory store and the virtual clock: one store, one queue, any number of workers. */
import { begin, type Fact, hashOf, type Ids, machineOf, type RunRef, type Store } from "../../../src/core/index.ts";
import { type EngineSettings, engineWorker, type Worker } from "../../../src/engine/index.ts";
import { type Json, type Saga, structureOf } from "../../../src/saga/index.ts";
import { memoryStore } from "../../../src/store/index.ts";
import { memoryQueue } from "../../../src/testing/memory-queue.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

export const settings: EngineSettings = {
  leaseMs: 10_000,
  renewMs: 1_000,
  marginMs: 2_000,
  sweepMs: 500,
  startWithinMs: 2_000,
  barrierMs: 1_500,
  abortGraceMs: 1_000,
  quiesceMs: 5_000,
  inlineWaitMs: 2_000,
  shutdownMs: 10_000,
  maxPayloadBytes: 100_000,
};

/** Ids that are the same every time. */
export function countedIds(): Ids {
  let count = 0;
  return {
    next: () => {
      count += 1;
      return `id${String(count).padStart(6, "0")}`;
    },
    random: () => 0.5,
  };
}

export function benchTop(sagas: readonly Saga[], wrap: (store: Store) => Store = (store) => store) {
  const clock = new VirtualClock();
  const ids = countedIds();
  const store = memoryStore({ clock });
  const queue = memoryQueue({ clock });
  const facts: Fact[] = [];
  const ports = {
    store: wrap(store),
    wakeUps: queue.wakeUps,
    clock,
    ids,
    facts: { emit: (fact: Fact) => facts.push(fact) },
  };

  function worker(
    options: {
      readonly queues?: readonly string[];
      readonly pools?: readonly string[];
      readonly serve?: readonly Saga[];
      readonly shutdownMs?: number;
    } = {},
  ): Worker {
    return engineWorker(
      { ports, consumers: queue.consumers },
      {
        namespace: "test",
        sagas: options.serve ?? sagas,
        pools: options.pools ?? ["default"],
        queues: (options.queues ?? []).map((name) => ({ name, concurrency: 5 })),
        concurrency: 10,
        services: {},
        settings: { ...settings, shutdownMs: options.shutdownMs ?? settings.shutdownMs },
        allowForgetfulStore: false,
        log: () => undefined,
      },
    );
  }

  async function start(saga: Saga, input: Json, id = "r1"): Promise<RunRef> {
    const run = { tenant: "default", id };
    const machine = machineOf(saga.spec);
    const now = await store.now();
    const first = begin({ machine, hash: hashOf(structureOf(saga)), ...run, input, priority: 0, now, startAt: now });
    const created = await store.create({ ...first, memberships: [], commandId: ids.next() });
    if (created.answer === "OK" && created.wake !== null) await queue.wakeUps.wake([created.wake]);
    return run;
  }

  return { clock, store, queue, facts, ports, worker, start };
}
