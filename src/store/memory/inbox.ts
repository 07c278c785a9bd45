/** `send`, `permit` and `renewPermit` over one memory shard. */

import {
  hasEnded,
  type PermitAnswer,
  type PermitCommand,
  type SendAnswer,
  type SendCommand,
} from "../../core/index.ts";
import { inboxFull } from "../checks.ts";
import { memberOf } from "../keys.ts";
import { maxEntriesWaiting } from "../limits.ts";
import { gateOf, isBounded, offerOf, offerTag, reopens, rivalsOf } from "../slots.ts";
import { remember } from "./acts.ts";
import { type Cell, isHeld, type Winner } from "./cell.ts";
import { bringForward, handOut, type Shard } from "./shard.ts";

export function send(shard: Shard, command: SendCommand, now: number): SendAnswer {
  const cell = shard.cells.get(memberOf(command.run));
  if (cell === undefined) return { answer: "ABSENT" };
  const refusal = slotRefused(cell, command);
  if (refusal !== null) return refusal;
  const { slot, commandId, by, body, act } = command;
  cell.position += 1;
  const entry = { slot, position: cell.position, commandId, at: now, by, body };
  cell.run = { ...cell.run, inbox: [...cell.run.inbox, entry] };
  remember(shard.acts, act, now);
  return { answer: "OK", position: entry.position, wake: isHeld(cell, now) ? null : handOut(shard, cell, now) };
}

function slotRefused(cell: Cell, { slot, commandId }: SendCommand): SendAnswer | null {
  if (winnerOf(cell, slot)?.commandId === commandId) return { answer: "DUP" };
  for (const taken of [slot, ...rivalsOf(slot)]) {
    const winner = winnerOf(cell, taken);
    if (winner !== undefined) return { answer: "TAKEN", by: winner.by, commandId: winner.commandId, slot: taken };
  }
  const { status } = cell.run.record;
  if (hasEnded(status) && !reopens(slot)) return { answer: "ENDED", status };
  const gate = gateOf(slot);
  if (gate !== null && !cell.openSlots.includes(gate)) return { answer: "GONE" };
  if (isBounded(slot) && cell.run.inbox.length >= maxEntriesWaiting) throw inboxFull(cell.member);
  return null;
}

function winnerOf({ run, slots }: Cell, slot: string): Pick<Winner, "by" | "commandId"> | undefined {
  return run.inbox.find((entry) => entry.slot === slot) ?? slots.get(slot);
}

export function permit(shard: Shard, command: PermitCommand, now: number): PermitAnswer {
  const cell = shard.cells.get(memberOf(command.run));
  const row = cell?.run.rows[command.seq - 1];
  if (cell === undefined || row === undefined || !mayCall(cell, command)) return { answer: "GONE" };
  if (offerOf(row) !== offerTag(command.send, command.side)) return { answer: "GONE" };
  const known = cell.permits.get(command.seq);
  const isSameCall = known?.send === command.send && known.side === command.side;
  if (isSameCall && known.token !== command.token) return { answer: "GONE" };
  if (!isSameCall) grant(shard, cell, command, now);
  return { answer: "OK", record: cell.run.record, row };
}

/** While a run unwinds only compensations are called; once it has ended, nothing is. */
function mayCall(cell: Cell, command: PermitCommand): boolean {
  const { status } = cell.run.record;
  return !hasEnded(status) && (status !== "unwinding" || command.side === "undo");
}

function grant(shard: Shard, cell: Cell, command: PermitCommand, now: number): void {
  const { seq, send: sendNumber, side, token, owner, leaseMs, windowMs } = command;
  const times = { until: now + leaseMs, sentAt: now, deadline: now + windowMs };
  cell.permits.set(seq, { seq, send: sendNumber, side, token, owner, ...times, abort: false });
  if (!isHeld(cell, now)) bringForward(shard, cell);
}

export function renewPermit(shard: Shard, command: PermitCommand, now: number): "OK" | "ABORT" {
  const cell = shard.cells.get(memberOf(command.run));
  const known = cell?.permits.get(command.seq);
  if (cell === undefined || known === undefined) return "ABORT";
  if (known.send !== command.send || known.side !== command.side) return "ABORT";
  if (known.token !== command.token || known.abort) return "ABORT";
  cell.permits.set(command.seq, { ...known, until: now + command.leaseMs });
  return "OK";
}
