/**
 * One worker: takes nudges, drives runs, performs routed calls, reconciles. Owns: what starts and stops when. Invariants:
 * V1 it serves nothing before everything that could make it refuse was checked. V2 it can be stopped twice, early, and
 * while starting. V3 shutdown: take no more jobs; begin no call; let calls end within the grace; abort what is left; give
 * every run back, those included whose job was fetched already; say goodbye. V4 its identity is an incarnation: unique,
 * never a host name or a pid.
 */
import {
  type Canaries,
  type ConsumerFactory,
  type ConsumerOptions,
  type DeadLetters,
  type DrainRequest,
  machinesOf,
  maxRunsShown,
  type NoticeHook,
  type RunRef,
  type StepJob,
  stuckMsOf,
  type Ticks,
  type WorkerHealth,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Saga } from "../saga/index.ts";
import { Acquirer } from "./acquire.ts";
import type { Driver } from "./advance.ts";
import type { StepLogSink } from "./call-context.ts";
import { tellParent } from "./children.ts";
import { type EngineContext, type EnginePorts, trouble, untilAnswered, within } from "./context.ts";
import { Courier, type TellHook } from "./couriers.ts";
import { DeadLetterDesk } from "./dead-letters.ts";
import { Heart, type OwnWords } from "./heart.ts";
import { Leases } from "./lease.ts";
import { Memory } from "./memory.ts";
import { PaceMeter } from "./pace.ts";
import { PausedSagas } from "./paused.ts";
import { Reconciler } from "./reconcile.ts";
import { Retention } from "./retention.ts";
import { ScheduleDesk } from "./schedules.ts";
import type { EngineSettings } from "./settings.ts";
import { StepRunner } from "./steps.ts";
import { checkDurability, drivenStructures, registerAll, servedSagas } from "./structures.ts";
import { Suspects } from "./suspects.ts";
import type { Vitals } from "./vitals.ts";
import { Worlds } from "./worlds.ts";

export interface WorkerParts {
  readonly ports: EnginePorts;
  readonly consumers: ConsumerFactory;
  /** Keeps a connection open for nothing else and says where it is, after every (re)connect. */
  readonly pulse?: (onOpen: (place: PulsePlace) => void) => { close(): void };
  /** Where parked runs are shown to the tooling of queues, and the sagas by which what is put back there can be judged. */
  readonly deadLetters?: { readonly letters: DeadLetters; readonly sagas: readonly Saga[] };
  /** What makes schedules tick; without it this worker looks at none. */
  readonly ticks?: Ticks;
  /** How its process is; without it this worker says nothing of itself, and hears no request to drain. */
  readonly vitals?: Vitals;
  /** Tells hooks; without it nobody is told by this worker, though what is to be told is owed. */
  readonly tell?: TellHook;
  /** What it puts into the queues it reads, to see that jobs come through. */
  readonly canaries?: Canaries;
}

/** On which server a pulse is, and its client id there. */
export interface PulsePlace {
  readonly serverId: string;
  readonly pulse: string;
}

export interface WorkerOptions {
  readonly namespace: string;
  readonly sagas: readonly Saga[];
  /** Pools whose runs it drives. */
  readonly pools: readonly string[];
  /** Named step queues it works on. */
  readonly queues: ConsumerOptions["queues"];
  /** Runs driven at once. */
  readonly concurrency: number;
  readonly services: unknown;
  readonly settings: EngineSettings;
  readonly allowForgetfulStore: boolean;
  readonly log: StepLogSink;
  /** Who wants to hear of runs; nobody unless given. */
  readonly hooks?: readonly NoticeHook[];
}

/** A worker process's engine. */
export interface Worker {
  /** This incarnation's id: the `owner` of its leases, the `actor` in the log. */
  readonly id: string;
  /**
   * Checks everything, then serves. Calling it again changes nothing.
   *
   * @throws RepriseError STRUCTURE_CHANGED, POOL_INCOMPLETE, STORE_FORGETFUL, STORE_UNAVAILABLE, SHARDS_MISMATCH,
   * STORE_EVICTS; CLOSED once it was stopped.
   */
  start(): Promise<void>;
  /** Stops in good order (V3); calling it again waits for the same. */
  stop(): Promise<void>;
  /** Resolves when it has stopped, with who asked for it from afar (`client.drain`); `null`: nobody did. */
  readonly ended: Promise<DrainRequest | null>;
  /** How it is. Asks nobody. */
  health(): WorkerHealth;
}

/** How long the engine waits, after calls were aborted, for their outcomes to be committed. */
const lastCommitMs = 5_000;

export function engineWorker(parts: WorkerParts, options: WorkerOptions): Worker {
  return new EngineWorker(parts, options);
}

class EngineWorker implements Worker {
  readonly id: string;
  readonly #parts: WorkerParts;
  readonly #options: WorkerOptions;
  readonly #context: EngineContext;
  readonly #reconciler: Reconciler;
  readonly #acquirer: Acquirer;
  readonly #memory: Memory;
  readonly #worlds: Worlds;
  readonly #paused: PausedSagas;
  readonly #retention: Retention;
  readonly #steps: StepRunner;
  readonly #serves: readonly string[];
  readonly #desk: DeadLetterDesk | null;
  readonly #schedules: ScheduleDesk | null;
  readonly #couriers: readonly Courier[];
  readonly #pace: PaceMeter;
  readonly #drivers = new Set<Driver>();
  readonly #work = new Set<Promise<unknown>>();
  #needsBarrier = false;
  #stopping = false;
  #over = false;
  #pulse: { close(): void } | null = null;
  /** Where the pulse is by now. */
  #place: PulsePlace | null = null;
  #isRegistered = false;
  #forgetReconnects: (() => void) | null = null;
  #consumer: ReturnType<ConsumerFactory> | null = null;
  #started: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;
  #state: WorkerHealth["state"] = "starting";
  #drain: DrainRequest | null = null;
  readonly #heart: Heart | null;
  readonly ended: Promise<DrainRequest | null>;
  #end: (asked: DrainRequest | null) => void = () => undefined;

  constructor(parts: WorkerParts, options: WorkerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.id = parts.ports.ids.next();
    this.#serves = drivenStructures(options.sagas, options.pools);
    this.#pace = new PaceMeter(parts.ports.clock);
    this.#context = this.#contextOf(parts.ports, options);
    this.#desk = this.#deskOf(parts.deadLetters);
    const { ticks } = parts;
    this.#schedules =
      ticks === undefined ? null : new ScheduleDesk({ context: this.#context, ticks, sagas: options.sagas });
    const { tell } = parts;
    this.#couriers =
      tell === undefined ? [] : this.#context.hooks.map((hook) => new Courier(this.#context, hook, tell));
    this.#heart = this.#heartOf(parts);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#reconciler = new Reconciler(this.#context);
    const suspects = new Suspects(this.#context);
    this.#acquirer = new Acquirer({ context: this.#context, suspects, drivers: this.#drivers });
    this.#paused = new PausedSagas(this.#context, (sagas) => {
      for (const driver of this.#drivers) if (sagas.has(driver.saga)) driver.stop();
    });
    this.#retention = new Retention(this.#context);
    this.#memory = new Memory(
      this.#context,
      (run) => this.#acquirer.advance(run, { evenEnded: true }),
      (run) => this.#giveUp(run),
    );
    this.#worlds = new Worlds({
      context: this.#context,
      compare: () => this.#memory.compare(),
      allRight: () => this.#memory.allRight(),
      register: () => this.#register(),
    });
    this.#steps = new StepRunner(
      this.#context,
      options.sagas.map((saga) => saga.spec),
    );
  }

  start(): Promise<void> {
    if (this.#stopped !== null) return Promise.reject(new RepriseError("CLOSED", "this worker was stopped"));
    this.#started ??= this.#start();
    return this.#started;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop().finally(() => {
      this.#state = "stopped";
      this.#end(this.#drain);
    });
    return this.#stopped;
  }

  health(): WorkerHealth {
    const { storeAnswersSince = null, lagMs = 0, supervisedMs = null } = this.#heart ?? {};
    const storeAnswers = this.#heart === null || storeAnswersSince !== null;
    return { state: this.#state, stuckMs: this.#stuckMs(), storeAnswers, lagMs, supervisedMs };
  }

  async #start(): Promise<void> {
    const { store } = this.#parts.ports;
    const { sagas, allowForgetfulStore } = this.#options;
    await store.open();
    this.#needsBarrier = (await checkDurability(store, sagas, allowForgetfulStore)) === "barrier";
    await registerAll(store, sagas, this.#parts.ports.facts);
    if (this.#stopping) return;
    await this.#paused.start();
    this.#forgetReconnects = store.onReconnect(() => this.#worlds.opened());
    await this.#worlds.begin();
    await this.#enter();
    if (this.#stopping) return;
    this.#context.leases.start();
    this.#reconciler.start();
    this.#retention.start();
    const { pools, queues, concurrency } = this.#options;
    this.#consumer = this.#parts.consumers({
      pools,
      queues,
      concurrency,
      onWake: (run) => this.#own(this.#wake(run)),
      onStep: (job) => this.#own(this.#perform(job)),
    });
    await this.#consumer.start();
    if (this.#desk !== null) this.#context.background(this.#desk.start());
    if (this.#schedules !== null) this.#context.background(this.#schedules.start());
    for (const courier of this.#couriers) courier.start();
    if (this.#stopping) return;
    this.#state = "ready";
    this.#heart?.start();
  }

  /** (Nothing is waited for where nothing is to be waited for: every run comes by here, see `promised`.) */
  #wake(run: RunRef): Promise<void> {
    const isReady = this.#reconciler.isTrusted() && this.#worlds.isOpen;
    return isReady ? this.#acquirer.advance(run) : this.#wakeLater(run);
  }

  async #wakeLater(run: RunRef): Promise<void> {
    if ((await this.#reconciler.whenTrusted()) && (await this.#worlds.whenOpen())) await this.#acquirer.advance(run);
  }

  /** A job may be of a call that was made in a world that the store has forgotten. */
  async #perform(job: StepJob): Promise<void> {
    if (await this.#worlds.whenOpen()) await this.#steps.perform(job);
  }

  /**
   * Registers with its pulse: one that dies is then known to be dead, however early. Where none can be opened it has none.
   */
  async #enter(): Promise<void> {
    const opened = new Promise<void>((resolve) => {
      this.#pulse = this.#parts.pulse?.((place) => resolve(this.#beatsAt(place))) ?? null;
      if (this.#pulse === null) resolve();
    });
    await within(this.#context.clock, this.#options.settings.leaseMs, opened);
    this.#isRegistered = true;
    await this.#hello();
  }

  /** Said until it is heard: to everybody else a pulse that nobody knows of is none, and its owner is dead. */
  #beatsAt(place: PulsePlace): void {
    this.#place = place;
    if (!this.#isRegistered) return;
    this.#worlds.opened();
    this.#context.background(this.#register());
  }

  async #register(): Promise<void> {
    await untilAnswered(this.#context, "hello", () => this.#hello());
  }

  /** As it is now: one that is sent again says what has become of it meanwhile. */
  async #hello(): Promise<void> {
    const { serverId = null, pulse = null } = this.#place ?? {};
    const { compared } = this.#worlds;
    await this.#parts.ports.store.hello({ owner: this.id, serverId, pulse, compared }, this.#serves);
  }

  async #giveUp(run: RunRef): Promise<void> {
    for (const driver of this.#drivers) if (driver.drives(run)) await driver.giveUp();
  }

  // ---- stopping

  async #stop(): Promise<void> {
    this.#stopping = true;
    this.#state = "draining";
    const { clock, store } = this.#parts.ports;
    const { shutdownMs, abortGraceMs } = this.#options.settings;
    await this.#started?.catch(() => undefined);
    this.#reconciler.stop();
    this.#paused.stop();
    this.#retention.stop();
    for (const courier of this.#couriers) courier.stop();
    const drained = this.#stopTaking(shutdownMs + abortGraceMs + lastCommitMs);
    for (const driver of this.#drivers) driver.stop();
    if (!(await within(clock, shutdownMs, this.#idle()))) await this.#expel();
    this.#over = true;
    await within(clock, lastCommitMs, Promise.all([drained, this.#idle()]));
    this.#context.leases.stop();
    await this.#heart?.stop();
    if (this.#isRegistered) {
      await store.goodbye(this.id).catch((error: unknown) => trouble(this.#context, "goodbye", error));
    }
    this.#pulse?.close();
    this.#forgetReconnects?.();
  }

  async #stopTaking(graceMs: number): Promise<void> {
    const all = [this.#consumer?.stop(graceMs), this.#desk?.stop(graceMs), this.#schedules?.stop(graceMs)];
    const ended = await Promise.allSettled(all);
    for (const end of ended) if (end.status === "rejected") trouble(this.#context, "consumer", end.reason);
  }

  async #expel(): Promise<void> {
    for (const driver of this.#drivers) driver.expel();
    this.#steps.expel();
    const { abortGraceMs } = this.#options.settings;
    await within(this.#parts.ports.clock, abortGraceMs + lastCommitMs, this.#idle());
  }

  /** Resolves when nothing this worker began is under way. */
  async #idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled([...this.#work]);
  }

  #own<Result>(work: Promise<Result>): Promise<Result> {
    this.#work.add(work);
    const done = (): void => {
      this.#work.delete(work);
    };
    work.then(done, done);
    return work;
  }

  // ---- how it is

  #heartOf({ vitals, canaries }: WorkerParts): Heart | null {
    if (vitals === undefined) return null;
    const onDrain = (asked: DrainRequest): void => {
      this.#drain ??= asked;
      void this.stop();
    };
    const lagToldMs = this.#options.settings.marginMs;
    return new Heart({ context: this.#context, vitals, canaries, lagToldMs, words: () => this.#words(), onDrain });
  }

  #words(): OwnWords {
    const { pools, queues, sagas, concurrency } = this.#options;
    const total = queues.reduce((sum, queue) => sum + queue.concurrency, concurrency);
    const took = (this.#consumer?.signs() ?? []).flatMap(({ tookAt }) => tookAt ?? []);
    return {
      id: this.id,
      state: this.#state === "draining" ? "draining" : "ready",
      pools,
      queues: queues.map(({ name }) => name),
      sagas: sagas.map(({ name, version }) => `${name}@${version}`),
      slots: { busy: this.#drivers.size + this.#steps.inHand, total },
      runs: [...this.#drivers].slice(0, maxRunsShown).map(({ ref }) => ref),
      idleMs: took.length === 0 ? null : Math.round(this.#context.clock.monotonicMs() - Math.max(...took)),
      stuckMs: this.#stuckMs(),
      pace: this.#pace.read(),
    };
  }

  #stuckMs(): number {
    const storeAnswersSince = this.#heart?.storeAnswersSince ?? null;
    const consumers = this.#consumer?.signs() ?? [];
    return stuckMsOf({ consumers, storeAnswersSince, now: this.#context.clock.monotonicMs() });
  }

  #deskOf(given: WorkerParts["deadLetters"]): DeadLetterDesk | null {
    if (given === undefined) return null;
    const sweepMs = this.#options.settings.deadLetterSweepMs;
    return new DeadLetterDesk({
      context: this.#context,
      letters: given.letters,
      machineFor: machinesOf(given.sagas),
      sweepMs,
    });
  }

  #contextOf(ports: EnginePorts, options: WorkerOptions): EngineContext {
    const { settings, namespace, sagas, services, log } = options;
    const { store, clock, facts } = ports;
    const { leaseMs, renewMs, marginMs, abortGraceMs, maxPayloadBytes } = settings;
    const onTrouble = (where: string, error: unknown) => trouble({ facts }, where, error);
    const context: EngineContext = {
      ...ports,
      namespace,
      owner: this.id,
      settings,
      sagas: servedSagas(sagas),
      hooks: options.hooks ?? [],
      leases: new Leases({ store, clock, leaseMs, renewMs, marginMs, onTrouble }),
      invoke: { clock, services, sink: log, abortGraceMs, maxPayloadBytes },
      // (No getter: with one of its own V8 would give each context a hidden class that lives, with all it can reach, until the next
      // full collection.)
      needsBarrier: () => this.#needsBarrier,
      moved: (before, commit, run) => {
        this.#memory.keep(commit, run);
        this.#pace.moved(before, commit);
        this.#desk?.follow(before, commit.record);
        if (commit.record.parent !== null) context.background(tellParent(context, before, commit.record));
      },
      refused: (run) => this.#memory.doubt(run),
      isOpen: () => this.#worlds.isOpen,
      isSettled: () => this.#worlds.isSettled,
      forgottenBy: (stored) => this.#memory.forgottenBy(stored),
      isPaused: (saga) => this.#paused.has(saga),
      isStopping: () => this.#stopping,
      isOver: () => this.#over,
      background: (work) => void this.#own(work.catch((error: unknown) => onTrouble("background", error))),
    };
    return context;
  }
}
