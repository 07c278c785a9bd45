/**
 * What befalls the processes of a simulation: drawn at every touch of the outside from one seeded source, at rates of their own.
 * Invariant: a fate that strikes is told to the crash points, and nothing else is.
 */
import type { Crossing, Fate } from "../../src/testing/rig/crossings.ts";
import type { Mortal } from "../../src/testing/rig/mortal.ts";
import type { CrashPoints } from "./points.ts";
import type { Random } from "./random.ts";

/** What may befall one touch of the outside, each with its probability. */
export interface FaultRates {
  readonly crashBefore: number;
  readonly crashAfter: number;
  readonly loseRequest: number;
  readonly loseReply: number;
  readonly slow: number;
  readonly freeze: number;
  /** Of jobs: they are handed to another worker as well. */
  readonly twice: number;
}

export const calm: FaultRates = {
  crashBefore: 0,
  crashAfter: 0,
  loseRequest: 0,
  loseReply: 0,
  slow: 0,
  freeze: 0,
  twice: 0,
};

/** Rates of a seed: none, few or many faults. */
export function drawnRates(random: Random): FaultRates {
  const level = random.pick([0, 0.3, 1, 2]);
  const rate = (most: number): number => random.next() * most * level;
  return {
    crashBefore: rate(0.02),
    crashAfter: rate(0.02),
    loseRequest: rate(0.02),
    loseReply: rate(0.03),
    slow: rate(0.1),
    freeze: rate(0.004),
    twice: rate(0.1),
  };
}

type Named = readonly [Fate, keyof FaultRates];
const ofProcesses: readonly Named[] = [
  ["kill before", "crashBefore"],
  ["kill after", "crashAfter"],
];
const ofNetwork: readonly Named[] = [
  ["stand still", "freeze"],
  ["lose request", "loseRequest"],
  ["lose reply", "loseReply"],
  ["answer late", "slow"],
];

/** What may befall which touch. What goes wrong with a service is scripted in the world itself. */
const fatesOf: Readonly<Record<Crossing["kind"], readonly Named[]>> = {
  store: [...ofProcesses, ...ofNetwork],
  queue: [...ofProcesses, ...ofNetwork],
  job: [...ofProcesses, ["deliver twice", "twice"]],
  service: ofProcesses,
};

/** What a worker asks whether it has a run or not. Most of what goes on is that, so little of what goes wrong is to be there. */
const housekeeping: ReadonlySet<string> = new Set(
  ["open", "durability", "hello", "renew", "due", "lostOwners", "expire", "pausedSagas", "register", "unshelve"].map(
    (name) => `store.${name}`,
  ),
);

/** The fates of one process. */
export class Fortune {
  readonly #random: Random;
  readonly #points: CrashPoints;
  #rates: FaultRates;

  constructor(random: Random, points: CrashPoints, rates: FaultRates) {
    this.#random = random;
    this.#points = points;
    this.#rates = rates;
  }

  /** Nothing befalls it any more. */
  calm(): void {
    this.#rates = calm;
  }

  fateAt(crossing: Crossing): Fate {
    const fate = this.#drawn(crossing);
    if (fate !== "go") this.#points.struck(crossing, fate);
    return fate;
  }

  stillMs(): number {
    return this.#random.between(1_000, 9_000);
  }

  lateMs(): number {
    return this.#random.between(1, 400);
  }

  #drawn({ kind, what }: Crossing): Fate {
    let drawn = this.#random.next() / (housekeeping.has(what) ? 0.4 : 2.5);
    for (const [fate, rate] of fatesOf[kind]) {
      if (drawn < this.#rates[rate]) return fate;
      drawn -= this.#rates[rate];
    }
    return "go";
  }
}

/** A process, and how its luck is turned. */
export interface Doomed {
  readonly process: Mortal;
  readonly fortune: Fortune;
}
