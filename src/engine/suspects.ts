/**
 * Runs whose owners have died before are driven one at a time, so that a process that dies with one of them accuses nobody
 * else. Invariants: S1 the store is told which suspect is driven before its driver begins. S2 a turn ends with the first
 * outcome that is committed (the run is no suspect any more) or with the driver, whichever comes first.
 */
import type { RunRef } from "../core/index.ts";
import { type EngineContext, trouble, within } from "./context.ts";
import { suspectWaitMs } from "./settings.ts";

/** Drives a run; calls `cleared` when it is no suspect any more. */
export type DriveSuspect = (cleared: () => void) => Promise<void>;

export class Suspects {
  readonly #context: EngineContext;
  /** Ends of the turns before, in order. */
  #queue: Promise<void> = Promise.resolve();

  constructor(context: EngineContext) {
    this.#context = context;
  }

  /** Drives it when its turn comes; `false`: it did not come soon enough and nothing was done. */
  async driveAlone(run: RunRef, drive: DriveSuspect): Promise<boolean> {
    const turn = this.#queue;
    let end: () => void = () => undefined;
    this.#queue = new Promise((resolve) => {
      end = resolve;
    });
    if (!(await within(this.#context.clock, suspectWaitMs, turn)) || !(await this.#say(run))) {
      this.#context.background(turn.then(end));
      return false;
    }
    const over = once(() => this.#context.background(this.#say(null).then(end)));
    try {
      await drive(over);
    } finally {
      over();
    }
    return true;
  }

  async #say(run: RunRef | null): Promise<boolean> {
    try {
      await this.#context.store.suspect(this.#context.owner, run);
      return true;
    } catch (error) {
      trouble(this.#context, "suspect", error);
      return false;
    }
  }
}

function once(call: () => void): () => void {
  let called = false;
  return () => {
    if (called) return;
    called = true;
    call();
  };
}
