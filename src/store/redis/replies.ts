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

/** What somebody said, as a script keeps it behind the time at which it was heard; `null`: nobody has said anything. */
export function stampedIn<Said extends { readonly at: number }>(text: string): Said | null {
  if (text === "") return null;
  const space = text.indexOf(" ");
  // It was written by the command that it answers to.
  return { ...JSON.parse(text.slice(space + 1)), at: Number(text.slice(0, space)) } as Said;
}

function pairsOf(flat: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([flat[at] as string, flat[at + 1] as string]);
  return pairs;
}
