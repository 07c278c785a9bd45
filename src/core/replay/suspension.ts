/**
 * Suspending a batch. Owns how a batch stands after somebody's word, and what is refused while it is suspended; the store keeps the word,
 * and whoever executes the batch asks for it.
 *
 * Invariants: S1 of two who suspend a batch the first counts, until it is resumed. S2 no item is begun but after an answer of the store that the
 * batch is not suspended, asked for that item: a suspension that was acknowledged before the question is never passed over.
 */

/** Who has suspended a batch, why and when. */
export interface Suspension {
  readonly by: string;
  readonly reason: string;
  /** Store time, ms. */
  readonly at: number;
}

/** How a batch stands once somebody has suspended it, or (`null`) resumed it. */
export function suspensionAfter(was: Suspension | null, word: Suspension | null): Suspension | null {
  return word === null ? null : (was ?? word);
}

/** Why no item of it may be begun; `null`: nothing is against it. */
export function objectionToBatch(suspended: Suspension | null): string | null {
  return suspended === null ? null : `suspended by ${suspended.by}: ${suspended.reason}`;
}
