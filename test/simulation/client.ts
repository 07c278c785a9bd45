/**
 * The client of a simulation: starts runs, sends them what they wait for and what they cannot take, and cancels and undoes them, over a
 * network that loses requests and replies. Invariant: what is written down is what it was told.
 */
import { begin, hashOf, listingsOf, machineOf, type RunRef, type Store, type WakeUps } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import { type Saga, structureOf } from "../../src/saga/index.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { ClientEvent } from "../support/checker.ts";
import type { CrashPoints } from "./points.ts";
import type { Random } from "./random.ts";

const tenant = "t";
/** How often it asks again that was not answered. */
const tries = 3;

export interface ClientParts {
  /** As it reaches it. */
  readonly store: Store;
  readonly wakeUps: WakeUps;
  readonly clock: VirtualClock;
  readonly random: Random;
  /** What it feels like doing beside. */
  readonly whim: Random;
  readonly sagas: readonly Saga[];
  /** How many it starts. */
  readonly runs: number;
  /** Until then it wants something of them. */
  readonly busyMs: number;
  readonly points: CrashPoints;
  readonly now: () => number;
  readonly trace: (line: string) => void;
}

export class SimClient {
  /** What it asked, and what it was told. */
  readonly history: ClientEvent[] = [];
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  startLater(n: number): void {
    const { random, clock, sagas } = this.#parts;
    const saga = random.pick(sagas);
    const run = { tenant, id: `r${n}` };
    const input = { id: run.id, refuse: random.chance(0.35) };
    clock.after(random.between(0, 3_000), () => void this.#start(saga, run, input));
    if (saga.spec.name === "wait" && random.chance(0.7)) {
      clock.after(random.between(2_000, 15_000), () => void this.signal(run));
    }
    if (random.chance(0.2)) clock.after(random.between(500, 8_000), () => void this.#cancel(run));
  }

  /** While faults last: runs are undone, before their end or after it, and are sent what they cannot take. */
  meddleLater(): void {
    const { whim, clock } = this.#parts;
    for (let n = 0; n < this.#parts.runs; n += 1) {
      const run = { tenant, id: `r${n}` };
      const at = whim.between(1_000, this.#parts.busyMs);
      if (whim.chance(0.4)) clock.after(at, () => void this.undo(run));
      if (whim.chance(0.4)) clock.after(whim.between(1_000, 15_000), () => void this.#provoke(run));
    }
  }

  async undo(run: RunRef): Promise<void> {
    await this.send(run, "undo", "client", { type: "undo", reason: "regretted", despitePivot: false });
  }

  /** (To a run of another saga it is nothing that it ever takes.) */
  async #provoke(run: RunRef): Promise<void> {
    await this.send(run, "event:bad", "client", { type: "event", event: "BAD", payload: {} });
  }

  async #start(saga: Saga, run: RunRef, input: { readonly id: string; readonly refuse: boolean }): Promise<void> {
    const { random, points, wakeUps } = this.#parts;
    const now = this.#parts.now();
    const hash = hashOf(structureOf(saga));
    const first = begin({ machine: machineOf(saga.spec), hash, ...run, input, priority: 0, now, startAt: now });
    const command = { ...first, memberships: listingsOf(first.record), commandId: random.id() };
    const answer = await this.#asked((store) => store.create(command));
    const isThere = answer?.answer === "OK" || answer?.answer === "EXISTS";
    this.history.push({ op: "start", run, outcome: answer === null ? "info" : isThere ? "ok" : "fail" });
    if (answer?.answer !== "OK" || answer.wake === null) return;
    // Or it dies before it has sent it.
    if (random.chance(0.3)) points.hit("P01");
    else await wakeUps.wake([answer.wake]);
  }

  async send(run: RunRef, slot: string, by: string, body: Parameters<Store["send"]>[0]["body"]): Promise<void> {
    const command = { run, slot, commandId: this.#parts.random.id(), by, body };
    const answer = await this.#asked((store) => store.send(command));
    this.#parts.trace(`${slot} to ${run.id}: ${answer?.answer}`);
    if (answer?.answer === "OK" && answer.wake !== null) await this.#parts.wakeUps.wake([answer.wake]);
  }

  /** The same request again, until it is answered; `null`: it never was. */
  async #asked<Answer>(ask: (store: Store) => Promise<Answer>): Promise<Answer | null> {
    for (let tried = 0; tried < tries; tried += 1) {
      try {
        return await ask(this.#parts.store);
      } catch (error) {
        if (!(error instanceof RepriseError)) throw error;
      }
    }
    return null;
  }

  async signal(run: RunRef): Promise<void> {
    await this.send(run, "event:go", "client", { type: "event", event: "GO", payload: {} });
  }

  async #cancel(run: RunRef): Promise<void> {
    await this.send(run, "cancel", "client", { type: "cancel", mode: "compensate", reason: "changed my mind" });
  }
}
