/** Asking the store until it answers: it sends nothing twice, whoever asked does. Waits on the port's clock only. */
import type { Clock } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { isUnavailable } from "./errors.ts";

const firstWaitMs = 50;
const longestWaitMs = 1_000;

/** Sends the same request again until it is answered, for `forMs`; rejects with the last STORE_UNAVAILABLE. */
export async function insist<Answer>(clock: Clock, forMs: number, ask: () => Promise<Answer>): Promise<Answer> {
  const began = clock.monotonicMs();
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    try {
      return await ask();
    } catch (error) {
      if (!isUnavailable(error) || clock.monotonicMs() - began + waitMs > forMs) throw error;
    }
    await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
  }
}

/** The answer, if it comes within `ms`; else STORE_UNAVAILABLE. The work goes on: somebody else owns it. */
export async function within<Answer>(clock: Clock, ms: number, work: Promise<Answer>): Promise<Answer> {
  let cancel = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () => reject(new RepriseError("STORE_UNAVAILABLE", `no answer within ${ms} ms`)));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    cancel();
  }
}
