/** A whole engine over the memory store and the virtual clock: one store, one queue, any number of workers. */
import {
  begin,
  type Canaries,
  type Consumer,
  type ConsumerFactory,
  type ConsumerOptions,
  type DeadLetters,
  type Fact,
  hashOf,
  type Ids,
  machineOf,
  type RunRef,
  type Store,
} from "../../../src/core/index.ts";
import {
  type EngineSettings,
  engineWorker,
  type PulsePlace,
  type Vitals,
  type Worker,
  type WorkerOptions,
} from "../../../src/engine/index.ts";
import { type Json, type Saga, structureOf } from "../../../src/saga/index.ts";
import { memoryStore } from "../../../src/store/index.ts";
import { memoryQueue } from "../../../src/testing/memory-queue.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

export const settings: EngineSettings = {
  leaseMs: 10_000,
  renewMs: 1_000,
  marginMs: 2_000,
  sweepMs: 500,
  deadLetterSweepMs: 30_000,
  startWithinMs: 2_000,
  barrierMs: 1_500,
  abortGraceMs: 1_000,
  quiesceMs: 5_000,
  intentWaitMs: 60_000,
  inlineWaitMs: 2_000,
  shutdownMs: 10_000,
  maxPayloadBytes: 100_000,
  maxRunBytes: 64_000_000,
  logEntries: 2_000,
  retentionMs: null,
  retentionSweepMs: 30_000,
  idsKeptMs: null,
};

/** Ids that are the same every time, as long as real ones need to be. */
export function countedIds(): Ids {
  let count = 0;
  return {
    next: () => {
      count += 1;
      return `id${String(count).padStart(10, "0")}`;
    },
    random: () => 0.5,
  };
}

/** A worker whose process can die, or stand still: nothing that it asks reaches the store, nothing reaches it. */
export interface Mortal {
  readonly worker: Worker;
  kill(): void;
  /** Stands still for good, so that its jobs are given to others; its pulse goes on. */
  freeze(): void;
  /** Its pulse is opened anew, as after a connection was lost. */
  beatElsewhere(): void;
}

const never = new Promise<never>(() => undefined);

/** The store with some of its answers made by a test. */
export function wrapped(over: (store: Store) => Partial<Store>): (store: Store) => Store {
  return (store) => {
    const mine = over(store);
    return new Proxy(store, {
      get: (target, name) => {
        const made: unknown = mine[name as keyof Store];
        if (made !== undefined) return made;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
}

export function benchTop(sagas: readonly Saga[], wrap: (store: Store) => Store = (store) => store) {
  const clock = new VirtualClock();
  const ids = countedIds();
  const alive = new Set<string>();
  const store = memoryStore({ clock, isAlive: (pulse) => alive.has(pulse) });
  const queue = memoryQueue({ clock });
  const facts: Fact[] = [];
  const ports = {
    store: wrap(store),
    wakeUps: queue.wakeUps,
    clock,
    ids,
    facts: { emit: (fact: Fact) => facts.push(fact) },
  };

  interface Options {
    readonly queues?: readonly string[];
    readonly pools?: readonly string[];
    readonly serve?: readonly Saga[];
    readonly shutdownMs?: number;
    /** What its steps call. */
    readonly services?: unknown;
    /** Where it shows parked runs. */
    readonly letters?: DeadLetters;
    /** Who hands it its wake-ups, if not the queue. */
    readonly consumers?: ConsumerFactory;
    /** What it says of its process, and what it sends to see whether jobs come through. */
    readonly vitals?: Vitals;
    readonly canaries?: Canaries;
  }

  function workerOptions(options: Options): WorkerOptions {
    return {
      namespace: "test",
      sagas: options.serve ?? sagas,
      pools: options.pools ?? ["default"],
      queues: (options.queues ?? []).map((name) => ({ name, concurrency: 5 })),
      concurrency: 10,
      services: options.services ?? {},
      settings: { ...settings, shutdownMs: options.shutdownMs ?? settings.shutdownMs },
      allowForgetfulStore: false,
      log: () => undefined,
    };
  }

  function worker(options: Options = {}): Worker {
    const { letters, consumers = queue.consumers, vitals, canaries } = options;
    const deadLetters = letters === undefined ? {} : { deadLetters: { letters, sagas: options.serve ?? sagas } };
    const heart = { ...(vitals === undefined ? {} : { vitals }), ...(canaries === undefined ? {} : { canaries }) };
    return engineWorker({ ports, consumers, ...deadLetters, ...heart }, workerOptions(options));
  }

  /** A worker with a pulse, which ends with it; `silent`: none can be opened. */
  async function mortal(
    options: { readonly queues?: readonly string[]; readonly silent?: boolean } = {},
  ): Promise<Mortal> {
    let dead = false;
    let pulse = `p${alive.size}`;
    alive.add(pulse);
    let beats: (place: PulsePlace) => void = () => undefined;
    const cut = new Proxy(ports.store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => (dead ? never : (value.apply(target, args) as unknown));
      },
    });
    const consumers: Consumer[] = [];
    const parts = {
      ports: { ...ports, store: cut },
      consumers: (wanted: ConsumerOptions) => {
        const consumer = queue.consumers(wanted);
        consumers.push(consumer);
        return consumer;
      },
      pulse: (onOpen: (place: PulsePlace) => void) => {
        beats = onOpen;
        if (options.silent !== true) onOpen({ serverId: "s", pulse });
        return { close: () => void alive.delete(pulse) };
      },
    };
    const worker = engineWorker(parts, workerOptions(options));
    await worker.start();
    const freeze = () => {
      dead = true;
      for (const consumer of consumers) queue.crash(consumer);
    };
    const kill = () => {
      alive.delete(pulse);
      freeze();
    };
    const beatElsewhere = () => {
      alive.delete(pulse);
      pulse = `${pulse}'`;
      alive.add(pulse);
      beats({ serverId: "s", pulse });
    };
    return { worker, kill, freeze, beatElsewhere };
  }

  async function start(saga: Saga, input: Json, id = "r1", { wake = true } = {}): Promise<RunRef> {
    const run = { tenant: "default", id };
    const machine = machineOf(saga.spec);
    const now = await store.now();
    const first = begin({ machine, hash: hashOf(structureOf(saga)), ...run, input, priority: 0, now, startAt: now });
    const created = await store.create({ ...first, memberships: [], commandId: ids.next() });
    if (wake && created.answer === "OK" && created.wake !== null) await queue.wakeUps.wake([created.wake]);
    return run;
  }

  return { clock, store, queue, facts, ports, worker, mortal, start };
}
