/**
 * Time that moves only when it is told to. Timers fire in order of their time, then of their making; between two of them
 * everything that was set going comes to rest, so a run over it is the same every time.
 */
import type { Clock } from "../core/index.ts";

interface Alarm {
  readonly at: number;
  readonly order: number;
  readonly ring: () => void;
}

export class VirtualClock implements Clock {
  #now: number;
  #order = 0;
  #alarms: Alarm[] = [];

  /** `startMs`: the time it shows at first. */
  constructor(startMs = 1_000_000) {
    this.#now = startMs;
  }

  monotonicMs(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    this.#order += 1;
    const alarm = { at: this.#now + Math.max(0, ms), order: this.#order, ring: callback };
    this.#insert(alarm);
    return () => {
      const index = this.#alarms.indexOf(alarm);
      if (index >= 0) this.#alarms.splice(index, 1);
    };
  }

  /** When the next timer is due; `null`: there is none. */
  nextAt(): number | null {
    return this.#alarms[0]?.at ?? null;
  }

  /** Fires the next timer, if it is due until `limitMs`, and lets everything come to rest. Says whether one fired. */
  async step(limitMs: number): Promise<boolean> {
    await settled();
    return await this.#fire(limitMs);
  }

  /** Everything has come to rest before, and has again after it. */
  async #fire(limitMs: number): Promise<boolean> {
    const next = this.#alarms[0];
    if (next === undefined || next.at > limitMs) return false;
    this.#alarms.shift();
    this.#now = Math.max(this.#now, next.at);
    next.ring();
    await settled();
    return true;
  }

  /** Moves time by `ms`, firing every timer on the way. */
  async advance(ms: number): Promise<void> {
    const limit = this.#now + ms;
    await settled();
    while (await this.#fire(limit));
    this.#now = Math.max(this.#now, limit);
  }

  #insert(alarm: Alarm): void {
    let low = 0;
    let high = this.#alarms.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#alarms[middle];
      if (other !== undefined && (other.at < alarm.at || (other.at === alarm.at && other.order < alarm.order)))
        low = middle + 1;
      else high = middle;
    }
    this.#alarms.splice(low, 0, alarm);
  }
}

/** Everything that only needs microtasks has run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
