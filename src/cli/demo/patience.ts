/**
 * Owns: waiting for others. A Redis that does not answer in time is asked again, which is harmless for everything that the
 * demonstration asks: it reads, or starts a run under an id of its own.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { RepriseError } from "../../errors.ts";

const maxTries = 10;
const pauseMs = 500;

export async function patiently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await unlessAborted(ask(), signal);
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== "STORE_UNAVAILABLE" || tries === maxTries) throw error;
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

/** Settles as the promise does, or rejects as soon as the signal is aborted; what is left behind is not waited for. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const giveUp = () => reject(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    stop = () => signal.removeEventListener("abort", giveUp);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stop();
  }
}
