/** What several scripts answer alike, decoded. */
import type { InboxEntry, PermitState, RunRef } from "../../core/index.ts";
import { decodeEntry, decodePermit } from "../codec.ts";

/** Slot, entry, slot, entry ... to entries, oldest first. */
export function entriesOf(run: RunRef, flat: readonly string[]): readonly InboxEntry[] {
  return pairsOf(flat)
    .map(([slot, entry]) => decodeEntry(run, slot, entry))
    .sort((a, b) => a.position - b.position);
}

/** Seq, permit, seq, permit ... to permits, by row. */
export function permitsOf(run: RunRef, flat: readonly string[], now: number): readonly PermitState[] {
  return pairsOf(flat)
    .map(([seq, permit]) => decodePermit(run, Number(seq), permit, now))
    .sort((a, b) => a.seq - b.seq);
}

function pairsOf(flat: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([flat[at] as string, flat[at + 1] as string]);
  return pairs;
}
