/** Runs of paused sagas, over one memory shard: the counterpart of `lua/shelve.lua` and `lua/unshelve.lua`. */
import type { LeaseRef, WakeUp } from "../../core/index.ts";
import { memberOf } from "../keys.ts";
import { isHeld } from "./cell.ts";
import { handOut, layDown, type Shard } from "./shard.ts";

export function shelve(shard: Shard, lease: LeaseRef, saga: string, now: number): { answer: "OK" | "FENCED" } {
  const cell = shard.cells.get(memberOf(lease.run));
  if (cell?.lease?.token !== lease.token || cell.fence !== lease.fence) return { answer: "FENCED" };
  layDown(shard, cell);
  const shelf = shard.shelves.get(saga) ?? new Map<string, number>();
  if (!shelf.has(cell.member)) shelf.set(cell.member, now);
  shard.shelves.set(saga, shelf);
  return { answer: "OK" };
}

export function unshelve(shard: Shard, paused: readonly string[], limit: number, now: number) {
  const wakeUps: WakeUp[] = [];
  let taken = 0;
  for (const saga of [...shard.shelves.keys()].sort()) {
    const shelf = shard.shelves.get(saga);
    if (shelf === undefined || paused.includes(saga)) continue;
    for (const member of firstOf(shelf, limit - taken)) {
      shelf.delete(member);
      taken += 1;
      const cell = shard.cells.get(member);
      if (cell !== undefined && !isHeld(cell, now)) wakeUps.push(handOut(shard, cell, now));
    }
    if (shelf.size === 0) shard.shelves.delete(saga);
  }
  return { wakeUps, full: taken >= limit };
}

function firstOf(shelf: ReadonlyMap<string, number>, limit: number): readonly string[] {
  const members = [...shelf].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
  return members.slice(0, limit).map(([member]) => member);
}
