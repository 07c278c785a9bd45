/** Throughput with many runs waiting in the store, beside an empty one: each on a Redis of its own, in turn. */
import { atLeast, type Bench, type Figures } from "./bench.ts";
import type { Lab, Server } from "./lab.ts";
import { concurrency, type Lane, measureRounds, perSecond, ratioOf } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { stepNames } from "./subjects/work.ts";

const batch = 50_000;

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const lane = { contestant: "reprise", saga: "order", units: stepNames.length } as const;
  const full: Lane = { ...lane, name: "full", server: await lab.server(), keep: true };
  const empty: Lane = { ...lane, name: "empty", server: await lab.server() };
  await makeWait(lab, full.server, size.waiting);
  const rounds = await measureRounds(lab, [full, empty], { count: size.rounds, sagas: size.beside });
  return { waitingRuns: size.waiting, ratioWithWaiting: ratioOf(rounds("full"), rounds("empty"), perSecond) };
}

/** Starts them in the lane's namespace and has a worker drive each to where it waits. */
async function makeWait(lab: Lab, server: Server, count: number): Promise<void> {
  const subject = await lab.warm("reprise");
  const place = { url: server.url, namespace: "bench-full", concurrency };
  for (let from = 0; from < count; from += batch) {
    const load = { saga: "waiting", count: Math.min(batch, count - from), from: firstId + from } as const;
    await subject.order("fill", place, load);
    await subject.order("drain", place, load);
  }
}

/** Ids above those of the runs that are measured. */
const firstId = 100_000_000;

export const waiting: Bench = {
  name: "waiting",
  goals: { waitingRuns: null, ratioWithWaiting: atLeast(0.9) },
  measure,
};
