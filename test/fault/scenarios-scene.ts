/**
 * The scene of a scenario with processes: a redis-server of its own, a world in this process that writes its file and
 * looks into the store at each arrival (I6), worker processes that may die or be told to go, and one who stays.
 *
 * Invariants
 * 1. What is claimed of the outside is read from the world's file, never from a process that may have died.
 * 2. Everything started here is stopped by `close`, by its pid.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeWorld, serveFakeWorld, type WorldEntry } from "../../src/testing/index.ts";
import { bundledProgram } from "../support/bundles.ts";
import { withOrders } from "../support/fault-child.ts";
import { type Child, type Exit, owned, spawnChild } from "../support/processes.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { Play } from "./scenarios-play.ts";
import { profiles } from "./scenarios-sagas.ts";
import type { Orders, Said, Serve } from "./scenarios-words.ts";

/** Runs in the stated size only where that was asked for. */
export const isFull = process.env["REPRISE_SIZE"] === "full";
const bootMs = 60_000;
const childFile = "test/fault/scenarios-worker.child.ts";

export interface SceneWorker {
  readonly child: Child;
  readonly pid: number;
  /** Resolves with the incarnation that serves the namespace from now on. */
  serve(namespace: string, how?: Partial<Omit<Serve, "serve">>): Promise<string>;
  /** The next thing of this kind that it says. */
  hears<Kind extends Said["said"]>(kind: Kind): Promise<Extract<Said, { said: Kind }>>;
  /** What it has said of this kind so far. */
  said<Kind extends Said["said"]>(kind: Kind): readonly Extract<Said, { said: Kind }>[];
  /** SIGTERM, and its end. */
  terminate(): Promise<Exit>;
  stop(): Promise<void>;
}

export class Scene {
  readonly redis: RedisServer;
  readonly world: FakeWorld;
  /** Writing this file ends the spinning of every process that blocks itself. */
  readonly spinEnds: string;
  readonly #file: string;
  readonly #worldUrl: string;
  readonly #child: string;
  readonly #plays: Map<string, Play>;
  readonly #owned = owned();
  #stayer: Promise<SceneWorker> | null = null;

  private constructor(
    parts: Pick<Scene, "redis" | "world" | "spinEnds"> & { file: string; worldUrl: string; child: string },
    plays: Map<string, Play>,
  ) {
    this.redis = parts.redis;
    this.world = parts.world;
    this.spinEnds = parts.spinEnds;
    this.#file = parts.file;
    this.#worldUrl = parts.worldUrl;
    this.#child = parts.child;
    this.#plays = plays;
  }

  static async open(): Promise<Scene> {
    const directory = await mkdtemp(join(tmpdir(), "reprise-scene-"));
    const file = join(directory, "world.jsonl");
    const [child, redis] = await Promise.all([bundledProgram(childFile), startRedisServer()]);
    const plays = new Map<string, Play>();
    const world = new FakeWorld({
      file,
      services: profiles,
      witness: (arrival) => playOf(plays, arrival).witness(arrival),
    });
    const server = await serveFakeWorld(world);
    const scene = new Scene(
      { redis, world, file, spinEnds: join(directory, "spin-ends"), worldUrl: server.url, child },
      plays,
    );
    scene.#owned.own({ close: () => rm(directory, { recursive: true, force: true }) });
    for (const part of [redis, world, server]) scene.#owned.own(part);
    return scene;
  }

  /** A namespace, with a client of its own. */
  async play(namespace: string): Promise<Play> {
    const entries = () => this.#entries(namespace);
    const play = this.#owned.own(new Play({ namespace, redis: this.redis.url, entries }));
    this.#plays.set(namespace, play);
    await play.open();
    return play;
  }

  /** A worker process that serves nothing yet. */
  async worker(): Promise<SceneWorker> {
    const orders: Orders = { redis: this.redis.url, world: this.#worldUrl, spinEnds: this.spinEnds };
    const child = await spawnChild(this.#child, withOrders(orders));
    const worker = this.#owned.own(sceneWorker(child));
    await worker.hears("ready");
    return worker;
  }

  /** The process that stays: one for all plays, started when it is first needed. */
  stayer(): Promise<SceneWorker> {
    this.#stayer ??= this.worker();
    return this.#stayer;
  }

  async close(): Promise<void> {
    await this.#owned.release();
  }

  async #entries(namespace: string): Promise<readonly WorldEntry[]> {
    const lines = (await readFile(this.#file, "utf8")).split("\n").filter((line) => line !== "");
    const entries = lines.map((line) => JSON.parse(line) as WorldEntry); // the world wrote it
    return entries.filter((entry) => entry.operationId.startsWith(`${namespace}/`));
  }
}

function sceneWorker(child: Child): SceneWorker {
  const is =
    <Kind extends Said["said"]>(kind: Kind) =>
    (message: unknown): message is Extract<Said, { said: Kind }> =>
      (message as Partial<Said>).said === kind;
  return {
    child,
    pid: child.pid,
    serve: async (namespace, { concurrency = 20, sigtermAtWake = null, isDefault = false } = {}) => {
      const request: Serve = { serve: namespace, concurrency, sigtermAtWake, isDefault };
      child.send({ ...request });
      const isServing = (message: unknown): message is Extract<Said, { said: "serving" }> =>
        is("serving")(message) && message.namespace === namespace;
      return (await child.nextMessage(isServing, bootMs)).owner;
    },
    hears: (kind) => child.nextMessage(is(kind), bootMs),
    said: (kind) => child.messages.filter(is(kind)),
    terminate: () => child.kill("SIGTERM"),
    stop: () => child.stop(),
  };
}

function playOf(plays: ReadonlyMap<string, Play>, { operationId }: { readonly operationId: string }): Play {
  const play = plays.get(operationId.split("/")[0] ?? "");
  if (play === undefined) throw new Error(`no play for ${operationId}`);
  return play;
}
