/**
 * Owns: the requests whose answer is withheld, and telling at once that it is.
 *
 * Invariants
 * 1. A held call ends once: released, dropped, or dropped with the world.
 * 2. A caller that goes away leaves its call held: whether the other side still acts on it is for the script to say.
 */
import { limits, WorldRefusal } from "./input.ts";

/** A request that is not being answered. */
export interface HeldCall {
  readonly id: string;
  readonly service: string;
  readonly action: string;
  readonly operationId: string;
  readonly fault: string;
  /** Whether the effect has been applied already. */
  readonly applied: boolean;
  readonly run?: string;
  readonly step?: string;
  readonly pid?: number;
}

/** What happened to a held call. */
export interface WorldEvent {
  readonly seq: number;
  readonly event: "held" | "abandoned" | "released" | "dropped";
  readonly call: HeldCall;
}

export interface HeldFilter {
  readonly service?: string;
  readonly action?: string;
  readonly operationId?: string;
}

interface Waiting {
  readonly call: HeldCall;
  readonly settle: (end: "released" | "dropped") => void;
}

export class HeldCalls {
  readonly #waiting = new Map<string, Waiting>();
  readonly #events: WorldEvent[] = [];
  readonly #listeners = new Set<(event: WorldEvent) => void>();
  #held = 0;
  #seq = 0;

  /** Withholds an answer until the promise says how it ends; `gone` tells that nobody waits for it any more. */
  hold(described: Omit<HeldCall, "id">, gone: AbortSignal | undefined): Promise<"released" | "dropped"> {
    if (this.#waiting.size >= limits.maxHeldCalls) {
      throw new WorldRefusal(429, "too_many_held", `at most ${limits.maxHeldCalls} calls are held`);
    }
    this.#held += 1;
    const call: HeldCall = { id: `held_${this.#held}`, ...described };
    return new Promise((resolve) => {
      const abandon = () => this.#tell("abandoned", call);
      const settle = (end: "released" | "dropped") => {
        gone?.removeEventListener("abort", abandon);
        resolve(end);
      };
      this.#waiting.set(call.id, { call, settle });
      this.#tell("held", call);
      if (gone?.aborted === true) abandon();
      else gone?.addEventListener("abort", abandon, { once: true });
    });
  }

  end(id: string, end: "released" | "dropped"): boolean {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return false;
    this.#waiting.delete(id);
    this.#tell(end, waiting.call);
    waiting.settle(end);
    return true;
  }

  list(): readonly HeldCall[] {
    return [...this.#waiting.values()].map(({ call }) => call);
  }

  /** The events after `seq` that are still kept (the last 10,000). */
  eventsAfter(seq: number): readonly WorldEvent[] {
    return this.#events.filter((event) => event.seq > seq);
  }

  lastEvent(): number {
    return this.#seq;
  }

  subscribe(listener: (event: WorldEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    for (const id of [...this.#waiting.keys()]) this.end(id, "dropped");
    this.#listeners.clear();
  }

  #tell(event: WorldEvent["event"], call: HeldCall): void {
    this.#seq += 1;
    const told: WorldEvent = { seq: this.#seq, event, call };
    this.#events.push(told);
    if (this.#events.length > limits.maxEvents) this.#events.shift();
    for (const listener of [...this.#listeners]) listener(told);
  }
}

export function meetsFilter(call: HeldCall, filter: HeldFilter): boolean {
  return (
    (filter.service === undefined || filter.service === call.service) &&
    (filter.action === undefined || filter.action === call.action) &&
    (filter.operationId === undefined || filter.operationId === call.operationId)
  );
}
