/**
 * One shard of the memory store: its runs, its clock and its `due` queue. Owns hand-outs: a run that is due is handed
 * out under its wake number and not looked at again before its grace is over. The counterpart of `lua/shared.due.lua`.
 */
import type { WakeUp } from "../../core/index.ts";
import { graceMs, isFresh, maxPassedOver, maxWakeUpsQueued } from "../limits.ts";
import type { Cell } from "./cell.ts";
import type { Intents } from "./intents.ts";
import type { Plans } from "./plans.ts";
import type { Lines } from "./turns.ts";

export interface Registration {
  readonly serverId: string | null;
  readonly pulse: string | null;
}

export interface Shard {
  readonly lane: number;
  readonly cells: Map<string, Cell>;
  /** Member -> time at which it next wants attention. */
  readonly due: Map<string, number>;
  /** Starts over their tenant's share, in order of start. */
  readonly backlog: Map<string, Map<string, number>>;
  /** Shares with a backlog, the next to be served first. */
  readonly fair: string[];
  /** Wake-ups handed out and not yet taken up, by share. */
  readonly queued: Map<string, number>;
  readonly held: Map<string, Set<string>>;
  readonly owners: Map<string, Registration>;
  readonly suspects: Map<string, string>;
  readonly listings: Map<string, Map<string, number>>;
  /** Runs of paused sagas, by saga, with when each was put there. */
  readonly shelves: Map<string, Map<string, number>>;
  readonly intents: Intents;
  readonly plans: Plans;
  readonly lines: Lines;
  highest: number;
}

export function newShard(lane: number): Shard {
  return {
    lane,
    cells: new Map(),
    due: new Map(),
    backlog: new Map(),
    fair: [],
    queued: new Map(),
    held: new Map(),
    owners: new Map(),
    suspects: new Map(),
    listings: new Map(),
    shelves: new Map(),
    intents: new Map(),
    plans: new Map(),
    lines: new Map(),
    highest: 0,
  };
}

/** The shard's time: never going back. */
export function timeOf(shard: Shard, clockMs: number): number {
  shard.highest = Math.max(shard.highest, Math.floor(clockMs));
  return shard.highest;
}

/** Hands the run out: it is due again after its grace. A run that is handed out already keeps its time. */
export function handOut(shard: Shard, cell: Cell, now: number): WakeUp {
  const next = shard.due.get(cell.member);
  if (cell.handOuts === 0 || next === undefined || next <= now) {
    if (cell.handOuts === 0) shard.queued.set(cell.share, queuedOf(shard, cell.share) + 1);
    cell.handOuts += 1;
    if (isFresh(cell.handOuts)) cell.wake += 1;
    cell.wanted = undefined;
    shard.due.set(cell.member, now + graceMs(cell.handOuts));
  }
  const { record } = cell.run;
  const run = { tenant: record.tenant, id: record.id };
  return { run, wake: cell.wake, pool: record.pool, lane: shard.lane, priority: record.priority };
}

/** The wake-up that was handed out has been taken up, or counts no more. */
export function takeUp(shard: Shard, cell: Cell): void {
  if (cell.handOuts === 0) return;
  cell.handOuts = 0;
  const left = queuedOf(shard, cell.share) - 1;
  if (left > 0) shard.queued.set(cell.share, left);
  else shard.queued.delete(cell.share);
}

export function queuedOf(shard: Shard, share: string): number {
  return shard.queued.get(share) ?? 0;
}

/** The lease is given back; the run rests until `due`, or until the first of its permits runs out. */
export function rest(shard: Shard, cell: Cell, due: number | null): void {
  layDown(shard, cell);
  if (due !== null) shard.due.set(cell.member, due);
  bringForward(shard, cell);
}

/** The lease is given back, and the run is due to nobody. */
export function layDown(shard: Shard, cell: Cell): void {
  takeUp(shard, cell);
  if (cell.lease !== null) shard.held.get(cell.lease.owner)?.delete(cell.member);
  cell.lease = null;
  cell.wanted = undefined;
  shard.due.delete(cell.member);
}

/** A run at rest is looked at when the first of its permits runs out. */
export function bringForward(shard: Shard, cell: Cell): void {
  if (cell.permits.size === 0) return;
  const own = cell.wanted ?? shard.due.get(cell.member) ?? Number.POSITIVE_INFINITY;
  const first = Math.min(...[...cell.permits.values()].map((permit) => permit.until));
  if (first >= own) return;
  cell.wanted = own;
  shard.due.set(cell.member, first);
}

/** Puts a start that is over its tenant's share where `refill` finds it. */
export function putBack(shard: Shard, cell: Cell, at: number): void {
  shard.due.delete(cell.member);
  const backlog = shard.backlog.get(cell.share) ?? new Map<string, number>();
  if (backlog.size === 0) shard.fair.push(cell.share);
  backlog.set(cell.member, at);
  shard.backlog.set(cell.share, backlog);
}

export function isOverShare(shard: Shard, share: string): boolean {
  return queuedOf(shard, share) >= maxWakeUpsQueued;
}

/** At most `limit` overdue runs, then starts from the backlogs, one tenant after the other. */
export function sweep(shard: Shard, limit: number, now: number): { wakeUps: WakeUp[]; full: boolean } {
  const overdue = [...shard.due].filter(([, at]) => at <= now);
  overdue.sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
  const wakeUps: WakeUp[] = [];
  for (const [member] of overdue.slice(0, limit)) {
    const wakeUp = lookAt(shard, member, now);
    if (wakeUp !== null) wakeUps.push(wakeUp);
  }
  const passed = refill(shard, limit, now, wakeUps);
  return { wakeUps, full: overdue.length >= limit || wakeUps.length >= limit || passed >= maxPassedOver };
}

/** Is an overdue run to be handed out now? Otherwise it gets another time. */
function lookAt(shard: Shard, member: string, now: number): WakeUp | null {
  const cell = shard.cells.get(member);
  if (cell === undefined) {
    shard.due.delete(member);
    return null;
  }
  if (cell.lease !== null && cell.lease.until > now) {
    shard.due.set(member, cell.lease.until);
    return null;
  }
  if (cell.wanted !== undefined && cell.wanted > now && renewedSince(shard, cell, now)) return null;
  if (cell.fence === 0 && cell.handOuts === 0 && isOverShare(shard, cell.share)) {
    putBack(shard, cell, now);
    return null;
  }
  return handOut(shard, cell, now);
}

/** It was looked at for a permit only, and every permit was renewed meanwhile. */
function renewedSince(shard: Shard, cell: Cell, now: number): boolean {
  const first = Math.min(...[...cell.permits.values()].map((permit) => permit.until));
  if (first <= now) return false;
  const own = cell.wanted ?? Number.POSITIVE_INFINITY;
  const next = Math.min(own, first);
  if (next === own) cell.wanted = undefined;
  if (Number.isFinite(next)) shard.due.set(cell.member, next);
  else shard.due.delete(cell.member);
  return true;
}

/** Answers how many it passed over that were taken up in another way: they cost nobody's turn. */
function refill(shard: Shard, limit: number, now: number, wakeUps: WakeUp[]): number {
  let [idle, passed] = [0, 0];
  while (wakeUps.length < limit && passed < maxPassedOver && idle < shard.fair.length) {
    const share = shard.fair.shift() as string; // there is one: `idle` is less than their number
    const member = isOverShare(shard, share) ? undefined : nextOf(shard, share);
    const cell = member === undefined ? undefined : shard.cells.get(member);
    if (cell?.fence === 0 && cell.handOuts === 0) wakeUps.push(handOut(shard, cell, now));
    else if (member !== undefined) passed += 1;
    idle = member === undefined ? idle + 1 : 0;
    if (shard.backlog.has(share)) shard.fair.push(share);
  }
  return passed;
}

/** Takes the first member of a backlog. */
function nextOf(shard: Shard, share: string): string | undefined {
  const backlog = shard.backlog.get(share);
  const first = firstOf(backlog ?? new Map());
  if (backlog === undefined || first === undefined) return undefined;
  backlog.delete(first);
  if (backlog.size === 0) shard.backlog.delete(share);
  return first;
}

function firstOf(backlog: ReadonlyMap<string, number>): string | undefined {
  let first: string | undefined;
  let soonest = Number.POSITIVE_INFINITY;
  for (const [member, at] of backlog) {
    if (at > soonest || (at === soonest && first !== undefined && first < member)) continue;
    first = member;
    soonest = at;
  }
  return first;
}
