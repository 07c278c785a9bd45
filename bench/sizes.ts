/** How much each bench does: in full, quickly, and just enough to see that it works. */

export interface Size {
  readonly name: "full" | "quick" | "tiny";
  /** Interleaved rounds, and sagas in each. */
  readonly rounds: number;
  readonly sagas: number;
  /** Sagas in a round of the benches that compare Reprise with itself. */
  readonly beside: number;
  readonly waiting: number;
  /** Runs started one at a time in a round of the latency bench. */
  readonly alone: number;
  readonly kills: number;
  readonly stops: number;
  /** Runs that a killed or stopped worker held. */
  readonly held: number;
  readonly boots: number;
  /** Runs whose requests are counted. */
  readonly counted: number;
  /** Timers, and over how long they fall due. */
  readonly timers: number;
  readonly timersMs: number;
  /** For the take-over; the product's own unless given. */
  readonly leaseMs: number | null;
}

const defaults = { held: 40, leaseMs: null, counted: 100 } as const;

export const sizes: Readonly<Record<Size["name"], Size>> = {
  full: {
    ...defaults,
    name: "full",
    rounds: 5,
    sagas: 10_000,
    beside: 5_000,
    waiting: 1_000_000,
    alone: 300,
    kills: 5,
    stops: 3,
    boots: 11,
    timers: 100_000,
    timersMs: 60_000,
  },
  quick: {
    ...defaults,
    name: "quick",
    rounds: 3,
    sagas: 3_000,
    beside: 500,
    waiting: 10_000,
    alone: 100,
    kills: 3,
    stops: 1,
    boots: 5,
    timers: 10_000,
    timersMs: 6_000,
  },
  tiny: {
    name: "tiny",
    rounds: 1,
    sagas: 20,
    beside: 10,
    waiting: 30,
    alone: 5,
    kills: 1,
    stops: 1,
    held: 5,
    boots: 1,
    timers: 60,
    timersMs: 500,
    counted: 5,
    leaseMs: 1_500,
  },
};
