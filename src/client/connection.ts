/**
 * What everything in one client shares. Owns: opening the store once, its time, and the one watch subscription.
 * Invariants: N1 nothing is opened before it is needed, and everything once. N2 a notification is a hint: whoever waits
 * re-reads at least every `rereadMs`.
 */
import {
  type Clock,
  type Facts,
  type Ids,
  machinesOf,
  type RunRef,
  type RunStatus,
  runKey,
  type Store,
  type Ticks,
  type Tracing,
  type WakeUp,
  type WakeUps,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { redact } from "../redact.ts";
import type { Saga } from "../saga/index.ts";

/** Whoever waits for a run re-reads it at least this often. */
export const rereadMs = 2_000;
/** The store is asked for its time again when its last answer is older than this. */
const timeKeptMs = 60_000;

export interface ClientPorts {
  readonly store: Store;
  readonly wakeUps: WakeUps;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly facts: Facts;
  /** Where starts are seen from outside; nowhere where it is left out. */
  readonly tracing?: Tracing;
  /** What makes schedules tick; the workers see to it where it is left out. */
  readonly ticks?: Pick<Ticks, "set" | "remove">;
}

export interface ClientOptions {
  readonly namespace: string;
  readonly sagas: readonly Saga[];
  /** Inputs and payloads larger than this are refused. */
  readonly maxPayloadBytes: number;
  /** An input that is more than a run may hold is refused; the bound is the worker's unless given. */
  readonly maxRunBytes?: number;
  /** Plans that may be executed on one run. */
  readonly maxReplays: number;
  /** How long an id that somebody gave is not free again after its run was deleted by `gc`; for ever unless given. */
  readonly idsKeptMs?: number | null;
}

/** Waits for news of one run. */
export interface News {
  /** Resolves when the run has moved since it was last asked, or after `ms`. */
  next(ms: number): Promise<void>;
  stop(): void;
}

export class Connection {
  readonly ports: ClientPorts;
  readonly options: ClientOptions;
  /** The machine of a run, if this client was given its saga in the structure the run is pinned to. */
  readonly machineFor: ReturnType<typeof machinesOf>;
  readonly #listeners = new Map<string, Set<(status: RunStatus) => void>>();
  readonly #sagas: ReadonlyMap<string, Saga>;
  #opened: Promise<void> | null = null;
  #watching: Promise<(() => Promise<void>) | null> | null = null;
  #heard: { readonly now: number; readonly at: number } | null = null;
  #closed = false;

  constructor(ports: ClientPorts, options: ClientOptions) {
    this.ports = ports;
    this.options = options;
    this.machineFor = machinesOf(options.sagas);
    this.#sagas = new Map(options.sagas.map((saga) => [`${saga.name}@${saga.version}`, saga]));
  }

  /** The store, opened. Throws STORE_UNAVAILABLE, SHARDS_MISMATCH, CLOSED. */
  async store(): Promise<Store> {
    if (this.#closed) throw new RepriseError("CLOSED", "this client was closed");
    this.#opened ??= this.ports.store.open().catch((error: unknown) => {
      this.#opened = null;
      throw error;
    });
    await this.#opened;
    return this.ports.store;
  }

  /** The saga a run is pinned to, as far as this client was given it. Throws SAGA_UNKNOWN. */
  sagaOf(name: string, version: number): Saga {
    const saga = this.#sagas.get(`${name}@${version}`);
    if (saga === undefined) throw unknownSaga(`${name}@${version}`, [...this.#sagas.keys()]);
    return saga;
  }

  /** Why nothing can be said of a run whose saga is not here as the run knows it. */
  unknownStructure(name: string, version: number): RepriseError {
    return unknownSaga(`${name}@${version} in the structure of the run`, [...this.#sagas.keys()]);
  }

  /** The newest version of a saga by name. Throws SAGA_UNKNOWN. */
  newest(name: string): Saga {
    const versions = this.options.sagas.filter((saga) => saga.name === name);
    const newest = versions.sort((a, b) => b.version - a.version)[0];
    if (newest === undefined) throw unknownSaga(name, [...this.#sagas.keys()]);
    return newest;
  }

  // ---- time

  heard(now: number): void {
    this.#heard = { now, at: this.ports.clock.monotonicMs() };
  }

  /** The store's time, asked for only when nothing was heard lately. */
  async storeNow(): Promise<number> {
    const { clock } = this.ports;
    const store = await this.store();
    if (this.#heard === null || clock.monotonicMs() - this.#heard.at > timeKeptMs) this.heard(await store.now());
    const { now, at } = this.#heard ?? { now: 0, at: 0 };
    return Math.floor(now + clock.monotonicMs() - at);
  }

  // ---- wake-ups

  /** A lost wake-up is found by the sweep, so a failure is told and nothing more. */
  async wake(wakeUps: readonly (WakeUp | null)[]): Promise<void> {
    const wanted = wakeUps.filter((wakeUp) => wakeUp !== null);
    if (wanted.length === 0) return;
    try {
      await this.ports.wakeUps.wake(wanted);
    } catch (error) {
      this.trouble("wake", error);
    }
  }

  trouble(where: string, error: unknown): void {
    const message = redact(error instanceof Error ? error.message : String(error));
    this.ports.facts.emit({ fact: "trouble", where, message });
  }

  /** Begins a run where whoever follows its trace can see it. */
  started<Result>(
    run: Parameters<Tracing["start"]>[0],
    work: (trace: string | null) => Promise<Result>,
  ): Promise<Result> {
    const { tracing } = this.ports;
    return tracing === undefined ? work(null) : tracing.start(run, work);
  }

  // ---- news

  /** Follows one run, and of its moves those to a status that matters; the subscription is made with the first and kept. */
  async follow(run: RunRef, matters: (status: RunStatus) => boolean): Promise<News> {
    await this.#watch();
    let moved = false;
    let tell: (() => void) | null = null;
    const listener = (status: RunStatus) => {
      if (!matters(status)) return;
      moved = true;
      tell?.();
    };
    const key = runKey(run);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return {
      next: async (ms) => {
        const cancel = await new Promise<() => void>((resolve) => {
          const stop = this.ports.clock.after(ms, () => tell?.());
          tell = () => resolve(stop);
          if (moved) tell();
        });
        cancel();
        tell = null;
        moved = false;
      },
      stop: () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(key);
      },
    };
  }

  #watch(): Promise<unknown> {
    this.#watching ??= this.ports.store
      .watch((run, _revision, status) => {
        for (const listener of this.#listeners.get(runKey(run)) ?? []) listener(status);
      })
      .catch((error: unknown) => {
        // Whoever waits re-reads; the next one to wait tries to subscribe again.
        this.#watching = null;
        this.trouble("watch", error);
        return null;
      });
    return this.#watching;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#opened?.catch(() => undefined);
    const stop = await this.#watching;
    await stop?.().catch((error: unknown) => this.trouble("watch", error));
  }
}

function unknownSaga(wanted: string, known: readonly string[]): RepriseError {
  return new RepriseError(
    "SAGA_UNKNOWN",
    `this client was not given the saga ${wanted}; it knows ${known.length === 0 ? "none" : known.join(", ")}`,
    { details: { wanted, known } },
  );
}
