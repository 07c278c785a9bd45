/**
 * A worker process that can die, stand still and lose replies, without being one: every port that it holds is wrapped. Faults are
 * made here and nowhere in the product.
 *
 * Invariants: M1 what is dead asks nothing, hears nothing and is called by no timer. M2 what stands still hears and does everything
 * later. M3 what has arrived outside stays done, whatever becomes of who asked.
 */
import type { Clock, Store, WakeUps } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { type Crossing, type Fate, type Fates, spared, type Touch } from "./crossings.ts";

type Method = (...asked: unknown[]) => unknown;

const never = new Promise<never>(() => undefined);

export interface MortalOptions {
  readonly name: string;
  readonly clock: VirtualClock;
  readonly fates: Fates;
  /** How long it stands still where that is its fate. */
  readonly stillMs: () => number;
  /** How long an answer takes where it is to be late. */
  readonly lateMs?: () => number;
  readonly onDeath: (process: Mortal, where: string) => void;
  readonly onStandstill: (where: string) => void;
  /** How long a timer of it takes, that was set for so long. */
  readonly pace: (ms: number) => number;
}

export class Mortal {
  readonly name: string;
  /** Its own timers: they do not ring for the dead, and ring late for those who stand still. */
  readonly clock: Clock;
  readonly #options: MortalOptions;
  readonly #counts = new Map<string, number>();
  /** Timers that take longer than they were set for. */
  readonly #slowed = new Set<() => void>();
  #stillUntil = 0;
  #dead = false;

  constructor(options: MortalOptions) {
    this.name = options.name;
    this.#options = options;
    const { clock } = options;
    this.clock = { monotonicMs: () => clock.monotonicMs(), after: (ms, callback) => this.#after(ms, callback) };
  }

  get isDead(): boolean {
    return this.#dead;
  }

  kill(where: string): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#options.onDeath(this, where);
  }

  /** A store as this process reaches it. */
  store(store: Store): Store {
    const crossed = new Map<string, unknown>();
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function" || typeof name !== "string") return value;
        if (!crossed.has(name)) crossed.set(name, this.#crossing(target, name, value as Method));
        return crossed.get(name);
      },
    });
  }

  #crossing(store: Store, name: string, method: Method): Method {
    if (name === "shardOf" || name === "watch" || name === "onReconnect") return method.bind(store);
    const what = `store.${name}`;
    return (...asked) =>
      this.cross({ kind: "store", what, asked }, () => method.apply(store, asked) as Promise<unknown>);
  }

  wakeUps(wakeUps: WakeUps): WakeUps {
    return {
      ...wakeUps,
      wake: (wakes) => this.cross(queued("wake"), () => wakeUps.wake(wakes)),
      offer: (jobs) => this.cross(queued("offer"), () => wakeUps.offer(jobs)),
      close: () => Promise.resolve(),
    };
  }

  /** Touches the outside, if it lives to do so. Where it stands still, it is with the answer on its way. */
  async cross<T>(touch: Touch, go: () => Promise<T>, again?: () => void): Promise<T> {
    if (this.#options.fates === spared) return await this.#unharmed(go);
    await this.#awake();
    const { kind, what } = touch;
    const fate = this.#fateAt(touch);
    if (fate === "kill before") this.kill(`before ${what}`);
    if (this.#dead) return never;
    if (fate === "lose request") throw broken(kind, what, "before it arrived");
    if (fate === "deliver twice") again?.();
    if (fate === "stand still") this.#standStill(what);
    const answered = await settled(go);
    if (fate === "answer late") await this.#pause(this.#options.lateMs?.() ?? 0);
    if (fate === "kill after") this.kill(`after ${what}`);
    await this.#awake();
    if (fate === "lose reply") throw broken(kind, what, "after it was done");
    return answered();
  }

  /** Nothing befalls it but that it is killed by hand. */
  async #unharmed<T>(go: () => Promise<T>): Promise<T> {
    if (this.#dead) return never;
    try {
      return await go();
    } finally {
      if (this.#dead) await never;
    }
  }

  #standStill(where: string): void {
    this.#stillUntil = this.#now() + this.#options.stillMs();
    this.#options.onStandstill(where);
  }

  /** What befalls it at this crossing. */
  #fateAt(touch: Touch): Fate {
    const { what } = touch;
    const n = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, n);
    return this.#options.fates({ ...touch, n });
  }

  async #awake(): Promise<void> {
    while (!this.#dead && this.#stillUntil > this.#now()) await this.#pause(this.#stillUntil - this.#now());
    if (this.#dead) await never;
  }

  /** Time passes for everybody. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.clock.after(ms, resolve);
    });
  }

  /** Its timers take no longer than they were set for, from now on. */
  hurry(): void {
    for (const hurry of [...this.#slowed]) hurry();
  }

  #after(ms: number, callback: () => void): () => void {
    const { clock, pace } = this.#options;
    const due = this.#now() + ms;
    let cancel = (): void => undefined;
    const ring = (): void => {
      this.#slowed.delete(hurry);
      if (this.#dead) return;
      const late = this.#stillUntil - this.#now();
      if (late > 0) cancel = clock.after(late, ring);
      else callback();
    };
    const hurry = (): void => {
      cancel();
      cancel = clock.after(Math.max(0, due - this.#now()), ring);
      this.#slowed.delete(hurry);
    };
    cancel = clock.after(pace(ms), ring);
    if (pace(ms) > ms) this.#slowed.add(hurry);
    return () => {
      this.#slowed.delete(hurry);
      cancel();
    };
  }

  #now(): number {
    return this.#options.clock.monotonicMs();
  }
}

function queued(what: "wake" | "offer"): Touch {
  return { kind: "queue", what: `queue.${what}`, asked: [] };
}

function broken(kind: Crossing["kind"], what: string, when: string): Error {
  const message = `${what}: the connection broke ${when}`;
  if (kind === "store" || kind === "queue") return new RepriseError("STORE_UNAVAILABLE", message);
  return Object.assign(new Error(message), { code: "ECONNRESET" });
}

/** What came of it, to be heard later. */
async function settled<T>(go: () => Promise<T>): Promise<() => T> {
  try {
    const value = await go();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
