/** `create`, `acquire`, `commit`, `renew`, `release`: from the port's words to the scripts' and back. */
import type {
  AcquireAnswer,
  AcquireCommand,
  CommitAnswer,
  CommitCommand,
  CreateAnswer,
  CreateCommand,
  InboxEntry,
  LeaseRef,
  ReleaseAnswer,
  RenewAnswer,
  RunRef,
  Timed,
} from "../../core/index.ts";
import { assertNext, gapIn } from "../checks.ts";
import {
  decodeEntry,
  decodePermit,
  decodeRecord,
  decodeRow,
  encodeCommitted,
  encodeLogEntry,
  encodeRecord,
  encodeRow,
} from "../codec.ts";
import { listingKey, shareOf } from "../keys.ts";
import { maxSlotsTaken, slotsKept } from "../limits.ts";
import type { ScriptArgument } from "../scripts.ts";
import type { Found, WakeUpReply, Wire } from "./wire.ts";

/** Creates sent together on one shard. */
const createBatch = 200;
/** Leases renewed by one script. */
const renewBatch = 250;

type CreateReply = readonly ["OK", number, WakeUpReply?] | readonly ["KNOWN", number, string, string, string];

export async function create(wire: Wire, command: CreateCommand): Promise<Timed<CreateAnswer>> {
  const { keys, args } = createCall(wire, command);
  return created(wire, command, await wire.run<CreateReply>("create", keys, args));
}

export async function createMany(
  wire: Wire,
  commands: readonly CreateCommand[],
): Promise<readonly Timed<CreateAnswer>[]> {
  const answers = new Array<Timed<CreateAnswer>>(commands.length);
  const byShard = wire.byShard(commands.map((command) => command.record));
  const createShard = async (places: readonly number[]) => {
    for (let from = 0; from < places.length; from += createBatch) {
      const batch = places.slice(from, from + createBatch).map((n) => ({ n, command: commands[n] as CreateCommand }));
      const calls = batch.map(({ command }) => createCall(wire, command));
      const replies = await wire.runMany<CreateReply>("create", calls);
      for (const [at, { n, command }] of batch.entries())
        answers[n] = created(wire, command, replies[at] as CreateReply);
    }
  };
  await Promise.all([...byShard.values()].map(createShard));
  return answers;
}

function createCall(wire: Wire, { record, log, memberships, commandId }: CreateCommand) {
  const { member, shard, run, record: rec } = wire.find(record);
  const { prefix, due, clock, queued, fair } = shard;
  const stored = encodeRecord(record);
  const backlog = `${prefix}due:${shareOf(record.tenant, record.pool)}`;
  const listings = memberships.map((listing) => prefix + listingKey(record.tenant, listing));
  const keys = [run, due, clock, queued, rec, `${prefix}log:${member}`, fair, backlog, ...listings];
  const times = [record.createdAt, record.startAt];
  const own = [stored.text, stored.status, encodeLogEntry(log, null), stored.pool ?? "", stored.priority ?? ""];
  return { keys, args: [member, record.id, commandId, ...times, ...own] };
}

function created(wire: Wire, { record }: CreateCommand, reply: CreateReply): Timed<CreateAnswer> {
  const now = reply[1];
  if (reply[0] === "OK") return { answer: "OK", wake: wire.wakeUp(reply[2]), now };
  const [, , text, revision, status] = reply;
  const known = decodeRecord(record, { text, revision: Number(revision), status, pool: null, priority: null });
  return known.saga === record.saga && known.inputHash === record.inputHash
    ? { answer: "EXISTS", revision: known.revision, status: known.status, now }
    : { answer: "CONFLICT", saga: known.saga, inputHash: known.inputHash, now };
}

type AcquireReply =
  | readonly [
      "OK",
      number,
      fence: string,
      record: string,
      revision: string,
      status: string,
      pool: string | null,
      priority: string | null,
      takenFrom: string | null,
      suspect: string | null,
      rows: readonly string[],
      inbox: readonly string[],
      permits: readonly string[],
    ]
  | readonly ["HELD", number, string]
  | readonly ["ENDED" | "ABSENT", number];

export async function acquire(wire: Wire, command: AcquireCommand): Promise<Timed<AcquireAnswer>> {
  const { owner, token, leaseMs } = command;
  const { member, shard, run, record } = wire.find(command.run);
  const { prefix, due, clock, queued, owners, suspects } = shard;
  const own = ["ledger", "inbox", "permit"].map((kind) => `${prefix}${kind}:${member}`);
  const keys = [run, due, clock, queued, ...own, `${prefix}held:${owner}`, owners, suspects, record];
  const reply = await wire.run<AcquireReply>("acquire", keys, [member, owner, token, leaseMs]);
  if (reply[0] === "HELD") return { answer: "HELD", until: Number(reply[2]), now: reply[1] };
  if (reply[0] !== "OK") return { answer: reply[0], now: reply[1] };
  return acquired(command.run, reply);
}

function acquired(run: RunRef, reply: AcquireReply & readonly ["OK", ...unknown[]]): Timed<AcquireAnswer> {
  const [, now, fence, text, revision, status, pool, priority, takenFrom, suspect, rows, inbox, permits] = reply;
  const fields = { revision: Number(revision), status, pool, priority: priority === null ? null : Number(priority) };
  const ledger = rows.map((row, at) => decodeRow(run, at + 1, row));
  return {
    answer: "OK",
    fence: Number(fence),
    record: decodeRecord(run, { text, ...fields }, (seq) => ledger[seq - 1]?.output ?? null),
    rows: ledger,
    inbox: entriesOf(run, inbox),
    takenFrom: takenFrom === null ? null : { owner: takenFrom.slice(1), died: takenFrom.startsWith("1") },
    suspect: suspect !== null,
    permits: permitsOf(run, permits, now),
    now,
  };
}

/** Slot, entry, slot, entry ... to entries, oldest first. */
export function entriesOf(run: RunRef, flat: readonly string[]): readonly InboxEntry[] {
  return pairsOf(flat)
    .map(([slot, entry]) => decodeEntry(run, slot, entry))
    .sort((a, b) => a.position - b.position);
}

function permitsOf(run: RunRef, flat: readonly string[], now: number) {
  return pairsOf(flat)
    .map(([seq, permit]) => decodePermit(run, Number(seq), permit, now))
    .sort((a, b) => a.seq - b.seq);
}

function pairsOf(flat: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([flat[at] as string, flat[at + 1] as string]);
  return pairs;
}

type CommitReply =
  | readonly ["OK" | "DUP" | "INBOX", number, slotsTaken: number, entries: readonly string[]]
  | readonly ["PERMITTED", number, readonly string[]]
  | readonly ["FENCED" | "STALE" | "CLOCK" | "GAP", number];

export async function commit(wire: Wire, command: CommitCommand): Promise<Timed<CommitAnswer>> {
  const { commit: next } = command;
  assertNext(next);
  const found = wire.find(next.run);
  const reply = await wire.run<CommitReply>("commit", commitKeys(found, command), commitArgs(found, command));
  const now = reply[1];
  switch (reply[0]) {
    case "OK":
      if (reply[2] > maxSlotsTaken) await forget(wire, found);
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

function commitKeys({ member, shard, run, record }: Found, { lease, commit: next }: CommitCommand): readonly string[] {
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
  return keys;
}

function commitArgs({ member, shard }: Found, { lease, leaseMs, commit: next }: CommitCommand): ScriptArgument[] {
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
  const withdrawn = next.withdraw.flatMap(({ seq, send }) => [seq, send]);
  const lists = [consumed, withdrawn, settledPermits, abortPermits, stored.outputs];
  if (lists.some((list) => list.length > 0)) for (const list of lists) args.push(list.length, ...list);
  return args;
}

function flagsOf({ mustSee, release, log }: CommitCommand["commit"]): string {
  const hasOutcome = log.taken.some((taken) => taken.what === "outcome");
  return `${mustSee ? "m" : ""}${release ? "r" : ""}${hasOutcome ? "o" : ""}`;
}

/** Makes room for slots to come. Not needed for the commit that has landed: what fails is done by the next one. */
async function forget(wire: Wire, { member, shard }: Found): Promise<void> {
  const slots = `${shard.prefix}slots:${member}`;
  await wire.run("forget", [slots], [slotsKept]).catch(() => undefined);
}

export async function renew(
  wire: Wire,
  leases: readonly LeaseRef[],
  leaseMs: number,
): Promise<Timed<{ readonly answers: readonly RenewAnswer[] }>> {
  const answers = new Array<RenewAnswer>(leases.length);
  let highest = 0;
  const byShard = wire.byShard(leases.map((lease) => lease.run));
  const renewShard = async (places: readonly number[]) => {
    for (let from = 0; from < places.length; from += renewBatch) {
      const batch = places.slice(from, from + renewBatch);
      const [now, ...replies] = await renewed(
        wire,
        batch.map((n) => leases[n] as LeaseRef),
        leaseMs,
      );
      highest = Math.max(highest, now);
      for (const [at, n] of batch.entries()) {
        const answer = replies[2 * at] === "OK" ? "OK" : "FENCED";
        answers[n] = { run: (leases[n] as LeaseRef).run, answer, position: Number(replies[2 * at + 1]) };
      }
    }
  };
  await Promise.all([...byShard.values()].map(renewShard));
  return { answers, now: highest };
}

function renewed(wire: Wire, leases: readonly LeaseRef[], leaseMs: number) {
  const found = leases.map((lease) => wire.find(lease.run));
  const shard = (found[0] as Found).shard;
  const keys = [shard.due, shard.clock, shard.queued];
  const args: ScriptArgument[] = [leaseMs];
  for (const [n, { owner, fence, token }] of leases.entries()) {
    const { run, member } = found[n] as Found;
    keys.push(run, `${shard.prefix}held:${owner}`);
    args.push(member, fence, token);
  }
  return wire.run<readonly [number, ...(string | number)[]]>("renew", keys, args);
}

type ReleaseReply = readonly ["OK" | "FENCED" | "INBOX", number, WakeUpReply?];

export async function release(
  wire: Wire,
  lease: LeaseRef,
  seen: number,
  due: number | null,
): Promise<Timed<ReleaseAnswer>> {
  const { member, shard, run } = wire.find(lease.run);
  const { prefix } = shard;
  const own = [`${prefix}inbox:${member}`, `${prefix}permit:${member}`, `${prefix}held:${lease.owner}`];
  const keys = [run, shard.due, shard.clock, shard.queued, ...own];
  const args = [member, lease.fence, lease.token, seen, due ?? ""];
  const [answer, now, wake] = await wire.run<ReleaseReply>("release", keys, args);
  return { answer, wake: wire.wakeUp(wake), now };
}
