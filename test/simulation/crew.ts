/**
 * The worker processes of a simulation: born, killed, and born again. Invariant: each is the real engine over ports that belong to
 * one mortal process.
 */
import type { Consumer, ConsumerOptions, Fact, RunRef, Store } from "../../src/core/index.ts";
import { type EngineSettings, engineWorker } from "../../src/engine/index.ts";
import { type Saga, withChildren } from "../../src/saga/index.ts";
import type { FakeWorld } from "../../src/testing/index.ts";
import type { MemoryQueue } from "../../src/testing/memory-queue.ts";
import { Mortal } from "../../src/testing/rig/mortal.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { calm, type Doomed, type FaultRates, Fortune } from "./fates.ts";
import { servicesOf } from "./outside.ts";
import type { CrashPoints } from "./points.ts";
import type { Random } from "./random.ts";

const respawnMs = 300;
/** A dead worker's job is given to another one after that long. */
const stalledMs = 200;

/** What processes live in. */
export interface Surroundings {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly points: CrashPoints;
  readonly trace: (line: string) => void;
}

export interface CrewParts extends Surroundings {
  readonly namespace: string;
  readonly settings: EngineSettings;
  readonly sagas: readonly Saga[];
  readonly world: FakeWorld;
  readonly queue: MemoryQueue;
  readonly rates: FaultRates;
  /** As a process has it. */
  readonly storeOf: (process: Mortal) => Store;
  /** Is this undoing refused today? */
  readonly isClosed: (operationId: string) => boolean;
  /** To write down every fact takes long. */
  readonly isTraced: boolean;
  readonly onFact: ((fact: Fact) => void) | undefined;
}

interface Living extends Doomed {
  consumer: Consumer | null;
  onWake: ((run: RunRef) => Promise<void>) | null;
}

export class Crew {
  /** Where processes died, and how often. */
  readonly deaths: Record<string, number> = {};
  readonly #parts: CrewParts;
  readonly #alive = new Map<Mortal, Living>();
  readonly #underWay = new Map<Mortal, number>();
  #rates: FaultRates;
  #births = 0;

  constructor(parts: CrewParts) {
    this.#parts = parts;
    this.#rates = parts.rates;
  }

  /** Nothing befalls those who live, nor those who are born from now on. */
  calm(): void {
    this.#rates = calm;
    for (const { fortune } of this.#alive.values()) fortune.calm();
  }

  spawn(): void {
    this.#births += 1;
    const parts = this.#parts;
    const doomed = doomedProcess(`w${this.#births}`, this.#rates, parts, (dead, where) => this.#buried(dead, where));
    const { process } = doomed;
    this.#alive.set(process, { ...doomed, consumer: null, onWake: null });
    const worker = engineWorker(this.#portsOf(process), {
      namespace: parts.namespace,
      sagas: withChildren(parts.sagas),
      pools: ["default"],
      queues: [],
      concurrency: 5,
      services: servicesOf(process, {
        world: parts.world,
        isClosed: parts.isClosed,
        underWay: (of, by) => void this.#underWay.set(of, (this.#underWay.get(of) ?? 0) + by),
      }),
      settings: parts.settings,
      allowForgetfulStore: false,
      log: () => undefined,
    });
    worker.start().catch((error: unknown) => {
      this.#parts.trace(`${process.name} could not start: ${String(error)}`);
      process.kill("start");
    });
  }

  #portsOf(process: Mortal): Parameters<typeof engineWorker>[0] {
    return {
      ports: {
        store: this.#parts.storeOf(process),
        wakeUps: process.wakeUps(this.#parts.queue.wakeUps),
        clock: process.clock,
        ids: idsOf(this.#parts.random),
        facts: { emit: (fact) => this.#emit(process.name, fact) },
      },
      consumers: (wanted) => this.#consumerOf(process, wanted),
      pulse: (onOpen) => {
        onOpen({ serverId: "sim", pulse: process.name });
        return { close: () => undefined };
      },
    };
  }

  #consumerOf(process: Mortal, wanted: ConsumerOptions): Consumer {
    const touch = { kind: "job", what: "job", asked: [] } as const;
    const onWake = (run: RunRef) =>
      process.cross(
        touch,
        () => wanted.onWake(run),
        () => this.#wakeAnother(process, run),
      );
    const consumer = this.#parts.queue.consumers({ ...wanted, onWake });
    const mine = this.#alive.get(process);
    if (mine !== undefined) Object.assign(mine, { consumer, onWake: wanted.onWake });
    return consumer;
  }

  /** A job is handed to another worker as well, whatever the queue thinks of it. */
  #wakeAnother(than: Mortal, run: RunRef): void {
    const another = [...this.#alive.values()].find(({ process }) => process !== than);
    void another?.onWake?.(run);
  }

  #emit(name: string, fact: Fact): void {
    const { onFact, isTraced } = this.#parts;
    onFact?.(fact);
    if (isTraced) this.#parts.trace(`${name} ${JSON.stringify(fact)}`);
  }

  #buried(process: Mortal, where: string): void {
    this.#parts.trace(`${process.name} dies ${where}`);
    this.deaths[where] = (this.deaths[where] ?? 0) + 1;
    if ((this.#underWay.get(process) ?? 0) > 0 && !/(action|undo|probe) /.test(where)) this.#parts.points.hit("P07");
    const { consumer = null } = this.#alive.get(process) ?? {};
    this.#alive.delete(process);
    if (consumer !== null) this.#parts.clock.after(stalledMs, () => this.#parts.queue.crash(consumer));
    this.#parts.clock.after(respawnMs, () => this.spawn());
  }

  pulseLives(pulse: string): boolean {
    return [...this.#alive.keys()].some(({ name }) => name === pulse);
  }
}

/** A process to which things happen at these rates. */
export function doomedProcess(
  name: string,
  rates: FaultRates,
  { clock, random, points, trace }: Surroundings,
  onDeath: (process: Mortal, where: string) => void,
): Doomed {
  const fortune = new Fortune(random, points, rates);
  const process = new Mortal({
    name,
    clock,
    fates: (crossing) => fortune.fateAt(crossing),
    stillMs: () => fortune.stillMs(),
    lateMs: () => fortune.lateMs(),
    onDeath,
    onStandstill: (where) => trace(`${name} stands still at ${where}`),
    pace: (ms) => ms,
  });
  return { process, fortune };
}

export function idsOf(random: Random) {
  return { next: () => random.id(), random: () => random.next() };
}
