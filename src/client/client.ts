/**
 * What applications and operators may ask. A client writes nothing but starts and requests: a run is moved by the holder
 * of its lease alone.
 */
import type {
  Act,
  DrainRequest,
  ListPage,
  ListQuery,
  PausedSaga,
  RegisteredSaga,
  Review,
  RunStatus,
  RunSummary,
  SloReport,
  Store,
  UnreadableRun,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Saga, SagaEvents, SagaInput, SagaOutput } from "../saga/index.ts";
import { type ApprovalsPage, type ApprovalsQuery, approvalsPage } from "./approvals.ts";
import { type AuditPage, type AuditQuery, audit } from "./audit.ts";
import {
  type BatchReport,
  type BatchSummary,
  type ExecuteBatchOptions,
  executeBatch,
  listBatches,
  readBatch,
} from "./batch.ts";
import { checkedId } from "./checks.ts";
import { type ClientOptions, type ClientPorts, Connection } from "./connection.ts";
import type { Decided, DecisionWord } from "./decide.ts";
import { type GcOptions, type GcReport, gc } from "./gc.ts";
import { ConnectedRun, type EventPayloads, type RunHandle } from "./handle.ts";
import { type InboxPage, type InboxQuery, inboxPage } from "./inbox.ts";
import {
  type MigrateAllOptions,
  type MigrateOptions,
  type MigrateReport,
  migrate,
  migrateAll,
  type RunMigration,
  refOf,
} from "./migrate.ts";
import { type Notifications, owedNotifications, readNotifications } from "./notifications.ts";
import { type Overview, overviewOf } from "./overview.ts";
import { type Paused, type PauseOptions, pausedNow, pauseQueue, pauseSaga, resumeQueue, resumeSaga } from "./paused.ts";
import { type ExecuteOptions, executePlan, type Replayed } from "./replay.ts";
import { type ServedVersion, servedVersions } from "./sagas.ts";
import { type Schedules, schedulesOf } from "./schedules.ts";
import { type Batch, type BatchOptions, replayMany } from "./selection.ts";
import { type Signalled, type SignalWithStartOptions, signalWithStart } from "./signal-with-start.ts";
import { type SloQuery, sloOfSaga } from "./slo.ts";
import {
  defaultTenant,
  type ManyStart,
  type Started,
  type StartOptions,
  startAll,
  startOne,
  type Wanted,
} from "./start.ts";
import { type BatchSuspension, resumeBatch, suspendBatch } from "./suspension.ts";
import { decideByToken, readToken, type TokenView } from "./tokens.ts";
import { drainWorker, type Workers, workersNow } from "./workers.ts";

const defaultPage = 50;
const maxPage = 1_000;

/** A handle of a run of this saga. */
export type RunOf<S extends Saga> = RunHandle<SagaOutput<S>, SagaEvents<S>>;

export interface PageQuery {
  /** `default` unless given. */
  readonly tenant?: string;
  readonly saga?: string;
  /** From the page before. */
  readonly cursor?: string;
  /** 1 to 1,000; 50 unless given. */
  readonly limit?: number;
}

export interface RunsQuery extends PageQuery {
  readonly status?: RunStatus;
  /** Only runs to which the saga's `attributes` gives these values: `{ customer: "ann", urgent: true }`. */
  readonly attributes?: Readonly<Record<string, string | number | boolean | null>>;
}

/** A parked run: why, what is known, and what may be done. */
export interface ParkedRun extends Pick<RunSummary, "tenant" | "id" | "saga" | "version">, Review {}

/** Starts runs, waits for them, asks things of them. One per process; it keeps its connections. */
export interface Client {
  /**
   * Starts a run. With an `id` it is idempotent: the same saga and input return the run that is there.
   *
   * @throws RepriseError INPUT_INVALID (with the path), PAYLOAD_TOO_LARGE, ID_INVALID, RUN_CONFLICT, SAGA_UNKNOWN,
   * STORE_UNAVAILABLE.
   */
  start<S extends Saga>(saga: S, input: SagaInput<S>, options?: StartOptions): Promise<RunOf<S>>;
  /** Starts a run of the newest version of a saga given by name, with an input nobody has checked yet. */
  startByName(saga: string, input: unknown, options?: StartOptions): Promise<RunHandle>;
  /** Starts many runs at once, and says of each whether it was created, existed, or conflicts. */
  startMany<S extends Saga>(saga: S, starts: readonly ManyStart<SagaInput<S>>[]): Promise<readonly Started[]>;
  /**
   * Starts a run if there is none of this id, and signals it. Idempotent by the run's id and `signalId`: the whole may be sent again.
   *
   * @throws RepriseError what `start` and `run.signal` throw: EVENT_UNKNOWN, EVENT_INVALID, INPUT_INVALID before anything is
   * written, RUN_CONFLICT, RUN_ENDED where the run has ended.
   */
  signalWithStart<S extends Saga, Name extends keyof EventPayloads<SagaEvents<S>> & string>(
    saga: S,
    input: SagaInput<S>,
    options: SignalWithStartOptions<S, Name>,
  ): Promise<Signalled & { readonly run: RunOf<S> }>;
  /** Runs that are started by the clock. */
  readonly schedules: Schedules;
  /** The handle of a run, whether it exists or not; with `saga` it is typed. */
  run<S extends Saga = Saga>(id: string, options?: { readonly tenant?: string; readonly saga?: S }): RunOf<S>;
  /**
   * Runs by time of creation, newest first, in pages. Where `attributes` are named, 1,000 runs are looked at for one page: it may be
   * short, and goes on at its cursor.
   *
   * @throws RepriseError CURSOR_INVALID, INPUT_INVALID, ID_INVALID.
   */
  list(query?: RunsQuery): Promise<ListPage>;
  /** Runs that are parked for a person. */
  reviews(query?: PageQuery): Promise<{ readonly runs: readonly ParkedRun[]; readonly cursor: string | null }>;
  /** Everything that needs a person, of all tenants unless one is named: parked runs, runs that ask people, and runs that no living worker serves. */
  inbox(query?: InboxQuery): Promise<InboxPage>;
  /**
   * What runs ask people, of all tenants unless one is named: with the question, the exact arguments, and what happens when nobody
   * decides. Decide with `run(id).decide`. Throws CURSOR_INVALID, INPUT_INVALID.
   */
  approvals(query?: ApprovalsQuery): Promise<ApprovalsPage>;
  /** What a link to decide by (`run.decisionToken`) is good for; nothing is changed. Throws TOKEN_GONE. */
  readDecisionToken(token: string): Promise<TokenView>;
  /**
   * Decides by a link, as the person it was made for. The same answer again changes nothing.
   *
   * @throws RepriseError TOKEN_GONE, TOKEN_USED (it takes one answer), and what `run.decide` throws.
   */
  decideByToken(token: string, word: DecisionWord): Promise<Decided>;
  /**
   * Executes a plan that `run.plan` made: once, and only while the run lies there as it did.
   *
   * @throws RepriseError PLAN_GONE, PLAN_TAKEN (naming who), PLAN_REFUSED (it is not safe and `override` does not say why it
   * is meant; or the run was replayed too often), STALE_REVISION, REVIEW_TAKEN, INPUT_INVALID.
   */
  executePlan(planId: string, options: ExecuteOptions): Promise<Replayed>;
  /**
   * Selects runs and makes a plan for each, for `executeBatch`; no run is changed.
   *
   * @throws RepriseError INPUT_INVALID, ID_INVALID.
   */
  replayMany(options: BatchOptions): Promise<Batch>;
  /**
   * Executes a batch: the canaries first, then the rest at the rate that is wished. Runs that have moved since, and plans that
   * are not safe, are left out and said to be. Called again it goes on where it stopped, and does no item twice. Suspended
   * meanwhile it stops before the next item, and says so in `stopped`.
   *
   * @throws RepriseError PLAN_GONE, BATCH_SUSPENDED (naming who, when and why), INPUT_INVALID, STORE_UNAVAILABLE.
   */
  executeBatch(batchId: string, options: ExecuteBatchOptions): Promise<BatchReport>;
  /**
   * Stops a batch, whichever process executes it, until `resumeBatch`. Once this has answered no item is begun any more; the one that
   * each of those processes had under way is finished and noted, and the runs that go on already are left alone. Of two who
   * suspend it the first counts: the answer says how it stands, and how it stood before.
   *
   * @throws RepriseError PLAN_GONE, INPUT_INVALID, STORE_UNAVAILABLE.
   */
  suspendBatch(batchId: string, options: PauseOptions): Promise<BatchSuspension>;
  /**
   * Lets a suspended batch be executed again; nothing is executed by it. One that is not suspended stays as it is (`was` is `null`).
   *
   * @throws RepriseError PLAN_GONE, INPUT_INVALID, STORE_UNAVAILABLE.
   */
  resumeBatch(batchId: string, options: PauseOptions): Promise<BatchSuspension>;
  /** Batches that have not expired, the last to expire first; 50 unless `limit` is given. Throws INPUT_INVALID. */
  batches(query?: { readonly limit?: number }): Promise<readonly BatchSummary[]>;
  /** A batch and what came of its items so far. Throws PLAN_GONE. */
  batch(batchId: string): Promise<BatchReport>;
  /**
   * Asks a run to move to another version of its saga, or (`dryRun`) says what would become of it. The worker that has the
   * version moves it, between two calls; a run that does not fit then goes on as it was, and its log says why.
   *
   * @throws RepriseError MIGRATION_REFUSED (it does not fit, or no living worker has the version; nothing is asked),
   * RUN_NOT_FOUND, RUN_ENDED, SAGA_UNKNOWN, INPUT_INVALID.
   */
  migrate(
    run: string | { readonly id: string; readonly tenant?: string },
    options: MigrateOptions,
  ): Promise<RunMigration>;
  /**
   * The same for the open runs of one version, in pages; a run that does not fit is told in the report.
   *
   * @throws RepriseError MIGRATION_REFUSED (no living worker has the version), SAGA_UNKNOWN, INPUT_INVALID, CURSOR_INVALID.
   */
  migrateAll(options: MigrateAllOptions): Promise<MigrateReport>;
  /**
   * Nobody drives runs of this saga (all versions) any more: within seconds nothing is granted, calls that are out end and are
   * recorded, new starts and whatever is sent to a run wait. Answers who paused it first.
   *
   * @throws RepriseError SAGA_UNKNOWN, INPUT_INVALID.
   */
  pauseSaga(saga: string, options: PauseOptions): Promise<PausedSaga>;
  /** Its runs go on within seconds; one that is not paused stays as it is. Throws INPUT_INVALID. */
  resumeSaga(saga: string, options: PauseOptions): Promise<void>;
  /** Workers of a named queue begin no call of it any more (BullMQ's own pause of `step-<name>`). Throws INPUT_INVALID. */
  pauseQueue(queue: string, options: PauseOptions): Promise<void>;
  /** Throws INPUT_INVALID. */
  resumeQueue(queue: string, options: PauseOptions): Promise<void>;
  /** What is paused: sagas, and named queues. */
  paused(): Promise<Paused>;
  /** The workers of this namespace and how each is, who supervises them, and what none of them can drive. */
  workers(): Promise<Workers>;
  /** The namespace at one glance, with the runs of a tenant (`default` unless given) counted by status and saga. Throws ID_INVALID. */
  overview(tenant?: string): Promise<Overview>;
  /**
   * Asks a worker (by its id) to take no new runs, let its calls end, give back what it has, and stop. It hears it within five
   * seconds; its process then ends, if it was started by `reprise worker`. Answers who asked first.
   *
   * @throws RepriseError WORKER_NOT_FOUND, INPUT_INVALID.
   */
  drain(worker: string, options: PauseOptions): Promise<DrainRequest>;
  /**
   * Deletes now what workers delete by and by: runs that have ended and whose `retention` is over. `dryRun` only counts.
   *
   * @throws RepriseError STORE_UNAVAILABLE.
   */
  gc(options?: GcOptions): Promise<GcReport>;
  /**
   * How the runs of a saga that were started in a window have done, by its objectives (`slo`); without any it tells what was
   * prevented and what went on where it was. Reads at most `limit` runs, and says whether that were all.
   *
   * @throws RepriseError SAGA_UNKNOWN, INPUT_INVALID, ID_INVALID, STORE_UNAVAILABLE.
   */
  slo(query: SloQuery): Promise<SloReport>;
  /** What webhooks are to be told of runs. */
  readonly notifications: Notifications;
  /**
   * Who did what, newest first: signals in somebody's name, cancels, decisions, verbs, replays, batches suspended and resumed, pauses, changes of
   * schedules, drains, deletions. Of each shard the newest 10,000 are kept, also when their runs are gone.
   *
   * @throws RepriseError CURSOR_INVALID, INPUT_INVALID, ID_INVALID, STORE_UNAVAILABLE.
   */
  audit(query?: AuditQuery): Promise<AuditPage>;
  /** Keeps in the audit what somebody has done that nothing else keeps, such as looking at secrets. Throws STORE_UNAVAILABLE. */
  note(act: Act): Promise<void>;
  /** Versions of sagas that have open runs or a living worker, whether this client was given them or not. Throws STORE_UNAVAILABLE. */
  served(): Promise<readonly ServedVersion[]>;
  /** What is registered of a version of a saga; `null`: nothing is. Throws STORE_UNAVAILABLE. */
  registered(saga: string, version: number): Promise<RegisteredSaga | null>;
  close(): Promise<void>;
}

export function connectedClient(ports: ClientPorts, options: ClientOptions): Client {
  const connection = new Connection(ports, options);

  async function start(saga: Saga, wanted: Wanted): Promise<ConnectedRun<unknown, unknown>> {
    connection.sagaOf(saga.name, saga.version);
    const started = await startOne(connection, saga, wanted);
    return new ConnectedRun(connection, { tenant: started.tenant, id: started.id }, saga);
  }

  async function list(query: RunsQuery = {}): Promise<ListPage> {
    const checked = checkedQuery(query);
    const store = await connection.store();
    return query.attributes === undefined ? await store.list(checked) : await pageOf(store, checked);
  }

  return {
    // The types of a saga's result and events are the saga's; at run time there is only JSON.
    start: async <S extends Saga>(saga: S, input: SagaInput<S>, given: StartOptions = {}) =>
      (await start(saga, { ...given, input })) as RunOf<S>,
    startByName: (name, input, given = {}) => start(connection.newest(name), { ...given, input }),
    startMany: async (saga, starts) => {
      connection.sagaOf(saga.name, saga.version);
      return await startAll(connection, saga, starts);
    },
    signalWithStart: async <S extends Saga, Name extends keyof EventPayloads<SagaEvents<S>> & string>(
      saga: S,
      input: SagaInput<S>,
      given: SignalWithStartOptions<S, Name>,
    ) => {
      const { run, ...came } = await signalWithStart(connection, saga, input, given);
      return { ...came, run: run as RunOf<S> };
    },
    schedules: schedulesOf(connection),
    run: <S extends Saga = Saga>(id: string, given: { readonly tenant?: string; readonly saga?: S } = {}) =>
      new ConnectedRun(connection, { tenant: given.tenant ?? defaultTenant, id }, given.saga ?? null) as RunOf<S>,
    list,
    reviews: async (query = {}) => {
      const { runs, cursor } = await list({ ...query, status: "needs_review" });
      return { runs: runs.flatMap(parkedOf), cursor };
    },
    inbox: async (query = {}) => {
      const limit = checkedLimit(query.limit);
      if (query.tenant !== undefined) checkedId(query.tenant, "the tenant");
      return await inboxPage(connection, { ...query, limit });
    },
    approvals: async (query = {}) => {
      const limit = checkedLimit(query.limit);
      if (query.tenant !== undefined) checkedId(query.tenant, "the tenant");
      return await approvalsPage(connection, { ...query, limit });
    },
    readDecisionToken: (token) => readToken(connection, token),
    decideByToken: (token, word) => decideByToken(connection, token, word),
    executePlan: (id, given) => executePlan(connection, id, given),
    replayMany: (given) => replayMany(connection, given),
    executeBatch: (id, given) => executeBatch(connection, id, given),
    suspendBatch: (id, given) => suspendBatch(connection, id, given),
    resumeBatch: (id, given) => resumeBatch(connection, id, given),
    batches: ({ limit } = {}) => listBatches(connection, checkedLimit(limit)),
    batch: (id) => readBatch(connection, id),
    migrate: (run, given) => migrate(connection, refOf(run), given),
    migrateAll: (given) => migrateAll(connection, given),
    pauseSaga: (saga, given) => pauseSaga(connection, saga, given),
    resumeSaga: (saga, given) => resumeSaga(connection, saga, given),
    pauseQueue: (queue, given) => pauseQueue(connection, queue, given),
    resumeQueue: (queue, given) => resumeQueue(connection, queue, given),
    paused: () => pausedNow(connection),
    overview: (tenant = defaultTenant) => overviewOf(connection, checkedId(tenant, "the tenant")),
    workers: () => workersNow(connection),
    drain: (worker, given) => drainWorker(connection, worker, given),
    gc: (given = {}) => gc(connection, given),
    notifications: {
      owed: ({ hook, limit } = {}) => owedNotifications(connection, { hook, limit: checkedLimit(limit) }),
      read: (hook, { signal = new AbortController().signal } = {}) => readNotifications(connection, hook, signal),
    },
    audit: (query = {}) => audit(connection, { ...query, limit: checkedLimit(query.limit) }),
    note: async (act) => (await connection.store()).note(act),
    slo: (query) => sloOfSaga(connection, query),
    served: () => servedVersions(connection),
    registered: async (saga, version) => (await connection.store()).registered(saga, version),
    close: () => connection.close(),
  };
}

function parkedOf({ tenant, id, saga, version, review }: RunSummary): readonly ParkedRun[] {
  return review === null ? [] : [{ tenant, id, saga, version, ...review }];
}

/** One page of the runs that a filter takes, out of as many pages of the store as it needs. Never reads past what it shows. */
async function pageOf(store: Pick<Store, "list">, query: ListQuery): Promise<ListPage> {
  const runs: RunSummary[] = [];
  const unreadable: UnreadableRun[] = [];
  let next = query;
  for (let looked = 0; ; ) {
    const limit = Math.min(query.limit - runs.length, maxPage - looked);
    const page = await store.list({ ...next, limit });
    runs.push(...page.runs);
    unreadable.push(...page.unreadable);
    looked += limit;
    const { cursor } = page;
    if (cursor === null || runs.length >= query.limit || looked >= maxPage) return { runs, unreadable, cursor };
    next = { ...query, cursor };
  }
}

function checkedQuery(query: RunsQuery): ListQuery {
  const { tenant = defaultTenant } = query;
  return { ...query, tenant: checkedId(tenant, "the tenant"), limit: checkedLimit(query.limit) };
}

function checkedLimit(limit = defaultPage): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxPage) return limit;
  throw new RepriseError("INPUT_INVALID", `limit is a whole number from 1 to ${maxPage}`, { details: { limit } });
}
