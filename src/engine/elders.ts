/**
 * After the store was restarted, or another server has taken its place: runs that were there before are left to those who may
 * remember more of them than it does (`memory.ts`), for as long as it takes that a lease of the older world lapses.
 *
 * Invariants: E1 a run that was started since waits for nobody. That this process remembers one of them as it is in the store
 * says nothing: another may have driven it further since. E2 the first servers a process meets were there before it: it leaves
 * nothing.
 */
import type { RunRecord } from "../core/index.ts";
import { type EngineContext, trouble, untilAnswered } from "./context.ts";

/** Leases for which a run is left: one of the older world may just have been taken when it was written. */
const leasesLeft = 2;

export class Elders {
  readonly #context: EngineContext;
  readonly #met = new Set<string>();
  readonly #beganAt: number;
  /** Store time by which the server was another one. */
  #restartedAt = Number.NEGATIVE_INFINITY;
  /** Until when runs are left, monotonic. */
  #until = Number.NEGATIVE_INFINITY;

  constructor(context: EngineContext) {
    this.#context = context;
    this.#beganAt = context.clock.monotonicMs();
  }

  /** A connection to this server was opened. */
  async met(serverId: string): Promise<void> {
    const { clock, store, settings } = this.#context;
    const isKnown = this.#met.has(serverId);
    this.#met.add(serverId);
    const now = clock.monotonicMs();
    if (isKnown || (this.#met.size === 1 && now - this.#beganAt < settings.leaseMs)) return;
    this.#restartedAt = Number.POSITIVE_INFINITY;
    this.#until = now + leasesLeft * settings.leaseMs;
    const message = `the store was restarted or is another one: what others may know more of is left for ${leasesLeft} leases`;
    trouble(this.#context, "store", new Error(message));
    const sent = await untilAnswered(this.#context, "store", () => store.now());
    if (sent !== null) this.#restartedAt = sent.answer;
  }

  /** For how many ms the run is left; 0: it may be driven. */
  leftFor(record: RunRecord): number {
    const left = Math.ceil(this.#until - this.#context.clock.monotonicMs());
    return left <= 0 || record.createdAt > this.#restartedAt ? 0 : left;
  }
}
