/**
 * Runs that wait until the queue has room for them, by share. The counterpart of `lua/shared.fair.lua`. Invariant: a share is
 * among the turns once while its runs wait; one after the other gets its turn.
 */
import { maxPassedOver } from "../limits.ts";

export interface Backlog {
  /** Share -> member -> since when. */
  readonly waiting: Map<string, Map<string, number>>;
  /** Shares, the next to be served first. */
  readonly turns: string[];
}

export function newBacklog(): Backlog {
  return { waiting: new Map(), turns: [] };
}

export function waitForRoom({ waiting, turns }: Backlog, share: string, member: string, at: number): void {
  const members = waiting.get(share);
  if (members === undefined) turns.push(share);
  waiting.set(share, (members ?? new Map<string, number>()).set(member, at));
}

export interface Served {
  readonly hasRoom: (share: string) => boolean;
  readonly goesOn: () => boolean;
  /** `false`: it was taken up in another way, which costs nobody's turn. */
  readonly serve: (member: string) => boolean;
}

/** Serves the first of each share in turn. Answers how many had been taken up in another way. */
export function serveInTurn(backlog: Backlog, { hasRoom, goesOn, serve }: Served): number {
  const { waiting, turns } = backlog;
  let [idle, passed] = [0, 0];
  while (goesOn() && passed < maxPassedOver && idle < turns.length) {
    const share = turns.shift() as string; // there is one: `idle` is less than their number
    const first = hasRoom(share) ? takeFirst(waiting, share) : undefined;
    if (first !== undefined && !serve(first)) passed += 1;
    idle = first === undefined ? idle + 1 : 0;
    if (waiting.has(share)) turns.push(share);
  }
  return passed;
}

function takeFirst(waiting: Map<string, Map<string, number>>, share: string): string | undefined {
  const members = waiting.get(share);
  const first = firstOf(members ?? new Map());
  if (members === undefined || first === undefined) return undefined;
  members.delete(first);
  if (members.size === 0) waiting.delete(share);
  return first;
}

function firstOf(members: ReadonlyMap<string, number>): string | undefined {
  let first: string | undefined;
  let soonest = Number.POSITIVE_INFINITY;
  for (const [member, at] of members) {
    if (at > soonest || (at === soonest && first !== undefined && first < member)) continue;
    first = member;
    soonest = at;
  }
  return first;
}
