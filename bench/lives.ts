/**
 * Rates of workers that differ in what they have switched on for life: every lane has a worker process and a Redis of its own, which live
 * beside each other and are given work in turn. A process that switches pays for the switching, and so do all lanes in it; two that run
 * the same code differ by more than many a lane from another, so each lane lives several times. Measured while a worker is at it, from
 * the first tenth of the sagas that have ended to nearly the last.
 */
import type { Lab } from "./lab.ts";
import { concurrency, type Lane, type Rate, turned } from "./rounds.ts";
import { steady, until } from "./steady.ts";
import type { Subject } from "./subject.ts";
import type { Place, Tells } from "./subjects/contestant.ts";
import type { Progress } from "./subjects/orders.ts";

export interface Lives {
  /** Processes of each lane, one after the other. */
  readonly count: number;
  /** Sagas that each has done before it is measured. */
  readonly warmUp: number;
  /** Rounds of a life, and sagas of a round. */
  readonly rounds: number;
  readonly sagas: number;
}

export interface LivingLane extends Omit<Lane, "server" | "keep"> {
  readonly tells?: Tells;
}

/** A worker that lives, and who starts sagas for it. */
interface Living {
  readonly lane: LivingLane;
  readonly worker: Subject;
  readonly client: Subject;
  readonly place: Place;
}

/** Rounds of every lane, by its name. */
export async function measureLives(
  lab: Lab,
  lanes: readonly LivingLane[],
  { count, warmUp, rounds, sagas }: Lives,
): Promise<(name: string) => readonly Rate[]> {
  const measured = new Map<string, Rate[]>(lanes.map(({ name }) => [name, []]));
  for (let life = 0; life < count; life += 1) {
    const living: Living[] = [];
    for (const lane of turned(lanes, life)) {
      const born = await begun(lab, lane);
      await oneRound(born, 0, warmUp);
      living.push(born);
    }
    for (let number = 0; number < rounds; number += 1) {
      for (const one of turned(living, number)) {
        measured.get(one.lane.name)?.push(await oneRound(one, warmUp + number * sagas, sagas));
      }
    }
    await lab.clear();
  }
  return (name) => measured.get(name) ?? [];
}

async function begun(lab: Lab, lane: LivingLane): Promise<Living> {
  const { url } = await lab.server();
  const plain = { url, namespace: `bench-${lane.name}`, concurrency };
  const place = lane.tells === undefined ? plain : { ...plain, tells: lane.tells };
  const [worker, client] = [await lab.subject(lane.contestant), await lab.warm(lane.contestant)];
  await worker.order("serve", place);
  return { lane, worker, client, place };
}

async function oneRound({ lane, worker, client, place }: Living, from: number, count: number): Promise<Rate> {
  const before = worker.progress.ended;
  const look = async (share: number) => {
    await until(() => worker.progress.ended - before >= share * count);
    return { atMs: performance.now(), ...worker.progress };
  };
  const idle = await look(0);
  const filling = client.order("fill", place, { saga: lane.saga, count, from });
  filling.catch(() => undefined); // awaited below
  const first = await look(steady.from);
  const last = await look(steady.to);
  await look(1);
  await filling;
  // So few that nobody saw them end one by one: from before they began.
  return between(last.ended > first.ended ? first : idle, last, lane.units);
}

type Moment = Progress & { readonly atMs: number };

function between(from: Moment, to: Moment, units: number): Rate {
  const all = (to.ended - from.ended) * units;
  const workerUs = ((to.cpuMs - from.cpuMs) / all) * 1_000;
  return { perSecond: (all / (to.atMs - from.atMs)) * 1_000, workerUs };
}
