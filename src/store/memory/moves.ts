/**
 * `create`, `acquire`, `commit`, `renew`, `release` over one memory shard, each in the order of its script: every
 * refusal first, then the writes.
 */

import {
  type AcquireAnswer,
  type AcquireCommand,
  type Commit,
  type CommitAnswer,
  type CommitCommand,
  type CreateAnswer,
  type CreateCommand,
  evolve,
  expiringListing,
  hasEnded,
  type InboxEntry,
  type LeaseRef,
  type PermitState,
  type ReleaseAnswer,
  type RenewAnswer,
  runKey,
  unreadableListing,
} from "../../core/index.ts";
import { assertNext, gapIn } from "../checks.ts";
import { listingKey, listingMember, memberOf, shareOf } from "../keys.ts";
import { maxSlotsTaken, slotsKept } from "../limits.ts";
import { reopens } from "../slots.ts";
import { waitForRoom } from "./backlog.ts";
import { type Cell, type Debt, isHeld, type Lease, newCell, permitsOf } from "./cell.ts";
import { owe } from "./notices.ts";
import { handOut, rest, type Shard, takeUp } from "./shard.ts";
import { startsHaveRoom } from "./sweep.ts";

export function create(shard: Shard, command: CreateCommand, now: number): CreateAnswer {
  const { record, log, rows = [], commandId } = command;
  const member = memberOf(record);
  const known = shard.cells.get(member);
  if (known !== undefined) return createdBefore(shard, known, command, now);
  const freeAt = shard.gone.get(member);
  if (freeAt !== undefined && freeAt > now) return { answer: "GONE", freeAt: Number.isFinite(freeAt) ? freeAt : null };
  const cell = newCell(record, log, member, shareOf(record.tenant, record.pool), commandId);
  cell.run = { ...cell.run, rows };
  shard.cells.set(member, cell);
  for (const listing of command.memberships) join(shard, cell, listing);
  if (record.startAt > now && record.startAt !== record.createdAt) {
    shard.due.set(member, record.startAt);
    return { answer: "OK", wake: null };
  }
  if (!startsHaveRoom(shard, cell.share) || shard.starts.waiting.has(cell.share)) {
    waitForRoom(shard.starts, cell.share, member, now);
    return { answer: "OK", wake: null };
  }
  return { answer: "OK", wake: handOut(shard, cell, now) };
}

function createdBefore(shard: Shard, cell: Cell, command: CreateCommand, now: number): CreateAnswer {
  const { record } = cell.run;
  if (cell.commandId === command.commandId) {
    return { answer: "OK", wake: cell.fence === 0 && cell.handOuts > 0 ? handOut(shard, cell, now) : null };
  }
  if (record.saga === command.record.saga && record.inputHash === command.record.inputHash) {
    return { answer: "EXISTS", revision: record.revision, status: record.status };
  }
  return { answer: "CONFLICT", saga: record.saga, inputHash: record.inputHash };
}

/** Where a run stands in a listing. */
function scoreIn(listing: string, { record, keepUntil }: Commit): number {
  return listing === expiringListing && keepUntil !== null ? keepUntil : record.createdAt;
}

function join(shard: Shard, cell: Cell, listing: string, score = cell.run.record.createdAt): void {
  const { record } = cell.run;
  const key = listingKey(record.tenant, listing);
  const members = shard.listings.get(key) ?? new Map<string, number>();
  shard.listings.set(key, members.set(listingMember(record, listing), score));
}

function leave(shard: Shard, cell: Cell, listing: string): void {
  const { record } = cell.run;
  shard.listings.get(listingKey(record.tenant, listing))?.delete(listingMember(record, listing));
}

export function acquire(shard: Shard, command: AcquireCommand, now: number): AcquireAnswer {
  const cell = shard.cells.get(memberOf(command.run));
  if (cell === undefined) return { answer: "ABSENT" };
  const { lease } = cell;
  const isSame = lease?.token === command.token;
  if (lease !== null && !isSame && isHeld(cell, now)) return { answer: "HELD", until: lease.until };
  const isOver = hasEnded(cell.run.record.status) && !cell.run.inbox.some((entry) => reopens(entry.slot));
  if (isOver && command.evenEnded !== true) {
    takeUp(shard, cell);
    shard.due.delete(cell.member);
    return { answer: "ENDED" };
  }
  shard.listings.get(unreadableListing)?.delete(cell.member);
  cell.problem = null;
  if (lease !== null && isSame) hold(shard, cell, lease, now + command.leaseMs);
  else take(shard, cell, command, now);
  return {
    answer: "OK",
    fence: cell.fence,
    record: cell.run.record,
    rows: cell.run.rows,
    inbox: cell.run.inbox,
    takenFrom: cell.debt,
    suspect: cell.suspect,
    permits: permitsOf(cell, now),
  };
}

/** A new holder: the fence and the wake number grow. */
function take(shard: Shard, cell: Cell, command: AcquireCommand, now: number): void {
  if (cell.lease !== null) {
    const died = hasDied(shard, cell, cell.lease);
    cell.debt = { owner: cell.lease.owner, died: died || cell.debt?.died === true } satisfies Debt;
    if (died) cell.suspect = true;
  }
  cell.fence += 1;
  cell.wake += 1;
  const until = now + command.leaseMs;
  cell.lease = { owner: command.owner, token: command.token, until, mark: null };
  keepHeld(shard, command.owner, cell.member);
  takeUp(shard, cell);
  cell.wanted = undefined;
  shard.due.set(cell.member, until);
}

function keepHeld(shard: Shard, owner: string, member: string): void {
  const held = shard.held.get(owner) ?? new Set<string>();
  shard.held.set(owner, held.add(member));
}

/** Where the owner drove a suspect when it died, only the suspect counts it (design section 5, Poison). */
function hasDied(shard: Shard, cell: Cell, lease: Lease): boolean {
  if (lease.mark !== null) return lease.mark === "died";
  if (shard.owners.has(lease.owner)) return false;
  const suspect = shard.suspects.get(lease.owner);
  return suspect === undefined || suspect === cell.member;
}

/** The lease runs until then. One that had lapsed or been ended is whole again. */
function hold(shard: Shard, cell: Cell, lease: Lease, until: number): void {
  lease.until = until;
  if (lease.mark === null && cell.handOuts === 0) return;
  lease.mark = null;
  keepHeld(shard, lease.owner, cell.member);
  takeUp(shard, cell);
  shard.due.set(cell.member, until);
}

export function commit(shard: Shard, command: CommitCommand, now: number): CommitAnswer {
  const { commit: next } = command;
  const cell = shard.cells.get(memberOf(next.run));
  assertNext(next);
  if (cell === undefined) return { answer: "FENCED" };
  if (cell.commitId === next.commitId) return { answer: "DUP", inbox: newer(cell, next.seen) };
  const refusal = refused(cell, command, now);
  if (refusal !== null) return refusal;
  write(shard, cell, command, now);
  return { answer: "OK", inbox: newer(cell, next.seen) };
}

function refused(cell: Cell, { lease, commit: next }: CommitCommand, now: number): CommitAnswer | null {
  if (cell.lease?.token !== lease.token || cell.fence !== lease.fence) return { answer: "FENCED" };
  if (cell.run.record.revision !== next.expects) return { answer: "STALE" };
  if (next.now > now) return { answer: "CLOCK" };
  const inbox = newer(cell, next.seen);
  if ((next.mustSee || next.release) && inbox.length > 0) return { answer: "INBOX", inbox };
  const permits = permitsOf(cell, now).filter((permit) => isWithdrawn(next.withdraw, permit));
  if (permits.length > 0) return { answer: "PERMITTED", permits };
  if (!hasGap(next, cell.run.rows.length)) return null;
  throw gapIn(next);
}

function hasGap({ rows }: Commit, length: number): boolean {
  let end = length;
  for (const { seq } of rows) {
    if (seq > end + 1) return true;
    end = Math.max(end, seq);
  }
  return false;
}

function isWithdrawn(rows: readonly { seq: number; send: number }[], permit: PermitState): boolean {
  return rows.some((row) => row.seq === permit.seq && row.send === permit.send);
}

function write(shard: Shard, cell: Cell, { commit: next, leaseMs, notices }: CommitCommand, now: number): void {
  for (const listing of next.leave) leave(shard, cell, listing);
  consume(cell, next.consumed);
  cell.run = evolve(cell.run, next);
  cell.log.push(...next.lost, next.log);
  const { revision, logFrom } = next.record;
  cell.log.splice(0, Math.max(0, cell.log.length - (revision - logFrom + 1)));
  for (const listing of next.join) join(shard, cell, listing, scoreIn(listing, next));
  cell.commitId = next.commitId;
  cell.openSlots = next.openSlots;
  cell.debt = null;
  if (next.log.taken.some((taken) => taken.what === "outcome")) cell.suspect = false;
  for (const seq of next.settledPermits) cell.permits.delete(seq);
  for (const seq of next.abortPermits) abort(cell, seq);
  if (next.release) rest(shard, cell, next.due);
  else if (cell.lease !== null) hold(shard, cell, cell.lease, now + leaseMs);
  owe(shard.notices, runKey(next.run), notices ?? [], now);
}

function abort(cell: Cell, seq: number): void {
  const permit = cell.permits.get(seq);
  if (permit !== undefined) cell.permits.set(seq, { ...permit, abort: true });
}

/** The entries go, their slots stay taken; of very many only the newest are remembered. */
function consume(cell: Cell, slots: readonly string[]): void {
  for (const slot of slots) {
    const entry = cell.run.inbox.find((waiting) => waiting.slot === slot);
    if (entry !== undefined) cell.slots.set(slot, entry);
  }
  if (cell.slots.size <= maxSlotsTaken) return;
  const oldestFirst = [...cell.slots].sort(([, a], [, b]) => a.position - b.position);
  for (const [slot] of oldestFirst.slice(0, cell.slots.size - slotsKept)) cell.slots.delete(slot);
}

export function newer(cell: Cell, seen: number): readonly InboxEntry[] {
  return cell.position <= seen ? [] : cell.run.inbox.filter((entry) => entry.position > seen);
}

export function renew(shard: Shard, lease: LeaseRef, leaseMs: number, now: number): RenewAnswer {
  const cell = shard.cells.get(memberOf(lease.run));
  if (cell === undefined || cell.lease?.token !== lease.token || cell.fence !== lease.fence) {
    return { run: lease.run, answer: "FENCED", position: cell?.position ?? 0 };
  }
  hold(shard, cell, cell.lease, now + leaseMs);
  return { run: lease.run, answer: "OK", position: cell.position };
}

export function setAside(
  shard: Shard,
  lease: LeaseRef,
  aside: { readonly due: number; readonly why: string },
  now: number,
): { answer: "OK" | "FENCED" } {
  const cell = shard.cells.get(memberOf(lease.run));
  if (cell?.lease?.token !== lease.token || cell.fence !== lease.fence) return { answer: "FENCED" };
  const members = shard.listings.get(unreadableListing) ?? new Map<string, number>();
  shard.listings.set(unreadableListing, members.set(cell.member, now));
  cell.problem = aside.why;
  rest(shard, cell, aside.due);
  return { answer: "OK" };
}

export function release(shard: Shard, lease: LeaseRef, seen: number, due: number | null, now: number): ReleaseAnswer {
  const cell = shard.cells.get(memberOf(lease.run));
  if (cell?.lease?.token !== lease.token || cell.fence !== lease.fence) return { answer: "FENCED", wake: null };
  if (newer(cell, seen).length > 0) return { answer: "INBOX", wake: null };
  rest(shard, cell, due);
  return { answer: "OK", wake: due !== null && due <= now ? handOut(shard, cell, now) : null };
}
