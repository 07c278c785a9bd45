/**
 * From a wake-up to a driver. Owns: winning the lease, and the runs this worker must give back untouched: those of a saga
 * it does not serve, those whose values lie in an artifact store that it was not given, those of paused sagas, and suspects
 * whose turn it is not. Invariants: W1 a run that cannot be served here is not changed.
 * W2 a run that two processes have died with is driven alone (who dies with it accuses nobody else). W3 a worker
 * that stops drives nothing more: what it was woken for goes back at once, under a new wake number, for another to take.
 */
import {
  type AcquireAnswer,
  hasEnded,
  type LeaseRef,
  type Machine,
  type MissingValue,
  missingIn,
  type RunRef,
  runKey,
  summaryOf,
  type Timed,
  targetsOf,
} from "../core/index.ts";
import { Driver } from "./advance.ts";
import { type EngineContext, pause, trouble, untilAnswered, wake } from "./context.ts";
import type { HeldLease, LeaseHolder } from "./lease.ts";
import { handBackMs, resendMs } from "./settings.ts";
import type { Suspects } from "./suspects.ts";
import { giveLeftTurn } from "./turns.ts";

type Won = Timed<Extract<AcquireAnswer, { answer: "OK" }>>;
type Unread = Timed<Extract<AcquireAnswer, { answer: "CORRUPT" }>>;

/** How often an acquire without an answer is sent again; afterwards the due index brings the run back. */
const acquireTries = 3;
/** A run that cannot be read is looked at again after this. */
const setAsideMs = 300_000;
/** Runs whose hand-backs are counted; beyond it the oldest start again at the first delay. */
const maxRemembered = 10_000;

export interface AcquirerOptions {
  readonly context: EngineContext;
  readonly suspects: Suspects;
  /** Every driver under way, so that a stopping worker can speak to them. */
  readonly drivers: Set<Driver>;
}

export class Acquirer {
  readonly #options: AcquirerOptions;
  readonly #handBacks = new Map<string, number>();

  constructor(options: AcquirerOptions) {
    this.#options = options;
  }

  /**
   * Drives the run as far as this worker can; resolves when it has nothing more to do for it. `evenEnded`: this process remembers
   * more of it than the store, for which it may be over.
   */
  async advance(run: RunRef, { evenEnded = false } = {}): Promise<void> {
    const { context } = this.#options;
    const token = context.ids.next();
    const acquired = await this.#acquire(run, token, evenEnded);
    if (acquired === null) return;
    const { answer, sentAt } = acquired;
    const lease: LeaseRef = { run, owner: context.owner, fence: answer.fence, token };
    if (answer.answer === "CORRUPT") await this.#setAside(lease, answer);
    else if (context.isStopping()) await this.#giveBack(lease, answer.now);
    else await this.#serve(lease, answer, sentAt);
  }

  /** `null`: somebody else has it, it is over, or the store did not answer. */
  async #acquire(
    run: RunRef,
    token: string,
    evenEnded: boolean,
  ): Promise<{ readonly answer: Won | Unread; readonly sentAt: number } | null> {
    const { context } = this.#options;
    const { clock, store, owner, settings } = context;
    for (let tries = 1; ; tries += 1) {
      const sentAt = clock.monotonicMs();
      try {
        const answer = await store.acquire({ run, owner, token, leaseMs: settings.leaseMs, evenEnded });
        if (answer.answer === "OK" || answer.answer === "CORRUPT") return { answer, sentAt };
        if (answer.answer === "ENDED") context.background(giveLeftTurn(context, run));
        return null;
      } catch (error) {
        trouble(context, "acquire", error);
        if (tries === acquireTries || context.isStopping()) return null;
        await pause(clock, resendMs.first * tries);
      }
    }
  }

  async #serve(lease: LeaseRef, won: Won, sentAt: number): Promise<void> {
    const { context, suspects } = this.#options;
    const missing = missingIn(won.record, won.rows);
    const remembered = context.forgottenBy(won.record);
    // It was put right while this one asked for it.
    if (remembered === null && hasEnded(won.record.status) && won.inbox.length === 0)
      return await this.#giveBack(lease, null);
    const machine = this.#machineFor(won, missing.length === 0 && remembered === null);
    if (machine === null || missing.some(isElsewhere)) return await this.#giveBackUnserved(lease, won, missing);
    this.#handBacks.delete(runKey(lease.run));
    if (remembered === null && context.isPaused(won.record.saga)) return await this.#shelve(lease, won.record.saga);
    if (remembered === null && !context.isOpen()) return await this.#giveBack(lease, won.now + handBackMs.first);
    const { record, rows, inbox, takenFrom, permits } = won;
    context.facts.emit({ fact: "acquired", run: lease.run, record, now: won.now, takenFrom });
    const acquired = {
      run: missing.length === 0 ? { record, rows, inbox } : { record, rows, inbox, missing },
      machine,
      fact: { type: "acquired", takenFrom, permits, ...(remembered === null ? {} : { remembered }) } as const,
      now: won.now,
    };
    const hold = (holder: LeaseHolder): HeldLease => context.leases.hold(lease, sentAt, holder);
    const drive = (cleared: () => void): Promise<void> => this.#drive(new Driver(context, hold, acquired, cleared));
    if (!isSuspect(won)) return await drive(nothing);
    if (!(await suspects.driveAlone(lease.run, drive))) await this.#giveBack(lease, won.now + handBackMs.first);
  }

  /** That of a version which the run is asked to move to (`core/change/migrate.ts`), or its own; `null`: none is served here. */
  #machineFor({ record, rows, inbox }: Won, mayMove: boolean): Machine | null {
    const { machineFor } = this.#options.context.sagas;
    for (const target of mayMove ? targetsOf({ record, rows, inbox }) : []) {
      const machine = machineFor(target);
      if (machine !== null) return machine;
    }
    return machineFor(record);
  }

  /** Its saga is paused: it waits, untouched, until that is over. */
  async #shelve(lease: LeaseRef, saga: string): Promise<void> {
    const { context } = this.#options;
    await untilAnswered(context, "shelve", () => context.store.shelve(lease, saga));
  }

  /** Nobody decides on what cannot be read: people are told, and it is looked at again from time to time. */
  async #setAside(lease: LeaseRef, { message, now }: Unread): Promise<void> {
    const { context } = this.#options;
    trouble(context, "acquire", new Error(`${message}: it is set aside until it can be read`));
    const request = () => context.store.setAside(lease, now + setAsideMs, message);
    await untilAnswered(context, "set aside", request);
  }

  async #drive(driver: Driver): Promise<void> {
    const { drivers } = this.#options;
    drivers.add(driver);
    try {
      await driver.drive();
    } finally {
      drivers.delete(driver);
    }
  }

  async #giveBackUnserved(lease: LeaseRef, { record, now }: Won, missing: readonly MissingValue[]): Promise<void> {
    const key = runKey(lease.run);
    const delay = this.#handBacks.get(key) ?? handBackMs.first;
    if (!this.#handBacks.has(key)) {
      const { saga, version } = record;
      const { facts } = this.#options.context;
      facts.emit({ fact: "unserved", run: lease.run, saga, version });
      if (missing.length > 0) trouble({ facts }, "artifacts", `run ${key}: ${summaryOf(missing)}`);
    }
    this.#remember(key, Math.min(delay * 2, handBackMs.most));
    await this.#giveBack(lease, now + delay);
  }

  #remember(key: string, delay: number): void {
    this.#handBacks.delete(key);
    this.#handBacks.set(key, delay);
    if (this.#handBacks.size <= maxRemembered) return;
    for (const oldest of this.#handBacks.keys()) {
      this.#handBacks.delete(oldest);
      return;
    }
  }

  /** Untouched: whatever lies in its inbox is read by who takes it next, so nothing newer holds the release up. */
  async #giveBack(lease: LeaseRef, due: number | null): Promise<void> {
    const { context } = this.#options;
    const release = () => context.store.release(lease, Number.MAX_SAFE_INTEGER, due);
    const released = await untilAnswered(context, "release", release);
    await wake(context, released?.answer.wake ?? null);
  }
}

/**
 * Has a process died with it before the one it was just taken from? A single death says little (all runs of a worker share
 * it), and driving them one at a time would make one crash cost as many turns as that worker had runs.
 */
function isSuspect({ suspect, record, rows }: Won): boolean {
  if (!suspect) return false;
  if (record.interruptions > 0) return true;
  return rows.some((row) => row.call.interruptions > 0 || (row.undo?.call?.interruptions ?? 0) > 0);
}

/** Kept where this worker was not told to look: another one may have it. */
function isElsewhere({ why }: MissingValue): boolean {
  return why === "no_store";
}

function nothing(): void {}
