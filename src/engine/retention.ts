/**
 * Runs that have ended and whose time is over: has them deleted, a few at a time. Owns when to look; which may be deleted is the
 * store's (`purge`), from when on core's (`retention.ts`). Any number of workers may do it.
 *
 * Invariant: T1 between two deletions whoever starts or drives a run comes first, however many runs are to be deleted.
 */
import { type EngineContext, pause, trouble } from "./context.ts";
import { purging } from "./settings.ts";

type Context = Pick<EngineContext, "store" | "clock" | "facts" | "settings" | "background">;

export class Retention {
  readonly #context: Context;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;

  constructor(context: Context) {
    this.#context = context;
  }

  start(): void {
    this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  #lookLater(): void {
    if (this.#stopped) return;
    const { clock, settings, background } = this.#context;
    this.#cancelTimer = clock.after(settings.retentionSweepMs, () => background(this.#look()));
  }

  async #look(): Promise<void> {
    const { store } = this.#context;
    try {
      for (let shard = 0; shard < store.shards; shard += 1) while (await this.#purge(shard));
    } catch (error) {
      trouble(this.#context, "retention", error);
    }
    this.#lookLater();
  }

  /** `true`: there is more. */
  async #purge(shard: number): Promise<boolean> {
    if (this.#stopped) return false;
    const { store, clock, facts, settings } = this.#context;
    const { purged, more } = await store.purge(shard, purging.atOnce, settings.idsKeptMs);
    if (purged.length > 0) facts.emit({ fact: "purged", shard, runs: purged.length });
    if (more) await pause(clock, purging.pauseMs);
    return more;
  }
}
