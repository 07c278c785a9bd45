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
  /** Worker processes and shards of each point of the curve, and sagas of a round there. */
  readonly curveWorkers: readonly number[];
  readonly curveShards: readonly number[];
  readonly curveSagas: number;
  /** Ended runs that expire at once, and starts beside them before and meanwhile. */
  readonly expiring: number;
  readonly startsBeside: number;
  /** Runs that one tenant starts, and single runs of another. */
  readonly crowd: number;
  readonly singles: number;
  /** For the take-over; the product's own unless given. */
  readonly leaseMs: number | null;
}

const defaults = {
  held: 40,
  leaseMs: null,
  counted: 100,
  curveWorkers: [1, 2, 3, 4],
  curveShards: [1, 4, 16],
  startsBeside: 400,
  singles: 20,
} as const;

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
    curveSagas: 4_000,
    expiring: 50_000,
    crowd: 100_000,
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
    curveSagas: 1_000,
    expiring: 5_000,
    crowd: 10_000,
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
    curveWorkers: [1, 2],
    curveShards: [1, 4],
    curveSagas: 60,
    expiring: 120,
    startsBeside: 10,
    crowd: 300,
    singles: 3,
    counted: 5,
    leaseMs: 1_500,
  },
};
