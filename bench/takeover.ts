/**
 * A worker holds runs in the middle of a step, a second one is idle. The first is killed (SIGKILL), or stands still with
 * its connections open (SIGSTOP): how long until the second enters the step of each run. With the settings the product
 * comes with.
 */
import { defaultSettings } from "reprise";
import { waitFor } from "../test/support/processes.ts";
import { atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab, Server } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { percentile } from "./stats.ts";
import type { Subject } from "./subject.ts";

/** So long the second worker has been idle: it has seen the first one alive. */
const idleMs = 2_000;

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const server = await lab.server();
  const killed: number[] = [];
  const stopped: number[] = [];
  for (let number = 0; number < size.kills; number += 1)
    killed.push(...(await takenOver(lab, server, size, "SIGKILL")));
  for (let number = 0; number < size.stops; number += 1)
    stopped.push(...(await takenOver(lab, server, size, "SIGSTOP")));
  const leaseMs = size.leaseMs ?? defaultSettings.leaseMs;
  return {
    killP50Ms: percentile(killed, 0.5),
    killP99Ms: percentile(killed, 0.99),
    killedRuns: killed.length,
    stopP99InLeases: percentile(stopped, 0.99) / leaseMs,
    stoppedRuns: stopped.length,
  };
}

type Signal = "SIGKILL" | "SIGSTOP";

/** Ms until each run was taken over. */
async function takenOver(lab: Lab, server: Server, size: Size, signal: Signal): Promise<readonly number[]> {
  await server.empty();
  const place = { url: server.url, namespace: "bench", concurrency };
  const env = settingsOf(size);
  const [first, second] = [await lab.subject("reprise", env), await lab.subject("reprise", env)];
  await (await lab.warm("reprise")).order("fill", place, { saga: "held", count: size.held, from: 0 });
  await first.order("serve", place, undefined, true);
  await allEntered(first, size.held);
  await second.order("serve", place);
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const began = Number(process.hrtime.bigint()) / 1e6;
  first.signal(signal);
  await allEntered(second, size.held);
  const times = second.entered.map(({ atMs }) => atMs - began);
  await Promise.all([first.stop(), second.stop()]);
  return times;
}

function allEntered(subject: Subject, count: number): Promise<unknown> {
  const runs = () => new Set(subject.entered.map(({ entered }) => entered)).size;
  return waitFor(() => runs() === count, { timeoutMs: 60_000, what: `${count} runs to be entered`, tell: runs });
}

function settingsOf({ leaseMs }: Size): Readonly<Record<string, string>> {
  if (leaseMs === null) return {};
  const margin = Math.floor(leaseMs / 3);
  return {
    REPRISE_LEASE: `${leaseMs}`,
    REPRISE_MARGIN: `${margin}`,
    REPRISE_RENEW: `${Math.floor(margin / 2)}`,
    REPRISE_COMMAND_TIMEOUT: `${Math.floor(margin / 2)}`,
  };
}

export const takeover: Bench = {
  name: "takeover",
  goals: {
    killP50Ms: null,
    killP99Ms: atMost(3_000, " ms"),
    killedRuns: null,
    stopP99InLeases: atMost(2, " leases"),
    stoppedRuns: null,
  },
  measure,
};
