/**
 * The memory store: the same port over plain values and a virtual clock, for the simulator and for tests. Each
 * operation is atomic because it runs to its end before anything else does. Held to the Redis store's answers by
 * `test/contract`. Values are kept as they are given, never copied.
 */

import {
  type AcquireCommand,
  type Act,
  type ActsQuery,
  type AskTurnCommand,
  type ClaimIntentCommand,
  type Clock,
  type CommitCommand,
  type CreateCommand,
  type DrainCommand,
  type GiveTurnCommand,
  type Heartbeat,
  type LeaseRef,
  type ListPage,
  type ListQuery,
  type MoveListener,
  type OwedRun,
  type OwnerRef,
  openListing,
  type PausedSaga,
  type PermitCommand,
  type PublishIntentCommand,
  type PutOffCommand,
  type PutPlanCommand,
  type PutScheduleCommand,
  type RegisteredSaga,
  type RunRecord,
  type RunRef,
  type SendCommand,
  type Serving,
  type SetSuspensionCommand,
  type SharedPage,
  type SharedQuery,
  type Store,
  structureName,
  type TakeNoticesCommand,
  type TakePlanCommand,
  type Timed,
  type TurnRef,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Json } from "../saga/index.ts";
import {
  answers,
  byPlace,
  decodeCursor,
  encodeCursor,
  listingsFor,
  type Place,
  pageLimit,
  summaryOf,
} from "./cursor.ts";
import { assertPlace, listingKey, memberOf, planPlace, shardOfMember } from "./keys.ts";
import { queueRoomOf } from "./limits.ts";
import { actsOf, remember } from "./memory/acts.ts";
import type { Cell } from "./memory/cell.ts";
import { KeptHeartbeats } from "./memory/heartbeats.ts";
import { permit, renewPermit, send } from "./memory/inbox.ts";
import { claimIntent, publishIntent } from "./memory/intents.ts";
import { load } from "./memory/load.ts";
import { acquire, commit, create, release, renew, setAside } from "./memory/moves.ts";
import { owedIn, owedRunsIn, putOffNotice, strikeNotice, takeNotices } from "./memory/notices.ts";
import { endLeases, expire } from "./memory/owners.ts";
import { getPlan, getSuspension, listBatches, noteResult, putPlan, setSuspension, takePlan } from "./memory/plans.ts";
import { countExpiring, purge } from "./memory/purge.ts";
import { type KeptSchedules, listSchedules, putSchedule } from "./memory/schedules.ts";
import { newShard, type Shard, timeOf } from "./memory/shard.ts";
import { listShared, serving } from "./memory/shared.ts";
import { shelve, unshelve } from "./memory/shelf.ts";
import { sweep } from "./memory/sweep.ts";
import { askTurn, giveTurn, type Lines } from "./memory/turns.ts";
import { longestOwedFirst, sumOwed } from "./owed.ts";

export interface MemoryStoreOptions {
  /** Where time comes from; the process's monotonic clock unless given. */
  readonly clock?: Pick<Clock, "monotonicMs">;
  /** Store time at which the clock reads 0; 2026-01-01 unless given. */
  readonly epochMs?: number;
  readonly namespace?: string;
  /** 1 unless given. */
  readonly shards?: number;
  /** Wake-up queues per pool; a shard's lane is its number modulo this. 1 unless given. */
  readonly lanes?: number;
  /** Is the connection behind this pulse still there? Every pulse lives unless given. */
  readonly isAlive?: (pulse: string) => boolean;
  /** What `durability` answers; `always` unless given. */
  readonly durability?: "always" | "barrier" | "forgetful";
}

/** A store in this process's memory; it forgets everything when it is dropped, not when it is closed. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly shards: number;
  readonly #options: MemoryStoreOptions;
  readonly #shards: readonly Shard[];
  readonly #sagas = new Map<string, RegisteredSaga>();
  readonly #schedules: KeptSchedules = new Map();
  readonly #heartbeats = new KeptHeartbeats();
  readonly #paused = new Map<string, PausedSaga>();
  readonly #serves = new Map<string, readonly string[]>();
  readonly #listeners = new Set<MoveListener>();

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
    this.shards = options.shards ?? 1;
    const lanes = options.lanes ?? 1;
    assertPlace(options.namespace ?? "memory", this.shards, lanes);
    const room = queueRoomOf(this.shards);
    this.#shards = Array.from({ length: this.shards }, (_, shard) => newShard(shard % lanes, room));
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#listeners.clear();
    return Promise.resolve();
  }

  shardOf(run: RunRef): number {
    return shardOfMember(memberOf(run), this.shards);
  }

  async now(): Promise<number> {
    return Math.max(...this.#shards.map((shard) => this.#time(shard)));
  }

  async create(command: CreateCommand) {
    return this.#in(this.shardOf(command.record), (shard, now) => create(shard, command, now));
  }

  createMany(commands: readonly CreateCommand[]) {
    return Promise.all(commands.map((command) => this.create(command)));
  }

  async acquire(command: AcquireCommand) {
    return this.#in(this.shardOf(command.run), (shard, now) => acquire(shard, command, now));
  }

  async commit(command: CommitCommand) {
    const answer = this.#in(this.shardOf(command.commit.run), (shard, now) => commit(shard, command, now));
    if (answer.answer === "OK") this.#tell(command.commit.record);
    return answer;
  }

  async renew(leases: readonly LeaseRef[], leaseMs: number) {
    let highest = await this.now();
    const answers = leases.map((lease) => {
      const shard = this.#shard(this.shardOf(lease.run));
      highest = Math.max(highest, this.#time(shard));
      return renew(shard, lease, leaseMs, this.#time(shard));
    });
    return { answers, now: highest };
  }

  async setAside(lease: LeaseRef, due: number, why: string) {
    return this.#in(this.shardOf(lease.run), (shard, now) => setAside(shard, lease, { due, why }, now));
  }

  async release(lease: LeaseRef, seen: number, due: number | null) {
    return this.#in(this.shardOf(lease.run), (shard, now) => release(shard, lease, seen, due, now));
  }

  async shelve(lease: LeaseRef, saga: string) {
    return this.#in(this.shardOf(lease.run), (shard, now) => shelve(shard, lease, saga, now));
  }

  async unshelve(shard: number, paused: readonly string[], limit: number) {
    return this.#in(shard, (of, now) => unshelve(of, paused, limit, now));
  }

  async pauseSaga(paused: Omit<PausedSaga, "at">): Promise<PausedSaga> {
    const counts = this.#paused.get(paused.saga) ?? { ...paused, at: await this.now() };
    this.#paused.set(paused.saga, counts);
    return counts;
  }

  async resumeSaga(saga: string): Promise<PausedSaga | null> {
    const paused = this.#paused.get(saga) ?? null;
    this.#paused.delete(saga);
    return paused;
  }

  async pausedSagas(): Promise<readonly PausedSaga[]> {
    return [...this.#paused.values()];
  }

  async send(command: SendCommand) {
    return this.#in(this.shardOf(command.run), (shard, now) => send(shard, command, now));
  }

  async due(shard: number, limit: number) {
    return this.#in(shard, (of, now) => sweep(of, limit, now));
  }

  async permit(command: PermitCommand) {
    return this.#in(this.shardOf(command.run), (shard, now) => permit(shard, command, now));
  }

  async renewPermit(command: PermitCommand) {
    return this.#in(this.shardOf(command.run), (shard, now) => ({ answer: renewPermit(shard, command, now) }));
  }

  async claimIntent(command: ClaimIntentCommand) {
    const { tenant, hash } = command.intent;
    const member = memberOf({ tenant, id: hash });
    return this.#in(shardOfMember(member, this.shards), ({ intents }, now) =>
      claimIntent(intents, member, command, now),
    );
  }

  async publishIntent(command: PublishIntentCommand) {
    const { tenant, hash } = command.intent;
    const member = memberOf({ tenant, id: hash });
    return this.#in(shardOfMember(member, this.shards), ({ intents }, now) =>
      publishIntent(intents, member, command, now),
    );
  }

  async askTurn(command: AskTurnCommand) {
    return this.#inLine(command.turn, (lines, member, now) => askTurn(lines, member, command, now));
  }

  async giveTurn(command: GiveTurnCommand) {
    return this.#inLine(command.turn, (lines, member, now) => giveTurn(lines, member, command, now));
  }

  async putSchedule(command: PutScheduleCommand) {
    return this.#in(0, ({ acts }, now) => {
      const answer = putSchedule(this.#schedules, command);
      if (answer.answer === "OK") remember(acts, command.act, now);
      return answer;
    });
  }

  async getSchedule(id: string) {
    const schedule = structuredClone(this.#schedules.get(id) ?? null);
    return this.#in(0, () => ({ schedule }));
  }

  async listSchedules() {
    return this.#in(0, () => ({ schedules: listSchedules(this.#schedules) }));
  }

  async beat(heartbeat: Heartbeat) {
    return this.#in(0, (_, now) => this.#heartbeats.beat(heartbeat, now));
  }

  async heartbeats() {
    return this.#in(0, (_, now) => this.#heartbeats.all(now));
  }

  async askToDrain(command: DrainCommand) {
    return this.#in(0, ({ acts }, now) => {
      const { isFirst, ...answer } = this.#heartbeats.askToDrain(command, now);
      const { worker, by, reason } = command;
      if (isFirst) remember(acts, { act: "drain", by, reason, run: null, about: `worker ${worker}` }, now);
      return answer;
    });
  }

  async note(act: Act): Promise<void> {
    this.#in(0, ({ acts }, now) => {
      remember(acts, act, now);
      return {};
    });
  }

  async acts(query: ActsQuery) {
    return actsOf(this.#shards, query);
  }

  async putPlan(command: PutPlanCommand) {
    return this.#inPlan(command.id, ({ plans }, member, now) => putPlan(plans, member, command, now));
  }

  async getPlan(id: string) {
    return this.#inPlan(id, ({ plans }, member, now) => getPlan(plans, member, now));
  }

  async listBatches(limit: number) {
    return this.#in(0, (_, now) => ({ batches: listBatches(this.#shards, limit, now) }));
  }

  async takePlan(command: TakePlanCommand) {
    return this.#inPlan(command.id, ({ plans, acts }, member, now) => {
      const answer = takePlan(plans, member, command, now);
      if (answer.answer === "OK") remember(acts, command.act, now);
      return answer;
    });
  }

  async noteResult(id: string, item: number, result: Json) {
    return this.#inPlan(id, ({ plans }, member, now) => noteResult(plans, member, { item, result }, now));
  }

  async setSuspension(command: SetSuspensionCommand) {
    return this.#inPlan(command.id, ({ plans, acts }, member, now) => {
      const answer = setSuspension(plans, member, command, now);
      if (answer.answer === "OK" && answer.suspended !== answer.was) remember(acts, command.act, now);
      return answer;
    });
  }

  async getSuspension(id: string) {
    return this.#inPlan(id, ({ plans }, member, now) => getSuspension(plans, member, now));
  }

  async takeNotices(command: TakeNoticesCommand) {
    const shard = this.#shard(command.shard);
    return takeNotices(shard.notices, command, this.#time(shard));
  }

  async strikeNotice(shard: number, hook: string, first: Pick<OwedRun, "run" | "text">) {
    return strikeNotice(this.#shard(shard).notices, hook, first);
  }

  async putOffNotice(command: PutOffCommand): Promise<void> {
    const shard = this.#shard(command.shard);
    putOffNotice(shard.notices, command, this.#time(shard));
  }

  async owedRuns(hook: string, limit: number) {
    return longestOwedFirst(this.#shards.flatMap(({ notices }) => owedRunsIn(notices, hook, limit))).slice(0, limit);
  }

  async noticesOwed() {
    return { hooks: sumOwed(this.#shards.flatMap(({ notices }) => owedIn(notices))), now: await this.now() };
  }

  async purge(shard: number, limit: number, idsKeptMs: number | null) {
    const isThere = (run: RunRef): boolean => this.#cell(run) !== undefined;
    return this.#in(shard, (of, now) => purge(of, { limit, idsKeptMs, isThere, now }));
  }

  async expiring() {
    const counts = this.#shards.map((shard) => countExpiring(shard, this.#time(shard)));
    return counts.reduce((sum, { due, later }) => ({ due: sum.due + due, later: sum.later + later }));
  }

  async hello({ owner, ...registration }: OwnerRef, serves: readonly string[]): Promise<void> {
    this.#serves.set(owner, serves);
    for (const shard of this.#shards) shard.owners.set(owner, registration);
  }

  async owners(): Promise<readonly OwnerRef[]> {
    const all = new Map(this.#shards.flatMap((shard) => [...shard.owners]));
    return [...all].map(([owner, registration]) => ({ owner, ...registration }));
  }

  /** It is never another one. */
  async world() {
    return "memory";
  }

  async suspect(owner: string, run: RunRef | null): Promise<void> {
    for (const shard of this.#shards) {
      if (run === null) shard.suspects.delete(owner);
      else shard.suspects.set(owner, memberOf(run));
    }
  }

  async goodbye(owner: string): Promise<void> {
    this.#heartbeats.forget(owner);
    for (const shard of this.#shards) while (endLeases(shard, owner, "left", this.#time(shard)).more);
  }

  async lostOwners(): Promise<readonly OwnerRef[]> {
    const { isAlive } = this.#options;
    if (isAlive === undefined) return [];
    return (await this.owners()).filter(({ pulse }) => pulse !== null && !isAlive(pulse));
  }

  async living(owners: readonly string[]): Promise<readonly string[]> {
    const registered = this.#options.isAlive === undefined ? [] : await this.owners();
    return registered.flatMap(({ owner, pulse }) => (pulse !== null && owners.includes(owner) ? [owner] : []));
  }

  async expire(owner: OwnerRef): Promise<{ expired: number; more: boolean }> {
    const answers = this.#shards.map((shard) => expire(shard, owner, this.#time(shard)));
    return {
      expired: answers.reduce((sum, answer) => sum + answer.expired, 0),
      more: answers.some((answer) => answer.more),
    };
  }

  barrier(): Promise<boolean> {
    return Promise.resolve(this.#options.durability !== "forgetful");
  }

  async durability() {
    return this.#options.durability ?? "always";
  }

  async read(run: RunRef) {
    return this.#cell(run)?.run.record ?? null;
  }

  async ledger(run: RunRef) {
    return this.#cell(run)?.run.rows ?? [];
  }

  async log(run: RunRef, from = 1, to = Number.POSITIVE_INFINITY) {
    return this.#cell(run)?.log.filter(({ revision }) => revision >= from && revision <= to) ?? [];
  }

  async inbox(run: RunRef) {
    return this.#cell(run)?.run.inbox ?? [];
  }

  async list(query: ListQuery): Promise<ListPage> {
    const tenant = query.tenant ?? "default";
    const after = query.cursor === undefined ? null : decodeCursor(query.cursor);
    const keys = listingsFor(query).map((listing) => listingKey(tenant, listing));
    const places = this.#shards
      .flatMap((shard) => keys.flatMap((key) => [...(shard.listings.get(key) ?? [])]))
      .map(([id, createdAt]): Place => ({ id, createdAt }))
      .filter((place) => after === null || byPlace(after, place) < 0)
      .sort(byPlace);
    const page = places.slice(0, pageLimit(query));
    const records = page.flatMap(({ id }) => this.#cell({ tenant, id })?.run.record ?? []);
    const last = page.at(-1);
    return {
      runs: records.filter((record) => answers(record, query)).map(summaryOf),
      unreadable: [],
      cursor: last === undefined || places.length === page.length ? null : encodeCursor(last),
    };
  }

  async listShared(query: SharedQuery): Promise<SharedPage> {
    return listShared(this.#shards, query, (shard) => this.#time(shard));
  }

  async count(tenant: string, listings: readonly string[]): Promise<readonly number[]> {
    const keys = listings.map((listing) => listingKey(tenant, listing));
    return keys.map((key) => this.#shards.reduce((sum, shard) => sum + (shard.listings.get(key)?.size ?? 0), 0));
  }

  async serving(): Promise<Serving> {
    return serving(this.#shards, this.#serves);
  }

  async load() {
    const now = await this.now();
    return { ...load(this.#shards, now), now };
  }

  async registered(saga: string, version: number): Promise<RegisteredSaga | null> {
    return this.#sagas.get(`${saga}@${version}`) ?? null;
  }

  async register(saga: RegisteredSaga) {
    const key = `${saga.saga}@${saga.version}`;
    const before = this.#sagas.get(key);
    const openRuns = before === undefined ? 0 : this.#openRuns(before);
    if (before !== undefined && before.hash !== saga.hash && openRuns > 0) {
      return { answer: "CHANGED", registered: before, openRuns } as const;
    }
    this.#sagas.set(key, saga);
    const isSame = before === undefined || (before.hash === saga.hash && before.schemas === saga.schemas);
    return isSame ? ({ answer: "OK" } as const) : ({ answer: "OK", replaced: before } as const);
  }

  /** There is no connection. */
  onReconnect(): () => void {
    return () => undefined;
  }

  async watch(listener: MoveListener): Promise<() => Promise<void>> {
    const told: MoveListener = (...moved) => listener(...moved);
    this.#listeners.add(told);
    return async () => {
      this.#listeners.delete(told);
    };
  }

  #openRuns(registered: RegisteredSaga): number {
    const key = openListing(structureName(registered));
    return this.#shards.reduce((sum, shard) => sum + (shard.listings.get(key)?.size ?? 0), 0);
  }

  #tell({ tenant, id, revision, status }: RunRecord): void {
    if (this.#listeners.size === 0) return;
    queueMicrotask(() => {
      for (const listener of this.#listeners) listener({ tenant, id }, revision, status);
    });
  }

  #inPlan<Answer extends object>(id: string, move: (shard: Shard, member: string, now: number) => Answer) {
    const member = memberOf(planPlace(id));
    return this.#in(shardOfMember(member, this.shards), (shard, now) => move(shard, member, now));
  }

  #inLine<Answer extends object>(
    { tenant, hash }: TurnRef,
    move: (lines: Lines, member: string, now: number) => Answer,
  ): Timed<Answer> {
    const member = memberOf({ tenant, id: hash });
    return this.#in(shardOfMember(member, this.shards), ({ lines }, now) => move(lines, member, now));
  }

  #in<Answer extends object>(shard: number, move: (shard: Shard, now: number) => Answer): Timed<Answer> {
    const of = this.#shard(shard);
    const now = this.#time(of);
    return { ...move(of, now), now };
  }

  #shard(shard: number): Shard {
    const of = this.#shards[shard];
    if (of === undefined) throw new RepriseError("CONFIG_INVALID", `there is no shard ${shard} of ${this.shards}`);
    return of;
  }

  #time(shard: Shard): number {
    const { clock, epochMs = 1_767_225_600_000 } = this.#options;
    return timeOf(shard, epochMs + (clock ?? performanceClock).monotonicMs());
  }

  #cell(run: RunRef): Cell | undefined {
    const member = memberOf(run);
    return this.#shard(shardOfMember(member, this.shards)).cells.get(member);
  }
}

const performanceClock: Pick<Clock, "monotonicMs"> = { monotonicMs: () => performance.now() };
