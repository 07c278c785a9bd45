/**
 * What a run leaves in Redis: a completed one of five steps with 200-byte results, its log and ledger, and one that
 * waits; and what a new worker process holds after it has worked at concurrency 100.
 */
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab, Server } from "./lab.ts";
import type { Size } from "./sizes.ts";
import type { SagaName } from "./subjects/contestant.ts";
import { orderInput } from "./subjects/work.ts";

const concurrency = 100;

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const worker = await lab.subject("reprise");
  const payload = JSON.stringify(orderInput(0)).length;
  const server = await lab.server();
  const completed = await bytesPerRun(lab, server, size, "order");
  const waiting = await bytesPerRun(lab, server, size, "waiting");
  const place = { url: server.url, namespace: "bench-rss", concurrency };
  const load = { saga: "order", count: size.sagas, from: 0 } as const;
  await (await lab.warm("reprise")).order("fill", place, load);
  const { rssMb } = await worker.order("drain", place, load);
  return {
    bytesPerCompletedRun: completed,
    bytesPerWaitingRun: waiting,
    waitingPayloadBytes: payload,
    workerRssMb: rssMb,
  };
}

/** What the second half of the runs adds to what the first one has made necessary. */
async function bytesPerRun(lab: Lab, server: Server, size: Size, saga: SagaName): Promise<number> {
  await server.empty();
  const subject = await lab.warm("reprise");
  const place = { url: server.url, namespace: `bench-${saga}`, concurrency };
  const count = Math.ceil(size.sagas / 2);
  const used: number[] = [];
  for (const from of [0, count]) {
    await subject.order("fill", place, { saga, count, from });
    await subject.order("drain", place, { saga, count, from });
    used.push(await server.usedBytes());
  }
  const [before = 0, after = 0] = used;
  return (after - before) / count;
}

export const memory: Bench = {
  name: "memory",
  goals: {
    bytesPerCompletedRun: atMost(4_000, " B"),
    bytesPerWaitingRun: atMost(3_000 + JSON.stringify(orderInput(0)).length, " B"),
    waitingPayloadBytes: null,
    workerRssMb: atMost(200, " MB"),
  },
  measure,
};
