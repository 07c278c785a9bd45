import type { Clock } from "../core/index.ts";

/**
 * The store's time as one holder knows it: what the last answer said plus the monotonic time since that answer was
 * received. So it is never ahead of the store's own time (clock drift apart), but behind by as much as that answer was late;
 * the wall clock is never asked.
 */
export class StoreTime {
  readonly #clock: Clock;
  #heard: number;
  #at: number;

  constructor(clock: Clock, now: number) {
    this.#clock = clock;
    this.#heard = now;
    this.#at = clock.monotonicMs();
  }

  /** An answer has just been received. */
  heard(now: number): void {
    this.#heard = now;
    this.#at = this.#clock.monotonicMs();
  }

  /** Another answer, perhaps of another server, was later: what follows from it is no earlier. (Too early is told by a `CLOCK`.) */
  heardBeside(now: number): void {
    if (now > this.now()) this.heard(now);
  }

  now(): number {
    return Math.floor(this.#heard + this.#clock.monotonicMs() - this.#at);
  }
}
