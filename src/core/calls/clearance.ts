/**
 * May the run go on with a call now? Owns what stops it: a pause, a question to people, the order of going back, a send
 * that is still under way here. When it wants to go on is the call's own matter (`nextAt`).
 */

import { waitsForRoom } from "../bounds/room.ts";
import { awaitsTurn } from "../company/limits.ts";
import { type Draft, isParked, type Place, rowAt, stepOf } from "../draft.ts";
import { isCleared } from "../people/approvals.ts";
import { isStuck } from "../people/reviews.ts";
import { callOf, wordOwed } from "../rows.ts";
import type { Row } from "../run/index.ts";

/** Would a planned call of this side be granted, its time apart? */
export function mayGrant(draft: Draft, row: Row, side: Place["side"]): boolean {
  return isClear(draft, row, side) && (side === "undo" || !waitsForRoom(draft, row));
}

/**
 * The same, budgets apart. Not beside a send of it that is still under way here, nor
 * before the registry has heard of its last claim.
 */
export function isClear(draft: Draft, row: Row, side: Place["side"]): boolean {
  if (callOf(row, side)?.state !== "planned" || wordOwed(row) !== null) return false;
  return (side === "undo" || isCleared(draft, row)) && mayProceed(draft, row, side);
}

/** May the run go on with this call at all? */
export function mayProceed(draft: Draft, row: Row, side: Place["side"]): boolean {
  const call = callOf(row, side);
  if (call === null || isStuck(call) || draft.input.inFlight.has(`${side}:${row.seq}`)) return false;
  if (side === "action" && !isReady(draft, row)) return false;
  const { unwind, review, paused } = draft.record;
  if (unwind === null) return !paused && !isParked(draft) && !awaitsTurn(draft);
  return draft.next.has(row.seq) && (review === null || review.seq !== null);
}

/** A batch is worked through, never called; and an action that was broken off because of children is made again after them. */
function isReady(draft: Draft, row: Row): boolean {
  if (row.kind !== "call" || row.call.state !== "planned") return true;
  const { batch, uses } = stepOf(draft, row);
  if (batch !== undefined) return false;
  return Object.keys(uses).length === 0 || !draft.open.some((seq) => isOpenChildOf(row, rowAt(draft, seq)));
}

function isOpenChildOf({ seq }: Row, { tool, told, kind }: Row): boolean {
  return kind === "child" && tool?.parent === seq && told === null;
}
