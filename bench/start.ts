/** Starting in bulk: `startMany` beside BullMQ's `addBulk` of as many jobs. */
import { atLeast, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { median } from "./stats.ts";

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const server = await lab.server();
  const rates: { readonly own: number; readonly bare: number }[] = [];
  const rate = async (name: "chain" | "reprise", count: number) => {
    await server.empty();
    const place = { url: server.url, namespace: `bench-${name}`, concurrency };
    const { ms } = await (await lab.warm(name)).order("fill", place, { saga: "order", count, from: 0 });
    return (count / ms) * 1_000;
  };
  for (let round = 0; round <= size.rounds; round += 1) {
    const bare = await rate("chain", size.sagas);
    const own = await rate("reprise", size.sagas);
    if (round > 0) rates.push({ own, bare });
  }
  return {
    startsPerSecond: median(rates.map(({ own }) => own)),
    addBulkPerSecond: median(rates.map(({ bare }) => bare)),
    ratioToAddBulk: median(rates.map(({ own, bare }) => own / bare)),
  };
}

export const start: Bench = {
  name: "start",
  goals: { startsPerSecond: null, addBulkPerSecond: null, ratioToAddBulk: atLeast(0.5) },
  measure,
};
