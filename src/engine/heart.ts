/**
 * Says every few seconds how this process is, hears whether it is to leave, and sends canaries. Owns when; what a heartbeat means
 * is decided by whoever reads it (`core/fleet`). Invariants: H1 a heartbeat that fails changes nothing but what is known of the
 * store. H2 none is sent after `stop` has resolved: a goodbye stands.
 */
import { beatMs, type Canaries, canaryMs, type DrainRequest, type Heartbeat } from "../core/index.ts";
import { type EngineContext, trouble } from "./context.ts";
import type { Vitals } from "./vitals.ts";

type Context = Pick<EngineContext, "store" | "clock" | "facts" | "background">;

/** What the worker knows of itself. */
export type OwnWords = Omit<
  Heartbeat,
  "role" | "name" | "host" | "pid" | "version" | "upMs" | "lagMs" | "rssBytes" | "storeMs"
>;

export interface HeartParts {
  readonly context: Context;
  readonly vitals: Vitals;
  /** Without it nothing is sent. */
  readonly canaries: Canaries | undefined;
  /** An event loop that was held up for longer is worth a word. */
  readonly lagToldMs: number;
  readonly words: () => OwnWords;
  readonly onDrain: (asked: DrainRequest) => void;
}

export class Heart {
  readonly #parts: HeartParts;
  readonly #startedAt: number;
  #answersSince: number | null = null;
  #storeMs: number | null = null;
  #lagMs = 0;
  /** When a supervisor was last heard of, on this process's clock. */
  #supervisedAt: number | null = null;
  #beating: Promise<void> | null = null;
  #cancels: (() => void)[] = [];
  #stopped = false;

  constructor(parts: HeartParts) {
    this.#parts = parts;
    this.#startedAt = parts.context.clock.monotonicMs();
  }

  /** Since when every question of it was answered; `null`: the last one was not. */
  get storeAnswersSince(): number | null {
    return this.#answersSince;
  }

  get lagMs(): number {
    return this.#lagMs;
  }

  get supervisedMs(): number | null {
    return this.#supervisedAt === null ? null : this.#parts.context.clock.monotonicMs() - this.#supervisedAt;
  }

  start(): void {
    this.#parts.vitals.read();
    this.#again(beatMs, () => this.#beat());
    const { canaries } = this.#parts;
    if (canaries !== undefined) this.#again(canaryMs, () => canaries.send());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#cancels) cancel();
    await this.#beating?.catch(() => undefined);
    this.#parts.vitals.stop();
    await this.#parts.canaries?.close();
  }

  /** Now, and then every so often. */
  #again(everyMs: number, act: () => Promise<void>): void {
    const { context } = this.#parts;
    let cancel = (): void => undefined;
    const go = (): void => {
      if (this.#stopped) return;
      context.background(act().catch((error: unknown) => trouble(context, "heartbeat", error)));
      cancel = context.clock.after(everyMs, go);
    };
    this.#cancels.push(() => cancel());
    go();
  }

  #beat(): Promise<void> {
    // One that hangs is not overtaken: it fails by itself.
    this.#beating ??= this.#ask().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  async #ask(): Promise<void> {
    const { context, onDrain } = this.#parts;
    const heartbeat = this.#heartbeat();
    const askedAt = context.clock.monotonicMs();
    try {
      const { drain, supervisedAt, now } = await context.store.beat(heartbeat);
      const answeredAt = context.clock.monotonicMs();
      this.#answersSince ??= answeredAt;
      this.#storeMs = Math.round(answeredAt - askedAt);
      this.#supervisedAt = supervisedAt === null ? null : answeredAt - (now - supervisedAt);
      if (drain !== null) onDrain(drain);
    } catch (error) {
      this.#answersSince = null;
      throw error;
    }
  }

  #heartbeat(): Heartbeat {
    const { context, vitals, words, lagToldMs } = this.#parts;
    const { name, host, pid, version } = vitals;
    const { lagMs, rssBytes } = vitals.read();
    this.#lagMs = lagMs;
    if (lagMs >= lagToldMs)
      trouble(context, "event loop", new Error(`it was held up for ${lagMs} ms: a step blocks it`));
    const upMs = Math.round(context.clock.monotonicMs() - this.#startedAt);
    return { role: "worker", name, host, pid, version, upMs, lagMs, rssBytes, storeMs: this.#storeMs, ...words() };
  }
}
