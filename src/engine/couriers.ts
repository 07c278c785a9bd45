/**
 * Tells a hook what is owed to it. Owns the taking, the sending and the striking off; what is sent next, and when again, is core's
 * (`core/telling/courier.ts`). Any number of workers may do it: of each shard one takes at a time.
 *
 * Invariants: N4 a notice is struck off only after its receiver has taken it, or has refused it for good. N5 nothing is sent that was
 * taken longer ago than it is ours. N6 what cannot be told holds up neither a run nor another hook.
 */
import {
  afterAnswer,
  freshCourse,
  type NoticeFate,
  type NoticeHook,
  nextNotices,
  noticeId,
  noticeIn,
  type Store,
} from "../core/index.ts";
import { type EngineContext, trouble } from "./context.ts";
import { couriers as bounds } from "./settings.ts";

/** Tells one notice. Must not reject; `why` says what went wrong. */
export type TellHook = (
  hook: string,
  id: string,
  body: string,
  signal: AbortSignal,
) => Promise<{ readonly fate: NoticeFate; readonly why: string }>;

interface Context extends Pick<EngineContext, "clock" | "ids" | "facts" | "namespace" | "owner" | "background"> {
  readonly store: Pick<Store, "shards" | "takeNotices" | "dropNotices">;
}

/** What was taken of one shard. */
interface Held {
  texts: readonly string[];
  /** Of the monotonic clock: it is ours until then, and not worth asking for before. */
  until: number;
  askAt: number;
}

export class Courier {
  readonly #context: Context;
  readonly #hook: NoticeHook;
  readonly #tell: TellHook;
  readonly #shards: readonly Held[];
  readonly #underWay = new Set<string>();
  readonly #abort = new AbortController();
  #course = freshCourse;
  #cancelTimer: () => void = () => undefined;

  constructor(context: Context, hook: NoticeHook, tell: TellHook) {
    this.#context = context;
    this.#hook = hook;
    this.#tell = tell;
    this.#shards = Array.from({ length: context.store.shards }, () => ({ texts: [], until: 0, askAt: 0 }));
  }

  start(): void {
    this.#look();
  }

  /** What is being sent is cut off: it is still owed. Others may take at once. */
  stop(): void {
    this.#abort.abort();
    this.#cancelTimer();
    this.#context.background(this.#giveUp());
  }

  #look(): void {
    const { clock, background } = this.#context;
    background(
      this.#take().finally(() => {
        if (this.#abort.signal.aborted) return;
        this.#sendNext();
        this.#cancelTimer = clock.after(bounds.pollMs, () => this.#look());
      }),
    );
  }

  async #take(): Promise<void> {
    const now = this.#context.clock.monotonicMs();
    for (const [shard, held] of this.#shards.entries()) {
      if (this.#abort.signal.aborted || held.askAt > now) continue;
      try {
        await this.#takeFrom(shard, held);
      } catch (error) {
        trouble(this.#context, "notices", error);
        return;
      }
    }
  }

  async #takeFrom(shard: number, held: Held): Promise<void> {
    const { store, clock, owner } = this.#context;
    const askedAt = clock.monotonicMs();
    const { leaseMs, limit, most } = bounds;
    const taken = await store.takeNotices({ shard, hook: this.#hook.name, owner, leaseMs, limit, most });
    if (taken.answer === "HELD") {
      Object.assign(held, { texts: [], until: 0, askAt: askedAt + leaseMs / 2 });
      return;
    }
    Object.assign(held, { texts: taken.texts, until: askedAt + leaseMs - bounds.marginMs, askAt: 0 });
    if (taken.lost > 0) {
      const why = `${taken.lost} notices to ${this.#hook.name} are lost: more than ${most} were owed in one shard`;
      trouble(this.#context, "notices", new Error(why));
    }
  }

  #sendNext(): void {
    if (this.#abort.signal.aborted) return;
    const now = this.#context.clock.monotonicMs();
    for (const [shard, { texts, until }] of this.#shards.entries()) {
      if (until <= now) continue;
      for (const { run, text } of nextNotices(this.#course, texts, this.#underWay, now)) {
        this.#underWay.add(run);
        this.#context.background(this.#send(shard, run, text));
      }
    }
  }

  async #send(shard: number, run: string, text: string): Promise<void> {
    const { clock, ids, facts, namespace } = this.#context;
    const notice = noticeIn(text);
    const id = noticeId(namespace, notice);
    const sentAt = clock.monotonicMs();
    const body = JSON.stringify({ id, namespace, ...notice });
    const { fate, why } = await this.#tell(this.#hook.name, id, body, this.#abort.signal);
    const now = clock.monotonicMs();
    try {
      if (fate !== "failed") await this.#strikeOff(shard, text);
    } catch (error) {
      // It is told again, under the same id.
      trouble({ facts }, "notices", error);
    }
    this.#underWay.delete(run);
    if (this.#abort.signal.aborted) return;
    this.#course = afterAnswer(this.#course, run, fate, now, ids.random());
    facts.emit({ fact: "notified", hook: this.#hook.name, fate, ms: now - sentAt });
    if (fate !== "taken") trouble({ facts }, "notices", new Error(`${this.#hook.name} did not take ${id}: ${why}`));
    this.#sendNext();
  }

  async #strikeOff(shard: number, text: string): Promise<void> {
    await this.#context.store.dropNotices(shard, this.#hook.name, [text]);
    const held = this.#shards[shard];
    if (held !== undefined) held.texts = held.texts.filter((other) => other !== text);
  }

  async #giveUp(): Promise<void> {
    const { store, owner } = this.#context;
    const hook = this.#hook.name;
    for (const [shard, { until }] of this.#shards.entries()) {
      if (until === 0) continue;
      const none = { leaseMs: 0, limit: 0, most: bounds.most };
      await store.takeNotices({ shard, hook, owner, ...none }).catch(() => undefined);
    }
  }
}
