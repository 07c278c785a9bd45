/** Owns: everything the fake world does later, so that closing it leaves nothing running. */

/** Time as the fake world knows it; hand in your own to move it by hand. */
export interface WorldClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `run` after `ms` milliseconds, unless what it gives is called before. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: WorldClock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

export class Later {
  readonly #clock: WorldClock;
  readonly #pending = new Set<() => void>();

  constructor(clock: WorldClock) {
    this.#clock = clock;
  }

  /** Runs `run` after `ms`, or `otherwise` when the world is closed before. */
  after(ms: number, run: () => void, otherwise: () => void = () => undefined): void {
    const stop = () => {
      cancel();
      otherwise();
    };
    const cancel = this.#clock.after(ms, () => {
      this.#pending.delete(stop);
      run();
    });
    this.#pending.add(stop);
  }

  /** Whether the whole time went by; `false` when the world was closed before. */
  pause(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.after(
        ms,
        () => resolve(true),
        () => resolve(false),
      );
    });
  }

  close(): void {
    for (const stop of this.#pending) stop();
    this.#pending.clear();
  }
}
