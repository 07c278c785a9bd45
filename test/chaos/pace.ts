/**
 * How much of the load may have been started by now: in step with the schedule by the time that it takes, so that runs are under way
 * as long as something goes wrong, also within what takes long.
 */
import { forgets, type Planned, type Trouble } from "./options.ts";

/** What a trouble takes, in seconds, where the machine is quick. */
const usualSeconds = 0.7;
const forgettingSeconds = 5;
/** Of the runs, those that are kept for what is tried again when the schedule is over. */
export const keptShare = 0.08;
/** How much slower or quicker than usual is believed. */
const factors = { least: 0.3, most: 6 } as const;

export class Pace {
  readonly #seconds: readonly number[];
  readonly #total: number;
  readonly #now: () => number;
  readonly #beganAt: number;
  #done = 0;
  #current = 0;
  #since: number;

  constructor({ schedule, ...asked }: Planned, now: () => number = () => performance.now()) {
    const secondsOf = (trouble: Trouble) =>
      forgets(trouble, asked) && !asked.together ? forgettingSeconds : usualSeconds;
    this.#seconds = schedule.map(secondsOf);
    this.#total = this.#seconds.reduce((sum, each) => sum + each, 0);
    this.#now = now;
    this.#beganAt = now();
    this.#since = now();
  }

  /** The n-th of the schedule begins. */
  begin(n: number): void {
    this.#done += this.#current;
    this.#current = this.#seconds[n] ?? 0;
    this.#since = this.#now();
  }

  /** From 0 to 1: so much of the load may have been started. */
  get share(): number {
    if (this.#total === 0) return 1;
    const factor = this.#done < usualSeconds ? 1 : (this.#since - this.#beganAt) / (1_000 * this.#done);
    const believed = Math.min(factors.most, Math.max(factors.least, factor));
    const gone = (this.#now() - this.#since) / (1_000 * believed);
    return (1 - keptShare) * ((this.#done + Math.min(this.#current, gone)) / this.#total);
  }
}
