/**
 * The write that lets a call be made: `planned` -> `sent` (or `offered` to a named queue). Owns when a grant may be given
 * and its deadline. Invariant: G1 the row says `sent` in the commit after which the call is made. G2 nothing is granted
 * while the run is parked, paused or being handed back; only compensations and settling calls while it unwinds.
 */
import type { CallSpec } from "../saga/index.ts";
import type { CallOrder } from "./decision.ts";
import { callOf, type Draft, effectiveClass, isParked, note, patchCall, patchRow, rowAt, type Side, specOf, stepOf } from "./draft.ts";
import { operationId } from "./ids.ts";
import type { Call, Row } from "./run.ts";
import { isNext } from "./unwind.ts";

/** A call offered to a named queue is looked after again this long after it was offered. */
export const offerCheckMs = 5_000;

/** Grants every call that is due and allowed, and asks for the probes that are due. */
export function grantDue(draft: Draft): void {
  for (const { seq } of draft.rows) {
    if (mayGrant(draft, seq, "action") && isDue(draft, seq, "action")) grant(draft, seq, "action");
    if (mayGrant(draft, seq, "undo") && isDue(draft, seq, "undo")) grant(draft, seq, "undo");
    askIfDue(draft, seq, "action");
    askIfDue(draft, seq, "undo");
  }
}

/** Would a planned call of this side be granted, its time apart? */
export function mayGrant(draft: Draft, seq: number, side: Side): boolean {
  const row = rowAt(draft, seq);
  if (callOf(row, side)?.state !== "planned" || isParked(draft)) return false;
  if (draft.record.unwind !== null) return (side === "undo" ? row.undo?.state === "owed" : true) && isNext(draft, seq);
  return side === "undo" ? row.undo?.state === "owed" : !draft.record.paused;
}

function isDue(draft: Draft, seq: number, side: Side): boolean {
  const call = callOf(rowAt(draft, seq), side);
  return !draft.stopping && call !== null && (call.nextAt ?? 0) <= draft.input.now;
}

function grant(draft: Draft, seq: number, side: Side): void {
  const row = rowAt(draft, seq);
  const { queue } = stepOf(draft, row);
  if (side === "action" && queue !== null && draft.record.unwind === null) return offer(draft, row, queue);
  const spec = specOf(draft, row, side);
  const patched = patchCall(draft, seq, side, sentNow(draft, callOf(row, side) ?? row.call, spec));
  if (side === "undo" && patched.undo !== null) patchRow(draft, seq, { undo: { ...patched.undo, state: "sent" } });
  note(draft, side === "action" ? { what: "sent", seq } : { what: "undo", seq, state: "sent" });
  draft.calls.push(orderOf(draft, rowAt(draft, seq), side, side));
}

function sentNow(draft: Draft, call: Call, spec: CallSpec): Partial<Call> {
  const { now, fence } = draft.input;
  return {
    state: "sent",
    attempt: call.attempt + 1,
    send: call.send + 1,
    effect: effectiveClass(call, spec),
    firstSentAt: call.firstSentAt ?? now,
    firstSentRevision: call.firstSentRevision ?? draft.record.revision + 1,
    sentAt: now,
    deadline: now + windowMs(draft, spec),
    fence,
    nextAt: null,
    probes: 0,
    probeAt: null,
  };
}

/** From the grant until nobody can make the outside apply it any more. */
export function windowMs(draft: Pick<Draft, "input">, spec: CallSpec): number {
  const { startWithinMs, abortGraceMs } = draft.input.settings;
  return startWithinMs + spec.timeoutMs + abortGraceMs + spec.latenessMs;
}

function offer(draft: Draft, row: Row, queue: string): void {
  const { call } = row;
  const send = call.send + 1;
  patchCall(draft, row.seq, "action", {
    state: "offered",
    attempt: call.attempt + 1,
    send,
    firstSentRevision: call.firstSentRevision ?? draft.record.revision + 1,
    sentAt: null,
    deadline: null,
    fence: null,
    nextAt: draft.input.now + offerCheckMs,
  });
  note(draft, { what: "offered", seq: row.seq });
  draft.offers.push({ seq: row.seq, send, side: "action", queue });
}

function askIfDue(draft: Draft, seq: number, side: Side): void {
  const row = rowAt(draft, seq);
  const call = callOf(row, side);
  if (call?.state !== "unknown" || call.probeAt === null || call.probeAt > draft.input.now) return;
  if (draft.stopping || isParked(draft) || draft.input.inFlight.has(`probe:${seq}`)) return;
  draft.calls.push(orderOf(draft, row, "probe", side));
}

function orderOf(draft: Draft, row: Row, kind: CallOrder["kind"], side: Side): CallOrder {
  const call = callOf(row, side) ?? row.call;
  const spec = specOf(draft, row, side);
  const { namespace } = draft.input;
  return {
    kind,
    seq: row.seq,
    side,
    send: call.send,
    attempt: Math.max(1, call.attempt),
    operationId: operationId(namespace, draft.record, row, side),
    forwardOperationId: operationId(namespace, draft.record, row),
    timeoutMs: spec.timeoutMs,
    barrier: kind !== "probe" && effectiveClass(call, spec) === "once",
  };
}
