/** Everything that follows from a seed, in one object: a round with the same is the same round. */
import { createHash } from "node:crypto";
import type { Job } from "./load.ts";
import type { Planned } from "./options.ts";
import { settings, type WorkerOrders } from "./words.ts";

export interface Derived {
  readonly seed: number;
  /** How often each trouble is planned. */
  readonly troubles: Planned["counts"];
  readonly windows: number;
  readonly points: Planned["points"];
  readonly drops: number;
  /** The order of the troubles, and all jobs, as digests: two rounds that differ here are not the same. */
  readonly schedule: string;
  readonly jobs: string;
  readonly load: {
    readonly kinds: Readonly<Record<string, number>>;
    readonly faults: Readonly<Record<string, number>>;
    readonly refused: number;
    readonly cancelled: number;
  };
  readonly allowForgetfulStore: WorkerOrders["allowForgetfulStore"];
  readonly settings: typeof settings;
}

export function derivedOf(planned: Planned, jobs: readonly Job[]): Derived {
  const { seed, counts, windows, points, drops, schedule, fsync } = planned;
  return {
    seed,
    troubles: counts,
    windows,
    points,
    drops,
    schedule: digestOf(schedule),
    jobs: digestOf(jobs),
    load: {
      kinds: countOf(jobs.map(({ kind }) => kind)),
      faults: countOf(jobs.flatMap(({ fault }) => (fault === null ? [] : [fault.kind]))),
      refused: jobs.filter(({ refuse }) => refuse).length,
      cancelled: jobs.filter(({ cancelAfterMs }) => cancelAfterMs !== null).length,
    },
    allowForgetfulStore: fsync === "everysec",
    settings,
  };
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

function countOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
