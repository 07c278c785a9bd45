/**
 * What the engine and the client need from outside, as ports. Adapters: `store` (Redis, memory), `queue` (BullMQ),
 * `testing` (virtual clock), wrapped by tests to inject faults. Every answer is a named word; a refusal writes nothing.
 */

import type { EffectClass, RunIdentity } from "../saga/index.ts";
import type { Commit } from "./commit.ts";
import type { IntentRegistry } from "./company/intents.ts";
import type { ScheduleShelf } from "./company/schedules.ts";
import type { Turns } from "./company/turns.ts";
import type { Heartbeats } from "./fleet/heartbeat.ts";
import type { ConsumerSigns } from "./fleet/liveness.ts";
import type { PlanShelf } from "./replay/shelf.ts";
import type { InboxBody, InboxEntry, LogEntry, Review, Row, Run, RunRecord, RunRef, RunStatus } from "./run/index.ts";
import type { Act, ActShelf } from "./telling/acts.ts";
import type { NoticeBox, NoticeFate, OwedNotice } from "./telling/notices.ts";

/** An answer with the store's time (Redis TIME in ms, never going back). */
export type Timed<Answer> = Answer & { readonly now: number };

/** How much waits. What is read while it changes is about right. */
export interface StoreLoad {
  /** Runs that want a worker now: overdue, handed out and not taken up, or waiting for room in the queue. */
  readonly due: number;
  /** Since when the longest of them waits that is not handed out (store time). */
  readonly oldestDueAt: number | null;
  /** Open runs by the name of their structure (`structureName`). */
  readonly open: readonly { readonly structure: string; readonly runs: number }[];
  /** Runs that are parked for a person, and runs that ask people. */
  readonly parked: number;
  readonly asking: number;
}

/** What identifies a wake-up: the run, its wake number, where it is to be queued. */
export interface WakeUp {
  readonly run: RunRef;
  readonly wake: number;
  readonly pool: string;
  readonly lane: number;
  readonly priority: number;
}

/** A right to advance one run for a while. The token is unique per acquisition; the fence grows per run. */
export interface LeaseRef {
  readonly run: RunRef;
  readonly owner: string;
  readonly fence: number;
  readonly token: string;
}

export interface CreateCommand {
  readonly record: RunRecord;
  readonly log: LogEntry;
  /** The ledger of a run that begins with one, without a gap; none unless given. */
  readonly rows?: readonly Row[];
  readonly memberships: readonly string[];
  /** Idempotent by it: the same command again is answered `DUP`. */
  readonly commandId: string;
}
/**
 * `OK` created · `EXISTS` same id, saga and input: that run, untouched · `CONFLICT` same id, other saga or input · `GONE` a run had
 * this id and was deleted: it is not free before `freeAt` (`null`: never).
 * `wake` is set when the caller should add a wake-up now.
 */
export type CreateAnswer =
  | { readonly answer: "OK"; readonly wake: WakeUp | null }
  | { readonly answer: "EXISTS"; readonly revision: number; readonly status: RunStatus }
  | { readonly answer: "CONFLICT"; readonly saga: string; readonly inputHash: string }
  | { readonly answer: "GONE"; readonly freeAt: number | null };

export interface AcquireCommand {
  readonly run: RunRef;
  readonly owner: string;
  readonly token: string;
  readonly leaseMs: number;
  /** Also where it has ended and nothing waits for it: whoever asks remembers more of it than the store. */
  readonly evenEnded?: boolean;
}
export type AcquireAnswer =
  | {
      readonly answer: "OK";
      readonly fence: number;
      readonly record: RunRecord;
      readonly rows: readonly Row[];
      readonly inbox: readonly InboxEntry[];
      /** The lease that was taken over, where it had not been released. `died`: its owner's process is known dead. */
      readonly takenFrom: { readonly owner: string; readonly died: boolean } | null;
      /** Deaths of owners make it suspect: a worker drives one suspect at a time. */
      readonly suspect: boolean;
      /** Live permits of offered rows, by seq. */
      readonly permits: readonly PermitState[];
    }
  | { readonly answer: "HELD"; readonly until: number }
  /** The lease was won, but what is kept of the run cannot be read: set it aside. */
  | { readonly answer: "CORRUPT"; readonly fence: number; readonly message: string }
  | { readonly answer: "ENDED" | "ABSENT" | "GONE" };

export interface CommitCommand {
  readonly lease: LeaseRef;
  readonly commit: Commit;
  readonly leaseMs: number;
  /** What is owed to whoever wants to hear of it, from this very write on; none unless given. */
  readonly notices?: readonly OwedNotice[];
}
/**
 * `OK` and `DUP` (the same commit id again: it had landed) carry the inbox entries above `commit.seen`.
 * `FENCED`, `STALE`: drop the run, never decide again on what is held. `INBOX`: look at the newer entries and decide
 * again. `PERMITTED`: an offered row to be withdrawn has a permit: decide again with it as sent. `CLOCK`: decide again
 * with this answer's time.
 */
export type CommitAnswer =
  | { readonly answer: "OK" | "DUP"; readonly inbox: readonly InboxEntry[] }
  | { readonly answer: "INBOX"; readonly inbox: readonly InboxEntry[] }
  | { readonly answer: "PERMITTED"; readonly permits: readonly PermitState[] }
  | { readonly answer: "FENCED" | "STALE" | "CLOCK" };

export type RenewAnswer = {
  readonly run: RunRef;
  readonly answer: "OK" | "FENCED";
  /** Highest inbox position, so that the driver hears of a cancel. */
  readonly position: number;
};

export type ReleaseAnswer = { readonly answer: "OK" | "FENCED" | "INBOX"; readonly wake: WakeUp | null };

export interface SendCommand {
  readonly run: RunRef;
  readonly slot: string;
  readonly commandId: string;
  readonly by: string;
  readonly body: InboxBody;
  /** Whose act it is, to be kept with it; left out: nobody's. */
  readonly act?: Act | null;
}
/**
 * `TAKEN`: another entry has (or had) this slot, or (`slot` says which) one that makes it pointless, as a harder cancel does.
 * `GONE`: the review or wait is over.
 */
export type SendAnswer =
  | { readonly answer: "OK"; readonly position: number; readonly wake: WakeUp | null }
  | { readonly answer: "DUP" }
  | { readonly answer: "TAKEN"; readonly by: string; readonly commandId: string; readonly slot: string }
  | { readonly answer: "ENDED"; readonly status: RunStatus }
  | { readonly answer: "ABSENT" | "GONE" };

/** A permit of a remote call: a row that is `offered` and has one of its send *is* sent. */
export interface PermitState {
  readonly seq: number;
  readonly send: number;
  readonly side: "action" | "undo";
  readonly token: string;
  readonly owner: string;
  readonly until: number;
  readonly sentAt: number;
  readonly deadline: number;
  /** Set in an `acquire` answer when the permit's holder is past `until`. */
  readonly expired: boolean;
}
export interface PermitCommand {
  readonly run: RunRef;
  readonly seq: number;
  readonly send: number;
  readonly side: "action" | "undo";
  readonly owner: string;
  readonly token: string;
  readonly leaseMs: number;
  /** Added to the store's time to give the deadline. */
  readonly windowMs: number;
}
export type PermitAnswer =
  | { readonly answer: "OK"; readonly record: RunRecord; readonly row: Row }
  | { readonly answer: "GONE" };

export interface OwnerRef {
  readonly owner: string;
  /** Server the pulse is open on, and its client id there; `null` where there is no pulse. */
  readonly serverId: string | null;
  readonly pulse: string | null;
  /** The `world` that it has compared with everything it remembers; `null`: none yet. */
  readonly compared: string | null;
}

export interface ListQuery {
  readonly tenant?: string;
  readonly status?: RunStatus;
  readonly saga?: string;
  /** Only runs whose attributes have these values; a page looks at `limit` runs, and is short where others are among them. */
  readonly attributes?: RunRecord["attributes"];
  readonly cursor?: string;
  readonly limit: number;
}
export interface RunSummary {
  readonly tenant: string;
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  readonly status: RunStatus;
  readonly rollback: RunRecord["rollback"];
  readonly waitingFor: RunRecord["waitingFor"];
  readonly review: RunRecord["review"];
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly revision: number;
}
/** A run whose record cannot be read: damaged, or written by a newer version. */
export interface UnreadableRun extends RunRef {
  readonly message: string;
}

export interface ListPage {
  readonly runs: readonly RunSummary[];
  /** Runs of this page that are there and cannot be read: one of them hides none of the others. */
  readonly unreadable: readonly UnreadableRun[];
  /** Pass it as `cursor` for the next page; `null`: that was the last. */
  readonly cursor: string | null;
}

/** A page of listings that all tenants share (`parked`, `asking`, `open:<structure>`). */
export interface SharedQuery {
  readonly listings: readonly string[];
  /** Of this tenant only; a page of it may be short, or empty, before the last one. */
  readonly tenant?: string;
  readonly cursor?: string;
  readonly limit: number;
}
/** What is told of a run in such a page. */
export interface SharedRun
  extends Pick<
    RunRecord,
    "tenant" | "id" | "saga" | "version" | "hash" | "status" | "review" | "asks" | "revision" | "createdAt" | "parent"
  > {
  /** The step that its review is about; `null`: none. */
  readonly step: string | null;
  /** The owner of its lease, where that has not run out. */
  readonly holder: string | null;
}
export interface SharedPage {
  /** Newest first. */
  readonly runs: readonly SharedRun[];
  readonly unreadable: readonly UnreadableRun[];
  readonly cursor: string | null;
}

/** Who drives what. */
export interface Serving {
  /** Names of the structures that have open runs. */
  readonly open: readonly string[];
  /** Every registered owner and the structures whose runs it drives. */
  readonly owners: readonly { readonly owner: string; readonly serves: readonly string[] }[];
}

export interface RegisteredSaga {
  readonly saga: string;
  readonly version: number;
  readonly hash: string;
  /** The canonical structure the hash is of, to show what changed. */
  readonly structure: string;
  /** The schemas of what it reads and writes, to warn of what changed; empty: not known. */
  readonly schemas: string;
}

/** A saga whose runs nobody drives for the time being. */
export interface PausedSaga {
  readonly saga: string;
  readonly by: string;
  readonly reason: string;
  /** Store time. */
  readonly at: number;
}

/** What one deletion has come to. */
export interface PurgeAnswer {
  readonly purged: readonly RunRef[];
  /** There may be more at once. */
  readonly more: boolean;
}

/** What one look at the runs of a shard that are due has found. */
export interface DueAnswer {
  readonly wakeUps: readonly WakeUp[];
  /** There may be more at once. */
  readonly full: boolean;
  /** Others wait until the queue has room for them. */
  readonly crowded: boolean;
}

/**
 * The one place where runs, the intents of all runs, their lines, schedules and plans are remembered, and how workers are. All writes of a run go through `create`,
 * `commit`, `send` and `permit`.
 */
export interface Store extends ActShelf, Heartbeats, IntentRegistry, NoticeBox, PlanShelf, ScheduleShelf, Turns {
  /** Connects, checks shard count and settings. Throws SHARDS_MISMATCH, STORE_UNAVAILABLE. */
  open(): Promise<void>;
  close(): Promise<void>;
  /** The store's time, for whoever has no answer yet to take it from; nothing is written. */
  now(): Promise<number>;
  create(command: CreateCommand): Promise<Timed<CreateAnswer>>;
  /** Pipelined; answers in order. */
  createMany(commands: readonly CreateCommand[]): Promise<readonly Timed<CreateAnswer>[]>;
  acquire(command: AcquireCommand): Promise<Timed<AcquireAnswer>>;
  commit(command: CommitCommand): Promise<Timed<CommitAnswer>>;
  /** One batch per shard. */
  renew(leases: readonly LeaseRef[], leaseMs: number): Promise<Timed<{ readonly answers: readonly RenewAnswer[] }>>;
  /** Gives the lease back; `due` is when the run next wants attention (`null`: not by itself). */
  release(lease: LeaseRef, seen: number, due: number | null): Promise<Timed<ReleaseAnswer>>;
  /** Gives back a run that cannot be read, until `due`, and puts it on the list `unreadable`; the next `acquire` takes it off. */
  setAside(lease: LeaseRef, due: number, why: string): Promise<Timed<{ readonly answer: "OK" | "FENCED" }>>;
  /**
   * Gives back a run of a paused saga, unchanged: it lies on the saga's shelf, due to nobody, until `unshelve`; whatever is sent
   * to it meanwhile makes it due as ever.
   */
  shelve(lease: LeaseRef, saga: string): Promise<Timed<{ readonly answer: "OK" | "FENCED" }>>;
  /** Hands out what lies on the shelves of one shard, at most `limit` runs, but for sagas that are paused. */
  unshelve(
    shard: number,
    paused: readonly string[],
    limit: number,
  ): Promise<Timed<{ readonly wakeUps: readonly WakeUp[]; readonly full: boolean }>>;
  /** Marks a saga as paused; one that is already stays as it is. Answers what counts. */
  pauseSaga(paused: Omit<PausedSaga, "at">): Promise<PausedSaga>;
  /** Answers what it was paused by; `null`: it was not. */
  resumeSaga(saga: string): Promise<PausedSaga | null>;
  pausedSagas(): Promise<readonly PausedSaga[]>;
  /**
   * Deletes runs of one shard that have ended and whose time (`keepUntil` of their last commit) is over, `limit` at most: each with
   * everything that is kept of it, at once. A child is kept as long as its parent is there, and one that cannot be read is kept.
   * Ids that somebody gave are not free again before `idsKeptMs` are over (`null`: never).
   */
  purge(shard: number, limit: number, idsKeptMs: number | null): Promise<Timed<PurgeAnswer>>;
  /** How many ended runs may be deleted now, and how many later. */
  expiring(): Promise<{ readonly due: number; readonly later: number }>;
  send(command: SendCommand): Promise<Timed<SendAnswer>>;
  /** Runs overdue in one shard, at most `limit` (0: only the time); each is given a grace before it is answered again. */
  due(shard: number, limit: number): Promise<Timed<DueAnswer>>;
  permit(command: PermitCommand): Promise<Timed<PermitAnswer>>;
  renewPermit(command: PermitCommand): Promise<Timed<{ readonly answer: "OK" | "ABORT" }>>;
  /** Registers an incarnation, its pulse (again after each reconnect), and the structures whose runs it drives. */
  hello(owner: OwnerRef, serves: readonly string[]): Promise<void>;
  /** Says which suspect run this owner is driving now; `null`: none. */
  suspect(owner: string, run: RunRef | null): Promise<void>;
  goodbye(owner: string): Promise<void>;
  /** All that are registered. */
  owners(): Promise<readonly OwnerRef[]>;
  /**
   * Names the processes in which the data is, as the connection by which commits are acknowledged sees them: after a restart or
   * a fail-over it is another name, and what is under it may be older than what was acknowledged.
   */
  world(): Promise<string>;
  /** Every other owner whose pulse is missing on the server (empty where that cannot be asked). */
  lostOwners(): Promise<readonly OwnerRef[]>;
  /** Those of `owners` that are not gone: registered, with a pulse that can be asked about (whether it beats is for `lostOwners`). */
  living(owners: readonly string[]): Promise<readonly string[]>;
  /** Ends the leases of a dead owner, 100 a call, unless it registered again meanwhile; `more` says to call again. */
  expire(owner: OwnerRef): Promise<{ readonly expired: number; readonly more: boolean }>;
  /** Waits until what was acknowledged is durable; `false`: not reached within `timeoutMs`. */
  barrier(timeoutMs: number): Promise<boolean>;
  /** May acknowledged writes be forgotten (AOF not `always` and no barrier)? */
  durability(): Promise<"always" | "barrier" | "forgetful">;
  read(run: RunRef): Promise<RunRecord | null>;
  ledger(run: RunRef): Promise<readonly Row[]>;
  log(run: RunRef, from?: number, to?: number): Promise<readonly LogEntry[]>;
  inbox(run: RunRef): Promise<readonly InboxEntry[]>;
  list(query: ListQuery): Promise<ListPage>;
  listShared(query: SharedQuery): Promise<SharedPage>;
  /** How many runs of a tenant are in each of these listings (`listingsOf`). */
  count(tenant: string, listings: readonly string[]): Promise<readonly number[]>;
  serving(): Promise<Serving>;
  load(): Promise<Timed<StoreLoad>>;
  /** What is registered of a version; nothing is written. */
  registered(saga: string, version: number): Promise<RegisteredSaga | null>;
  /** Registers a structure and its schemas; answers the registered one where its structure differs and runs of it are open. */
  register(saga: RegisteredSaga): Promise<
    | {
        readonly answer: "OK";
        /** Whose place it took: another structure, none of whose runs is open, or the same one with other schemas. */
        readonly replaced?: RegisteredSaga;
      }
    | { readonly answer: "CHANGED"; readonly registered: RegisteredSaga; readonly openRuns: number }
  >;
  /** Calls back after commits of any run (a hint: messages may be lost). Returns how to stop. */
  watch(listener: MoveListener): Promise<() => Promise<void>>;
  /**
   * Calls back whenever the connection by which commits are acknowledged was opened anew, perhaps to another server: what was
   * acknowledged before has all been heard by then. Returns how to stop.
   */
  onReconnect(listener: () => void): () => void;
  readonly shards: number;
  shardOf(run: RunRef): number;
}

/** Hears that a run has moved, and to where. */
export type MoveListener = (run: RunRef, revision: number, status: RunStatus) => void;

/** A call for a worker of a named queue. */
export interface StepJob {
  readonly run: RunRef;
  readonly seq: number;
  readonly send: number;
  readonly side: "action" | "undo";
  readonly queue: string;
  readonly priority: number;
}

/** Delivery of nudges: at least once, in any order, possibly early, late, lost or doubled. */
export interface WakeUps {
  wake(wakeUps: readonly WakeUp[]): Promise<void>;
  offer(jobs: readonly StepJob[]): Promise<void>;
  /** Workers of a named queue take nothing from it until it is resumed; what is added waits. */
  pauseQueue(queue: string): Promise<void>;
  resumeQueue(queue: string): Promise<void>;
  isQueuePaused(queue: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Which review of which run. */
export interface DeadLetterRef {
  readonly run: RunRef;
  readonly review: number;
}

/** A parked run as queue tooling is shown it. The run record is the truth; losing a letter loses nothing. */
export interface DeadLetter extends DeadLetterRef, Pick<Review, "reason" | "message" | "since" | "verbs"> {
  readonly saga: string;
  readonly version: number;
}

/**
 * What becomes of a letter that was put back by hand: `done`, it goes (also where there was nothing left to do); `refused`, it
 * is shown again with the reason; `elsewhere`, another worker is to look at it.
 */
export type LetterFate = { readonly is: "done" | "elsewhere" } | { readonly is: "refused"; readonly reason: string };

/** Parked runs as failed jobs of a queue. */
export interface DeadLetters {
  /** Idempotent: a review that is shown stays as it is. */
  add(letters: readonly DeadLetter[]): Promise<void>;
  remove(letters: readonly DeadLetterRef[]): Promise<void>;
  /** Those shown, at least `limit` from the place `from` on where there are so many, in no order. */
  list(from: number, limit: number): Promise<readonly DeadLetterRef[]>;
  /** Shows what is added, and asks `resume` about what is put back by hand. */
  start(resume: (letter: DeadLetterRef) => Promise<LetterFate>): Promise<void>;
  /** Stops taking what is put back; resolves when what runs has ended or `graceMs` is over. */
  stop(graceMs: number): Promise<void>;
}

/** What a worker serves and what it does with what is delivered. A handler's rejection is counted, never retried. */
export interface ConsumerOptions {
  readonly pools: readonly string[];
  readonly queues: readonly {
    readonly name: string;
    readonly concurrency: number;
    readonly limit?: { readonly max: number; readonly durationMs: number };
  }[];
  readonly concurrency: number;
  readonly onWake: (run: RunRef) => Promise<void>;
  readonly onStep: (job: StepJob) => Promise<void>;
}
export interface Consumer {
  start(): Promise<void>;
  /** Stops taking jobs; resolves when the handlers that run have ended or `graceMs` is over. */
  stop(graceMs: number): Promise<void>;
  /** What can be seen of each queue that it reads; empty while it reads none. */
  signs(): readonly ConsumerSigns[];
}
export type ConsumerFactory = (options: ConsumerOptions) => Consumer;

/** Monotonic time and timers; never the wall clock. */
export interface Clock {
  /** Milliseconds, monotonic, fractions allowed. */
  monotonicMs(): number;
  /** Calls back once after `ms`; returns how to cancel. */
  after(ms: number, callback: () => void): () => void;
}

export interface Ids {
  /** A new unguessable id of `[A-Za-z0-9]`. */
  next(): string;
  /** Evenly in [0, 1). */
  random(): number;
}

/** A commit that was acknowledged: the run before it and after it. */
export interface CommittedFact {
  readonly fact: "committed";
  readonly run: RunRef;
  readonly record: RunRecord;
  /** The whole ledger after it. */
  readonly rows: readonly Row[];
  readonly entry: LogEntry;
  readonly before: Pick<Run, "record" | "rows">;
  /** From the first sending to the answer. */
  readonly ms: number;
}

/** A call of user code, for whoever follows it. */
export interface TracedCall {
  readonly record: RunRecord;
  readonly row: Row;
  readonly kind: "action" | "undo" | "probe";
  readonly send: number;
  readonly attempt: number;
  readonly operationId: string;
  /** The incarnation that makes it. */
  readonly owner: string;
  /** By permit, in a worker that does not write what came of it. */
  readonly routed: boolean;
  /** The store's time, about. */
  readonly now: number;
}

/** What lets runs be followed from outside (W3C Trace Context). Must not fail by itself, nor wait. */
export interface Tracing {
  /** Begins a run; `trace` is to be kept with it: a traceparent, or `null` where nobody follows. */
  start<Result>(
    run: Pick<RunIdentity, "tenant" | "saga" | "version">,
    work: (trace: string | null) => Promise<Result>,
  ): Promise<Result>;
  /** Calls user code where it is seen as part of its run. */
  call<Result>(call: TracedCall, work: () => Promise<Result>): Promise<Result>;
}

/** What happened, for telemetry: committed facts only, and the engine's own troubles. Must not throw or wait. */
export interface Facts {
  emit(fact: Fact): void;
}
export type Fact =
  | CommittedFact
  /** The first entry of a run's log. */
  | { readonly fact: "created"; readonly run: RunRef; readonly record: RunRecord; readonly entry: LogEntry }
  /** A start that found its run: nothing was made twice. */
  | { readonly fact: "existed"; readonly run: RunRef; readonly saga: string; readonly version: number }
  /** A lease was won. `takenFrom`: it had not been given back; `died`: its owner's process is known dead. */
  | {
      readonly fact: "acquired";
      readonly run: RunRef;
      readonly record: RunRecord;
      readonly now: number;
      readonly takenFrom: { readonly owner: string; readonly died: boolean } | null;
    }
  | {
      readonly fact: "call";
      readonly run: RunRef;
      readonly saga: string;
      readonly seq: number;
      readonly step: string;
      readonly side: "action" | "undo" | "probe";
      readonly effect: EffectClass;
      readonly ms: number;
      readonly result: string;
    }
  | { readonly fact: "fenced" | "stale" | "lease_lost"; readonly run: RunRef }
  | { readonly fact: "unserved"; readonly run: RunRef; readonly saga: string; readonly version: number }
  /**
   * Another structure was registered under the same version, none of whose runs is open; or the same one with other schemas, which
   * its runs have to fit.
   */
  | {
      readonly fact: "structure_replaced" | "schemas_changed";
      readonly saga: string;
      readonly version: number;
      readonly from: string;
      readonly to: string;
      readonly differences: readonly string[];
    }
  /** Ended runs were deleted whose time was over. */
  | { readonly fact: "purged"; readonly shard: number; readonly runs: number }
  /** A notice was sent, and what its receiver made of it. */
  | { readonly fact: "notified"; readonly hook: string; readonly fate: NoticeFate; readonly ms: number }
  | { readonly fact: "recovered"; readonly owner: string; readonly runs: number }
  /** A budget has come to a limit: somebody should know (`soft`), or is asked (`hard`). */
  | {
      readonly fact: "budget";
      readonly run: RunRef;
      readonly name: string;
      readonly used: number;
      readonly passed: "soft" | "hard";
    }
  | {
      readonly fact: "saga_paused" | "saga_resumed";
      readonly saga: string;
      readonly by: string;
      readonly reason: string;
    }
  | { readonly fact: "trouble"; readonly where: string; readonly message: string };
