/**
 * A whole installation in memory: store, queue, world, a client, and worker processes that may die, over one clock that moves only
 * when it is told to. The engine and the core are the real ones.
 *
 * Invariants: G1 nothing here needs a network, a file or real time. G2 the same seed gives the same ids, and so the same run. G3 when
 * it is at rest, nothing goes on but what waits for people, for events, or for a timer of a machine.
 */
import { type Client, connectedClient } from "../../client/index.ts";
import {
  type Consumer,
  type ConsumerOptions,
  type Fact,
  type Ids,
  type RunRef,
  runKey,
  type StepJob,
  type Store,
  type Taken,
} from "../../core/index.ts";
import { type EngineSettings, engineWorker, type Worker } from "../../engine/index.ts";
import type { Saga } from "../../saga/index.ts";
import { memoryStore } from "../../store/index.ts";
import { FakeWorld, type FakeWorldOptions } from "../fake-world.ts";
import { type MemoryQueue, memoryQueue } from "../memory-queue.ts";
import { VirtualClock } from "../virtual-clock.ts";
import { type Fates, spared } from "./crossings.ts";
import { Mortal } from "./mortal.ts";
import { areAtRest, maxCoastMs, pauseOf, restOf, type Seen } from "./rest.ts";
import {
  type Cross,
  type Doer,
  doerNow,
  type FunctionKinds,
  type Interference,
  type Said,
  type StepScript,
  type Watch,
  watchedSagas,
  watchedServices,
} from "./watched.ts";

export const rigNamespace = "sim";
const epochMs = Date.UTC(2026, 0, 1);
/** How long what does not come to rest by itself is waited for. */
const restlessMs = 3_600_000;
const respawnMs = 300;
/** A dead worker's job is given to another one after that long. */
const stalledMs = 200;

/** As in production, but quicker to notice a death. */
export const rigSettings: EngineSettings = {
  startWithinMs: 2_000,
  abortGraceMs: 500,
  inlineWaitMs: 2_000,
  quiesceMs: 2_000,
  intentWaitMs: 60_000,
  barrierMs: 1_500,
  leaseMs: 5_000,
  renewMs: 500,
  marginMs: 1_500,
  sweepMs: 500,
  deadLetterSweepMs: 30_000,
  shutdownMs: 5_000,
  maxPayloadBytes: 256 * 1024,
  maxRunBytes: 64_000_000,
  logEntries: 2_000,
  retentionMs: null,
  retentionSweepMs: 30_000,
  idsKeptMs: null,
};

export interface RigOptions {
  readonly sagas: readonly Saga[];
  readonly world?: Omit<FakeWorldOptions, "clock" | "witness" | "file">;
  /** What steps reach the outside with, made of the world. */
  readonly services?: (world: FakeWorld) => object;
  readonly scripts?: Readonly<Record<string, StepScript>>;
  readonly seed?: number;
  /** What befalls the first worker; those that come after it are spared. */
  readonly fates?: Fates;
  readonly kinds?: FunctionKinds;
  /** Nobody will judge what happened outside by who did it: then it is quicker. */
  readonly isUnjudged?: boolean;
  /** Told of each commit how many there were. */
  readonly onCommit?: (commits: number) => void;
  /** What befalls calls of steps; nothing unless given. */
  readonly interfere?: Interference;
}

export interface RigEvent {
  /** As `Rig.now()`. */
  readonly at: number;
  readonly text: string;
}

interface Living {
  readonly worker: Worker;
  onWake: ((run: RunRef) => Promise<void>) | null;
  onStep: ((step: StepJob) => Promise<void>) | null;
  consumer: Consumer | null;
}

export class Rig {
  readonly clock = new VirtualClock();
  readonly world: FakeWorld;
  readonly store: Store;
  readonly client: Client;
  /** The sagas as they run here, in the order given, then their children. */
  readonly sagas: readonly Saga[];
  readonly probed: Said[] = [];
  /** What has happened, in order: what befell processes, what they committed. */
  readonly events: RigEvent[] = [];
  readonly #options: RigOptions;
  readonly #queue: MemoryQueue;
  readonly #ids: Ids;
  readonly #alive = new Map<Mortal, Living>();
  readonly #watch: Watch;
  #births = 0;
  #commits = 0;
  /** So long workers may leave the runs alone, since nothing is due. */
  #restUntil = 0;
  /** By run: what was in its inbox when it was given back with nothing to write, and is kept there. */
  readonly #kept = new Map<string, number>();

  constructor(options: RigOptions) {
    this.#options = options;
    const { clock } = this;
    this.#ids = seededIds(options.seed ?? 1);
    this.#watch = {
      isAttributed: options.isUnjudged !== true,
      scripts: options.scripts ?? {},
      effectsOf: (doer) => effectsOf(this.world, doer),
      onProbe: (said) => this.probed.push(said),
      asked: new Map(),
      interfere: options.interfere ?? ((_doer, go) => go()),
    };
    this.world = new FakeWorld({
      ...options.world,
      clock: { now: () => this.now(), after: (ms, run) => clock.after(ms, run) },
      witness: () => doerNow() ?? undefined,
    });
    this.#queue = memoryQueue({ clock });
    const store = memoryStore({
      clock,
      epochMs,
      namespace: rigNamespace,
      isAlive: (pulse) => [...this.#alive.keys()].some(({ name }) => name === pulse),
    });
    const release = store.release.bind(store);
    this.store = Object.assign(store, {
      release: (...given: Parameters<Store["release"]>) => this.#released(given, release(...given)),
    });
    this.sagas = watchedSagas(options.sagas);
    const { wakeUps } = this.#queue;
    const facts = { emit: () => undefined };
    const { maxPayloadBytes, maxRunBytes = 64_000_000 } = rigSettings;
    this.client = connectedClient(
      { store: this.store, wakeUps, clock, ids: this.#ids, facts },
      { namespace: rigNamespace, sagas: this.sagas, maxPayloadBytes, maxRunBytes, maxReplays: 100 },
    );
  }

  /** Redis time here, in ms since 1970. */
  now(): number {
    return epochMs + this.clock.monotonicMs();
  }

  /** Another worker process, as one more replica. */
  async spawn(fates: Fates = spared): Promise<Mortal> {
    this.#births += 1;
    const process = new Mortal({
      name: `worker-${this.#births}`,
      clock: this.clock,
      fates,
      stillMs: () => rigSettings.leaseMs * 2,
      onDeath: (dead, where) => this.#buried(dead, where),
      onStandstill: (where) => this.#stood(process, where),
      pace: (ms) => (ms > 0 ? Math.max(ms, Math.min(this.#restUntil - this.now(), maxCoastMs)) : ms),
    });
    const worker = engineWorker(this.#parts(process), {
      namespace: rigNamespace,
      sagas: this.sagas,
      pools: [...new Set(this.sagas.map(({ spec }) => spec.pool))],
      queues: [...new Set(queuesOf(this.sagas))].map((name) => ({ name, concurrency: 10 })),
      concurrency: 10,
      services: this.#servicesOf(process),
      settings: rigSettings,
      allowForgetfulStore: false,
      log: () => undefined,
    });
    this.#alive.set(process, { worker, consumer: null, onWake: null, onStep: null });
    // Whoever runs processes starts one that could not start again.
    const started = worker.start().catch((error: unknown) => process.kill(`as it could not start: ${String(error)}`));
    // One that dies meanwhile never says that it has started.
    await Promise.race([started, this.clock.advance(0)]);
    return process;
  }

  /** kill -9, now; another worker comes in its place. */
  kill(): void {
    for (const process of [...this.#alive.keys()]) process.kill("by hand");
  }

  /**
   * Moves time by `ms`, and lets everything happen that falls into it. While the runs are at rest the workers look after them less
   * often, or a day would be made of sweeps.
   */
  async advance(ms: number, runs: () => Promise<readonly Seen[]>): Promise<void> {
    const end = this.clock.monotonicMs() + ms;
    do this.#rest(restOf(await runs(), this.now()));
    while (await this.clock.step(end));
    await this.clock.advance(end - this.clock.monotonicMs());
    this.#rest(0);
  }

  /** Lets everything happen that needs neither people, nor events, nor a timer of a machine. `false`: it does not come to rest. */
  async settle(runs: () => Promise<readonly Seen[]>): Promise<boolean> {
    const limit = this.clock.monotonicMs() + restlessMs;
    try {
      for (;;) {
        await this.#drain();
        const seen = await runs();
        if (areAtRest(seen, this.now())) return true;
        this.#rest(pauseOf(seen, this.now()));
        const next = this.clock.nextAt();
        if (next === null || next > limit) return false;
        await this.clock.step(next);
      }
    } finally {
      this.#rest(0);
    }
  }

  async read(run: RunRef): Promise<Seen | null> {
    const record = await this.store.read(run);
    if (record === null) return null;
    const seen = Math.max(record.seen, this.#kept.get(runKey(run)) ?? 0);
    const unread = (await this.store.inbox(run)).filter(({ position }) => position > seen).length;
    return { record, rows: await this.store.ledger(run), unread };
  }

  async close(): Promise<void> {
    await this.client.close();
    for (const process of [...this.#alive.keys()]) this.#forget(process);
    this.world.close();
  }

  /** An event that no state takes yet has been looked at, although nothing was written about it. */
  async #released(
    [lease, seen]: Parameters<Store["release"]>,
    answering: ReturnType<Store["release"]>,
  ): ReturnType<Store["release"]> {
    const answer = await answering;
    const isLook = answer.answer === "OK" && seen < Number.MAX_SAFE_INTEGER;
    if (isLook) this.#kept.set(runKey(lease.run), seen);
    return answer;
  }

  /** Workers may leave the runs alone until then; 0: not at all. */
  #rest(until: number): void {
    this.#restUntil = until;
    if (until === 0) for (const process of this.#alive.keys()) process.hurry();
  }

  /** Everything that is due now. */
  async #drain(): Promise<void> {
    await this.clock.advance(0);
  }

  #parts(process: Mortal): Parameters<typeof engineWorker>[0] {
    return {
      ports: {
        store: process.store(this.store),
        wakeUps: process.wakeUps(this.#queue.wakeUps),
        clock: process.clock,
        ids: this.#ids,
        facts: { emit: (fact) => this.#noteFact(process.name, fact) },
      },
      consumers: (wanted) => this.#consumerOf(process, wanted),
      pulse: (onOpen) => {
        onOpen({ serverId: "sim", pulse: process.name });
        return { close: () => undefined };
      },
    };
  }

  #consumerOf(process: Mortal, wanted: ConsumerOptions): Consumer {
    const again = (deliver: (to: Living) => Promise<void> | undefined) => () => void this.#deliverAgain(deliver);
    const consumer = this.#queue.consumers({
      ...wanted,
      onWake: (run) =>
        process.cross(
          { kind: "job", what: "job", asked: [] },
          () => wanted.onWake(run),
          again(({ onWake }) => onWake?.(run)),
        ),
      onStep: (job) =>
        process.cross(
          { kind: "job", what: "step job", asked: [] },
          () => wanted.onStep(job),
          again(({ onStep }) => onStep?.(job)),
        ),
    });
    const mine = this.#alive.get(process);
    if (mine !== undefined) Object.assign(mine, { consumer, onWake: wanted.onWake, onStep: wanted.onStep });
    return consumer;
  }

  /** Hands a job to one more worker, whatever the queue thinks of it. */
  async #deliverAgain(deliver: (to: Living) => Promise<void> | undefined): Promise<void> {
    this.#note("the job is delivered to a second worker as well");
    const another = this.#alive.get(await this.spawn());
    if (another !== undefined) await deliver(another);
  }

  #servicesOf(process: Mortal): object {
    const { services, kinds } = this.#options;
    const cross: Cross = (what, go) => process.cross({ kind: "service", what, asked: [] }, go);
    return watchedServices(services?.(this.world) ?? {}, cross, kinds ?? new Map(), this.#watch);
  }

  #buried(process: Mortal, where: string): void {
    this.#note(`${process.name} is killed ${where}`);
    this.#forget(process);
    this.clock.after(respawnMs, () => void this.spawn());
  }

  /** Another replica is there to take over from it. */
  #stood(process: Mortal, where: string): void {
    this.#note(`${process.name} stands still at ${where}, for longer than its lease`);
    void this.spawn();
  }

  #noteFact(worker: string, fact: Fact): void {
    if (fact.fact !== "committed") return;
    this.#commits += 1;
    this.#options.onCommit?.(this.#commits);
    const { run, entry, record } = fact;
    const taken = entry.taken.map((each) => takenInWords(each)).join(", ");
    this.#note(
      `${worker} commits revision ${entry.revision} of ${run.id}: ${taken || "nothing"}; it is ${record.status}`,
    );
  }

  #note(text: string): void {
    this.events.push({ at: this.now(), text });
  }

  #forget(process: Mortal): void {
    const consumer = this.#alive.get(process)?.consumer ?? null;
    this.#alive.delete(process);
    if (consumer !== null) this.clock.after(stalledMs, () => this.#queue.crash(consumer));
  }
}

/** `sent 2`, `outcome 2 succeeded`: what a commit has taken into account. */
function takenInWords(taken: Taken): string {
  const parts = [
    "seq" in taken ? taken.seq : null,
    "outcome" in taken ? taken.outcome : null,
    "state" in taken ? taken.state : null,
  ];
  return [taken.what, ...parts.filter((part) => part !== null && part !== undefined)].join(" ");
}

function queuesOf(sagas: readonly Saga[]): readonly string[] {
  return sagas.flatMap(({ spec }) => Object.values(spec.steps).flatMap(({ queue }) => (queue === null ? [] : [queue])));
}

/** Effects that the world has on behalf of a call. */
export function effectsOf(world: FakeWorld, doer: Pick<Doer, "operationId" | "side">): number {
  const mine = new Set<string>();
  let count = 0;
  for (const { kind, service, action, operationId, saw } of world.entries()) {
    const key = `${service} ${action} ${operationId}`;
    const by = saw as Doer | undefined;
    if (kind === "arrival") {
      if (by?.operationId === doer.operationId && by.side === doer.side) mine.add(key);
      else mine.delete(key);
    }
    if (kind === "effect" && mine.has(key)) count += 1;
  }
  return count;
}

/** Ids and draws that are the same for the same seed (mulberry32). */
function seededIds(seed: number): Ids {
  let state = seed >>> 0;
  let count = 0;
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next: () => {
      count += 1;
      // As long as real ones need to be: two of them make a link to decide by.
      return `s${seed >>> 0}n${String(count).padStart(10, "0")}`;
    },
    random,
  };
}
