/** Sagas that are paused, and the shelves on which their runs lie meanwhile: which sagas is said once for the namespace. */
import type { LeaseRef, PausedSaga, Timed, WakeUp } from "../../core/index.ts";
import { now } from "./reads.ts";
import type { WakeUpReply, Wire } from "./wire.ts";

export async function shelve(
  wire: Wire,
  lease: LeaseRef,
  saga: string,
): Promise<Timed<{ readonly answer: "OK" | "FENCED" }>> {
  const { member, shard, run } = wire.find(lease.run);
  const own = [`${shard.prefix}held:${lease.owner}`, `${shard.prefix}shelf:${saga}`, shard.shelves];
  const keys = [run, shard.due, shard.clock, shard.queued, ...own];
  const args = [member, lease.fence, lease.token, saga];
  const [answer, at] = await wire.run<readonly ["OK" | "FENCED", number]>("shelve", keys, args);
  return { answer, now: at };
}

export async function unshelve(
  wire: Wire,
  shard: number,
  paused: readonly string[],
  limit: number,
): Promise<Timed<{ readonly wakeUps: readonly WakeUp[]; readonly full: boolean }>> {
  const { prefix, due, clock, queued, shelves } = wire.shard(shard);
  const keys = [due, clock, queued, shelves];
  const args = [prefix, limit, ...paused];
  const [at, full, wakeUps] = await wire.run<readonly [number, number, readonly WakeUpReply[]]>("unshelve", keys, args);
  return { wakeUps: wakeUps.flatMap((reply) => wire.wakeUp(reply) ?? []), full: full === 1, now: at };
}

export async function pauseSaga(
  wire: Wire,
  key: string,
  { saga, by, reason }: Omit<PausedSaga, "at">,
): Promise<PausedSaga> {
  const at = await now(wire);
  return await wire.ask("pauseSaga", async () => {
    await wire.client.hsetnx(key, saga, JSON.stringify({ by, reason, at }));
    return read(saga, await wire.client.hget(key, saga)) ?? { saga, by, reason, at };
  });
}

export async function resumeSaga(wire: Wire, key: string, saga: string): Promise<PausedSaga | null> {
  return await wire.ask("resumeSaga", async () => {
    const paused = read(saga, await wire.client.hget(key, saga));
    await wire.client.hdel(key, saga);
    return paused;
  });
}

export async function pausedSagas(wire: Wire, key: string): Promise<readonly PausedSaga[]> {
  const all = await wire.ask("pausedSagas", () => wire.client.hgetall(key));
  return Object.entries(all).flatMap(([saga, stored]) => read(saga, stored) ?? []);
}

/** What lies there was put there by `pauseSaga`. */
function read(saga: string, stored: string | null): PausedSaga | null {
  return stored === null ? null : { saga, ...(JSON.parse(stored) as Omit<PausedSaga, "saga">) };
}
