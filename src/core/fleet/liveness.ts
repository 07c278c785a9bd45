/**
 * Does a worker still take what is there to be taken? A consumer shows a sign of life whenever its own loop has asked its queue for
 * the next job and was answered, and whenever it takes one, a canary among them. Invariants: L1 a worker is never called stuck
 * for what the store does not answer, nor for the time in which it did not. L2 a consumer whose hands are full is not stuck: it has no reason to ask.
 */

/** A worker that takes nothing for this long though the store answers is restarted. */
export const wedgedAfterMs = 90_000;
/** How often a canary is put into each queue of wake-ups that a worker reads. */
export const canaryMs = 15_000;

export interface ConsumerSigns {
  /** Which queue it reads. */
  readonly source: string;
  /** It has as many jobs in hand as it takes at once. */
  readonly isFull: boolean;
  /** Its last sign of life; monotonic. */
  readonly aliveAt: number;
  /** When it last took a job that was no canary; monotonic. `null`: none yet. */
  readonly tookAt: number | null;
}

/** A job without a meaning in each queue of wake-ups that a worker reads: taken by whoever lives. */
export interface Canaries {
  /** Where one lies already, it is left at that. */
  send(): Promise<void>;
  close(): Promise<void>;
}

export interface Signs {
  readonly consumers: readonly ConsumerSigns[];
  /** Since when every question to the store was answered; monotonic. `null`: the last one was not. */
  readonly storeAnswersSince: number | null;
  readonly now: number;
}

/** For how long the most silent consumer has shown no sign of life. */
export function stuckMsOf({ consumers, storeAnswersSince, now }: Signs): number {
  if (storeAnswersSince === null) return 0;
  const silences = consumers
    .filter(({ isFull }) => !isFull)
    .map(({ aliveAt }) => now - Math.max(aliveAt, storeAnswersSince));
  return Math.max(0, Math.round(Math.max(0, ...silences)));
}

export function isWedged(stuckMs: number): boolean {
  return stuckMs >= wedgedAfterMs;
}
