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

/**
 * One thing that goes wrong. `crash`: a worker dies at a planned point; `kill`: wherever it is; `throw` and `late`: what is asked at a
 * point is refused, or takes its time.
 */
export type Trouble =
  | "kill"
  | "crash"
  | "throw"
  | "late"
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
  /** In this order. What makes the store forget comes in windows, in which nobody dies. */
  readonly schedule: readonly Trouble[];
  readonly windows: number;
  /** Where workers are to die, each at least once. */
  readonly points: readonly Point[];
  /** Replies that are lost, armed with every death of a worker. */
  readonly drops: number;
}

/** For each worker that is killed. At least once, where anything is killed at all. */
const shares: Readonly<Record<Exclude<Trouble, "kill" | "crash">, number>> = {
  throw: 0.2,
  late: 0.1,
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

/** What a round is about in which store and processes go down together. */
const losses: ReadonlySet<string> = new Set(["power-loss", "fail-over"]);
const oftener = 3;

/** Of the deaths, those at a planned point. */
const crashShare = 0.5;
export const dropsForEachKill = 4;

/** Where runs of these sagas can be hit, often ones first (fault-plan.ts says where they are). */
const reachable: readonly Point[] = [
  ...(["P03", "P04", "P05", "P06", "P09", "P10", "P12", "P13", "granted"] as const),
  ...(["P14", "C01", "C02", "C03", "C04", "P11", "H01", "H02", "H03", "H06", "H07", "H04", "H05"] as const),
  ...(["I01", "I02", "I03", "I04", "I05", "I06", "T01", "T02", "T03", "T04", "T05", "T06"] as const),
];

/** Kills for each window. */
const killsForEachWindow = 50;
/** Of what hurts no worker, what happens around and in windows: the rest of it strikes among deaths. */
const calmShare = 0.6;

/** Where what is asked may be refused, in ports and services, and where it may take its time. */
export const refusable: readonly Point[] = [
  ...(["P04", "P05", "P06", "P09", "P10", "P11", "P13", "P14", "granted"] as const),
  ...(["C01", "C02", "C03", "C04", "H01", "H02", "H03", "H04", "H05", "H06", "H07"] as const),
  ...(["I01", "I02", "I03", "I04", "I05", "I06", "T01", "T02", "T03", "T04", "T05", "T06"] as const),
];
export const lateable: readonly Point[] = [...refusable, "P03", "P12"];

export function planned(asked: Asked): Planned {
  const { seed, kills, without } = asked;
  const random = new Random(seed);
  const crashes = Math.round(kills * crashShare);
  const counts = Object.fromEntries([
    ["kill", kills - crashes],
    ["crash", crashes],
    ...Object.entries(shares).map(([trouble, share]) => [
      trouble,
      kills === 0 ? 0 : Math.max(1, Math.round(kills * share * (asked.together && losses.has(trouble) ? oftener : 1))),
    ]),
  ]) as Record<Trouble, number>; // every trouble is named there
  for (const trouble of without) counts[trouble] = 0;
  const windows = Math.max(1, Math.round(kills / killsForEachWindow));
  const schedule = scheduleOf(random, asked, counts, windows);
  const points = reachable.slice(0, pointsFor(counts.crash));
  return { ...asked, counts, schedule, windows, points, drops: kills * dropsForEachKill };
}

/** A small round cannot demand the rare ones: each is to be tried several times. */
function pointsFor(crashes: number): number {
  return Math.min(crashes, Math.max(8, Math.floor(crashes / 3)));
}

/** What makes the store forget what it acknowledged. */
export function forgets(trouble: Trouble, { fsync }: Pick<Asked, "fsync">): boolean {
  return trouble === "fail-over" || (trouble === "power-loss" && fsync === "everysec");
}

/** Workers and their memories live through it. */
const calm: ReadonlySet<Trouble> = new Set(["redis-kill", "client-kill", "cut", "half-open", "delay", "squeeze"]);

/**
 * Deaths and what else goes wrong, a window, deaths, ... Each waits, before and after, until nobody has died for some time: what is
 * calm fills that time. Where store and processes forget together there are no windows.
 */
function scheduleOf(random: Random, asked: Asked, counts: Planned["counts"], windows: number): readonly Trouble[] {
  const all = Object.entries(counts).flatMap(([trouble, count]) => Array<Trouble>(count).fill(trouble as Trouble));
  if (asked.together) return shuffled(random, all);
  const parts = Array.from({ length: windows }, () => ({
    wild: [] as Trouble[],
    before: [] as Trouble[],
    forgetting: [] as Trouble[],
    after: [] as Trouble[],
  }));
  const nth = { wild: 0, calm: 0, forgetting: 0 };
  for (const trouble of shuffled(random, all)) {
    const kind = forgets(trouble, asked)
      ? "forgetting"
      : calm.has(trouble) && random.chance(calmShare)
        ? "calm"
        : "wild";
    const part = parts[nth[kind] % windows];
    nth[kind] += 1;
    part?.[kind === "calm" ? random.pick(["before", "after"] as const) : kind].push(trouble);
  }
  return parts.flatMap(({ wild, before, forgetting, after }) => [...wild, ...before, ...forgetting, ...after]);
}

export function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, at: random.next() }));
  return drawn.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
