/**
 * One seed: a world, a store, a queue, two worker processes that die, stand still and lose replies, a client and an
 * operator, all over one virtual clock. First faults, then quiet: everything accepted must come to an end or to a person,
 * the person (who can see the world) answers. The model looks at every commit; at the end the checker compares the witnesses.
 */

import { withArtifacts } from "../../src/artifacts/index.ts";
import { childRef, type Fact, type Run, type RunRecord, type RunRef, type Store } from "../../src/core/index.ts";
import { type Saga, withChildren } from "../../src/saga/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { FakeWorld } from "../../src/testing/index.ts";
import { type MemoryQueue, memoryQueue } from "../../src/testing/memory-queue.ts";
import { rigSettings } from "../../src/testing/rig/rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { MemoryArtifacts } from "../support/artifacts.ts";
import { type CheckReport, type ClientEvent, check } from "../support/checker.ts";
import { SimClient } from "./client.ts";
import { Crew, doomedProcess, idsOf } from "./crew.ts";
import { checkFamilies } from "./families.ts";
import { calm, type Doomed, drawnRates, type FaultRates } from "./fates.ts";
import { losingArtifacts } from "./losing-artifacts.ts";
import { Model } from "./model.ts";
import { Operator } from "./operator.ts";
import { scriptFaults, witnessed, worldServices } from "./outside.ts";
import { CrashPoints, type PointHits } from "./points.ts";
import { Random } from "./random.ts";
import { parentSagas, sharedSagas, simSagas } from "./sagas.ts";
import { townSagas } from "./town-sagas.ts";
import { Townspeople } from "./townspeople.ts";
import { watchedStore } from "./watched-store.ts";

const namespace = "sim";
/** Most of what workers do here is to look whether anything is due: half as often is still soon enough. */
const settings = { ...rigSettings, sweepMs: 1_000 };
const tenant = "t";
const epochMs = Date.UTC(2026, 0, 1);
/** Faults last until everything has come to rest and nobody wants anything any more; no longer than that. */
const faultPhaseMs = 60_000;
const lookMs = 2_000;
/** Until then people ask for things. */
const busyMs = 25_000;
const quietPhaseMs = 600_000;
/** Where people and budgets are asked one after the other, up and down families. */
const longQuietMs = 1_800_000;
/** Towns that are built: sagas take longer to make than their runs to play. */
const towns = 30;

export interface SeedOptions {
  readonly seed: number;
  /** Instead of those that are drawn from the seed. */
  readonly rates?: FaultRates;
  readonly worldFaults?: number;
  /** Do people meddle while faults last? In every other seed. */
  readonly meddling?: boolean;
  /** Are values kept as artifacts, and lost, damaged and out of reach now and then while faults last? */
  readonly losing?: boolean;
  /** Do runs want one effect together, and use tools? */
  readonly sharing?: boolean;
  /** Do runs start runs as steps? */
  readonly parenting?: boolean;
  /** Sagas put together by chance, with people, turns, budgets and a second version; and people who want something of them. */
  readonly town?: boolean;
  /** Sees everything that happens, for a person who repeats a seed. */
  readonly trace?: (line: string) => void;
  /** Hears what workers tell of themselves. */
  readonly onFact?: (fact: Fact) => void;
}

export interface SeedReport {
  readonly seed: number;
  /** Everything that was drawn or told, by which the seed is what it is. */
  readonly derived: Readonly<Record<string, unknown>>;
  readonly check: CheckReport;
  readonly deaths: Readonly<Record<string, number>>;
  readonly commits: number;
  readonly hits: PointHits;
  readonly violations: readonly string[];
}

/** Runs one seed to its end. */
export async function simulateSeed(options: SeedOptions): Promise<SeedReport> {
  const sim = new Simulation(options);
  return await sim.run();
}

class Simulation {
  readonly #options: SeedOptions;
  readonly #random: Random;
  /** What people feel like doing: apart, so that the rest of a seed does not depend on it. */
  readonly #whim: Random;
  readonly #clock = new VirtualClock();
  readonly #world: FakeWorld;
  readonly #model: Model;
  readonly #points: CrashPoints;
  /** As the operator and the witnesses have it. */
  readonly #store: Store;
  readonly #queue: MemoryQueue;
  readonly #rates: FaultRates;
  readonly #runCount: number;
  readonly #worldFaults: number;
  /** What the client and the townspeople run in. */
  readonly #terminal: Doomed;
  readonly #client: SimClient;
  readonly #operator: Operator;
  readonly #closed = new Map<string, boolean>();
  readonly #crew: Crew;
  readonly #sagas: readonly Saga[];
  readonly #isMeddled: boolean;
  /** `null`: nobody but the client and the operator. */
  readonly #people: Townspeople | null;
  #faulty = true;
  #commits = 0;

  constructor(options: SeedOptions) {
    const { seed, losing = false, town = false } = options;
    this.#options = options;
    this.#random = new Random(seed);
    this.#whim = new Random(~seed);
    this.#sagas = sagasOf(options);
    this.#isMeddled = options.meddling ?? seed % 2 === 1;
    this.#runCount = this.#random.between(2, 6);
    this.#worldFaults = options.worldFaults ?? this.#random.between(0, 5);
    this.#rates = options.rates ?? drawnRates(this.#random);
    const clock = this.#clock;
    this.#world = new FakeWorld({
      clock: { now: () => this.#now(), after: (ms, run) => clock.after(ms, run) },
      services: worldServices,
      witness: (arrival) => witnessed(this.#store, namespace, arrival),
    });
    this.#operator = new Operator({ namespace, world: this.#world, whim: this.#whim });
    this.#model = new Model({ namespace, isStrict: (record) => strictnessOf(this.#sagas, record) });
    this.#points = new CrashPoints((run) => this.#model.believed(run));
    this.#queue = memoryQueue({ clock });
    const store = this.#watched(
      memoryStore({ clock, epochMs, namespace, isAlive: (pulse) => this.#crew.pulseLives(pulse) }),
    );
    const kept = { artifacts: new MemoryArtifacts(), namespace, thresholdBytes: 4 };
    const artifacts = losingArtifacts(kept.artifacts, new Random(seed + 1), () => this.#faulty);
    this.#store = losing ? withArtifacts(store, kept) : store;
    const around = { clock, random: this.#random, points: this.#points, trace: (line: string) => this.#trace(line) };
    this.#crew = new Crew({
      ...around,
      namespace,
      settings,
      sagas: this.#sagas,
      world: this.#world,
      queue: this.#queue,
      rates: this.#rates,
      storeOf: (process) =>
        losing ? withArtifacts(process.store(store), { ...kept, artifacts }) : process.store(store),
      isClosed: (id) => this.#isClosed(id),
      isTraced: options.trace !== undefined,
      onFact: options.onFact,
    });
    const { loseRequest, loseReply, slow } = this.#rates;
    this.#terminal = doomedProcess("client", { ...calm, loseRequest, loseReply, slow }, around, () => undefined);
    this.#client = this.#newClient();
    this.#people = town ? this.#townspeople(seed) : null;
  }

  #watched(store: Store): Store {
    let seen = 0;
    return watchedStore(store, this.#model, () => {
      this.#commits += 1;
      const entries = this.#world.entries().slice(seen);
      seen += entries.length;
      return entries;
    });
  }

  #newClient(): SimClient {
    return new SimClient({
      store: this.#terminal.process.store(this.#store),
      wakeUps: this.#queue.wakeUps,
      clock: this.#clock,
      random: this.#random,
      whim: this.#whim,
      sagas: this.#sagas,
      runs: this.#runCount,
      busyMs,
      points: this.#points,
      now: () => this.#now(),
      trace: (line) => this.#trace(line),
    });
  }

  #townspeople(seed: number): Townspeople {
    const { process } = this.#terminal;
    const random = new Random(seed + 3);
    return new Townspeople({
      namespace,
      store: process.store(this.#store),
      wakeUps: process.wakeUps(this.#queue.wakeUps),
      clock: this.#clock,
      ids: idsOf(random),
      random,
      sagas: withChildren(this.#sagas),
      trace: (line) => this.#trace(line),
      help: (run) => this.#helpNow(run),
    });
  }

  async run(): Promise<SeedReport> {
    scriptFaults(this.#world, this.#random, this.#worldFaults);
    this.#crew.spawn();
    this.#crew.spawn();
    for (let n = 0; n < this.#runCount; n += 1) this.#client.startLater(n);
    if (this.#isMeddled) this.#client.meddleLater();
    this.#people?.meddle(busyMs);
    await this.#haveFaults();
    this.#quiet();
    await this.#people?.calm();
    let restless = await this.#comeToRest();
    if (await this.#undoSome()) restless = [...restless, ...(await this.#comeToRest())];
    return await this.#judged(restless);
  }

  async #judged(restless: readonly string[]): Promise<SeedReport> {
    const { seed } = this.#options;
    const runs = await this.#runs();
    const children = runs
      .filter(({ record }) => record.parent !== null)
      .map(({ record }) => ({ op: "start", run: { tenant, id: record.id }, outcome: "ok" }) as const);
    const report = await check({
      namespace,
      sagas: withChildren(this.#sagas).map(({ spec }) => spec),
      world: this.#world.entries(),
      store: this.#store,
      client: [...this.#history(), ...children],
    });
    this.#world.close();
    const families = await checkFamilies(this.#store, runs);
    const paidTwice = this.#sagas === sharedSagas ? this.#paidTwice() : [];
    const violations = [...this.#model.violations, ...restless, ...report.violations, ...paidTwice, ...families];
    const { hits } = this.#points;
    return {
      seed,
      derived: this.#derived(),
      check: report,
      deaths: this.#crew.deaths,
      commits: this.#commits,
      hits,
      violations,
    };
  }

  #derived(): SeedReport["derived"] {
    const { trace: _, onFact: __, seed: ___, ...told } = this.#options;
    const drawn = { runs: this.#runCount, worldFaults: this.#worldFaults, rates: this.#rates };
    return { ...told, ...drawn, meddling: this.#isMeddled, sagas: this.#sagas.map(({ name }) => name) };
  }

  #history(): readonly ClientEvent[] {
    return [...this.#client.history, ...(this.#people?.history ?? [])];
  }

  /** The bill is paid at most once at a time, whoever pays it. */
  #paidTwice(): readonly string[] {
    const paid = new Set<string>();
    return this.#world.entries().flatMap(({ kind, service, operationId: id, at }) => {
      if (kind === "effect" && service === "charge") paid.add(id);
      if (kind === "effect" && service === "undo-charge") paid.delete(id.slice(0, -"/undo".length));
      return paid.size > 1 ? [`N1: ${[...paid].join(" and ")} at ${at}`] : [];
    });
  }

  // ---- faults

  /** Until nobody wants anything any more and every run is at its end or waits for somebody. */
  async #haveFaults(): Promise<void> {
    const start = this.#clock.monotonicMs();
    for (let spent = 0; spent < faultPhaseMs; spent = this.#clock.monotonicMs() - start) {
      await this.#clock.advance(lookMs);
      if (spent >= busyMs && this.#model.runs().every(isAtRest)) return;
    }
  }

  #quiet(): void {
    this.#faulty = false;
    this.#world.clearFaults();
    for (const held of this.#world.held()) held.drop();
    this.#crew.calm();
    this.#terminal.fortune.calm();
    this.#trace("quiet");
  }

  /** Some undoings are refused as long as faults last: each from its first call on, so that to say "nothing is left" is true. */
  #isClosed(operationId: string): boolean {
    if (!this.#isMeddled || !this.#faulty) return false;
    const isClosed = this.#closed.get(operationId) ?? this.#whim.chance(0.25);
    this.#closed.set(operationId, isClosed);
    return isClosed;
  }

  // ---- the operator

  async #comeToRest(): Promise<readonly string[]> {
    const limit = this.#clock.monotonicMs() + (this.#people === null ? quietPhaseMs : longQuietMs);
    while (this.#clock.monotonicMs() < limit) {
      await this.#clock.advance(5_000);
      const restless = await this.#restless();
      if (restless.length === 0) return [];
      for (const run of restless) await this.#help(run);
    }
    const left = await this.#restless();
    return left.map(
      (run) =>
        `I11: ${run.record.id} is still ${run.record.status} (${run.record.waitingFor}): ${JSON.stringify(run.record.review ?? openRows(run))}`,
    );
  }

  async #restless(): Promise<readonly Run[]> {
    return (await this.#runs()).filter(({ record }) => record.endedAt === null);
  }

  async #runs(): Promise<readonly Run[]> {
    const started = this.#history().filter((event) => event.op === "start" && event.outcome !== "fail");
    const refs = new Map(started.map(({ run }) => [run.id, run]));
    const runs = await Promise.all([...refs.values()].map((run) => this.#withChildren(run)));
    return runs.flat();
  }

  /** A run, and all that it has started. */
  async #withChildren(run: RunRef): Promise<readonly Run[]> {
    const record = await this.#store.read(run);
    if (record === null) return [];
    const rows = await this.#store.ledger(run);
    const below: Run[] = [];
    for (const row of rows.filter(({ kind }) => kind === "child")) {
      for (let generation = 1; generation <= row.call.generation; generation += 1) {
        const ref = childRef(run, { ...row, call: { ...row.call, generation } });
        below.push(...(await this.#withChildren(ref)));
      }
    }
    return [{ record, rows, inbox: [] }, ...below];
  }

  /** Some of the runs that have ended are undone; `false`: none. */
  async #undoSome(): Promise<boolean> {
    const some = (await this.#runs()).filter(({ record }) => record.parent === null && this.#whim.chance(0.25));
    for (const { record } of some) await this.#client.undo({ tenant, id: record.id });
    await this.#clock.advance(1_000);
    return some.length > 0;
  }

  async #helpNow(run: RunRef): Promise<void> {
    const record = await this.#store.read(run);
    if (record !== null) await this.#help({ record, rows: await this.#store.ledger(run), inbox: [] });
  }

  async #help({ record, rows }: Run): Promise<void> {
    const { review } = record;
    const run = { tenant, id: record.id };
    if (this.#people !== null && review === null) return await this.#people.attend(record);
    if (record.status === "waiting") return await this.#client.signal(run);
    const verb = this.#operator.answer({ record, rows });
    if (review === null || verb === null) return;
    this.#trace(`operator on ${run.id}: ${review.reason} ${JSON.stringify(verb)}`);
    await this.#client.send(run, `review:${review.n}`, "operator", { type: "verb", verb });
  }

  // ---- time

  #now(): number {
    return epochMs + this.#clock.monotonicMs();
  }

  #trace(line: string): void {
    this.#options.trace?.(`${String(this.#clock.monotonicMs() - 1_000_000).padStart(7)} ${line}`);
  }
}

function sagasOf({ seed, town, parenting, sharing }: SeedOptions): readonly Saga[] {
  if (town === true) return townOf(seed % towns);
  if (parenting === true) return parentSagas;
  return sharing === true ? sharedSagas : simSagas;
}

const built = new Map<number, readonly Saga[]>();

function townOf(n: number): readonly Saga[] {
  const town = built.get(n) ?? townSagas(new Random(n + 2));
  built.set(n, town);
  return town;
}

function strictnessOf(sagas: readonly Saga[], { saga }: RunRecord): boolean {
  const known = withChildren(sagas).find(({ name }) => name === saga);
  return known?.spec.unwind !== "parallel-regions";
}

/** It goes on only when somebody says something. */
function isAtRest({ endedAt, status, waitingFor, timers }: RunRecord): boolean {
  if (endedAt !== null || status === "needs_review") return true;
  return status === "waiting" && timers.length === 0 && (waitingFor === "event" || waitingFor === "approval");
}

function openRows({ record, rows }: Run): unknown {
  return rows.filter((row) => record.open.includes(row.seq)).map(({ seq, call, undo }) => ({ seq, call, undo }));
}
