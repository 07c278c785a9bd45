/**
 * Owns: the leases this process holds, their renewal and how far each can be trusted. Invariants: L1 trust runs from when
 * the last request that succeeded was *sent*, by the monotonic clock, to lease minus margin. L2 outside trust no call and
 * no run is begun; what was begun before may end, and its outcome is committed as long as nobody took over. L3 all leases
 * of a shard are renewed in one request; at most one such request per shard is under way.
 */
import type { Clock, LeaseRef, RenewAnswer, Store } from "../core/index.ts";

/** Told what a renewal learnt of its run. */
export interface LeaseHolder {
  /** Somebody else has the run: commit nothing any more. */
  fenced(): void;
  /** The lease was renewed; `position` is the highest of the run's inbox. */
  renewed(position: number): void;
}

/** The right to advance one run, as far as this process knows. */
export class HeldLease {
  readonly ref: LeaseRef;
  readonly holder: LeaseHolder;
  #trustedUntil: number;

  constructor(ref: LeaseRef, holder: LeaseHolder, trustedUntil: number) {
    this.ref = ref;
    this.holder = holder;
    this.#trustedUntil = trustedUntil;
  }

  isTrusted(monotonicMs: number): boolean {
    return monotonicMs < this.#trustedUntil;
  }

  trustUntil(monotonicMs: number): void {
    if (monotonicMs > this.#trustedUntil) this.#trustedUntil = monotonicMs;
  }
}

export interface LeasesOptions {
  readonly store: Pick<Store, "renew" | "shardOf">;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly marginMs: number;
  readonly onTrouble: (where: string, error: unknown) => void;
}

export class Leases {
  readonly #options: LeasesOptions;
  readonly #byShard = new Map<number, Set<HeldLease>>();
  readonly #busy = new Set<number>();
  #cancelTimer: (() => void) | null = null;
  #stopped = false;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** Keeps a lease that was won by a request sent at `sentAt`. */
  hold(ref: LeaseRef, sentAt: number, holder: LeaseHolder): HeldLease {
    const held = new HeldLease(ref, holder, this.#trustFrom(sentAt));
    const shard = this.#options.store.shardOf(ref.run);
    const leases = this.#byShard.get(shard);
    if (leases === undefined) this.#byShard.set(shard, new Set([held]));
    else leases.add(held);
    return held;
  }

  /** A request under this lease, sent at `sentAt`, has succeeded. */
  confirm(held: HeldLease, sentAt: number): void {
    held.trustUntil(this.#trustFrom(sentAt));
  }

  drop(held: HeldLease): void {
    this.#byShard.get(this.#options.store.shardOf(held.ref.run))?.delete(held);
  }

  start(): void {
    this.#cancelTimer ??= this.#options.clock.after(this.#options.renewMs, () => this.#tick());
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  #trustFrom(sentAt: number): number {
    return sentAt + this.#options.leaseMs - this.#options.marginMs;
  }

  #tick(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#options.clock.after(this.#options.renewMs, () => this.#tick());
    for (const [shard, leases] of this.#byShard) if (leases.size > 0) void this.#renew(shard, [...leases]);
  }

  async #renew(shard: number, leases: readonly HeldLease[]): Promise<void> {
    if (this.#busy.has(shard)) return;
    this.#busy.add(shard);
    const { store, clock, leaseMs, onTrouble } = this.#options;
    const sentAt = clock.monotonicMs();
    try {
      const refs = leases.map((held) => held.ref);
      const { answers } = await store.renew(refs, leaseMs);
      for (const [index, held] of leases.entries()) {
        if (this.#byShard.get(shard)?.has(held)) this.#tell(held, answers[index], sentAt);
      }
    } catch (error) {
      onTrouble("renew", error);
    } finally {
      this.#busy.delete(shard);
    }
  }

  #tell(held: HeldLease, answer: RenewAnswer | undefined, sentAt: number): void {
    if (answer === undefined) return;
    if (answer.answer === "FENCED") return held.holder.fenced();
    this.confirm(held, sentAt);
    held.holder.renewed(answer.position);
  }
}
