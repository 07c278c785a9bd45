/**
 * What one driver has learnt and not yet decided on, in order of arrival. Invariants: M1 an inbox entry is put in once,
 * whichever way it is heard of. M2 whoever listens is woken by every fact, and by `wake`.
 */
import type { Clock, DriverFact, InboxEntry } from "../core/index.ts";

export class Mailbox {
  readonly #clock: Clock;
  #facts: DriverFact[];
  #fed: number;
  #wakeUp: (() => void) | null = null;

  /** `seen`: entries up to this position are known to the driver already. */
  constructor(clock: Clock, first: DriverFact, seen: number) {
    this.#clock = clock;
    this.#facts = [first];
    this.#fed = seen;
  }

  get isEmpty(): boolean {
    return this.#facts.length === 0;
  }

  /** Highest inbox position that was put in (or was known before). */
  get fed(): number {
    return this.#fed;
  }

  post(fact: DriverFact): void {
    this.#facts.push(fact);
    this.wake();
  }

  /** Puts in the entries that are new. */
  postEntries(entries: readonly InboxEntry[]): void {
    if (entries.length === 0) return;
    const fresh = entries.filter((entry) => entry.position > this.#fed);
    this.knows(entries);
    if (fresh.length > 0) this.post({ type: "inbox", entries: fresh });
  }

  /** These entries reach the next decision by another way. */
  knows(entries: readonly InboxEntry[]): void {
    this.#fed = highest(entries, this.#fed);
  }

  /** Entries that wait in here. */
  entries(): readonly InboxEntry[] {
    return this.#facts.flatMap((fact) => (fact.type === "inbox" ? fact.entries : []));
  }

  take(): readonly DriverFact[] {
    const facts = this.#facts;
    this.#facts = [];
    return facts;
  }

  wake(): void {
    this.#wakeUp?.();
  }

  /** Resolves with the next fact, when woken, or after `tickMs`, which leaves a tick in here (`null`: no tick). `null`: there is one. */
  listen(tickMs: number | null): Promise<void> | null {
    if (this.#facts.length > 0) return null;
    const cancel = tickMs === null ? null : this.#clock.after(tickMs, () => this.post({ type: "tick" }));
    return new Promise((resolve) => {
      this.#wakeUp = () => {
        this.#wakeUp = null;
        cancel?.();
        resolve();
      };
    });
  }
}

export function highest(entries: readonly InboxEntry[], least: number): number {
  return entries.reduce((most, entry) => Math.max(most, entry.position), least);
}
