/**
 * The write that lets a call be made: `planned` -> `sent` (or `offered` to a named queue), and the probes that are due.
 * Owns when a grant may be given and its deadline. Invariants: G1 the row says `sent` in the commit after which the call
 * is made. G2 nothing is granted while the run is paused, handed back, or parked going forward; going back, a row that
 * waits for a person stops only those it holds back. G3 probes are asked whenever they are due: they change nothing.
 */
import type { CallSpec } from "../../saga/index.ts";
import { fitsBudgets } from "../bounds/budget-limits.ts";
import { countGrant } from "../bounds/budgets.ts";
import { breaksNoLoop } from "../bounds/loops.ts";
import { giveShares } from "../bounds/shares.ts";
import { renewChild } from "../company/children.ts";
import { claim, needsClaim } from "../company/claims.ts";
import type { CallOrder } from "../decision.ts";
import { callAt, type Draft, note, type Place, patchCall, rowAt, specOf, stepOf } from "../draft.ts";
import { operationId } from "../ids.ts";
import { callOf, doubtOf, effectiveClass, nextOf } from "../rows.ts";
import type { Call, Row } from "../run/index.ts";
import { mayGrant } from "./clearance.ts";
import { windowMs } from "./retry.ts";
import { sendersInDoubt, sendersWith } from "./senders.ts";

/** How long a call lies in a named queue before it is offered again, at first and at most. */
const offerCheckMs = { first: 5_000, most: 300_000 } as const;

/** Grants every call that is due and allowed, and asks for the probes that are due. */
export function grantDue(draft: Draft): void {
  if (draft.stopping) return;
  for (const seq of draft.open) {
    grantIfDue(draft, { seq, side: "action" });
    grantIfDue(draft, { seq, side: "undo" });
  }
}

function grantIfDue(draft: Draft, place: Place): void {
  const row = rowAt(draft, place.seq);
  const call = callOf(row, place.side);
  if (call === null) return;
  const isDue = nextOf(call) <= draft.input.now;
  if (call.state === "planned" && isDue && mayGrant(draft, row, place.side) && fitsBounds(draft, row, place)) {
    grant(draft, row, place);
  }
  if (call.state === "offered" && isDue) offerAgain(draft, row, call);
  if (isProbeDue(draft, place, call)) draft.calls.push(orderOf(draft, row, place, "probe"));
}

/** Going back has no bounds. */
function fitsBounds(draft: Draft, row: Row, { side }: Place): boolean {
  return side === "undo" || draft.record.unwind !== null || (breaksNoLoop(draft, row) && fitsBudgets(draft, row));
}

function isProbeDue(draft: Draft, { seq }: Place, call: Call): boolean {
  const isDue = call.state === "unknown" && call.probeAt !== null && call.probeAt <= draft.input.now;
  return isDue && !draft.input.inFlight.has(`probe:${seq}`);
}

function grant(draft: Draft, row: Row, place: Place): void {
  const { seq, side } = place;
  const { queue } = stepOf(draft, row);
  if (side === "action") renewChild(draft, row);
  if (side === "action" && needsClaim(row)) return claim(draft, row);
  if (side === "action" && row.call.firstSentRevision === null) countGrant(draft, row);
  if (side === "action" && queue !== null && draft.record.unwind === null) return offer(draft, row, queue);
  if (side === "action" && row.kind === "child") giveShares(draft, rowAt(draft, seq));
  patchCall(draft, place, sentNow(draft, callAt(draft, place), timed(draft, row, side)));
  note(draft, side === "action" ? { what: "sent", seq } : { what: "undo", seq, state: "sent" });
  draft.calls.push(orderOf(draft, rowAt(draft, seq), place, side));
}

function sentNow(draft: Draft, call: Call, spec: CallSpec): Partial<Call> {
  const { now, fence, actor, settings } = draft.input;
  return {
    state: "sent",
    attempt: call.attempt + 1,
    send: call.send + 1,
    effect: effectiveClass(call, spec),
    firstSentAt: call.firstSentAt ?? now,
    firstSentRevision: call.firstSentRevision ?? draft.revision,
    sentAt: now,
    deadline: now + windowMs(settings, spec),
    fence,
    nextAt: null,
    doubtUntil: doubtOf(call),
    senders: sendersWith(call, spec, actor),
    probes: 0,
  };
}

/** How the side is called now: an action that goes forward ends, at the latest, with its row's deadline. */
function timed(draft: Draft, row: Row, side: Place["side"]): CallSpec {
  const spec = specOf(draft, row, side);
  if (side === "undo" || row.dueBy === null || draft.record.unwind !== null) return spec;
  return { ...spec, timeoutMs: Math.min(spec.timeoutMs, row.dueBy - draft.input.now) };
}

// ---- named queues

/** `sentAt` is the earliest time at which it can have been sent, until the store or the answer says more. */
function offer(draft: Draft, row: Row, queue: string): void {
  const { call, seq } = row;
  const { now } = draft.input;
  const send = call.send + 1;
  patchCall(
    draft,
    { seq, side: "action" },
    {
      state: "offered",
      attempt: call.attempt + 1,
      send,
      effect: effectiveClass(call, stepOf(draft, row)),
      firstSentRevision: call.firstSentRevision ?? draft.revision,
      sentAt: now,
      deadline: null,
      fence: null,
      nextAt: now + offerCheckMs.first,
      doubtUntil: doubtOf(call),
      senders: sendersInDoubt(call),
      probes: 0,
    },
  );
  note(draft, { what: "offered", seq });
  draft.offers.push({ seq, send, side: "action", queue });
}

/** The job may have been lost: it is added again under its id, ever less often. */
function offerAgain(draft: Draft, row: Row, call: Call): void {
  const { now } = draft.input;
  // `offer` has said when.
  const waited = now - (call.sentAt as number);
  const wait = Math.min(Math.max(waited, offerCheckMs.first), offerCheckMs.most);
  patchCall(draft, { seq: row.seq, side: "action" }, { nextAt: now + wait });
  repeatOffer(draft, row);
}

/** Offers a row again under the same job id. */
export function repeatOffer(draft: Draft, row: Row): void {
  const { queue } = stepOf(draft, row);
  const isOffered = draft.offers.some((offered) => offered.seq === row.seq);
  if (queue !== null && !isOffered) draft.offers.push({ seq: row.seq, send: row.call.send, side: "action", queue });
}

// ---- orders

function orderOf(draft: Draft, row: Row, { seq, side }: Place, kind: CallOrder["kind"]): CallOrder {
  const call = callAt(draft, { seq, side });
  const spec = kind === "probe" ? specOf(draft, row, side) : timed(draft, row, side);
  const forwardOperationId = operationId(draft.input.namespace, draft.record, row);
  return {
    kind,
    seq,
    side,
    send: call.send,
    attempt: Math.max(1, call.attempt),
    operationId: side === "action" ? forwardOperationId : operationId(draft.input.namespace, draft.record, row, side),
    forwardOperationId,
    timeoutMs: spec.timeoutMs,
    barrier: kind !== "probe" && effectiveClass(call, spec) === "once",
  };
}
