/**
 * The stage of a fault test: a redis-server of its own, a world in this process that writes an append-only file and looks
 * into the store at each arrival, worker and client processes that may die, and one room (namespace) for each run.
 *
 * Invariants
 * 1. What is claimed of the outside is read from the world's file, never from a process that may have died.
 * 2. Everything started here is stopped by `close`, by its pid.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeWorld, serveFakeWorld, type WorldArrival, type WorldEntry } from "../../src/testing/index.ts";
import { bundledProgram } from "./bundles.ts";
import { withOrders } from "./fault-child.ts";
import type { Orders, Plan, SagaSet } from "./fault-plan.ts";
import { FaultClient, FaultWorker } from "./fault-processes.ts";
import { Room } from "./fault-room.ts";
import { sagaSets } from "./fault-sets.ts";
import { owned, type SpawnOptions, waitFor } from "./processes.ts";
import { type RedisServer, type RedisServerOptions, startRedisServer } from "./redis-server.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";

export interface StageOptions {
  readonly redis?: RedisServerOptions;
  /** Whether the world looks into the store at each arrival (I6). It cannot where Redis is frozen. `true` when left out. */
  readonly witness?: boolean;
  /** The sagas of its rooms. `crashes` when left out. */
  readonly sagas?: SagaSet;
}

const children = { worker: "test/fault/worker.child.ts", client: "test/fault/client.child.ts" } as const;
/** A job taken by a process that died comes back by BullMQ's stalled check: lock 5 s, checked every 2.5 s, twice. */
const drain = { timeoutMs: 30_000, everyMs: 250 } as const;

export class Stage {
  readonly redis: RedisServer;
  readonly world: FakeWorld;
  readonly sagas: SagaSet;
  /** Which process each incarnation is, as it said when it began to serve. */
  readonly pidOf = new Map<string, number>();
  readonly #worldUrl: string;
  readonly #directory: string;
  readonly #rooms: Map<string, Room>;
  readonly #owned = owned();
  readonly #leaving: Promise<Room>[] = [];
  #rescuer: Promise<FaultWorker> | null = null;
  #processes = 0;

  private constructor(
    parts: Pick<Stage, "redis" | "world" | "sagas"> & {
      readonly worldUrl: string;
      readonly directory: string;
      readonly rooms: Map<string, Room>;
    },
  ) {
    this.redis = parts.redis;
    this.world = parts.world;
    this.sagas = parts.sagas;
    this.#worldUrl = parts.worldUrl;
    this.#directory = parts.directory;
    this.#rooms = parts.rooms;
  }

  static async open({ redis: options = {}, witness = true, sagas = "crashes" }: StageOptions = {}): Promise<Stage> {
    const directory = await mkdtemp(join(tmpdir(), "reprise-stage-"));
    const [, redis] = await Promise.all([bundledProgram(children.worker), startRedisServer(options)]);
    const rooms = new Map<string, Room>();
    const looks = { witness: (arrival: WorldArrival) => roomOf(rooms, arrival).witness(arrival) };
    const world = new FakeWorld({
      file: join(directory, "world.jsonl"),
      services: sagaSets[sagas].profiles,
      ...(witness ? looks : {}),
    });
    const server = await serveFakeWorld(world);
    const stage = new Stage({ redis, world, sagas, worldUrl: server.url, directory, rooms });
    for (const part of [redis, world, server]) stage.#owned.own(part);
    return stage;
  }

  /** A namespace for one run (or some), with a client of its own. */
  async room(namespace: string, url = this.redis.url): Promise<Room> {
    const room = this.#owned.own(new Room({ namespace, url, stage: this }));
    this.#rooms.set(namespace, room);
    await room.open();
    return room;
  }

  /** Another way to its Redis, for whoever is to have trouble on it. */
  async proxy(): Promise<TcpProxy> {
    const { host, port } = this.redis;
    return this.#owned.own(await startTcpProxy({ target: { host, port } }));
  }

  /** A worker process that serves nothing yet. */
  async worker(plan: Plan | null = null, url = this.redis.url): Promise<FaultWorker> {
    const { file, options, hits } = this.#orders(children.worker, plan, url);
    return this.#owned.own(await FaultWorker.start(file, options, { hits, pidOf: this.pidOf }));
  }

  /** A client process that has asked nothing yet. */
  async client(plan: Plan | null): Promise<FaultClient> {
    const { file, options, hits } = this.#orders(children.client, plan, this.redis.url);
    return this.#owned.own(await FaultClient.start(file, options, hits));
  }

  /** The process that takes over: one for all rooms, started when it is first needed. */
  rescuer(): Promise<FaultWorker> {
    this.#rescuer ??= this.worker();
    return this.#rescuer;
  }

  /** Ends the rescue of a room as soon as no job lies in its queue: that the queue empties is checked by `drained`. */
  leaveWhenDrained(room: Room): void {
    const left = this.rescuer().then(async (rescuer) => {
      const count = () => room.queuedInAll();
      await waitFor(async () => (await count()) === 0, { ...drain, what: `the queue of ${room.namespace} to empty` });
      await rescuer.leave(room.namespace);
      return room;
    });
    this.#leaving.push(left);
    left.catch(() => undefined); // whoever asks `drained` is told
  }

  /** The rooms that were left, all of them, their queues empty. */
  async drained(): Promise<readonly Room[]> {
    return await Promise.all(this.#leaving);
  }

  /** The world's own lines, read from its file. */
  async entries(namespace: string): Promise<readonly WorldEntry[]> {
    const lines = (await readFile(join(this.#directory, "world.jsonl"), "utf8"))
      .split("\n")
      .filter((line) => line !== "");
    const entries = lines.map((line) => JSON.parse(line) as WorldEntry); // the world wrote it
    return entries.filter((entry) => entry.operationId.startsWith(`${namespace}/`));
  }

  async close(): Promise<void> {
    await this.#owned.release();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #orders(file: string, plan: Plan | null, url: string): { file: string; options: SpawnOptions; hits: string } {
    this.#processes += 1;
    const hits = join(this.#directory, `hits-${this.#processes}.jsonl`);
    const orders: Orders = { redis: url, world: this.#worldUrl, hits, plan, sagas: this.sagas };
    return { file, hits, options: withOrders(orders) };
  }
}

function roomOf(rooms: ReadonlyMap<string, Room>, { operationId }: WorldArrival): Room {
  const room = rooms.get(operationId.split("/")[0] ?? "");
  if (room === undefined) throw new Error(`no room for ${operationId}`);
  return room;
}
