/**
 * Finds what nobody is at: overdue runs (lost jobs, lapsed leases and permits, timers, inboxes) and owners whose process is
 * gone. Any number of workers may do it. Owns when to look and when not to; the store says what is overdue.
 *
 * Invariants: E1 a worker that was held up for more than half a lease (a store that is frozen or away, a paused machine, a
 * store clock that jumped) takes nothing until one lease after it is over, so that owners come first (L2). E2 an owner is dead when its pulse was missing in two
 * polls at least `pulseGapMs` apart. E3 a sweep that was full is followed by another at once; while runs wait for room in the
 * queue, it is looked again as soon as workers may have made some, and less often when they make none.
 */
import type { DueAnswer, OwnerRef } from "../core/index.ts";
import { type EngineContext, pause, trouble } from "./context.ts";
import { pulseGapMs, refillMs, sweepLimit } from "./settings.ts";

/** Store time may run this much ahead between two sweeps before it counts as a jump. */
const jumpSlackMs = 1_000;

interface ShardSweep {
  busy: boolean;
  /** When the last answer came, when it had been asked for (monotonic both), and the store's time in it. */
  at: number;
  askedAt: number;
  now: number | null;
}

export class Reconciler {
  readonly #context: EngineContext;
  readonly #sweeps: readonly ShardSweep[];
  readonly #missing = new Map<string, number>();
  #heldUntil = 0;
  #polling = false;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;

  constructor(context: EngineContext) {
    this.#context = context;
    const at = context.clock.monotonicMs();
    this.#sweeps = Array.from({ length: context.store.shards }, () => ({ busy: false, at, askedAt: at, now: null }));
  }

  start(): void {
    const at = this.#context.clock.monotonicMs();
    for (const sweep of this.#sweeps) sweep.at = at;
    this.#tick();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  /** May this worker take runs now? */
  isTrusted(): boolean {
    const now = this.#context.clock.monotonicMs();
    if (!this.#stopped) for (const sweep of this.#sweeps) this.#notice(sweep, now); // no sweep, no news of one
    return now >= this.#heldUntil;
  }

  /** `true` when it may, and owners have had their lease's time to come back; `false`: it was stopped before that. */
  async whenTrusted(): Promise<boolean> {
    const { clock, settings } = this.#context;
    while (!this.isTrusted()) {
      if (this.#stopped) return false;
      await pause(clock, Math.min(this.#heldUntil - clock.monotonicMs(), settings.sweepMs));
    }
    return true;
  }

  #tick(): void {
    if (this.#stopped) return;
    const { clock, settings } = this.#context;
    this.#cancelTimer = clock.after(settings.sweepMs, () => this.#tick());
    this.#sweepAll();
    void this.#pollOwners();
  }

  #sweepAll(): void {
    for (const [shard, sweep] of this.#sweeps.entries()) if (!sweep.busy) void this.#sweepShard(shard, sweep);
  }

  async #sweepShard(shard: number, sweep: ShardSweep): Promise<void> {
    sweep.busy = true;
    try {
      let wait: number | null = 0;
      let isMoving = false;
      while (wait !== null) {
        if (wait > 0) await pause(this.#context.clock, wait);
        const found = await this.#sweepOnce(shard, sweep);
        if (found === null) return;
        isMoving ||= found.wakeUps.length > 0;
        wait = this.#nextLook(found, isMoving, wait);
      }
    } catch (error) {
      trouble(this.#context, `sweep of shard ${shard}`, error);
    } finally {
      sweep.busy = false;
    }
  }

  /** In how many ms to look again; `null`: the next tick will do, as where nothing moves. */
  #nextLook(found: DueAnswer, isMoving: boolean, waited: number): number | null {
    if (found.full) return 0;
    if (!found.crowded || !isMoving) return null;
    const wait = found.wakeUps.length > 0 ? refillMs : Math.max(waited * 2, refillMs);
    return wait < this.#context.settings.sweepMs ? wait : null;
  }

  /** `null`: nothing is to be taken for now. */
  async #sweepOnce(shard: number, sweep: ShardSweep): Promise<DueAnswer | null> {
    const { store, wakeUps, clock } = this.#context;
    this.#notice(sweep, clock.monotonicMs());
    if (this.#stopped) return null;
    const askedAt = clock.monotonicMs();
    const isHeld = askedAt < this.#heldUntil;
    const answer = await store.due(shard, isHeld ? 0 : sweepLimit); // 0: only whether the store is there again
    const now = clock.monotonicMs();
    this.#notice(sweep, now);
    this.#noticeJump(sweep, now, answer.now);
    Object.assign(sweep, { at: now, askedAt, now: answer.now });
    if (this.#stopped || isHeld || now < this.#heldUntil) return null;
    if (answer.wakeUps.length > 0) await wakeUps.wake(answer.wakeUps);
    return answer;
  }

  /** Was this worker held up since its last sweep? */
  #notice(sweep: ShardSweep, now: number): void {
    const { sweepMs, leaseMs } = this.#context.settings;
    if (now - sweep.at > sweepMs + leaseMs / 2) this.#hold(now, "this worker was held up");
  }

  /** The store read its clock after the question before was asked: no more than the time since then can have passed there. */
  #noticeJump(sweep: ShardSweep, now: number, storeNow: number): void {
    if (sweep.now === null) return;
    const passed = storeNow - sweep.now;
    if (passed > 2 * (now - sweep.askedAt) + jumpSlackMs) this.#hold(now, `the store's clock jumped by ${passed} ms`);
  }

  #hold(now: number, why: string): void {
    const { leaseMs } = this.#context.settings;
    const isNews = now >= this.#heldUntil;
    this.#heldUntil = now + leaseMs;
    this.#missing.clear();
    if (!isNews) return;
    trouble(this.#context, "sweep", new Error(`${why}: nothing is taken over for ${leaseMs} ms`));
  }

  // ---- owners

  async #pollOwners(): Promise<void> {
    if (this.#polling) return;
    this.#polling = true;
    try {
      const lost = await this.#context.store.lostOwners();
      const dead = this.#deadOf(lost);
      for (const owner of dead) await this.#expire(owner);
      if (dead.length > 0) this.#sweepAll();
    } catch (error) {
      trouble(this.#context, "pulses", error);
    } finally {
      this.#polling = false;
    }
  }

  #deadOf(lost: readonly OwnerRef[]): readonly OwnerRef[] {
    const now = this.#context.clock.monotonicMs();
    const keys = new Map(lost.map((owner) => [`${owner.owner} ${owner.serverId} ${owner.pulse}`, owner]));
    for (const key of this.#missing.keys()) if (!keys.has(key)) this.#missing.delete(key);
    const dead: OwnerRef[] = [];
    for (const [key, owner] of keys) {
      const since = this.#missing.get(key);
      if (since === undefined) this.#missing.set(key, now);
      else if (now - since >= pulseGapMs) dead.push(owner);
    }
    return dead;
  }

  async #expire(owner: OwnerRef): Promise<void> {
    const { store, facts } = this.#context;
    let runs = 0;
    for (let more = true; more && !this.#stopped; ) {
      const answer = await store.expire(owner);
      runs += answer.expired;
      more = answer.more;
    }
    facts.emit({ fact: "recovered", owner: owner.owner, runs });
  }
}
