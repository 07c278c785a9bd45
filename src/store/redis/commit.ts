/** `commit`: from the port's words to the script's and back. */
import {
  type Commit,
  type CommitAnswer,
  type CommitCommand,
  type InboxEntry,
  openListing,
  type Timed,
} from "../../core/index.ts";
import { assertNext, gapIn } from "../checks.ts";
import { encodeCommitted, encodeLogEntry, encodeRow } from "../codec.ts";
import { boxKeys, listingKey } from "../keys.ts";
import { maxSlotsTaken, slotsKept } from "../limits.ts";
import type { ScriptArgument } from "../scripts.ts";
import { entriesOf, permitsOf } from "./replies.ts";
import type { Found, Wire } from "./wire.ts";

type CommitReply =
  | readonly ["OK" | "DUP" | "INBOX", number, slotsTaken: number, entries: readonly string[]]
  | readonly ["PERMITTED", number, readonly string[]]
  | readonly ["FENCED" | "STALE" | "CLOCK" | "GAP", number];

/** Throws what `assertNext` throws. */
export function commit(wire: Wire, command: CommitCommand): Promise<Timed<CommitAnswer>> {
  const { commit: next } = command;
  assertNext(next);
  const found = wire.find(next.run);
  const words = { keys: commitKeys(found, command), args: commitArgs(found, command) };
  return wire.runAndRead("commit", words, (reply: CommitReply) => {
    const answer = answerOf(next, reply);
    if (reply[0] !== "OK" || reply[2] <= maxSlotsTaken) return answer;
    return forget(wire, found).then(() => answer);
  });
}

function answerOf(next: Commit, reply: CommitReply): Timed<CommitAnswer> {
  const now = reply[1];
  switch (reply[0]) {
    case "OK":
      return { answer: "OK", inbox: entriesOf(next.run, reply[3]).filter(isNotIn(next.consumed)), now };
    case "DUP":
    case "INBOX":
      return { answer: reply[0], inbox: entriesOf(next.run, reply[3]), now };
    case "PERMITTED":
      return { answer: "PERMITTED", permits: permitsOf(next.run, reply[2], now), now };
    case "GAP":
      throw gapIn(next);
    case "FENCED":
    case "STALE":
    case "CLOCK":
      return { answer: reply[0], now };
  }
}

/** What was newer than the commit had looked at, read before the commit consumed. */
function isNotIn(consumed: readonly string[]): (entry: InboxEntry) => boolean {
  return consumed.length === 0 ? () => true : ({ slot }) => !consumed.includes(slot);
}

function commitKeys(
  { member, shard, run, record }: Found,
  { lease, commit: next, notices = [] }: CommitCommand,
): readonly string[] {
  const { prefix, due, clock, queued } = shard;
  const keys = [
    run,
    due,
    clock,
    queued,
    record,
    `${prefix}ledger:${member}`,
    `${prefix}log:${member}`,
    `${prefix}inbox:${member}`,
    `${prefix}slots:${member}`,
    `${prefix}permit:${member}`,
    `${prefix}held:${lease.owner}`,
  ];
  for (const listing of next.leave) keys.push(prefix + listingKey(next.run.tenant, listing));
  for (const listing of next.join) keys.push(prefix + listingKey(next.run.tenant, listing));
  if (joinsStructure(next)) keys.push(shard.structures);
  for (const { hook } of notices) {
    const { box, runs, turns } = boxKeys(shard, hook);
    keys.push(box, runs, turns);
  }
  return keys;
}

/** Of an open run it is another one only when it moves to another version; an ended one that is taken up again joins its own. */
function joinsStructure({ join }: Commit): boolean {
  return join.some((listing) => listing.startsWith(openListing("")));
}

function commitArgs({ member, shard }: Found, command: CommitCommand): ScriptArgument[] {
  const { lease, leaseMs, commit: next, notices = [] } = command;
  const stored = encodeCommitted(next.record);
  const args: ScriptArgument[] = [
    member,
    next.run.id,
    next.commitId,
    next.expects,
    lease.fence,
    lease.token,
    leaseMs,
    next.now,
    next.seen,
    flagsOf(next),
    next.release ? (next.due ?? "") : "",
    stored.text,
    stored.status,
    next.openSlots.join("\n"),
    encodeLogEntry(next.log, lease.owner),
    next.record.createdAt,
    shard.channel,
    JSON.stringify(lease.owner),
    next.leave.length,
    next.rows.length * 2,
  ];
  for (const row of next.rows) args.push(row.seq, encodeRow(row));
  const { consumed, settledPermits, abortPermits } = next;
  const lost = next.lost.map((entry) => encodeLogEntry(entry, null));
  const withdrawn = next.withdraw.flatMap(({ seq, send }) => [seq, send]);
  const owed = notices.map(({ text }) => text);
  const lists = [consumed, withdrawn, settledPermits, abortPermits, stored.outputs, owed, lost];
  if (lists.some((list) => list.length > 0)) for (const list of lists) args.push(list.length, ...list);
  return args;
}

function flagsOf(next: Commit): string {
  const { mustSee, release, log, record, keepUntil } = next;
  const hasOutcome = log.taken.some((taken) => taken.what === "outcome");
  const kept = record.logFrom > 1 ? `l${record.revision - record.logFrom + 1}` : "";
  const expires = keepUntil === null ? "" : `e${keepUntil}`;
  return `${mustSee ? "m" : ""}${release ? "r" : ""}${hasOutcome ? "o" : ""}${joinsStructure(next) ? "s" : ""}${kept}${expires}`;
}

/** Makes room for slots to come. Not needed for the commit that has landed: what fails is done by the next one. */
async function forget(wire: Wire, { member, shard }: Found): Promise<void> {
  const slots = `${shard.prefix}slots:${member}`;
  await wire.run("forget", [slots], [slotsKept]).catch(() => undefined);
}
