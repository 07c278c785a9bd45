/**
 * Requests on the wire, counted by a proxy between Redis and a client and a worker: those of the store that name a run
 * (whatever a script does inside is one request), and BullMQ's. What goes on without runs (sweeps, pulses) is not a run's.
 */
import { startTcpProxy } from "../test/support/tcp-proxy.ts";
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import type { Subject } from "./subject.ts";
import type { SagaName } from "./subjects/contestant.ts";
import { addressOf } from "./subjects/redis.ts";
import { longSteps, stepNames } from "./subjects/work.ts";

interface Requests {
  readonly store: number;
  readonly queue: number;
}

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const subject = await lab.warm("reprise");
  const short = await requestsPerRun(lab, subject, "order", size.counted);
  const long = await requestsPerRun(lab, subject, "long", size.counted);
  const perStep = (long.store - short.store) / (longSteps - stepNames.length);
  return { perStep, perRun: short.store - perStep * stepNames.length, queuePerRun: short.queue };
}

async function requestsPerRun(lab: Lab, subject: Subject, saga: SagaName, count: number): Promise<Requests> {
  const { path = "" } = addressOf((await lab.server()).url);
  const proxy = await startTcpProxy({ target: { path } });
  const place = { url: proxy.url, namespace: `bench-${saga}`, concurrency };
  const queueTag = `{reprise:${place.namespace}:w`;
  const seen = { store: 0, queue: 0 };
  // A fault that strikes nothing sees every request.
  proxy.holdRequest(({ words }) => {
    if (words[0] === "MULTI" || words[0] === "EXEC" || words.some((word) => word.includes(queueTag))) seen.queue += 1;
    else if (words.some((word) => word.includes("}:run:"))) seen.store += 1;
    return false;
  });
  await subject.order("fill", place, { saga, count, from: 0 });
  await subject.order("drain", place, { saga, count, from: 0 });
  await proxy.close();
  return { store: seen.store / count, queue: seen.queue / count };
}

export const roundTrips: Bench = {
  name: "roundTrips",
  goals: { perStep: atMost(1.2, ""), perRun: atMost(3, ""), queuePerRun: null },
  measure,
};
