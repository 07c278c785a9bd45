/**
 * Requests on the wire, counted by a proxy between Redis and a client and a worker: those of the store that are about a
 * run (whatever a script does inside is one request), and BullMQ's. What goes on whether or not there are runs (sweeps,
 * pulses, one renewal a second for all leases) is not a run's.
 */
import { startTcpProxy } from "../test/support/tcp-proxy.ts";
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import type { Subject } from "./subject.ts";
import type { Load, Place, SagaName } from "./subjects/contestant.ts";
import { addressOf } from "./subjects/redis.ts";
import { longSteps, stepNames } from "./subjects/work.ts";

/** Where the first key of a command or of a script stands. */
const firstKey = { command: 1, script: 3 } as const;

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
  // The first run has the scripts loaded.
  await runAll(subject, place, { saga, count: 1, from: 0 });
  const seen = { store: 0, queue: 0 };
  // A fault that strikes nothing sees every request.
  proxy.holdRequest(({ words }) => {
    if (words[0] === "MULTI" || words[0] === "EXEC" || words.some((word) => word.includes(queueTag))) seen.queue += 1;
    else if (isAboutRun(words)) seen.store += 1;
    return false;
  });
  await runAll(subject, place, { saga, count, from: 1 });
  await proxy.close();
  return { store: seen.store / count, queue: seen.queue / count };
}

async function runAll(subject: Subject, place: Place, load: Load): Promise<void> {
  await subject.order("fill", place, load);
  await subject.order("drain", place, load);
}

function isAboutRun(words: readonly string[]): boolean {
  const at = /^(EVALSHA|EVAL)$/i.test(words[0] ?? "") ? firstKey.script : firstKey.command;
  return words[at]?.includes("}:run:") === true;
}

export const roundTrips: Bench = {
  name: "roundTrips",
  goals: { perStep: atMost(1.2, ""), perRun: atMost(3, ""), queuePerRun: null },
  measure,
};
