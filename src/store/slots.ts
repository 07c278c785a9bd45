/**
 * What the slot of an inbox entry decides (design section 4, Inbox). The Lua scripts are told the answers as flags, so
 * that the rules stand here once.
 */
import type { Row } from "../core/index.ts";

/** The open asking or review a slot needs: `review:<n>` or `approval:<seq>.<n>`; `null`: the slot is always open. */
export function gateOf(slot: string): string | null {
  const match = /^(?:review|approval):[^:]+/.exec(slot);
  return match === null ? null : match[0];
}

/** Slots whose entry makes one in this slot pointless: a cancel that is no harder than the one that is there. */
export function rivalsOf(slot: string): readonly string[] {
  if (slot === "cancel") return ["cancel:stop", "cancel:kill"];
  return slot === "cancel:stop" ? ["cancel:kill"] : [];
}

/** May it be sent to a run that has ended? It makes such a run acquirable again. */
export function reopens(slot: string): boolean {
  return /^(?:undo|late)(?::|$)/.test(slot);
}

/** Is it one of those that a busy sender could pile up without end? */
export function isBounded(slot: string): boolean {
  return slot.startsWith("event:") || slot.startsWith("control:") || /^approval:[^:]+:say:/.test(slot);
}

/** The call of a row that lies in a named queue, as `<send><a|u>`; `null`: none. */
export function offerOf(row: Row): string | null {
  if (row.call.state === "offered") return offerTag(row.call.send, "action");
  if (row.undo?.call?.state === "offered") return offerTag(row.undo.call.send, "undo");
  return null;
}

export function offerTag(send: number, side: "action" | "undo"): string {
  return `${send}${side === "action" ? "a" : "u"}`;
}
