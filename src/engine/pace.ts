/** How fast a worker goes: what its commits did since it was last asked. */
import { type Clock, type Commit, hasEnded, type Pace, type RunRecord } from "../core/index.ts";

export class PaceMeter {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #since: number;
  #begun = 0;
  #ended = 0;
  #steps = 0;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#since = clock.monotonicMs();
  }

  moved(before: RunRecord, { record, log }: Commit): void {
    if (before.snapshot === null && record.snapshot !== null) this.#begun += 1;
    if (hasEnded(record.status) && !hasEnded(before.status)) this.#ended += 1;
    for (const { what } of log.taken) if (what === "outcome") this.#steps += 1;
  }

  /** Per second; counts from nought again. */
  read(): Pace {
    const now = this.#clock.monotonicMs();
    const seconds = Math.max(now - this.#since, 1) / 1_000;
    const perSecond = (count: number): number => Math.round((10 * count) / seconds) / 10;
    const pace = { begun: perSecond(this.#begun), ended: perSecond(this.#ended), steps: perSecond(this.#steps) };
    this.#since = now;
    this.#begun = 0;
    this.#ended = 0;
    this.#steps = 0;
    return pace;
  }
}
