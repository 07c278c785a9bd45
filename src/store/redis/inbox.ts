/** `send`, `permit`, `renewPermit` and `due`: from the port's words to the scripts' and back. */
import type { DueAnswer, PermitAnswer, PermitCommand, SendAnswer, SendCommand, Timed } from "../../core/index.ts";
import { inboxFull } from "../checks.ts";
import { decodeRecord, decodeRow, decodeWinner, encodeEntry, statusLetters } from "../codec.ts";
import { gateOf, isBounded, offerTag, reopens, rivalsOf } from "../slots.ts";
import { actText } from "./acts.ts";
import type { WakeUpReply, Wire } from "./wire.ts";

type SendReply =
  | readonly ["OK", number, position: number, WakeUpReply?]
  | readonly ["TAKEN", number, winner: string, slot: string]
  | readonly ["ENDED", number, status: string]
  | readonly ["DUP" | "ABSENT" | "GONE" | "FULL", number];

export async function send(wire: Wire, command: SendCommand): Promise<Timed<SendAnswer>> {
  const { slot } = command;
  const { member, shard, run } = wire.find(command.run);
  const { commandId, rest } = encodeEntry(command);
  const own = [`${shard.prefix}inbox:${member}`, `${shard.prefix}slots:${member}`];
  const keys = [run, shard.due, shard.clock, shard.queued, ...own, shard.audit];
  const flags = `${isBounded(slot) ? "b" : ""}${reopens(slot) ? "o" : ""}`;
  const args = [member, slot, commandId, rest, gateOf(slot) ?? "", flags, actText(command.act), ...rivalsOf(slot)];
  const reply = await wire.run<SendReply>("send", keys, args);
  const now = reply[1];
  switch (reply[0]) {
    case "OK":
      return { answer: "OK", position: reply[2], wake: wire.wakeUp(reply[3]), now };
    case "TAKEN":
      return { answer: "TAKEN", ...decodeWinner(command.run, reply[3], reply[2]), slot: reply[3], now };
    case "ENDED":
      return { answer: "ENDED", status: statusLetters.wordOf(reply[2]), now };
    case "FULL":
      throw inboxFull(member);
    case "DUP":
    case "ABSENT":
    case "GONE":
      return { answer: reply[0], now };
  }
}

type PermitReply =
  | readonly ["OK", number, string, string, string, string | null, string | null, row: string]
  | readonly ["GONE", number];

export async function permit(wire: Wire, command: PermitCommand): Promise<Timed<PermitAnswer>> {
  const { seq, token, owner, leaseMs, windowMs } = command;
  const { member, shard, run, record: rec } = wire.find(command.run);
  const own = [`${shard.prefix}ledger:${member}`, `${shard.prefix}permit:${member}`, rec];
  const call = offerTag(command.send, command.side);
  const who = [JSON.stringify(token), JSON.stringify(owner)];
  const args = [member, seq, call, ...who, leaseMs, windowMs];
  const reply = await wire.run<PermitReply>("permit", [run, shard.due, shard.clock, ...own], args);
  if (reply[0] === "GONE") return { answer: "GONE", now: reply[1] };
  const [, now, text, revision, status, pool, priority, row] = reply;
  const fields = { revision: Number(revision), status, pool, priority: priority === null ? null : Number(priority) };
  const record = decodeRecord(command.run, { text, ...fields });
  return { answer: "OK", record, row: decodeRow(command.run, seq, row), now };
}

export async function renewPermit(wire: Wire, command: PermitCommand): Promise<Timed<{ answer: "OK" | "ABORT" }>> {
  const { member, shard } = wire.find(command.run);
  const call = offerTag(command.send, command.side);
  const args = [command.seq, call, JSON.stringify(command.token), command.leaseMs];
  const keys = [shard.clock, `${shard.prefix}permit:${member}`];
  const [answer, now] = await wire.run<readonly ["OK" | "ABORT", number]>("renew_permit", keys, args);
  return { answer, now };
}

export async function due(wire: Wire, shard: number, limit: number): Promise<Timed<DueAnswer>> {
  const { prefix, due: queue, clock, queued, fair, fairLate } = wire.shard(shard);
  const keys = [queue, clock, queued, fair, fairLate];
  const reply = await wire.run<readonly [number, number, number, readonly WakeUpReply[]]>("due", keys, [prefix, limit]);
  const [now, full, crowded, wakeUps] = reply;
  const found = wakeUps.flatMap((wakeUp) => wire.wakeUp(wakeUp) ?? []);
  return { wakeUps: found, full: full === 1, crowded: crowded === 1, now };
}
