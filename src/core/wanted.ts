/**
 * When a run wants attention next, and whether its driver keeps it until then. Invariants: H1 what is due and may be done
 * has been done by the decision, so `wanted` lies in the future, unless the run is handed back. H2 what another driver or a
 * step worker will act on is no reason to keep the lease.
 */
import { type Draft, isParked, openSeqs, rowAt } from "./draft.ts";
import { mayGrant } from "./grant.ts";
import { callOf, nextOf, type Side } from "./rows.ts";
import type { Row } from "./run.ts";
import { hasEnded } from "./run.ts";
import { isFlying } from "./unwind.ts";

export interface Attention {
  /** Keep the lease. */
  readonly hold: boolean;
  /** When this driver wants to look again, while it keeps the lease. */
  readonly wanted: number | null;
  /** When the run wants attention from anybody, once it is given back. */
  readonly due: number | null;
}

export function attentionOf(draft: Draft): Attention {
  const times = timesOf(draft);
  const { now, settings } = draft.input;
  const soon = !draft.stopping && times.own <= now + settings.inlineWaitMs;
  return {
    hold: soon || isUnderWay(draft),
    wanted: orNull(Math.min(times.own, times.offers)),
    due: orNull(Math.min(times.own, times.offers, times.remote)),
  };
}

function orNull(time: number): number | null {
  return Number.isFinite(time) ? time : null;
}

/** Calls and probes that this driver will hear of. */
function isUnderWay(draft: Draft): boolean {
  if (draft.calls.length > 0 || draft.input.inFlight.size > 0) return true;
  return openSeqs(draft).some((seq) => isMine(draft, seq, "action") || isMine(draft, seq, "undo"));
}

function isMine(draft: Draft, seq: number, side: Side): boolean {
  const call = callOf(rowAt(draft, seq), side);
  return call?.state === "sent" && call.fence === draft.input.fence;
}

interface Times {
  /** What a driver acts on. */
  own: number;
  /** Offers to be repeated. */
  offers: number;
  /** Calls by permit, to be looked after. */
  remote: number;
}

const never = Number.POSITIVE_INFINITY;

function timesOf(draft: Draft): Times {
  const times = { own: never, offers: never, remote: never };
  if (hasEnded(draft.record.status)) return times;
  if (draft.more) times.own = draft.input.now;
  for (const seq of openSeqs(draft)) addRow(draft, rowAt(draft, seq), times);
  if (draft.record.unwind === null && !isParked(draft)) addForward(draft, times);
  return times;
}

function addRow(draft: Draft, row: Row, times: Times): void {
  const { unwind } = draft.record;
  times.own = Math.min(times.own, ownTime(draft, row, "action"), ownTime(draft, row, "undo"));
  if (unwind !== null && isFlying(row)) times.own = Math.min(times.own, unwind.quiesceUntil);
  if (row.call.state === "offered") times.offers = Math.min(times.offers, nextOf(row.call));
  if (row.call.state === "sent" && row.call.fence === null)
    times.remote = Math.min(times.remote, remoteTime(draft, row));
}

function ownTime(draft: Draft, row: Row, side: Side): number {
  const call = callOf(row, side);
  if (call === null) return never;
  if (call.state === "planned" && mayGrant(draft, row, side)) return nextOf(call);
  if (call.state === "unknown" && call.probeAt !== null && !isAsked(draft, row.seq)) return call.probeAt;
  return never;
}

function isAsked(draft: Draft, seq: number): boolean {
  return (
    draft.input.inFlight.has(`probe:${seq}`) || draft.calls.some((order) => order.kind === "probe" && order.seq === seq)
  );
}

function remoteTime(draft: Draft, { seq, call }: Row): number {
  // What was sent by permit has the deadline that came with it.
  return draft.permits.get(seq) ?? (call.deadline as number);
}

function addForward(draft: Draft, times: Times): void {
  const { snapshot, startAt, paused, timers } = draft.record;
  if (snapshot === null) times.own = Math.min(times.own, startAt);
  if (!paused) for (const timer of timers) times.own = Math.min(times.own, timer.at);
}
