/** The time in which workers are at it, as shares of the sagas that have ended: neither their start nor the last runs of a queue count. */
import { setTimeout as sleep } from "node:timers/promises";

export const steady = { from: 0.1, to: 0.95 } as const;
const lookMs = 5;
/** Nobody waits longer for a round. */
const patienceMs = 300_000;

export async function until(isSo: () => boolean): Promise<void> {
  for (const began = Date.now(); !isSo(); await sleep(lookMs)) {
    if (Date.now() - began > patienceMs) throw new Error("the sagas of a round did not end");
  }
}
