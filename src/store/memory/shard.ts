/**
 * One shard of the memory store: its runs, its clock and its `due` queue. Owns hand-outs: a run that is due is handed
 * out under its wake number and not looked at again before its grace is over. The counterpart of `lua/shared.due.lua`.
 */
import type { WakeUp } from "../../core/index.ts";
import { graceMs, isFresh, type QueueRoom } from "../limits.ts";
import type { Acts } from "./acts.ts";
import { type Backlog, newBacklog } from "./backlog.ts";
import type { Cell } from "./cell.ts";
import type { Intents } from "./intents.ts";
import type { NoticeBoxes } from "./notices.ts";
import type { Plans } from "./plans.ts";
import type { Lines } from "./turns.ts";

export interface Registration {
  readonly serverId: string | null;
  readonly pulse: string | null;
  readonly compared: string | null;
}

export interface Shard {
  readonly lane: number;
  readonly room: QueueRoom;
  readonly cells: Map<string, Cell>;
  /** Member -> time at which it next wants attention. */
  readonly due: Map<string, number>;
  /** Starts over their tenant's share, in order of start. */
  readonly starts: Backlog;
  /** Due runs over what their pool may have queued, the longest overdue first. */
  readonly late: Backlog;
  /** Wake-ups handed out and not yet taken up, by share; by `:<pool>` those of runs that came due again. */
  readonly queued: Map<string, number>;
  readonly held: Map<string, Set<string>>;
  readonly owners: Map<string, Registration>;
  readonly suspects: Map<string, string>;
  readonly listings: Map<string, Map<string, number>>;
  /** Runs of paused sagas, by saga, with when each was put there. */
  readonly shelves: Map<string, Map<string, number>>;
  /** Ids of runs that were deleted, by when they are free again. */
  readonly gone: Map<string, number>;
  readonly intents: Intents;
  readonly plans: Plans;
  readonly lines: Lines;
  readonly acts: Acts;
  readonly notices: NoticeBoxes;
  highest: number;
}

export function newShard(lane: number, room: QueueRoom): Shard {
  return {
    lane,
    room,
    cells: new Map(),
    due: new Map(),
    starts: newBacklog(),
    late: newBacklog(),
    queued: new Map(),
    held: new Map(),
    owners: new Map(),
    suspects: new Map(),
    listings: new Map(),
    shelves: new Map(),
    gone: new Map(),
    intents: new Map(),
    plans: new Map(),
    lines: new Map(),
    acts: [],
    notices: new Map(),
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
    if (cell.handOuts === 0) count(shard, cell.share, 1);
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
  count(shard, cell.share, -1);
  if (cell.cameDueAgain) count(shard, poolOf(cell.share), -1);
  cell.cameDueAgain = false;
}

/** Changes how many wake-ups are queued of a share, or of the due runs of a pool. */
export function count(shard: Shard, what: string, by: 1 | -1): void {
  const queued = queuedOf(shard, what) + by;
  if (queued > 0) shard.queued.set(what, queued);
  else shard.queued.delete(what);
}

/** `:<pool>`: the due runs of a share's pool, whoever's they are. */
export function poolOf(share: string): string {
  return share.slice(share.indexOf(":"));
}

export function queuedOf(shard: Shard, what: string): number {
  return shard.queued.get(what) ?? 0;
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
