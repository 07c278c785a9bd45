/**
 * A run of which values are missing. Owns what becomes of it until they are back.
 *
 * Invariants: H1 before anything is decided it is parked, or stays so: no call, no probe, no compensation, no turn of its
 * machine, no outcome taken in. H2 what was sent to it waits. A verb is refused under the next number, saying what is
 * missing; but `close` and a kill, which need no value, are carried out. H3 the lease is given back, so that whoever comes next looks
 * for the values again.
 */
import { summaryOf } from "./artifacts.ts";
import type { DriverFact } from "./decision.ts";
import { consume, type Draft, note } from "./draft.ts";
import { park } from "./people/reviews.ts";
import { takeVerb } from "./people/verbs.ts";
import type { InboxEntry, MissingValue } from "./run/index.ts";
import { takeCancel } from "./unwind/cancel.ts";

/** Holds a run: what the facts say of permits and of the inbox was heard before. */
export function holdMissing(draft: Draft, missing: readonly MissingValue[], facts: readonly DriverFact[]): void {
  for (const fact of facts) if (fact.type === "acquired") dropExpired(draft, fact);
  parkMissing(draft, missing);
  for (const entry of draft.inbox.slice()) take(draft, entry);
  // Said in every entry that is written meanwhile: its digest is of no snapshot (`digest.ts`).
  if (draft.writes > 0) note(draft, { what: "missing", note: summaryOf(missing) });
}

function take(draft: Draft, entry: InboxEntry): void {
  const { body } = entry;
  if (body.type === "verb") {
    consume(draft, entry);
    takeVerb(draft, entry, body);
  } else if (body.type === "cancel" && body.mode === "kill") {
    consume(draft, entry);
    takeCancel(draft, entry, body);
  }
}

/** Or they would wake the run again and again. The rows say that they were sent, which is judged when the run goes on. */
function dropExpired(draft: Draft, { permits }: Extract<DriverFact, { type: "acquired" }>): void {
  for (const { seq, expired } of permits) {
    if (!expired) continue;
    draft.settledPermits.push(seq);
    draft.writes += 1;
  }
}

/** A question that is open already stays. */
function parkMissing(draft: Draft, missing: readonly MissingValue[]): void {
  park(draft, {
    reason: "missing_artifact",
    message: `${summaryOf(missing)}. Nothing is done before it is back: restore it, then retry`,
    seq: null,
    side: null,
    evidence: missing.map((value) => ({ ...value })),
    verbs: ["retry"],
  });
}
