/**
 * After the store was restarted, or another server has taken its place, it may have forgotten what it acknowledged. Nothing is
 * driven before everybody who may remember more has looked: runs that are there are as old as the store's memory, and one that
 * is new to it may have been started before.
 *
 * Invariants: O1 from the moment a connection is opened until it is known to lead to the same world, nothing new is driven; in a
 * new world not before every registered owner has compared, or `leasesWaited` have passed. O2 this process says that it has
 * compared once what it found forgotten is put right. O3 what this process itself remembers is put right without waiting, and it drives
 * nothing new before it has asked about all of that: a run that it took up meanwhile would be remembered as it is now.
 */
import { type EngineContext, pause, trouble, untilAnswered } from "./context.ts";

/** Leases for which owners are waited for that say nothing: by then one that lives has been heard, and leases of the older world are over. */
const leasesWaited = 2;
/** Between two looks at who has compared. */
const lookMs = 100;

export interface WorldsParts {
  readonly context: EngineContext;
  /** Resolves when the store was asked about everything that is remembered, and what it has forgotten is known. */
  readonly compare: () => Promise<void>;
  /** Resolves when what it had forgotten is put right. */
  readonly allRight: () => Promise<void>;
  /** Registers this process anew, with the world that it has compared. */
  readonly register: () => Promise<void>;
}

export class Worlds {
  readonly #parts: WorldsParts;
  /** The world as it was last seen; `null`: not yet. */
  #world: string | null = null;
  /** Has a connection been opened since? */
  #isAsked = false;
  #isLooking = false;
  /** Until when others are waited for, monotonic; `null`: nobody is. */
  #waitsUntil: number | null = null;
  /** The world that was asked about everything that this process remembers. */
  #asked: string | null = null;
  #compared: string | null = null;

  constructor(parts: WorldsParts) {
    this.#parts = parts;
  }

  /** The world that this process has compared; `null`: none. */
  get compared(): string | null {
    return this.#compared;
  }

  /** May runs be driven that this process remembers nothing more of? */
  get isOpen(): boolean {
    return !this.#isLooking && this.#waitsUntil === null && this.#asked === this.#world;
  }

  /** Was everything that is remembered compared with this world, and put right? */
  get isSettled(): boolean {
    return this.isOpen && this.#compared === this.#world;
  }

  /** The first world: nothing is remembered yet, so there is nothing to compare. Others may. */
  async begin(): Promise<void> {
    this.#world = await this.#parts.context.store.world();
    this.#asked = this.#world;
    this.#compared = this.#world;
    this.#waitForOthers();
  }

  /** A connection was opened, perhaps to another server. */
  opened(): void {
    const { context } = this.#parts;
    this.#isAsked = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    context.background(this.#lookWhileAsked());
  }

  /** `true` when it is open; `false`: the worker was stopped before that. */
  async whenOpen(): Promise<boolean> {
    const { clock, isStopping } = this.#parts.context;
    while (!this.isOpen) {
      await pause(clock, lookMs);
      if (isStopping()) return false;
    }
    return true;
  }

  async #lookWhileAsked(): Promise<void> {
    const { context } = this.#parts;
    try {
      while (this.#isAsked) {
        this.#isAsked = false;
        const sent = await untilAnswered(context, "world", () => context.store.world());
        if (sent === null) return;
        if (sent.answer !== this.#world) this.#isNew(sent.answer);
        context.background(this.#compareWith(sent.answer));
      }
    } finally {
      this.#isLooking = false;
    }
  }

  #isNew(world: string): void {
    const { context } = this.#parts;
    this.#world = world;
    const most = leasesWaited * context.settings.leaseMs;
    const message = `the store was restarted or is another one: nothing is driven before all workers have looked if it knows what they know, for ${most} ms at most`;
    trouble(context, "store", new Error(message));
    this.#waitForOthers();
  }

  async #compareWith(world: string): Promise<void> {
    await this.#parts.compare();
    if (world !== this.#world) return;
    this.#asked = world;
    await this.#parts.allRight();
    if (world !== this.#world || world === this.#compared) return;
    this.#compared = world;
    await this.#parts.register();
  }

  /** Also where they are being waited for: it is another world then. */
  #waitForOthers(): void {
    const { context } = this.#parts;
    const isWaiting = this.#waitsUntil !== null;
    this.#waitsUntil = context.clock.monotonicMs() + leasesWaited * context.settings.leaseMs;
    if (!isWaiting) context.background(this.#untilOthersHaveCompared());
  }

  async #untilOthersHaveCompared(): Promise<void> {
    const { clock, isStopping } = this.#parts.context;
    while (!isStopping() && clock.monotonicMs() < (this.#waitsUntil ?? 0)) {
      if (await this.#haveOthersCompared()) break;
      await pause(clock, lookMs);
    }
    this.#waitsUntil = null;
  }

  async #haveOthersCompared(): Promise<boolean> {
    const { context } = this.#parts;
    const world = this.#world;
    try {
      const owners = await context.store.owners();
      const isThere = owners.every(({ owner, compared }) => owner === context.owner || compared === world);
      return isThere && world === this.#world && !this.#isLooking;
    } catch (error) {
      trouble(context, "owners", error);
      return false;
    }
  }
}
