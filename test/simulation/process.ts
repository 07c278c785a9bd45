/**
 * A worker process that can die, stand still and lose replies, without being one: every port it holds is wrapped. What is
 * dead neither calls nor hears; what stands still hears everything later. Faults are made here and nowhere in the product.
 */
import type { Clock, Ids, Store, WakeUps } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { Random } from "./random.ts";

/** What may befall one request, each with its probability. */
export interface FaultRates {
  readonly crashBefore: number;
  readonly crashAfter: number;
  readonly loseRequest: number;
  readonly loseReply: number;
  readonly slow: number;
  readonly freeze: number;
}

export const calm: FaultRates = { crashBefore: 0, crashAfter: 0, loseRequest: 0, loseReply: 0, slow: 0, freeze: 0 };

const never = new Promise<never>(() => undefined);

export class SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly #world: VirtualClock;
  readonly #random: Random;
  #rates: FaultRates;
  #dead = false;
  #frozenUntil = 0;
  readonly #onDeath: (process: SimProcess, where: string) => void;

  constructor(
    name: string,
    world: VirtualClock,
    random: Random,
    rates: FaultRates,
    onDeath: (process: SimProcess, where: string) => void,
  ) {
    this.name = name;
    this.#world = world;
    this.#random = random;
    this.#rates = rates;
    this.#onDeath = onDeath;
    this.clock = { monotonicMs: () => world.monotonicMs(), after: (ms, callback) => this.#after(ms, callback) };
  }

  get isDead(): boolean {
    return this.#dead;
  }

  calm(): void {
    this.#rates = calm;
  }

  kill(where: string): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#onDeath(this, where);
  }

  freeze(ms: number): void {
    this.#frozenUntil = Math.max(this.#frozenUntil, this.#world.monotonicMs() + ms);
  }

  ids(): Ids {
    return { next: () => this.#random.id(), random: () => this.#random.next() };
  }

  /** A store reached over a network that this process's faults befall. */
  store(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function" || typeof name !== "string") return value;
        if (name === "shardOf" || name === "watch") return value.bind(target);
        return (...args: unknown[]) => this.#request(name, () => value.apply(target, args) as Promise<unknown>);
      },
    });
  }

  wakeUps(wakeUps: WakeUps): WakeUps {
    return {
      ...wakeUps,
      wake: (wakes) => this.#request("wake", () => wakeUps.wake(wakes)) as Promise<void>,
      offer: (jobs) => this.#request("offer", () => wakeUps.offer(jobs)) as Promise<void>,
      close: () => Promise.resolve(),
    };
  }

  /** A call of the outside world: it may be cut off on both sides, but what arrived has arrived. */
  async outside<T>(what: string, call: () => Promise<T>): Promise<T> {
    await this.#awake();
    if (this.#random.chance(this.#rates.crashBefore)) this.kill(`before ${what}`);
    if (this.#dead) return never;
    try {
      const answer = await call();
      await this.#heard(what);
      return answer;
    } catch (error) {
      await this.#heard(what);
      throw error;
    }
  }

  async #request(what: string, send: () => Promise<unknown>): Promise<unknown> {
    await this.#awake();
    const rates = this.#rates;
    if (this.#random.chance(rates.crashBefore)) this.kill(`before ${what}`);
    if (this.#dead) return never;
    if (this.#random.chance(rates.freeze)) this.freeze(this.#random.between(1_000, 9_000));
    if (this.#random.chance(rates.loseRequest)) throw lost(what, "before it arrived");
    const answer = await send();
    if (this.#random.chance(rates.slow)) await this.#pause(this.#random.between(1, 400));
    await this.#heard(what);
    if (this.#random.chance(rates.loseReply)) throw lost(what, "after it was done");
    return answer;
  }

  async #heard(what: string): Promise<void> {
    if (this.#random.chance(this.#rates.crashAfter)) this.kill(`after ${what}`);
    await this.#awake();
    if (this.#dead) await never;
  }

  async #awake(): Promise<void> {
    while (!this.#dead && this.#frozenUntil > this.#world.monotonicMs()) {
      await this.#pause(this.#frozenUntil - this.#world.monotonicMs());
    }
    if (this.#dead) await never;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#world.after(ms, resolve);
    });
  }

  /** A timer of this process: it does not ring for the dead, and rings late for those who stood still. */
  #after(ms: number, callback: () => void): () => void {
    let cancel = (): void => undefined;
    const ring = (): void => {
      if (this.#dead) return;
      const late = this.#frozenUntil - this.#world.monotonicMs();
      if (late > 0) cancel = this.#world.after(late, ring);
      else callback();
    };
    cancel = this.#world.after(ms, ring);
    return () => cancel();
  }
}

function lost(what: string, when: string): RepriseError {
  return new RepriseError("STORE_UNAVAILABLE", `${what}: the connection broke ${when}`);
}
