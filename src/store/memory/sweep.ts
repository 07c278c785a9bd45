/**
 * Who is overdue in one shard, as far as the queue has room for them. The counterpart of `lua/due.lua`. Invariant: what nobody
 * takes up, and what a dead worker held, never waits for room.
 */
import type { DueAnswer, WakeUp } from "../../core/index.ts";
import { maxPassedOver } from "../limits.ts";
import { serveInTurn, waitForRoom } from "./backlog.ts";
import type { Cell } from "./cell.ts";
import { count, handOut, poolOf, queuedOf, type Shard } from "./shard.ts";

export function startsHaveRoom(shard: Shard, share: string): boolean {
  return queuedOf(shard, share) < shard.room.maxWakeUpsQueued;
}

function dueHaveRoom(shard: Shard, share: string): boolean {
  return queuedOf(shard, poolOf(share)) < shard.room.maxDueQueued;
}

/** At most `limit` overdue runs, then what waited for room, one tenant after the other. */
export function sweep(shard: Shard, limit: number, now: number): DueAnswer {
  const overdue = [...shard.due].filter(([, at]) => at <= now);
  overdue.sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
  const wakeUps: WakeUp[] = [];
  const wake = (cell: Cell) => void wakeUps.push(handOut(shard, cell, now));
  for (const [member, at] of overdue.slice(0, limit)) lookAt(shard, { member, at, now }, wake);
  const passed = refill(shard, () => wakeUps.length < limit, wake);
  return {
    wakeUps,
    full: overdue.length >= limit || wakeUps.length >= limit || passed >= maxPassedOver,
    crowded: shard.starts.turns.length + shard.late.turns.length > 0,
  };
}

interface Overdue {
  readonly member: string;
  readonly at: number;
  readonly now: number;
}

/** An overdue run is woken, waits for room, or gets another time. */
function lookAt(shard: Shard, { member, at, now }: Overdue, wake: (cell: Cell) => void): void {
  const cell = shard.cells.get(member);
  if (cell === undefined) return void shard.due.delete(member);
  const { lease, share } = cell;
  if (lease !== null && lease.until > now) return void shard.due.set(member, lease.until);
  if (cell.wanted !== undefined && cell.wanted > now && renewedSince(shard, cell, now)) return;
  if (cell.handOuts > 0 || lease !== null) return wake(cell);
  const isStart = cell.fence === 0;
  if (isStart && startsHaveRoom(shard, share)) return wake(cell);
  if (!isStart && dueHaveRoom(shard, share) && !shard.late.waiting.has(share)) return wakeAgain(shard, cell, wake);
  waitForRoom(isStart ? shard.starts : shard.late, share, member, isStart ? now : at);
  shard.due.delete(member);
}

function wakeAgain(shard: Shard, cell: Cell, wake: (cell: Cell) => void): void {
  cell.cameDueAgain = true;
  count(shard, poolOf(cell.share), 1);
  wake(cell);
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

/** Answers how many it passed over that were taken up in another way. */
function refill(shard: Shard, goesOn: () => boolean, wake: (cell: Cell) => void): number {
  const passed = serveInTurn(shard.starts, {
    hasRoom: (share) => startsHaveRoom(shard, share),
    goesOn,
    serve: (member) => {
      const cell = shard.cells.get(member);
      if (cell === undefined || cell.fence > 0 || cell.handOuts > 0) return false;
      wake(cell);
      return true;
    },
  });
  return (
    passed +
    serveInTurn(shard.late, {
      hasRoom: (share) => dueHaveRoom(shard, share),
      goesOn,
      serve: (member) => {
        const cell = shard.cells.get(member);
        if (cell === undefined || cell.lease !== null || cell.handOuts > 0 || shard.due.has(member)) return false;
        wakeAgain(shard, cell, wake);
        return true;
      },
    })
  );
}
