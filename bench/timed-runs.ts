/**
 * Runs that wait for a timer, put into the store as a worker would have left them, in bulk: driving each of them there would take
 * longer than what is measured.
 */
import {
  begin,
  type CreateCommand,
  decide,
  evolve,
  machineOf,
  type RunRecord,
  recreated,
  type Store,
  structureHashOf,
} from "../src/core/index.ts";
import { defaultSettings } from "../src/index.ts";
import { redisConnections } from "../src/redis/index.ts";
import { redisStore } from "../src/store/index.ts";
import type { Paced, Place } from "./subjects/contestant.ts";
import { sagas } from "./subjects/sagas.ts";
import { dueAt } from "./subjects/timers.ts";
import { orderInput } from "./subjects/work.ts";

const batch = 1_000;
const machine = machineOf(sagas.timed.spec);
const hash = structureHashOf(sagas.timed);

export async function makeTimedRuns({ url, namespace }: Place, count: number, paced: Paced): Promise<void> {
  const connections = redisConnections({ url, commandTimeoutMs: 60_000 });
  const store = redisStore({ connections, namespace });
  try {
    await store.open();
    for (let from = 0; from < count; from += batch) {
      const now = await store.now();
      const numbers = Array.from({ length: Math.min(batch, count - from) }, (_, at) => from + at);
      const commands = numbers.map((number) => timedRun(number, dueAt(paced, number), now, namespace));
      for (const { answer } of await store.createMany(commands)) if (answer !== "OK") throw new Error(answer);
      await Promise.all(commands.map(({ record }) => leaveToRest(store, record)));
    }
  } finally {
    await store.close();
    connections.close();
  }
}

/** As a worker had it: one that nobody ever had is a start, which waits for its tenant's share. */
async function leaveToRest(store: Store, { tenant, id, startAt }: RunRecord): Promise<void> {
  const lease = { run: { tenant, id }, owner: "bench", token: `bench-${id}` };
  const won = await store.acquire({ ...lease, leaseMs: 60_000 });
  if (won.answer !== "OK") throw new Error(won.answer);
  const { answer } = await store.release({ ...lease, fence: won.fence }, 0, startAt);
  if (answer !== "OK") throw new Error(answer);
}

/** Begun, and at rest until its timer is due. */
function timedRun(number: number, due: number, now: number, namespace: string): CreateCommand {
  const input = { ...orderInput(number), waitMs: due - now };
  const first = begin({ machine, hash, tenant: "default", id: input.id, input, priority: 0, now, startAt: now });
  const acquired = { type: "acquired", takenFrom: null, permits: [] } as const;
  const who = { actor: "bench", fence: 1, commitId: input.id, random: 0, inFlight: new Set<string>() };
  const run = { record: first.record, rows: [], inbox: [] };
  const { commit } = decide(run, [acquired], { machine, namespace, settings: defaultSettings, now, ...who });
  if (commit === null) throw new Error("it does not begin");
  const waiting = evolve(run, commit);
  const { revision, logDigest: digest } = waiting.record;
  const remembered = { revision, digest, at: now, run: waiting, isDenied: false };
  const { record, ...rest } = recreated(remembered, waiting);
  return { record: { ...record, startAt: due }, ...rest, commandId: input.id };
}
