/**
 * One run alone, from start to known result, beside the bare chain's first `add` to the event of its last job. A client
 * process and a worker process for each, in turn on one Redis.
 */
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { median, percentile } from "./stats.ts";

const contestants = ["chain", "reprise"] as const;

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const { url } = await lab.server();
  const lanes = await Promise.all(
    contestants.map(async (name) => {
      const place = { url, namespace: `bench-${name}`, concurrency };
      return { place, worker: await lab.warm(name), client: await lab.subject(name), p50s: [] as number[] };
    }),
  );
  for (let round = 0; round <= size.rounds; round += 1) {
    for (const { place, worker, client, p50s } of lanes) {
      const load = { saga: "order", count: size.alone, from: round * size.alone } as const;
      await worker.order("serve", place);
      const { times } = await client.order("alone", place, load);
      await worker.order("rest", place);
      if (round > 0) p50s.push(percentile(times, 0.5));
    }
  }
  const [bare = [], own = []] = lanes.map((lane) => lane.p50s);
  return {
    p50Ms: median(own),
    bullmqP50Ms: median(bare),
    p50ToBullmq: median(own.map((ms, round) => ms / (bare[round] ?? ms))),
  };
}

export const latency: Bench = {
  name: "latency",
  goals: { p50Ms: null, bullmqP50Ms: null, p50ToBullmq: atMost(1) },
  measure,
};
