/** Owners whose pulse is missing. Invariant: whoever was missed only once is not lost. */
import type { Store } from "../core/index.ts";
import type { Connection } from "./connection.ts";

/** A worker whose pulse was missing is looked for again after this; two looks so far apart make it lost. */
const pulseGapMs = 900;

export async function missedOnce(store: Store): Promise<ReadonlySet<string>> {
  return new Set((await store.lostOwners()).map(({ owner }) => owner));
}

/** Those of them who are missed again. */
export async function missedTwice(
  { ports }: Connection,
  store: Store,
  missed: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (missed.size === 0) return missed;
  await new Promise<void>((resolve) => void ports.clock.after(pulseGapMs, resolve));
  const still = await missedOnce(store);
  return new Set([...missed].filter((owner) => still.has(owner)));
}
