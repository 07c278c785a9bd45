/** `create`, `acquire`, `renew`, `release`: from the port's words to the scripts' and back. */
import {
  type AcquireAnswer,
  type AcquireCommand,
  type CreateAnswer,
  type CreateCommand,
  type LeaseRef,
  type ReleaseAnswer,
  type RenewAnswer,
  type RunRef,
  type Timed,
  unreadableListing,
} from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import { decodeRecord, decodeRow, encodeLogEntry, encodeRecord, encodeRow } from "../codec.ts";
import { listingKey, shareOf } from "../keys.ts";
import type { ScriptArgument } from "../scripts.ts";
import { entriesOf, permitsOf } from "./replies.ts";
import type { Found, WakeUpReply, Wire } from "./wire.ts";

/** Creates sent together on one shard. */
const createBatch = 200;
/** Leases renewed by one script. */
const renewBatch = 250;

type CreateReply =
  | readonly ["OK", number, WakeUpReply?]
  | readonly ["KNOWN", number, string, string, string]
  | readonly ["GONE", number, freeAt: string];

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

function createCall(wire: Wire, { record, log, rows = [], memberships, commandId }: CreateCommand) {
  const { member, shard, run, record: rec } = wire.find(record);
  const { prefix, due, clock, queued, fair, structures, gone } = shard;
  const stored = encodeRecord(record);
  const backlog = `${prefix}due:${shareOf(record.tenant, record.pool)}`;
  const listings = memberships.map((listing) => prefix + listingKey(record.tenant, listing));
  const keys = [run, due, clock, queued, rec, `${prefix}log:${member}`, fair, backlog, structures, gone];
  // A run that begins with nothing, as nearly all do, pays nothing for those that begin with a ledger.
  if (rows.length > 0) keys.push(`${prefix}ledger:${member}`);
  keys.push(...listings);
  const times = [record.createdAt, record.startAt];
  const own = [stored.text, stored.status, encodeLogEntry(log, null), stored.pool ?? "", stored.priority ?? ""];
  return { keys, args: [member, record.id, commandId, ...times, ...own, record.revision, ...rows.map(encodeRow)] };
}

function created(wire: Wire, { record }: CreateCommand, reply: CreateReply): Timed<CreateAnswer> {
  const now = reply[1];
  if (reply[0] === "OK") return { answer: "OK", wake: wire.wakeUp(reply[2]), now };
  if (reply[0] === "GONE") return { answer: "GONE", freeAt: reply[2] === "inf" ? null : Number(reply[2]), now };
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

export function acquire(wire: Wire, command: AcquireCommand): Promise<Timed<AcquireAnswer>> {
  const { owner, token, leaseMs, evenEnded } = command;
  const { member, shard, run, record } = wire.find(command.run);
  const { prefix, due, clock, queued, owners, suspects } = shard;
  const own = ["ledger", "inbox", "permit"].map((kind) => `${prefix}${kind}:${member}`);
  const known = [`${prefix}held:${owner}`, owners, suspects, record, `${prefix}${unreadableListing}`];
  const keys = [run, due, clock, queued, ...own, ...known];
  const args = [member, owner, token, leaseMs, evenEnded === true ? 1 : 0];
  return wire.runAndRead("acquire", { keys, args }, (reply: AcquireReply) => answerOf(command.run, reply));
}

function answerOf(run: RunRef, reply: AcquireReply): Timed<AcquireAnswer> {
  if (reply[0] === "HELD") return { answer: "HELD", until: Number(reply[2]), now: reply[1] };
  if (reply[0] !== "OK") return { answer: reply[0], now: reply[1] };
  try {
    return acquired(run, reply);
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== "RECORD_CORRUPT") throw error;
    return { answer: "CORRUPT", fence: Number(reply[2]), message: error.message, now: reply[1] };
  }
}

export async function setAside(
  wire: Wire,
  lease: LeaseRef,
  due: number,
  why: string,
): Promise<Timed<{ readonly answer: "OK" | "FENCED" }>> {
  const { member, shard, run } = wire.find(lease.run);
  const { prefix } = shard;
  const own = [`${prefix}permit:${member}`, `${prefix}held:${lease.owner}`, `${prefix}${unreadableListing}`];
  const keys = [run, shard.due, shard.clock, shard.queued, ...own];
  const args = [member, lease.fence, lease.token, due, why];
  const [answer, now] = await wire.run<readonly ["OK" | "FENCED", number]>("set_aside", keys, args);
  return { answer, now };
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
