/**
 * Owns: the world outside, as a model: services that are called, asked and counted, and that fail as scripted.
 * Does not own: anything of Reprise. It knows no run record, so it can bear witness against one.
 *
 * Invariants
 * 1. Every request that names an operation leaves an `arrival` (or `query`) line before anything else happens.
 * 2. Everything that changes leaves one `effect` line (world/effects.ts), whatever the caller is told.
 * 3. A caller that goes away changes nothing about what the world does.
 */
import { Later, systemClock, type WorldClock } from "./world/clock.ts";
import { Effects } from "./world/effects.ts";
import { type Fault, FaultBook, type FaultReport, type ScriptedFault } from "./world/faults.ts";
import { FrontDesk, type WorldBatch, type WorldCall, type WorldQuery } from "./world/front-desk.ts";
import { type HeldCall, HeldCalls, type HeldFilter, meetsFilter, type WorldEvent } from "./world/held-calls.ts";
import { type Counts, Journal, type OperationCounts, type WorldArrival, type WorldEntry } from "./world/journal.ts";
import type { WorldReply } from "./world/replies.ts";
import type { ServiceProfile } from "./world/services.ts";

export type { WorldClock } from "./world/clock.ts";
export type {
  CallFault,
  Fault,
  FaultKind,
  FaultReport,
  ScriptedFault,
} from "./world/faults.ts";
export type { WorldBatch, WorldCall, WorldCaller, WorldQuery } from "./world/front-desk.ts";
export type { HeldCall, HeldFilter, WorldEvent } from "./world/held-calls.ts";
export { WorldRefusal } from "./world/input.ts";
export type { Counts, OperationCounts, WorldArrival, WorldEntry } from "./world/journal.ts";
export type { WorldReply } from "./world/replies.ts";
export type { ServiceProfile, WorldEffect } from "./world/services.ts";

export interface FakeWorldOptions {
  /** Where to write the witness, one JSON object a line. It must be new or empty. In memory only, when left out. */
  readonly file?: string;
  /**
   * How services answer that differ from, or are none of, the usual ones (`stock`, `payments`, `shipping`, `mail`,
   * `flights`, `hotels`): `{ mail: { query: true }, ledger: { effect: "keyed" } }`.
   */
  readonly services?: Readonly<Record<string, Partial<ServiceProfile>>>;
  /** Looks elsewhere at the moment of each arrival; what it gives is written to the line as `saw`. */
  readonly witness?: (arrival: WorldArrival) => unknown;
  readonly clock?: WorldClock;
  /** Lines kept before the world takes no more requests. 500,000 when left out. */
  readonly maxEntries?: number;
}

/** A held call and how to end it. */
export interface HeldHandle extends HeldCall {
  /** Lets it go on: it is answered, after being applied if it was not yet. */
  release(): void;
  /** Resets its connection; what was not applied never is. */
  drop(): void;
}

interface Waits {
  readonly signal?: AbortSignal | undefined;
}

/**
 * A world outside for tests and demonstrations: services that keep state, count every arrival and every effect, and
 * fail as scripted. What it wrote is evidence, for it knows nothing of the engine.
 *
 * ```ts
 * const world = new FakeWorld();
 * world.fault({ service: "payments", action: "charge", kind: "apply-then-500" });
 * const { payments } = worldClient(world);
 * // ... run the saga ...
 * world.service("payments").counts(operationId); // { arrivals: 2, effects: 1 }
 * ```
 */
export class FakeWorld {
  readonly #later: Later;
  readonly #journal: Journal;
  readonly #faults = new FaultBook();
  readonly #heldCalls = new HeldCalls();
  readonly #desk: FrontDesk;
  readonly #handedOut = new Set<string>();
  #isClosed = false;

  constructor(options: FakeWorldOptions = {}) {
    const clock = options.clock ?? systemClock;
    const now = () => clock.now();
    this.#later = new Later(clock);
    this.#journal = new Journal({ file: options.file, maxEntries: options.maxEntries ?? 500_000, now });
    this.#desk = new FrontDesk({
      services: new Map(Object.entries(options.services ?? {})),
      witness: options.witness,
      now,
      later: this.#later,
      journal: this.#journal,
      effects: new Effects(this.#journal, now),
      faults: this.#faults,
      held: this.#heldCalls,
    });
  }

  /** Calls a service. Resolves with what the caller sees; rejects only with the reason of `signal`. */
  call(call: WorldCall, waits: Waits = {}): Promise<WorldReply> {
    return this.#desk.call(call, waits.signal);
  }

  /** Calls a service with several operations in one request: each is an arrival and an effect of its own. */
  batch(batch: WorldBatch, waits: Waits = {}): Promise<WorldReply> {
    return this.#desk.batch(batch, waits.signal);
  }

  /** Asks a service what became of an operation: `{ found: true, result, undone }` or `{ found: false }`. */
  query(query: WorldQuery, waits: Waits = {}): Promise<WorldReply> {
    return this.#desk.query(query, waits.signal);
  }

  /** Scripts a fault. Throws a `WorldRefusal` that names the field which does not fit. */
  fault(fault: Fault): ScriptedFault {
    return this.#faults.add(fault);
  }

  /** The faults that are set, with how often each has struck. */
  faults(): readonly FaultReport[] {
    return this.#faults.list();
  }

  /** Takes a fault away by its id. Says whether it was set. */
  removeFault(id: string): boolean {
    return this.#faults.remove(id);
  }

  /** Takes every fault away. */
  clearFaults(): void {
    this.#faults.clear();
  }

  /** The calls whose answer is withheld right now. */
  held(): readonly HeldHandle[] {
    return this.#heldCalls.list().map((call) => this.#handle(call));
  }

  /** The next call that is withheld, each given once: at once if there is one, else when it comes. */
  nextHeld(filter: HeldFilter = {}, waits: Waits = {}): Promise<HeldHandle> {
    const fits = (call: HeldCall) => !this.#handedOut.has(call.id) && meetsFilter(call, filter);
    return new Promise((resolve, reject) => {
      const take = (call: HeldCall) => {
        this.#handedOut.add(call.id);
        stop();
        resolve(this.#handle(call));
      };
      const giveUp = () => {
        stop();
        reject(waits.signal?.reason);
      };
      const unsubscribe = this.#heldCalls.subscribe(({ event, call }) => {
        if (event === "held" && fits(call)) take(call);
      });
      const stop = () => {
        unsubscribe();
        waits.signal?.removeEventListener("abort", giveUp);
      };
      const waiting = this.#heldCalls.list().find(fits);
      if (waiting !== undefined) take(waiting);
      else if (waits.signal?.aborted === true) giveUp();
      else waits.signal?.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Ends a held call by its id. Says whether it was held. */
  endHeld(id: string, end: "released" | "dropped"): boolean {
    return this.#heldCalls.end(id, end);
  }

  /** What happened to held calls after `seq`, as far back as it is kept (10,000 events). */
  eventsAfter(seq: number): readonly WorldEvent[] {
    return this.#heldCalls.eventsAfter(seq);
  }

  /** The number of the last event, 0 before the first. */
  lastEvent(): number {
    return this.#heldCalls.lastEvent();
  }

  /** Tells `listener` of every further event, until what it gives is called. */
  subscribe(listener: (event: WorldEvent) => void): () => void {
    return this.#heldCalls.subscribe(listener);
  }

  /** One service's part of the witness. */
  service(name: string): {
    /** Arrivals and effects of one operation, or of all. */
    counts(operationId?: string): Counts;
    /** The lines that concern it, in order. */
    entries(): readonly WorldEntry[];
  } {
    return {
      counts: (operationId) => {
        const mine = this.counts().filter((each) => {
          return each.service === name && (operationId === undefined || each.operationId === operationId);
        });
        const total = (of: "arrivals" | "effects") => mine.reduce((sum, each) => sum + each[of], 0);
        return { arrivals: total("arrivals"), effects: total("effects") };
      },
      entries: () => this.entries().filter((each) => each.service === name),
    };
  }

  /** Arrivals and effects of every operation that was seen. */
  counts(): readonly OperationCounts[] {
    return this.#journal.counts();
  }

  /** Every effect, in the order in which they happened. */
  effects(): readonly WorldEntry[] {
    return this.entries().filter(({ kind }) => kind === "effect");
  }

  /** Every line of the witness, in order. */
  entries(): readonly WorldEntry[] {
    return this.#journal.entries();
  }

  /** Drops what is held, forgets what was to be applied later, and closes the file. It may be called again. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#desk.close();
    this.#heldCalls.close();
    this.#later.close();
    this.#journal.close();
  }

  #handle(call: HeldCall): HeldHandle {
    return {
      ...call,
      release: () => void this.endHeld(call.id, "released"),
      drop: () => void this.endHeld(call.id, "dropped"),
    };
  }
}
