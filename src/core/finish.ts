/**
 * The end of a decision: what state the run is in now, what it waits for, when it wants attention next, and the commit
 * that says so. Invariants: F1 an active run always has something open, a timer or an awaited event; else it is parked
 * as a dead end. F2 a run ends only when no row is open. F3 the lease is given back in the same write after which
 * nothing is left to do.
 */
import type { Json } from "../saga/index.ts";
import { toJson } from "../saga/index.ts";
import { type Commit, evolve, listingsOf } from "./commit.ts";
import type { Decision } from "./decision.ts";
import { digestOf } from "./digest.ts";
import { callOf, type Draft, isDirty, isParked, note, park, rowIsOpen, viewOf } from "./draft.ts";
import { mayGrant } from "./grant.ts";
import { logUnconsumed } from "./inbox.ts";
import type { LogEntry, Rollback, RunRecord, RunStatus, WaitingFor } from "./run.ts";
import { hasEnded } from "./run.ts";

/** Makes the decision of a draft. */
export function finish(draft: Draft): Decision {
  if (isDirty(draft)) conclude(draft);
  const wanted = earliest(draft, false);
  const hold = isHeld(draft, wanted);
  const shared = { calls: draft.calls, offers: draft.offers, abort: [...draft.abort], wanted: hold ? wanted : earliest(draft, true) };
  if (!isDirty(draft)) {
    return { ...shared, commit: null, run: { ...draft.before, inbox: draft.inbox }, then: hold ? "hold" : "release" };
  }
  const commit = commitOf(draft, earliest(draft, true), !hold);
  const run = evolve({ ...draft.before, inbox: draft.inbox }, commit);
  return { ...shared, commit, run, then: hold ? "hold" : "released" };
}

// ---- the state it is in

function conclude(draft: Draft): void {
  const { record } = draft;
  record.open = draft.rows.filter(rowIsOpen).map((row) => row.seq);
  record.waitingFor = null;
  record.status = statusOf(draft);
  if (record.status === "waiting") wait(draft);
  record.rollback = rollbackOf(draft);
  if (hasEnded(record.status)) endRun(draft);
  else record.endedAt = null;
  record.attributes = attributesOf(draft);
}

function statusOf(draft: Draft): RunStatus {
  const { record } = draft;
  if (record.review !== null) return "needs_review";
  const open = record.open.length > 0;
  if (record.unwind !== null) return open ? "unwinding" : record.unwind.ends;
  if (record.snapshot?.status === "done" && !open) return "completed";
  if (record.paused) return "paused";
  if (open && record.snapshot?.status === "done" && onlyUndoing(draft)) return "unwinding";
  return open || record.snapshot?.status !== "active" ? "running" : "waiting";
}

/** The machine has ended, and all that is left is to undo what it went on without (or what turned up late). */
function onlyUndoing(draft: Draft): boolean {
  return draft.record.open.every((seq) => draft.rows[seq - 1]?.undo !== null);
}

function wait(draft: Draft): void {
  const waitingFor = waitOf(draft);
  if (waitingFor !== null) {
    draft.record.waitingFor = waitingFor;
    return;
  }
  const where = JSON.stringify(draft.record.snapshot?.value ?? null);
  const message = `the state ${where} has no step running, no timer and no event that could end it`;
  park(draft, { reason: "defect", message, seq: null, side: null, evidence: null, verbs: ["close"] });
  draft.record.status = "needs_review";
}

function waitOf(draft: Draft): WaitingFor | null {
  const { snapshot, timers } = draft.record;
  if (snapshot === null) return null;
  if (draft.input.machine.awaited(snapshot, viewOf(draft)).length > 0) return "event";
  return timers.length > 0 ? "timer" : null;
}

function rollbackOf(draft: Draft): Rollback {
  const { record } = draft;
  if (record.unwind === null && !draft.rows.some((row) => row.undo?.state === "halted")) return record.rollback;
  if (draft.rows.some((row) => row.undo?.state === "halted")) return "halted";
  if (!hasEnded(record.status)) return "pending";
  const undone = draft.rows.map((row) => row.undo?.state);
  if (undone.some((state) => state === "skipped" || state === "accepted")) return "partial";
  return undone.includes("done") ? "complete" : "not_applicable";
}

function endRun(draft: Draft): void {
  const { record } = draft;
  logUnconsumed(draft);
  if (record.endedAt === null) note(draft, { what: "ended", note: record.status });
  record.endedAt ??= draft.input.now;
  record.timers = [];
}

function attributesOf(draft: Draft): RunRecord["attributes"] {
  const { attributes } = draft.input.machine.saga;
  const { snapshot, input } = draft.record;
  if (attributes === null || snapshot === null) return draft.record.attributes;
  const made = safely(() => attributes({ context: snapshot.context ?? contextOf(draft), input }));
  if (made.ok) return made.value;
  park(draft, { reason: "defect", message: `attributes: ${made.problem}`, seq: null, side: null, evidence: null, verbs: ["retry", "close"] });
  draft.record.status = "needs_review";
  return draft.record.attributes;
}

/** The context of a builder saga follows from its input and its ledger. */
function contextOf(draft: Draft): { readonly input: Json; readonly results: Readonly<Record<string, Json>> } {
  const { input, results } = viewOf(draft);
  return { input, results };
}

function safely(make: () => Json): { ok: true; value: RunRecord["attributes"] } | { ok: false; problem: string } {
  try {
    const json = toJson(make());
    if (!json.ok) return json;
    const { value } = json;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { ok: false, problem: "is not an object" };
    return { ok: true, value: value as RunRecord["attributes"] };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

// ---- when it wants attention

/** Calls and probes that this driver will hear of. */
function isFlying(draft: Draft): boolean {
  if (draft.calls.length > 0 || draft.input.inFlight.size > 0) return true;
  return draft.rows.some((row) => isMine(draft, row.call) || isMine(draft, row.undo?.call ?? null));
}

function isMine(draft: Draft, call: { readonly state: string; readonly fence: number | null } | null): boolean {
  return call?.state === "sent" && call.fence === draft.input.fence;
}

function isHeld(draft: Draft, wanted: number | null): boolean {
  if (isFlying(draft)) return true;
  if (draft.stopping || wanted === null) return false;
  return wanted <= draft.input.now + draft.input.settings.inlineWaitMs;
}

/** The next time at which something is due; `remote`: also what only another driver or a step worker would act on. */
function earliest(draft: Draft, remote: boolean): number | null {
  const times: number[] = [];
  if (hasEnded(draft.record.status)) return null;
  for (const row of draft.rows) {
    addCallTime(draft, row.seq, "action", times);
    addCallTime(draft, row.seq, "undo", times);
    if (remote) addRemoteTime(draft, row.seq, times);
  }
  if (!isParked(draft)) addRunTimes(draft, times);
  return times.length === 0 ? null : Math.min(...times);
}

function addCallTime(draft: Draft, seq: number, side: "action" | "undo", times: number[]): void {
  const row = draft.rows[seq - 1];
  const call = row === undefined ? null : callOf(row, side);
  if (call === null) return;
  if (call.state === "planned" && call.nextAt !== null && mayGrant(draft, seq, side)) times.push(call.nextAt);
  const asked = draft.input.inFlight.has(`probe:${seq}`) || draft.calls.some((order) => order.kind === "probe" && order.seq === seq);
  if (call.state === "unknown" && call.probeAt !== null && !asked && !isParked(draft)) times.push(call.probeAt);
}

/** Calls in the hands of a named queue: looked after when their permit, or the time to offer again, runs out. */
function addRemoteTime(draft: Draft, seq: number, times: number[]): void {
  const call = draft.rows[seq - 1]?.call;
  if (call === undefined) return;
  const until = draft.permits.get(seq)?.until;
  if (call.state === "offered") times.push(until ?? call.nextAt ?? draft.input.now);
  if (call.state === "sent" && call.fence === null) times.push(until ?? call.deadline ?? draft.input.now);
}

function addRunTimes(draft: Draft, times: number[]): void {
  const { record } = draft;
  const flying = draft.rows.some((row) => row.call.state === "sent" && !row.told);
  if (record.unwind !== null && flying) times.push(record.unwind.quiesceUntil);
  if (record.unwind === null && !record.paused) for (const timer of record.timers) times.push(timer.at);
}

// ---- the commit

function commitOf(draft: Draft, due: number | null, release: boolean): Commit {
  const { before, input } = draft;
  const revision = before.record.revision + 1;
  const log = logOf(draft, revision);
  const record: RunRecord = { ...draft.record, revision, logDigest: log.digest };
  const left = listingsOf(before.record);
  const joined = listingsOf(record);
  const parked = isParked(draft);
  return {
    commitId: input.commitId,
    run: { tenant: record.tenant, id: record.id },
    expects: before.record.revision,
    record,
    rows: [...draft.changed].sort((a, b) => a - b).map((seq) => draft.rows[seq - 1]).filter((row) => row !== undefined),
    log,
    consumed: draft.consumed,
    seen: record.seen,
    leave: left.filter((list) => !joined.includes(list)),
    join: joined.filter((list) => !left.includes(list)),
    openSlots: record.review === null ? [] : [`review:${record.review.n}`],
    now: input.now,
    due,
    release,
    mustSee: release || parked || hasEnded(record.status),
    withdraw: draft.withdraw,
    settledPermits: draft.settledPermits,
    abortPermits: draft.abortPermits,
  };
}

function logOf(draft: Draft, revision: number): LogEntry {
  const { before, input, record, taken } = draft;
  const text = JSON.stringify([before.record.logDigest, revision, record.status, record.snapshot, taken]);
  return {
    revision,
    at: input.now,
    from: before.record.status,
    to: record.status,
    taken,
    actor: input.actor,
    fence: input.fence,
    digest: digestOf(text),
  };
}

