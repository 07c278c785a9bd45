/**
 * Places where a process touches anything outside itself, and what may befall it there. Owns their names and how they are
 * counted.
 *
 * Invariant: the same seed, saga and input pass the same crossings in the same order, up to the first fate that is not `go`.
 */

/** What befalls a process at a crossing. */
export type Fate =
  | "go"
  /** kill -9 before the request leaves, and after what was asked is done but before anything is heard of it. */
  | "kill before"
  | "kill after"
  /** The connection breaks before the request arrives, and after it was carried out. */
  | "lose request"
  | "lose reply"
  /** It was carried out, and the answer takes its time. */
  | "answer late"
  /** A job is handed to a second worker as well. */
  | "deliver twice"
  /** The process stands still for longer than its lease, and then goes on as if nothing had been. */
  | "stand still";

/** One touch of the outside. */
export interface Crossing {
  /** `store.commit`, `queue.wake`, `job`, or the path of a service's function: `payments.charge`. */
  readonly what: string;
  readonly kind: "store" | "queue" | "job" | "service";
  /** The n-th of this name by this process, from 1. */
  readonly n: number;
  /** With what the store was asked; of others nothing. */
  readonly asked: readonly unknown[];
}

/** What is touched, before it is counted. */
export type Touch = Omit<Crossing, "n">;

/** Decides what befalls a process. */
export type Fates = (crossing: Crossing) => Fate;

/** Nothing ever befalls it. */
export const spared: Fates = () => "go";

/** How a crossing is written: `payments.charge 1`. */
export function nameOf({ what, n }: Pick<Crossing, "what" | "n">): string {
  return `${what} ${n}`;
}
