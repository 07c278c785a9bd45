/**
 * What a new driver finds: calls whose caller is gone, calls in the hands of workers of named queues, a snapshot that
 * today's machine may not hold any more. Owns what each is from now on. Invariants: T1 a call sent under a lease is
 * an interruption, counted against the call only where its owner died. T2 a row with a permit of its send *is* sent.
 */
import type { DriverFact } from "../decision.ts";
import { type Draft, note, patchCall, rowAt } from "../draft.ts";
import { park } from "../people/reviews.ts";
import type { PermitState } from "../ports.ts";
import { callOf, type Side } from "../rows.ts";
import type { Call } from "../run/index.ts";
import { repeatOffer } from "./grant.ts";
import { interrupt, poisonLimit } from "./outcome.ts";
import { haveGone, permitted } from "./senders.ts";

type Acquired = Extract<DriverFact, { type: "acquired" }>;

/** What the store said of permits comes before everything else: it is what the rows are. */
export function takePermits(draft: Draft, permits: readonly PermitState[]): void {
  for (const permit of permits) {
    markSent(draft, permit);
    draft.permits.push(permit);
  }
}

/** A permit means that the offered row is sent. */
function markSent(draft: Draft, { seq, send, owner, sentAt, deadline }: PermitState): void {
  const call = draft.rows[seq - 1]?.call;
  if (call?.state !== "offered" || call.send !== send) return;
  const firstSentAt = call.firstSentAt ?? sentAt;
  const place = { seq, side: "action" } as const;
  patchCall(draft, place, { state: "sent", fence: null, sentAt, firstSentAt, deadline, nextAt: null });
  permitted(draft, place, owner);
  note(draft, { what: "sent", seq });
}

/** The lease was won. */
export function takeOver(draft: Draft, { takenFrom, permits }: Acquired): void {
  const died = takenFrom?.died ?? false;
  const left = placesLeft(draft);
  if (takenFrom?.died) for (const place of left) haveGone(draft, place, [takenFrom.owner]);
  if (died && isUnexplained(draft, left)) countDeath(draft);
  for (const place of left) interrupt(draft, place, died);
  for (const permit of permits) if (permit.expired) takeExpired(draft, permit);
  for (const seq of draft.open) takeOverRemote(draft, seq, permits);
  if (takenFrom !== null) offerAgain(draft);
  const blocked = blockedBy(draft);
  if (blocked !== null) parkBlocked(draft, blocked);
}

/** Who has just won the lease has nothing under way: not even what bears its fence, which a store that was put back gives out again. */
function placesLeft(draft: Draft): readonly { readonly seq: number; readonly side: Side }[] {
  const places = draft.open.flatMap((seq) => [{ seq, side: "action" } as const, { seq, side: "undo" } as const]);
  return places.filter(({ seq, side }) => isLeft(callOf(rowAt(draft, seq), side)));
}

function isLeft(call: Call | null): boolean {
  return call?.state === "sent" && call.fence !== null;
}

/** Was nobody's code called that may have killed the worker? A run that is stopped tells those it has started, whatever comes. */
function isUnexplained({ rows, record }: Draft, left: readonly { readonly seq: number }[]): boolean {
  if (left.length === 0) return true;
  return record.unwind?.leaves !== true && left.every(({ seq }) => rows[seq - 1]?.kind === "child");
}

function countDeath(draft: Draft): void {
  draft.record.interruptions += 1;
  note(draft, { what: "resumed", note: "the worker that held it died" });
}

/** Its holder is gone. The permit goes whatever became of the row, or the store would wake the run for it again and again. */
function takeExpired(draft: Draft, { seq, send }: PermitState): void {
  draft.settledPermits.push(seq);
  const call = draft.rows[seq - 1]?.call;
  if (call?.state === "sent" && call.send === send) interrupt(draft, { seq, side: "action" }, false);
  else note(draft, { what: "interrupted", seq });
}

/** A call sent by permit, of which the store knows none: nobody is at it. */
function takeOverRemote(draft: Draft, seq: number, permits: readonly PermitState[]): void {
  const { call } = rowAt(draft, seq);
  const isHeld = permits.some((permit) => permit.seq === seq && permit.send === call.send);
  if (call.state === "sent" && call.fence === null && !isHeld) interrupt(draft, { seq, side: "action" }, false);
}

/** The driver before may have died between its commit and adding the job. */
function offerAgain(draft: Draft): void {
  for (const seq of draft.open) if (rowAt(draft, seq).call.state === "offered") repeatOffer(draft, rowAt(draft, seq));
}

// ---- what stops the run as a whole

/** Its workers died while nothing was sent, too often to try again. */
export function parkPoisoned(draft: Draft): void {
  if (draft.record.interruptions < poisonLimit) return;
  const message = `its worker died ${poisonLimit} times in a row while driving it`;
  park(draft, { reason: "poison", message, seq: null, side: null, evidence: null, verbs: ["retry"] });
}

/** Why today's machine cannot go on from the snapshot; `null`: it can, or does not have to. */
export function blockedBy(draft: Draft): string | null {
  const { snapshot, unwind } = draft.record;
  return snapshot?.status !== "active" || unwind !== null ? null : draft.input.machine.blocked(snapshot);
}

function parkBlocked(draft: Draft, message: string): void {
  park(draft, { reason: "blocked", message, seq: null, side: null, evidence: null, verbs: ["retry"] });
}
