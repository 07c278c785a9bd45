/**
 * Small runs, rows and commits for tests of the store: whole records by the port's types, with as little in them as a test
 * needs to say. Decides nothing; the real ones are made by core.
 */
import { type Commit, listingsOf } from "../../src/core/commit.ts";
import type { Heartbeat } from "../../src/core/fleet/index.ts";
import type { CreateCommand, LeaseRef, SendCommand } from "../../src/core/ports.ts";
import type { Call, InboxBody, LogEntry, Row, RunRecord, RunRef, Taken, Undo } from "../../src/core/run/index.ts";

let counter = 0;

/** An id no other test has used. */
export function fresh(kind: string): string {
  counter += 1;
  return `${kind}-${counter}`;
}

/** What a worker says of itself. */
export function aHeartbeat(patch: Partial<Heartbeat> = {}): Heartbeat {
  return {
    role: "worker",
    id: fresh("worker"),
    name: "w",
    host: "h",
    pid: 1,
    version: "",
    state: "ready",
    upMs: 1_000,
    pools: ["default"],
    queues: [],
    sagas: ["order@1"],
    slots: { busy: 0, total: 10 },
    runs: [],
    lagMs: 0,
    rssBytes: 1,
    storeMs: null,
    idleMs: null,
    stuckMs: 0,
    ...patch,
  };
}

export function aRecord(patch: Partial<RunRecord> = {}): RunRecord {
  const createdAt = patch.createdAt ?? 1_767_225_600_000;
  return {
    format: 1,
    tenant: "default",
    id: fresh("run"),
    saga: "order",
    version: 1,
    hash: "hash-of-order",
    pool: "default",
    priority: 0,
    input: { sku: "A" },
    inputHash: "hash-of-input",
    revision: 1,
    status: "running",
    rollback: "none",
    cause: null,
    snapshot: null,
    output: null,
    rows: 0,
    open: [],
    asks: [],
    regionEntries: {},
    timers: [],
    waitingFor: null,
    review: null,
    reviews: 0,
    cancel: null,
    paused: false,
    unwind: null,
    interruptions: 0,
    replays: 0,
    replayOf: null,
    savepoints: [],
    parent: null,
    limit: null,
    budgets: {},
    deadlineAt: null,
    trace: null,
    migratedFrom: null,
    logFrom: 1,
    logMark: null,
    knownTo: null,
    seen: 0,
    attributes: {},
    bytes: 0,
    createdAt,
    startAt: createdAt,
    endedAt: null,
    logDigest: "digest-1",
    ...patch,
  };
}

export function aLogEntry(revision: number, patch: Partial<LogEntry> = {}): LogEntry {
  return {
    revision,
    at: 1_767_225_600_000 + revision,
    from: revision === 1 ? null : "running",
    to: "running",
    taken: revision === 1 ? [{ what: "created" }] : [],
    actor: "worker-1",
    fence: revision === 1 ? 0 : 1,
    digest: `digest-${revision}`,
    ...patch,
  };
}

export function aCreate(patch: Partial<RunRecord> = {}, commandId = fresh("create")): CreateCommand {
  const record = aRecord(patch);
  return { record, log: aLogEntry(1), memberships: listingsOf(record), commandId };
}

export function aCall(patch: Partial<Call> = {}): Call {
  return {
    state: "planned",
    attempt: 0,
    send: 0,
    effect: "keyed",
    firstSentAt: null,
    firstSentRevision: null,
    sentAt: null,
    deadline: null,
    fence: null,
    nextAt: null,
    doubtUntil: null,
    senders: [],
    interruptions: 0,
    probes: 0,
    probeAt: null,
    error: null,
    proof: null,
    evidence: null,
    generation: 1,
    ...patch,
  };
}

export function aRow(seq: number, call: Partial<Call> = {}, patch: Partial<Row> = {}): Row {
  return {
    seq,
    kind: "call",
    step: "reserve",
    occurrence: 1,
    invoke: "reserve",
    region: [],
    regionEntry: 0,
    input: { sku: "A" },
    call: aCall(call),
    intent: null,
    tool: null,
    approval: null,
    child: null,
    dueBy: null,
    output: null,
    unusable: false,
    abandoned: false,
    progress: null,
    told: null,
    undo: null,
    reference: null,
    ...patch,
  };
}

/** A row that lies in a named queue. */
export function anOfferedRow(seq: number, send = 1): Row {
  return aRow(seq, { state: "offered", attempt: 1, send });
}

/** A row whose compensation lies in a named queue. */
export function anOfferedUndo(seq: number, send = 1): Row {
  const undo: Undo = { state: "owed", call: aCall({ state: "offered", attempt: 1, send }), reason: null };
  return aRow(seq, { state: "succeeded", attempt: 1, send: 1 }, { undo, told: "outcome" });
}

export interface CommitPatch extends Partial<Omit<Commit, "record" | "log">> {
  readonly record?: Partial<RunRecord>;
  readonly taken?: readonly Taken[];
  readonly log?: Partial<LogEntry>;
}

/** The commit after `before`, with the listings that follow from what it changes. */
export function aCommit(before: RunRecord, { record, taken, log, ...patch }: CommitPatch = {}): Commit {
  const revision = (patch.expects ?? before.revision) + (patch.lost?.length ?? 0) + 1;
  const next: RunRecord = { ...before, revision, logDigest: `digest-${revision}`, ...record };
  const [left, joined] = [listingsOf(before), listingsOf(next)];
  return {
    commitId: fresh("commit"),
    run: { tenant: before.tenant, id: before.id },
    expects: before.revision,
    record: next,
    rows: [],
    log: aLogEntry(revision, { from: before.status, to: next.status, taken: taken ?? [], ...log }),
    lost: [],
    consumed: [],
    seen: next.seen,
    leave: left.filter((listing) => !joined.includes(listing)),
    join: joined.filter((listing) => !left.includes(listing)),
    openSlots: [],
    keepUntil: null,
    now: 0,
    due: null,
    release: false,
    mustSee: false,
    withdraw: [],
    settledPermits: [],
    abortPermits: [],
    ...patch,
  };
}

export function aSend(run: RunRef, slot: string, patch: Partial<SendCommand> = {}): SendCommand {
  const body: InboxBody = { type: "event", event: "APPROVED", payload: { by: "Ann" } };
  return { run: refOf(run), slot, commandId: fresh("command"), by: "client", body, ...patch };
}

export function refOf(run: RunRef): RunRef {
  return { tenant: run.tenant, id: run.id };
}

export function aLease(run: RunRef, fence: number, token: string, owner = "worker-1"): LeaseRef {
  return { run: refOf(run), owner, fence, token };
}
