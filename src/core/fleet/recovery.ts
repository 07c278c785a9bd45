/**
 * How long runs of dead workers wait for others, as somebody sees it who looks every few seconds. Invariant: Y1 a worker is waited for
 * from when it was first seen gone with leases until none of them is left; what was not looked at changes nothing.
 */
import type { SeenWorker } from "./worker-state.ts";

export interface Recovery {
  /** Since when the leases of each were seen left behind. */
  readonly waiting: Readonly<Record<string, number>>;
  /** How long the last that is over took; `null`: none was seen. */
  readonly lastMs: number | null;
}

export const nothingToRecover: Recovery = { waiting: {}, lastMs: null };

export function recoveryAfter(before: Recovery, workers: readonly SeenWorker[], at: number): Recovery {
  // A lost worker that is still registered has leases that nobody has ended.
  const left = workers.filter(({ state, serves }) => state === "lost" && serves.length > 0).map(({ id }) => id);
  const over = Object.entries(before.waiting).flatMap(([id, since]) => (left.includes(id) ? [] : at - since));
  return {
    waiting: Object.fromEntries(left.map((id) => [id, before.waiting[id] ?? at])),
    lastMs: over.length === 0 ? before.lastMs : Math.max(...over),
  };
}

/** How long the longest has waited by now; 0: nobody waits. */
export function waitingMs({ waiting }: Recovery, at: number): number {
  return Math.max(0, ...Object.values(waiting).map((since) => at - since));
}
