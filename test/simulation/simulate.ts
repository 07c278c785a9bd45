/**
 * One seed: a world, a store, a queue, two worker processes that die, stand still and lose replies, a client and an
 * operator, all over one virtual clock. First faults, then quiet: everything accepted must come to an end or to a person,
 * the person (who can see the world) answers, and then the checker compares the witnesses.
 */

import { withArtifacts } from "../../src/artifacts/index.ts";
import {
  begin,
  type Consumer,
  childRef,
  type Fact,
  hashOf,
  listingsOf,
  machineOf,
  operationId,
  type Review,
  type Row,
  type Run,
  type RunRef,
  type Store,
  shownOf,
  type VerbCommand,
} from "../../src/core/index.ts";
import { engineWorker, type Worker } from "../../src/engine/index.ts";
import { fail, type Json, type Saga, structureOf, withChildren } from "../../src/saga/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { FakeWorld, type WorldArrival } from "../../src/testing/index.ts";
import { memoryQueue } from "../../src/testing/memory-queue.ts";
import { rigSettings as settings } from "../../src/testing/rig/rig.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { MemoryArtifacts } from "../support/artifacts.ts";
import { type CheckReport, type ClientEvent, check } from "../support/checker.ts";
import type { SawApproval } from "../support/checker-people.ts";
import { checkFamilies } from "./families.ts";
import { losingArtifacts } from "./losing-artifacts.ts";
import { calm, type FaultRates, SimProcess } from "./process.ts";
import { Random } from "./random.ts";
import { parentSagas, type Service, type SimServices, sharedSagas, simSagas } from "./sagas.ts";
import { townSagas } from "./town-sagas.ts";
import { Townspeople } from "./townspeople.ts";

const namespace = "sim";
const epochMs = Date.UTC(2026, 0, 1);
const faultPhaseMs = 60_000;
const quietPhaseMs = 600_000;
/** Where people and budgets are asked one after the other, up and down families. */
const longQuietMs = 1_800_000;
const respawnMs = 300;

export interface SeedOptions {
  readonly seed: number;
  /** Instead of those that are drawn from the seed. */
  readonly rates?: FaultRates;
  readonly worldFaults?: number;
  /** Do people meddle while faults last? In every other seed, so that those that are pinned stay what they were. */
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
  readonly derived: Readonly<Record<string, unknown>>;
  readonly check: CheckReport;
  readonly deaths: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

/** Everything of a seed that is drawn before it runs. */
function drawn(random: Random): { readonly rates: FaultRates; readonly runs: number; readonly worldFaults: number } {
  const level = random.pick([0, 0.3, 1, 2]);
  const rate = (most: number): number => random.next() * most * level;
  return {
    runs: random.between(2, 6),
    worldFaults: random.between(0, 5),
    rates: {
      crashBefore: rate(0.02),
      crashAfter: rate(0.02),
      loseRequest: rate(0.02),
      loseReply: rate(0.03),
      slow: rate(0.1),
      freeze: rate(0.004),
    },
  };
}

/** Runs one seed to its end. */
export async function simulateSeed(options: SeedOptions): Promise<SeedReport> {
  const sim = new Simulation(options);
  return await sim.run();
}

class Simulation {
  readonly #seed: number;
  readonly #trace: (line: string) => void;
  readonly #isTraced: boolean;
  readonly #onFact: ((fact: Fact) => void) | undefined;
  readonly #random: Random;
  /** What people feel like doing: apart, so that the rest of a seed does not depend on it. */
  readonly #whim: Random;
  readonly #clock = new VirtualClock();
  readonly #world: FakeWorld;
  /** As the client, the operator and the witnesses have it. */
  readonly #store: Store;
  /** As a worker process has it. */
  readonly #storeOf: (process: SimProcess) => Store;
  readonly #queue;
  readonly #drawn;
  readonly #client: ClientEvent[] = [];
  readonly #deaths: Record<string, number> = {};
  readonly #closed = new Map<string, boolean>();
  readonly #alive = new Map<
    SimProcess,
    { readonly worker: Worker; consumer: Consumer | null; readonly pulse: string }
  >();
  readonly #sagas: readonly Saga[];
  readonly #isMeddled: boolean;
  /** `null`: nobody but the client and the operator. */
  readonly #people: Townspeople | null;
  #faulty = true;
  #births = 0;
  #onQuiet = (): void => undefined;

  constructor({ seed, trace, meddling, losing = false, sharing, parenting, town = false, ...instead }: SeedOptions) {
    this.#seed = seed;
    this.#trace = trace ?? (() => undefined);
    this.#isTraced = trace !== undefined;
    this.#onFact = instead.onFact;
    this.#random = new Random(seed);
    this.#whim = new Random(~seed);
    this.#sagas = town ? townSagas(new Random(seed + 2)) : parenting ? parentSagas : sharing ? sharedSagas : simSagas;
    this.#isMeddled = meddling ?? seed % 2 === 1;
    this.#drawn = { ...drawn(this.#random), ...instead };
    const clock = this.#clock;
    this.#world = new FakeWorld({
      clock: { now: () => epochMs + clock.monotonicMs(), after: (ms, run) => clock.after(ms, run) },
      services: worldServices,
      witness: (arrival) => this.#witness(arrival),
    });
    this.#queue = memoryQueue({ clock });
    const store = memoryStore({ clock, epochMs, namespace, isAlive: (pulse) => this.#pulseLives(pulse) });
    const kept = { artifacts: new MemoryArtifacts(), namespace, thresholdBytes: 4 };
    const artifacts = losingArtifacts(kept.artifacts, new Random(seed + 1), () => this.#faulty);
    this.#store = losing ? withArtifacts(store, kept) : store;
    this.#storeOf = (process) =>
      losing ? withArtifacts(process.store(store), { ...kept, artifacts }) : process.store(store);
    this.#people = town ? this.#townspeople(seed) : null;
  }

  #townspeople(seed: number): Townspeople {
    const random = new Random(seed + 3);
    const { loseRequest, loseReply, slow } = this.#drawn.rates;
    const process = new SimProcess(
      "town",
      this.#clock,
      random,
      { ...calm, loseRequest, loseReply, slow },
      () => undefined,
    );
    this.#onQuiet = () => process.calm();
    return new Townspeople({
      namespace,
      store: process.store(this.#store),
      wakeUps: process.wakeUps(this.#queue.wakeUps),
      clock: this.#clock,
      ids: process.ids(),
      random,
      sagas: withChildren(this.#sagas),
      trace: (line) => this.#trace(`${this.#at()} ${line}`),
      help: (run) => this.#helpNow(run),
    });
  }

  async run(): Promise<SeedReport> {
    this.#scriptWorldFaults();
    this.#spawn();
    this.#spawn();
    for (let n = 0; n < this.#drawn.runs; n += 1) this.#startLater(n);
    if (this.#isMeddled) this.#meddleLater();
    this.#people?.meddle(faultPhaseMs - 5_000);
    await this.#clock.advance(faultPhaseMs);
    this.#quiet();
    await this.#people?.calm();
    let restless = await this.#comeToRest();
    if (await this.#undoSome()) restless = [...restless, ...(await this.#comeToRest())];
    const runs = await this.#runs();
    const children = runs
      .filter(({ record }) => record.parent !== null)
      .map(({ record: { tenant, id } }) => ({ tenant, id }));
    const report = await check({
      namespace,
      sagas: withChildren(this.#sagas).map(({ spec }) => spec),
      world: this.#world.entries(),
      store: this.#store,
      client: [...this.#history(), ...children.map((run) => ({ op: "start", run, outcome: "ok" }) as const)],
    });
    this.#world.close();
    const families = await checkFamilies(this.#store, runs);
    const paidTwice = this.#sagas === sharedSagas ? this.#paidTwice() : [];
    const violations = [...restless, ...report.violations, ...paidTwice, ...families];
    return { seed: this.#seed, derived: this.#drawn, check: report, deaths: this.#deaths, violations };
  }

  #history(): readonly ClientEvent[] {
    return [...this.#client, ...(this.#people?.history ?? [])];
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

  // ---- processes

  #spawn(): void {
    this.#births += 1;
    const name = `w${this.#births}`;
    const rates = this.#faulty ? this.#drawn.rates : calm;
    const process = new SimProcess(name, this.#clock, this.#random, rates, (dead, where) => this.#buried(dead, where));
    const worker = engineWorker(this.#parts(process, name), {
      namespace,
      sagas: withChildren(this.#sagas),
      pools: ["default"],
      queues: [],
      concurrency: 5,
      services: this.#services(process),
      settings,
      allowForgetfulStore: false,
      log: () => undefined,
    });
    this.#alive.set(process, { worker, consumer: null, pulse: name });
    worker.start().catch((error: unknown) => {
      this.#trace(`${name} could not start: ${String(error)}`);
      process.kill("start");
    });
  }

  #parts(process: SimProcess, name: string): Parameters<typeof engineWorker>[0] {
    return {
      ports: {
        store: this.#storeOf(process),
        wakeUps: process.wakeUps(this.#queue.wakeUps),
        clock: process.clock,
        ids: process.ids(),
        facts: { emit: (fact) => this.#emit(name, fact) },
      },
      consumers: (wanted) => {
        const consumer = this.#queue.consumers({
          ...wanted,
          onWake: (run) => process.outside("job", () => wanted.onWake(run)),
        });
        const mine = this.#alive.get(process);
        if (mine !== undefined) mine.consumer = consumer;
        return consumer;
      },
      pulse: (onOpen) => {
        onOpen({ serverId: "sim", pulse: name });
        return { close: () => undefined };
      },
    };
  }

  #emit(name: string, fact: Fact): void {
    this.#onFact?.(fact);
    if (this.#isTraced) this.#trace(`${this.#at()} ${name} ${JSON.stringify(fact)}`);
  }

  #buried(process: SimProcess, where: string): void {
    this.#trace(`${this.#at()} ${process.name} dies ${where}`);
    this.#deaths[where] = (this.#deaths[where] ?? 0) + 1;
    const mine = this.#alive.get(process);
    this.#alive.delete(process);
    const { consumer } = mine ?? { consumer: null };
    if (consumer !== null) this.#clock.after(200, () => this.#queue.crash(consumer));
    this.#clock.after(respawnMs, () => this.#spawn());
  }

  #pulseLives(pulse: string): boolean {
    return [...this.#alive.values()].some((each) => each.pulse === pulse);
  }

  #quiet(): void {
    this.#faulty = false;
    this.#world.clearFaults();
    for (const held of this.#world.held()) held.drop();
    for (const process of this.#alive.keys()) process.calm();
    this.#onQuiet();
    this.#trace(`${this.#at()} quiet`);
  }

  // ---- the outside

  #services(process: SimProcess): SimServices {
    const ask = async (
      call: () => Promise<{ readonly kind: string; readonly status?: number; readonly body?: unknown }>,
    ): Promise<never> => {
      const reply = await process.outside("outside call", call);
      if (reply.kind === "reset") throw Object.assign(new Error("reset"), { code: "ECONNRESET" });
      if (reply.status !== undefined && reply.status >= 400)
        throw Object.assign(new Error(`status ${reply.status}`), { status: reply.status });
      return reply.body as never;
    };
    const request = (service: Service | `undo-${Service}`, args: Readonly<Record<string, string>>, id: string) => ({
      service,
      action: "do",
      operationId: id,
      args,
      profile: worldServices[service],
    });
    return {
      call: (service, args, o) =>
        ask(() => this.#world.call(request(service, args, o.operationId), { signal: o.signal })),
      undo: (service, args, o) =>
        this.#isClosed(o.operationId)
          ? Promise.reject(fail("nothing is taken back today"))
          : ask(() => this.#world.call(request(`undo-${service}`, args, o.operationId), { signal: o.signal })),
      find: async (service, o) => {
        const { args, ...query } = request(service, {}, o.operationId);
        const answer: { found?: boolean; result?: { ref: string } } = await ask(() =>
          this.#world.query(query, { signal: o.signal }),
        );
        return answer.found === true ? answer.result : undefined;
      },
    };
  }

  /** Some undoings are refused as long as faults last: each from its first call on, so that to say "nothing is left" is true. */
  #isClosed(operationId: string): boolean {
    if (!this.#isMeddled || !this.#faulty) return false;
    const isClosed = this.#closed.get(operationId) ?? this.#whim.chance(0.25);
    this.#closed.set(operationId, isClosed);
    return isClosed;
  }

  #scriptWorldFaults(): void {
    for (let n = 0; n < this.#drawn.worldFaults; n += 1) {
      const service = this.#random.pick(Object.keys(worldServices));
      const kind = this.#random.pick([
        "apply-then-hang",
        "hang-before-apply",
        "apply-then-500",
        "reset-before-apply",
        "reset-after-apply",
      ] as const);
      this.#world.fault({
        service,
        action: "do",
        kind,
        times: this.#random.between(1, 3),
        fromArrival: this.#random.between(1, 4),
      });
    }
    if (this.#random.chance(0.4)) this.#scriptSlowness();
    if (!this.#random.chance(0.3)) return;
    const service = this.#random.pick(["charge", "pick"]);
    this.#world.fault({
      service,
      action: "do",
      kind: "500-then-apply-later",
      afterMs: this.#random.between(10, 2_500),
      times: 1,
    });
  }

  #scriptSlowness(): void {
    const service = this.#random.pick(slowServices);
    const [ms, times] = [this.#random.between(500, 2_500), this.#random.between(1, 4)];
    this.#world.fault({ service, action: "do", kind: "slow", ms, times });
  }

  /** What the store says of the row at the moment its call arrives outside. */
  async #witness({ operationId: id, args }: WorldArrival): Promise<unknown> {
    const [, tenant, run] = id.split("/");
    const rows = await this.#store.ledger({ tenant: tenant ?? "", id: run ?? "" });
    const ref = { tenant: tenant ?? "", id: run ?? "" };
    for (const row of rows) {
      if (operationId(namespace, ref, row) === id)
        return { intent: row.call.firstSentRevision !== null, approval: approvalOf(row, args) };
      if (operationId(namespace, ref, row, "undo") === id)
        return { intent: (row.undo?.call?.firstSentRevision ?? null) !== null };
    }
    return { intent: false };
  }

  // ---- the client

  #startLater(n: number): void {
    const saga = this.#random.pick(this.#sagas);
    const run = { tenant: "t", id: `r${n}` };
    const input = { id: run.id, refuse: this.#random.chance(0.35) };
    this.#clock.after(this.#random.between(0, 3_000), () => void this.#start(saga, run, input));
    if (saga.spec.name === "wait" && this.#random.chance(0.7)) {
      this.#clock.after(this.#random.between(2_000, 15_000), () => void this.#signal(run));
    }
    if (this.#random.chance(0.2)) this.#clock.after(this.#random.between(500, 8_000), () => void this.#cancel(run));
  }

  /** While faults last: runs are undone, before their end or after it, and are sent what they cannot take. */
  #meddleLater(): void {
    for (let n = 0; n < this.#drawn.runs; n += 1) {
      const run = { tenant: "t", id: `r${n}` };
      const at = this.#whim.between(1_000, faultPhaseMs - 10_000);
      if (this.#whim.chance(0.4)) this.#clock.after(at, () => void this.#undo(run));
      if (this.#whim.chance(0.4)) this.#clock.after(this.#whim.between(1_000, 15_000), () => void this.#provoke(run));
    }
  }

  async #undo(run: RunRef): Promise<void> {
    await this.#send(run, "undo", "client", { type: "undo", reason: "regretted", despitePivot: false });
  }

  /** (To a run of another saga it is nothing that it ever takes.) */
  async #provoke(run: RunRef): Promise<void> {
    await this.#send(run, "event:bad", "client", { type: "event", event: "BAD", payload: {} });
  }

  async #start(saga: Saga, run: RunRef, input: { readonly id: string; readonly refuse: boolean }): Promise<void> {
    const now = epochMs + this.#clock.monotonicMs();
    const hash = hashOf(structureOf(saga));
    const first = begin({ machine: machineOf(saga.spec), hash, ...run, input, priority: 0, now, startAt: now });
    const command = { ...first, memberships: listingsOf(first.record), commandId: this.#random.id() };
    const answer = await this.#store.create(command);
    this.#client.push({ op: "start", run, outcome: answer.answer === "OK" ? "ok" : "fail" });
    const isAdded = !this.#random.chance(0.3);
    if (answer.answer === "OK" && answer.wake !== null && isAdded) await this.#queue.wakeUps.wake([answer.wake]);
  }

  async #send(run: RunRef, slot: string, by: string, body: Parameters<Store["send"]>[0]["body"]): Promise<void> {
    const answer = await this.#store.send({ run, slot, commandId: this.#random.id(), by, body });
    this.#trace(`${this.#at()} ${slot} to ${run.id}: ${answer.answer}`);
    if (answer.answer === "OK" && answer.wake !== null) await this.#queue.wakeUps.wake([answer.wake]);
  }

  async #signal(run: RunRef): Promise<void> {
    await this.#send(run, "event:go", "client", { type: "event", event: "GO", payload: {} });
  }

  async #cancel(run: RunRef): Promise<void> {
    await this.#send(run, "cancel", "client", { type: "cancel", mode: "compensate", reason: "changed my mind" });
  }

  // ---- the operator, who can see the world

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
    const started = this.#history().filter((event) => event.op === "start" && event.outcome === "ok");
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
    for (const { record } of some) await this.#undo({ tenant: record.tenant, id: record.id });
    await this.#clock.advance(1_000);
    return some.length > 0;
  }

  async #helpNow(run: RunRef): Promise<void> {
    const record = await this.#store.read(run);
    if (record !== null) await this.#help({ record, rows: await this.#store.ledger(run), inbox: [] });
  }

  async #help({ record, rows }: Run): Promise<void> {
    const { review } = record;
    const run = { tenant: record.tenant, id: record.id };
    if (this.#people !== null && review === null) return await this.#people.attend(record);
    if (record.status === "waiting") return await this.#signal(run);
    if (review === null) return;
    const verb = this.#answer(run, record, rows);
    if (verb === null) return;
    this.#trace(`${this.#at()} operator on ${run.id}: ${review.reason} ${JSON.stringify(verb)}`);
    await this.#send(run, `review:${review.n}`, "operator", { type: "verb", verb });
  }

  #answer(run: RunRef, record: Run["record"], rows: Run["rows"]): VerbCommand | null {
    const { review } = record;
    if (review === null) return null;
    const row = review.seq === null ? undefined : rows[review.seq - 1];
    const can = (verb: VerbCommand["verb"]): boolean => review.verbs.includes(verb);
    if (can("raise")) return this.#raised(review);
    if (review.reason === "approval_expired" && this.#whim.chance(0.5)) return nobodyDecides;
    if (can("compensate") && this.#whim.chance(0.2)) {
      const to = record.savepoints[review.n % Math.max(1, record.savepoints.length)];
      if (to === undefined) return { verb: "compensate", reason: "not worth an answer" };
      // Told by the number alone, so that a seed draws what it drew before there were savepoints.
      return { verb: "rewind", to: to.state, reason: "once more", despite: review.n % 3 !== 0 };
    }
    if (can("discard") && this.#whim.chance(0.6)) return { verb: "discard", reason: "nobody needs it" };
    if (this.#whim.chance(0.1)) return { verb: "close", reason: "enough of it" };
    if (can("skip") && this.#whim.chance(0.2)) return { verb: "skip", reason: "by hand" };
    if (review.side === "undo" && can("retry") && this.#whim.chance(0.5)) {
      return { verb: "retry", input: { id: "another" }, reason: "with what it needs" };
    }
    if (row === undefined || review.side === null || row.kind === "child")
      return can("retry") && this.#whim.chance(0.7)
        ? { verb: "retry", input: undefined, reason: "again" }
        : { verb: "close", reason: "no way on" };
    if (review.reason === "late_result") return { verb: "retry", input: undefined, reason: "undo it" };
    const call = review.side === "action" ? row.call : row.undo?.call;
    if (call?.state === "unknown" || review.reason === "unknown_outcome") {
      if (!can("resolve")) return { verb: "close", reason: "no way on" };
      const id = operationId(namespace, run, row, review.side);
      const effect = this.#world.effects().find((each) => each.operationId === id);
      const output = { ref: effect?.ref ?? "none" };
      return {
        verb: "resolve",
        as: effect === undefined ? "absent" : "happened",
        output,
        reference: effect?.ref ?? null,
        evidence: "the world says so",
      };
    }
    return can("retry") ? { verb: "retry", input: undefined, reason: "again" } : { verb: "close", reason: "no way on" };
  }

  #raised({ evidence }: Review): VerbCommand {
    const { budget, used } = evidence as { readonly budget: string; readonly used: number };
    return { verb: "raise", budget, to: used + this.#whim.between(1, 3), reason: "it is worth it" };
  }

  #at(): string {
    return String(this.#clock.monotonicMs() - 1_000_000).padStart(7);
  }
}

function openRows({ record, rows }: Run): unknown {
  return rows.filter((row) => record.open.includes(row.seq)).map(({ seq, call, undo }) => ({ seq, call, undo }));
}

const nobodyDecides = {
  verb: "resolve",
  as: "absent",
  output: null,
  reference: null,
  evidence: "nobody has decided",
} as const;

function approvalOf({ step, approval }: Row, args: WorldArrival["args"]): SawApproval | null {
  return approval === null ? null : { state: approval.state, isShown: shownOf(step, args as Json) === approval.shown };
}

const slowServices = ["reserve", "charge", "pick", "letter"] as const;

const worldServices = {
  reserve: { effect: "idempotent" },
  charge: { effect: "keyed", query: true },
  pick: { effect: "once", query: true },
  letter: { effect: "once" },
  "undo-reserve": { effect: "keyed", direction: "undo" },
  "undo-charge": { effect: "keyed", direction: "undo" },
  "undo-pick": { effect: "keyed", direction: "undo" },
  "undo-letter": { effect: "keyed", direction: "undo" },
} as const;
