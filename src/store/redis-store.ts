/**
 * The Redis store: the port over Lua scripts, one per atomic change, one hash slot each (design section 4). Owns opening,
 * closing and who answers what; `redis/` says what is sent, `lua/` what happens there.
 *
 * 1. A change of a run is one script. It refuses before its first write, and the same command again changes nothing.
 * 2. The store sends nothing twice: what fails rejects with STORE_UNAVAILABLE, and whoever asked sends it again.
 * 3. All keys of a run carry the hash tag of its shard.
 */

import {
  type AcquireCommand,
  type Act,
  type ActsQuery,
  type AskTurnCommand,
  type ClaimIntentCommand,
  type CommitCommand,
  type CreateCommand,
  type DrainCommand,
  type GiveTurnCommand,
  type Heartbeat,
  type LeaseRef,
  type ListQuery,
  type MoveListener,
  type OwedRun,
  type OwnerRef,
  type PausedSaga,
  type PermitCommand,
  type PublishIntentCommand,
  type PutOffCommand,
  type PutPlanCommand,
  type PutScheduleCommand,
  promised,
  type RegisteredSaga,
  type RunRef,
  type SendCommand,
  type SetSuspensionCommand,
  type SharedQuery,
  type Store,
  type TakeNoticesCommand,
  type TakePlanCommand,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Json } from "../saga/index.ts";
import { assertPlace, memberOf, type SharedKeys, shardOfMember, sharedKeys } from "./keys.ts";
import { acts, note } from "./redis/acts.ts";
import { Barrier, type BarrierOption } from "./redis/barrier.ts";
import { commit } from "./redis/commit.ts";
import { onReopened, type StoreConnections, serversOf } from "./redis/connections.ts";
import { askToDrain, beat, forgetHeartbeat, heartbeats } from "./redis/heartbeats.ts";
import { due, permit, renewPermit, send } from "./redis/inbox.ts";
import { claimIntent, publishIntent } from "./redis/intents.ts";
import { load } from "./redis/load.ts";
import { acquire, create, createMany, release, renew, setAside } from "./redis/moves.ts";
import { noticesOwed, owedRuns, putOffNotice, strikeNotice, takeNotices } from "./redis/notices.ts";
import { expire, goodbye, hello, owners, Pulses, suspect, world } from "./redis/owners.ts";
import { getPlan, getSuspension, listBatches, noteResult, putPlan, setSuspension, takePlan } from "./redis/plans.ts";
import { expiring, purge } from "./redis/purge.ts";
import { countRuns, inbox, ledger, list, log, now, read, register, registered } from "./redis/reads.ts";
import { getSchedule, listSchedules, putSchedule } from "./redis/schedules.ts";
import { assertKeeps, claimShards, syncsAlways } from "./redis/settings.ts";
import { forgetServed, listShared, sayServed, serving } from "./redis/shared.ts";
import { pausedSagas, pauseSaga, resumeSaga, shelve, unshelve } from "./redis/shelf.ts";
import { askTurn, giveTurn } from "./redis/turns.ts";
import { Watch } from "./redis/watch.ts";
import { Wire } from "./redis/wire.ts";

export interface RedisStoreOptions {
  /** Made by `redisConnections`; the store closes what it opened, not the rest. */
  readonly connections: StoreConnections;
  /** Separates installations on one Redis; `reprise` unless given. */
  readonly namespace?: string;
  /** Fixed for the life of a namespace; 1 unless given. */
  readonly shards?: number;
  /** Wake-up queues per pool; a shard's lane is its number modulo this. 1 unless given. */
  readonly lanes?: number;
  /** What a barrier waits for where the server does not sync every write; nothing unless given. */
  readonly barrier?: BarrierOption | null;
  /** Stated where CONFIG is forbidden: the server syncs every write before it acknowledges it. */
  readonly syncsAlways?: boolean;
  /** `false`: ask for no pulses, owners are lost by their leases only. */
  readonly pulses?: boolean;
  /** Opening writes nothing, not even the number of shards of a new namespace. */
  readonly readOnly?: boolean;
  /** How long owners have to register again after a server has come or gone; 10,000 (one lease) unless given. */
  readonly settleMs?: number;
}

/** A store in Redis. Call `open` before anything else. */
export function redisStore(options: RedisStoreOptions): Store {
  return new RedisStore(options);
}

/** What is there while the store is open. */
interface Opened {
  readonly wire: Wire;
  readonly pulses: Pulses;
  readonly watch: Watch;
  readonly barrier: Barrier | null;
}

class RedisStore implements Store {
  readonly shards: number;
  readonly #options: RedisStoreOptions;
  readonly #namespace: string;
  readonly #keys: SharedKeys;
  readonly #mine = new Set<string>();
  readonly #reconnectListeners = new Set<() => void>();
  #opening: Promise<Opened> | null = null;
  #opened: Opened | null = null;
  #closed = false;
  #syncsAlways: boolean | null = null;

  constructor(options: RedisStoreOptions) {
    this.#options = options;
    this.#namespace = options.namespace ?? "reprise";
    this.shards = options.shards ?? 1;
    assertPlace(this.#namespace, this.shards, options.lanes ?? 1);
    this.#keys = sharedKeys(this.#namespace);
  }

  async open(): Promise<void> {
    if (this.#closed) throw closed();
    this.#opening ??= this.#connect();
    try {
      this.#opened = await this.#opening;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
    if (this.#closed) disconnect(this.#opened);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opened = await this.#opening?.catch(() => null);
    this.#opened = null;
    if (opened) disconnect(opened);
  }

  async #connect(): Promise<Opened> {
    const { connections, lanes = 1, barrier = null, settleMs = 10_000 } = this.#options;
    const client = connections.commands();
    try {
      await connections.ready(client);
      onReopened(client, () => {
        for (const listener of this.#reconnectListeners) listener();
      });
      const where = { place: connections.place, namespace: this.#namespace };
      const wire = new Wire({ client, ...where, shards: this.shards, lanes });
      await wire.ask("open", () => assertKeeps(serversOf(client), connections.place));
      await claimShards(wire, this.#namespace, this.#options.readOnly ?? false);
      await this.#askDurability(wire);
      return {
        wire,
        pulses: new Pulses(wire, settleMs),
        watch: new Watch(wire, connections),
        barrier: barrier === null ? null : new Barrier(wire, connections, barrier),
      };
    } catch (error) {
      client.disconnect();
      throw error;
    }
  }

  /** What the store works with while it is open. */
  #parts(): Opened {
    if (this.#opened === null) throw closed();
    return this.#opened;
  }

  shardOf(run: RunRef): number {
    return shardOfMember(memberOf(run), this.shards);
  }

  async now(): Promise<number> {
    const { wire } = this.#parts();
    return await now(wire);
  }

  async create(command: CreateCommand) {
    return await create(this.#parts().wire, command);
  }

  async createMany(commands: readonly CreateCommand[]) {
    return await createMany(this.#parts().wire, commands);
  }

  acquire(command: AcquireCommand) {
    return promised(() => acquire(this.#parts().wire, command));
  }

  commit(command: CommitCommand) {
    return promised(() => commit(this.#parts().wire, command));
  }

  async renew(leases: readonly LeaseRef[], leaseMs: number) {
    if (leases.length === 0) return { answers: [], now: await this.now() };
    return await renew(this.#parts().wire, leases, leaseMs);
  }

  async release(lease: LeaseRef, seen: number, wanted: number | null) {
    return await release(this.#parts().wire, lease, seen, wanted);
  }

  async setAside(lease: LeaseRef, due: number, why: string) {
    return await setAside(this.#parts().wire, lease, due, why);
  }

  async shelve(lease: LeaseRef, saga: string) {
    return await shelve(this.#parts().wire, lease, saga);
  }

  async unshelve(shard: number, paused: readonly string[], limit: number) {
    return await unshelve(this.#parts().wire, shard, paused, limit);
  }

  async pauseSaga(paused: Omit<PausedSaga, "at">) {
    return await pauseSaga(this.#parts().wire, this.#keys.paused, paused);
  }

  async resumeSaga(saga: string) {
    return await resumeSaga(this.#parts().wire, this.#keys.paused, saga);
  }

  async pausedSagas() {
    return await pausedSagas(this.#parts().wire, this.#keys.paused);
  }

  async purge(shard: number, limit: number, idsKeptMs: number | null) {
    return await purge(this.#parts().wire, shard, limit, idsKeptMs);
  }

  async expiring() {
    return await expiring(this.#parts().wire);
  }

  async send(command: SendCommand) {
    return await send(this.#parts().wire, command);
  }

  async due(shard: number, limit: number) {
    return await due(this.#parts().wire, shard, limit);
  }

  async permit(command: PermitCommand) {
    return await permit(this.#parts().wire, command);
  }

  async renewPermit(command: PermitCommand) {
    return await renewPermit(this.#parts().wire, command);
  }

  async claimIntent(command: ClaimIntentCommand) {
    return await claimIntent(this.#parts().wire, command);
  }

  async publishIntent(command: PublishIntentCommand) {
    return await publishIntent(this.#parts().wire, command);
  }

  async askTurn(command: AskTurnCommand) {
    return await askTurn(this.#parts().wire, command);
  }

  async giveTurn(command: GiveTurnCommand) {
    return await giveTurn(this.#parts().wire, command);
  }

  async putSchedule(command: PutScheduleCommand) {
    return await putSchedule(this.#parts().wire, command);
  }

  async getSchedule(id: string) {
    return await getSchedule(this.#parts().wire, id);
  }

  async listSchedules() {
    return await listSchedules(this.#parts().wire);
  }

  async beat(heartbeat: Heartbeat) {
    return await beat(this.#parts().wire, heartbeat);
  }

  async heartbeats() {
    return await heartbeats(this.#parts().wire);
  }

  async askToDrain(command: DrainCommand) {
    return await askToDrain(this.#parts().wire, command);
  }

  async putPlan(command: PutPlanCommand) {
    return await putPlan(this.#parts().wire, command);
  }

  async getPlan(id: string) {
    return await getPlan(this.#parts().wire, id);
  }

  async listBatches(limit: number) {
    return await listBatches(this.#parts().wire, limit);
  }

  async takePlan(command: TakePlanCommand) {
    return await takePlan(this.#parts().wire, command);
  }

  async noteResult(id: string, item: number, result: Json) {
    return await noteResult(this.#parts().wire, id, item, result);
  }

  async setSuspension(command: SetSuspensionCommand) {
    return await setSuspension(this.#parts().wire, command);
  }

  async getSuspension(id: string) {
    return await getSuspension(this.#parts().wire, id);
  }

  async takeNotices(command: TakeNoticesCommand) {
    return await takeNotices(this.#parts().wire, command);
  }

  async strikeNotice(shard: number, hook: string, first: Pick<OwedRun, "run" | "text">) {
    return await strikeNotice(this.#parts().wire, shard, hook, first);
  }

  async putOffNotice(command: PutOffCommand): Promise<void> {
    await putOffNotice(this.#parts().wire, command);
  }

  async owedRuns(hook: string, limit: number) {
    return await owedRuns(this.#parts().wire, hook, limit);
  }

  async noticesOwed() {
    return await noticesOwed(this.#parts().wire);
  }

  async hello(owner: OwnerRef, serves: readonly string[]): Promise<void> {
    this.#mine.add(owner.owner);
    const { wire } = this.#parts();
    await hello(wire, owner);
    await sayServed(wire, this.#keys.serves, owner.owner, serves);
  }

  async owners() {
    return await owners(this.#parts().wire);
  }

  async world() {
    return await world(this.#parts().wire);
  }

  async suspect(owner: string, run: RunRef | null): Promise<void> {
    await suspect(this.#parts().wire, owner, run);
  }

  async goodbye(owner: string): Promise<void> {
    const { wire } = this.#parts();
    await goodbye(wire, owner);
    await forgetHeartbeat(wire, owner);
    this.#mine.delete(owner);
    await forgetServed(wire, this.#keys.serves);
  }

  async lostOwners(): Promise<readonly OwnerRef[]> {
    return this.#options.pulses === false ? [] : await this.#parts().pulses.lost(this.#mine);
  }

  async living(owners: readonly string[]): Promise<readonly string[]> {
    return this.#options.pulses === false ? [] : await this.#parts().pulses.living(owners);
  }

  async expire(owner: OwnerRef) {
    const { wire } = this.#parts();
    const answer = await expire(wire, owner);
    if (!answer.more) await forgetServed(wire, this.#keys.serves);
    return answer;
  }

  async barrier(timeoutMs: number): Promise<boolean> {
    const { barrier } = this.#parts();
    if (this.#isSafeOnceAcknowledged) return true;
    return (await barrier?.reached(timeoutMs)) ?? false;
  }

  async note(act: Act) {
    await note(this.#parts().wire, act);
  }

  async acts(query: ActsQuery) {
    return await acts(this.#parts().wire, query);
  }

  /** Whoever waits for replicas does so because this server's disk may not come back: syncing it is not enough. */
  get #isSafeOnceAcknowledged(): boolean {
    const { barrier } = this.#options;
    return this.#syncsAlways === true && (barrier == null || barrier === "aof");
  }

  async durability() {
    await this.#askDurability(this.#parts().wire);
    if (this.#isSafeOnceAcknowledged) return "always";
    return this.#options.barrier == null ? "forgetful" : "barrier";
  }

  async #askDurability(wire: Wire): Promise<void> {
    const asked = await wire.ask("durability", () => syncsAlways(serversOf(wire.client)));
    this.#syncsAlways = asked ?? this.#options.syncsAlways ?? null;
  }

  async read(run: RunRef) {
    return await read(this.#parts().wire, run);
  }

  async ledger(run: RunRef) {
    return await ledger(this.#parts().wire, run);
  }

  async log(run: RunRef, from = 1, to = Number.POSITIVE_INFINITY) {
    return await log(this.#parts().wire, run, from, to);
  }

  async inbox(run: RunRef) {
    return await inbox(this.#parts().wire, run);
  }

  async list(query: ListQuery) {
    return await list(this.#parts().wire, query);
  }

  async listShared(query: SharedQuery) {
    return await listShared(this.#parts().wire, query);
  }

  async count(tenant: string, listings: readonly string[]) {
    return await countRuns(this.#parts().wire, tenant, listings);
  }

  async serving() {
    return await serving(this.#parts().wire, this.#keys.serves);
  }

  async load() {
    return await load(this.#parts().wire);
  }

  async registered(saga: string, version: number) {
    return await registered(this.#parts().wire, this.#keys.sagas, saga, version);
  }

  async register(saga: RegisteredSaga) {
    return await register(this.#parts().wire, this.#keys.sagas, saga);
  }

  onReconnect(listener: () => void): () => void {
    this.#reconnectListeners.add(listener);
    return () => void this.#reconnectListeners.delete(listener);
  }

  async watch(listener: MoveListener): Promise<() => Promise<void>> {
    return await this.#parts().watch.listen(listener);
  }
}

function disconnect({ wire, watch, barrier }: Opened): void {
  watch.close();
  barrier?.close();
  wire.client.disconnect();
}

function closed(): RepriseError {
  return new RepriseError("CLOSED", "this store is not open");
}
