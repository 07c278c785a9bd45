/**
 * How rates are measured: lanes are filled and drained in turn, round after round, each on a Redis that is emptied before,
 * by one warm process per contestant. The order turns from round to round, so that nobody is always first. Ratios are
 * made within a round and their median is taken: what disturbs the machine for longer than a round disturbs both sides.
 */
import type { Lab, Server } from "./lab.ts";
import { median } from "./stats.ts";
import type { ContestantName, Subject } from "./subject.ts";
import type { Load, SagaName } from "./subjects/contestant.ts";

/** At once in a measured process. */
export const concurrency = 50;

export interface Lane {
  readonly name: string;
  readonly contestant: ContestantName;
  readonly server: Server;
  readonly saga: SagaName;
  /** Steps, or invocations, of one saga: rates are of these. */
  readonly units: number;
  /** What is in the store stays there. */
  readonly keep?: boolean;
}

/** What a round of one worker came to, per unit. */
export interface Rate {
  readonly perSecond: number;
  readonly workerUs: number;
}

/** What a round took, per unit. */
export interface Round extends Rate {
  readonly redisUs: number;
  readonly rssMb: number;
}

export interface Rounds {
  readonly count: number;
  readonly sagas: number;
}

/** Rounds of every lane, by its name; a shorter one comes before, which does not count. */
export async function measureRounds(
  lab: Lab,
  lanes: readonly Lane[],
  { count, sagas }: Rounds,
): Promise<(name: string) => readonly Round[]> {
  const rounds = new Map<string, Round[]>(lanes.map(({ name }) => [name, []]));
  for (let number = 0; number <= count; number += 1) {
    for (const lane of turned(lanes, number)) {
      const size = number === 0 ? Math.ceil(sagas / 5) : sagas;
      const load = { saga: lane.saga, count: size, from: number * sagas };
      const round = await oneRound(lane, await lab.warm(lane.contestant), load);
      if (number > 0) rounds.get(lane.name)?.push(round);
    }
  }
  return (name) => rounds.get(name) ?? [];
}

export function turned<Item>(items: readonly Item[], by: number): readonly Item[] {
  const first = by % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

async function oneRound(lane: Lane, subject: Subject, load: Load): Promise<Round> {
  const { server, units } = lane;
  if (lane.keep !== true) await server.empty();
  const place = { url: server.url, namespace: `bench-${lane.name}`, concurrency };
  await subject.order("fill", place, load);
  const before = await server.cpuMs();
  const { ms, cpuMs, rssMb } = await subject.order("drain", place, load);
  const redisMs = (await server.cpuMs()) - before;
  const all = load.count * units;
  return { perSecond: (all / ms) * 1_000, workerUs: (cpuMs / all) * 1_000, redisUs: (redisMs / all) * 1_000, rssMb };
}

export function medianOf<Each extends Rate>(rounds: readonly Each[], figure: (round: Each) => number): number {
  return median(rounds.map(figure));
}

/** The median of the ratios of each round. */
export function ratioOf<Each extends Rate>(
  one: readonly Each[],
  other: readonly Each[],
  figure: (round: Each) => number,
): number {
  return median(one.map((round, index) => figure(round) / figure(other[index] ?? round)));
}

export const cpuUs = (round: Round): number => round.workerUs + round.redisUs;
export const perSecond = (round: Rate): number => round.perSecond;
