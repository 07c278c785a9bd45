/**
 * Sagas that are paused, as far as this worker knows, and what follows for it. Owns looking again, and putting back what lies
 * on the shelf of a saga that is paused no more; the store says which are, the driver how a run is given up.
 *
 * Invariants: P1 a worker serves nothing before it has looked. P2 what is put on a shelf by a worker that has not heard of the
 * end of a pause is found there by the next look at the shelves. P3 a look that failed changes nothing.
 */
import { type EngineContext, trouble } from "./context.ts";
import { sweepLimit } from "./settings.ts";

const lookMs = 1_000;
/** Shelves are looked at when a pause has ended, and else every so many looks. */
const looksBetweenShelves = 5;

type Context = Pick<EngineContext, "store" | "wakeUps" | "clock" | "facts" | "background">;

export class PausedSagas {
  readonly #context: Context;
  readonly #onPause: (sagas: ReadonlySet<string>) => void;
  #names: ReadonlySet<string> = new Set();
  #looks = 0;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;

  /** `onPause` hears of all that are paused whenever one more is. */
  constructor(context: Context, onPause: (sagas: ReadonlySet<string>) => void) {
    this.#context = context;
    this.#onPause = onPause;
  }

  has(saga: string): boolean {
    return this.#names.has(saga);
  }

  /** Looks for the first time, and from then on again and again. Throws STORE_UNAVAILABLE. */
  async start(): Promise<void> {
    await this.#look();
    this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  #lookLater(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#context.clock.after(lookMs, () => this.#context.background(this.#lookAgain()));
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      trouble(this.#context, "paused sagas", error);
    }
    this.#lookLater();
  }

  async #look(): Promise<void> {
    const before = this.#names;
    const names = new Set((await this.#context.store.pausedSagas()).map(({ saga }) => saga));
    this.#names = names;
    const isOver = [...before].some((saga) => !names.has(saga));
    if ([...names].some((saga) => !before.has(saga))) this.#onPause(names);
    if (isOver || this.#looks % looksBetweenShelves === 0) await this.#clearShelves([...names]);
    this.#looks += 1;
  }

  async #clearShelves(paused: readonly string[]): Promise<void> {
    const { store } = this.#context;
    for (let shard = 0; shard < store.shards; shard += 1) while (await this.#clear(shard, paused));
  }

  /** `true`: there is more. */
  async #clear(shard: number, paused: readonly string[]): Promise<boolean> {
    const { store, wakeUps } = this.#context;
    if (this.#stopped) return false;
    const { wakeUps: wakes, full } = await store.unshelve(shard, paused, sweepLimit);
    if (wakes.length > 0) await wakeUps.wake(wakes);
    return full;
  }
}
