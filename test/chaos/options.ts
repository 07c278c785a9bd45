/**
 * What a round is made of: what was asked for, and everything that follows from it and the seed. The same seed gives the same
 * runs, faults and schedule; what real processes make of them is for the machine to say.
 */
import { Random } from "../simulation/random.ts";
import type { Point } from "../support/fault-plan.ts";

export interface Asked {
  readonly seed: number;
  readonly runs: number;
  readonly kills: number;
  readonly fsync: "always" | "everysec";
  /** Store and processes may go down together: what is forgotten then is counted, not judged. */
  readonly together: boolean;
  /** Faults that are left out. */
  readonly without: readonly Trouble[];
}

/** One thing that goes wrong. `crash`: a worker dies at a planned point; `kill`: wherever it is. */
export type Trouble =
  | "kill"
  | "crash"
  | "pause"
  | "block"
  | "redis-kill"
  | "power-loss"
  | "freeze"
  | "fail-over"
  | "client-kill"
  | "cut"
  | "half-open"
  | "delay"
  | "deploy"
  | "squeeze";

export interface Planned extends Asked {
  /** How often each happens. */
  readonly counts: Readonly<Record<Trouble, number>>;
  /** In this order. */
  readonly schedule: readonly Trouble[];
  /** Where workers die, one after the other, until each has been hit as often as it stands here. */
  readonly points: readonly Point[];
  /** Replies that are lost, armed with every death of a worker. */
  readonly drops: number;
}

/** For each worker that is killed. At least once, where anything is killed at all. */
const shares: Readonly<Record<Exclude<Trouble, "kill" | "crash">, number>> = {
  pause: 0.2,
  block: 0.04,
  "redis-kill": 0.08,
  "power-loss": 0.04,
  freeze: 0.02,
  "fail-over": 0.02,
  "client-kill": 0.04,
  cut: 0.04,
  "half-open": 0.04,
  delay: 0.04,
  deploy: 0.02,
  squeeze: 0.01,
};
/** Every name of a fault. */
export const troubles: readonly string[] = ["kill", "crash", ...Object.keys(shares)];

/** Of the deaths, those at a planned point. */
const crashShare = 0.5;
export const dropsForEachKill = 4;

/** Where runs of these sagas can be hit, often ones first (fault-plan.ts says where they are). */
const reachable: readonly Point[] = [
  ...(["P03", "P04", "P05", "P06", "P09", "P10", "P12", "P13", "granted"] as const),
  ...(["P14", "C01", "C02", "C03", "C04", "P11", "H01", "H02", "H03", "H06", "H07", "H04", "H05"] as const),
];

export function planned(asked: Asked): Planned {
  const { seed, kills, without } = asked;
  const random = new Random(seed);
  const crashes = Math.round(kills * crashShare);
  const counts = Object.fromEntries([
    ["kill", kills - crashes],
    ["crash", crashes],
    ...Object.entries(shares).map(([trouble, share]) => [
      trouble,
      kills === 0 ? 0 : Math.max(1, Math.round(kills * share)),
    ]),
  ]) as Record<Trouble, number>; // every trouble is named there
  for (const trouble of without) counts[trouble] = 0;
  const all = Object.entries(counts).flatMap(([trouble, count]) => Array<Trouble>(count).fill(trouble as Trouble));
  const schedule = shuffled(random, all);
  const points = Array.from({ length: counts.crash }, (_, at) => reachable[at % reachable.length] as Point);
  return { ...asked, counts, schedule, points, drops: kills * dropsForEachKill };
}

export function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, at: random.next() }));
  return drawn.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
