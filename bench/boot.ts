/** A worker process of the built package: from its start to the first step it enters, with a run waiting for it. */
import { waitFor } from "../test/support/processes.ts";
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { percentile } from "./stats.ts";

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const server = await lab.server();
  const client = await lab.warm("reprise");
  const times: number[] = [];
  for (let number = 0; number < size.boots; number += 1) {
    const place = { url: server.url, namespace: `bench-${number}`, concurrency };
    await client.order("fill", place, { saga: "held", count: 1, from: 0 });
    const began = Number(process.hrtime.bigint()) / 1e6;
    const worker = await lab.subject("reprise");
    await worker.order("serve", place);
    const entered = await waitFor(() => worker.entered[0], { what: "the first step" });
    times.push(entered.atMs - began);
    await worker.stop();
  }
  return { firstStepP50Ms: percentile(times, 0.5), boots: times.length };
}

export const boot: Bench = {
  name: "boot",
  goals: { firstStepP50Ms: atMost(1_000, " ms"), boots: null },
  measure,
};
