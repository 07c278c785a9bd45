/**
 * When a run wants attention next, and whether its driver keeps it until then. Invariants: H1 what is due and may be done
 * has been done by the decision, so `wanted` lies in the future, unless the run is handed back. H2 what another driver or a
 * step worker will act on is no reason to keep the lease.
 */

import { timeBudgetTime } from "./bounds/budget-limits.ts";
import { deadlineTime, overdueTime } from "./bounds/deadlines.ts";
import { askAgainTime } from "./bounds/shares.ts";
import { isClear, mayGrant } from "./calls/clearance.ts";
import { moveTime } from "./change/migrate.ts";
import { claimTime, wordTime } from "./company/claims.ts";
import { awaitsTurn, turnTime } from "./company/limits.ts";
import { type Draft, isParked, rowAt } from "./draft.ts";
import { approvalTime } from "./people/approvals.ts";
import { callOf, nextOf, type Side } from "./rows.ts";
import type { Row } from "./run/index.ts";
import { hasEnded } from "./run/index.ts";
import { isFlying } from "./unwind/unwind.ts";

export interface Attention {
  /** Keep the lease. */
  readonly hold: boolean;
  /** When this driver wants to look again, while it keeps the lease. */
  readonly wanted: number | null;
  /** When the run wants attention from anybody, once it is given back. */
  readonly due: number | null;
}

export function attentionOf(draft: Draft): Attention {
  if (draft.before.missing !== undefined) return resting;
  if (draft.handsOver) return { hold: false, wanted: null, due: draft.input.now };
  const { turns, calls, offers, remote } = timesOf(draft);
  const { now, settings } = draft.input;
  const own = Math.min(turns, calls);
  const soon = !draft.stopping && own <= now + settings.inlineWaitMs;
  return {
    hold: soon || isUnderWay(draft),
    // A worker that stops begins no call; looking at it again and again would not change that.
    wanted: orNull(draft.stopping ? turns : Math.min(own, offers)),
    due: orNull(Math.min(own, offers, remote, moveTime(draft) ?? never)),
  };
}

/** What waits for a person alone. */
const resting: Attention = { hold: false, wanted: null, due: null };

function orNull(time: number): number | null {
  return Number.isFinite(time) ? time : null;
}

/** Calls and probes that this driver will hear of. */
function isUnderWay(draft: Draft): boolean {
  if (draft.calls.length + draft.claims.length + draft.publishes.length > 0 || draft.turn !== null) return true;
  if (draft.input.inFlight.size > 0) return true;
  return draft.open.some((seq) => isMine(draft, seq, "action") || isMine(draft, seq, "undo"));
}

function isMine(draft: Draft, seq: number, side: Side): boolean {
  const call = callOf(rowAt(draft, seq), side);
  return call?.state === "sent" && call.fence === draft.input.fence;
}

interface Times {
  /** What moves the run without a call: timers, the end of a quiesce, what becomes of an asking by itself. */
  turns: number;
  /** Calls to be granted, probes to be asked, claims and words for the registry of intents. */
  calls: number;
  /** Offers to be repeated. */
  offers: number;
  /** Calls by permit, to be looked after. */
  remote: number;
}

const never = Number.POSITIVE_INFINITY;

function timesOf(draft: Draft): Times {
  const times = { turns: never, calls: never, offers: never, remote: never };
  if (hasEnded(draft.record.status)) return times;
  if (draft.more) times.turns = draft.input.now;
  for (const seq of draft.open) addRow(draft, rowAt(draft, seq), times);
  if (draft.record.unwind === null && !isParked(draft)) addForward(draft, times);
  return times;
}

function addRow(draft: Draft, row: Row, times: Times): void {
  const { unwind } = draft.record;
  times.calls = Math.min(
    times.calls,
    callTime(draft, row, "action"),
    callTime(draft, row, "undo"),
    claimTime(draft, row),
    wordTime(draft, row),
  );
  times.turns = Math.min(times.turns, overdueTime(draft, row));
  if (unwind !== null && isFlying(row)) times.turns = Math.min(times.turns, unwind.quiesceUntil);
  times.turns = Math.min(times.turns, approvalTime(row));
  if (row.call.state === "offered") times.offers = Math.min(times.offers, nextOf(row.call));
  if (row.call.state === "sent" && row.call.fence === null)
    times.remote = Math.min(times.remote, remoteTime(draft, row));
}

function callTime(draft: Draft, row: Row, side: Side): number {
  const call = callOf(row, side);
  if (call === null) return never;
  if (call.state === "planned" && isClear(draft, row, side)) return isHeldUp(draft, row, side) ? never : nextOf(call);
  if (call.state === "unknown" && call.probeAt !== null && !isAsked(draft, row.seq)) return call.probeAt;
  return never;
}

/** It is due, and waits for a budget: what that brings wakes the run. (Before it is due, that is what it waits for.) */
function isHeldUp(draft: Draft, row: Row, side: Side): boolean {
  return nextOf(row.call) <= draft.input.now && !mayGrant(draft, row, side);
}

function isAsked(draft: Draft, seq: number): boolean {
  return (
    draft.input.inFlight.has(`probe:${seq}`) || draft.calls.some((order) => order.kind === "probe" && order.seq === seq)
  );
}

function remoteTime(draft: Draft, { seq, call }: Row): number {
  // What was sent by permit has the deadline that came with it.
  return draft.permits.find((permit) => permit.seq === seq)?.until ?? (call.deadline as number);
}

function addForward(draft: Draft, times: Times): void {
  const { snapshot, startAt, paused, timers } = draft.record;
  times.turns = Math.min(times.turns, turnTime(draft));
  if (awaitsTurn(draft)) return;
  if (snapshot === null) times.turns = Math.min(times.turns, startAt);
  if (!paused) for (const timer of timers) times.turns = Math.min(times.turns, timer.at);
  times.turns = Math.min(times.turns, deadlineTime(draft), timeBudgetTime(draft), askAgainTime(draft));
}
