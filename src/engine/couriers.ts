/**
 * Tells a hook what is owed to it. Owns the taking, the sending and the striking off; what is sent next, and when again, is core's
 * (`core/telling/courier.ts`). Any number of workers may do it: of each shard one takes at a time.
 *
 * Invariants: N4 a notice is struck off only after its receiver has taken it, or has refused it for good. N5 nothing is sent that was
 * taken longer ago than it is ours. N6 what cannot be told holds up neither a run nor another hook.
 */
import {
  afterAnswer,
  againAfterMs,
  freshCourse,
  type NoticeFate,
  type NoticeHook,
  nextNotices,
  noticeId,
  noticeIn,
  type OwedRun,
  type Store,
  type TakeNoticesAnswer,
} from "../core/index.ts";
import { redact } from "../redact.ts";
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
  readonly store: Pick<Store, "shards" | "takeNotices" | "strikeNotice" | "putOffNotice">;
}

/** What was taken of one shard. */
interface Held {
  runs: readonly OwedRun[];
  /** What became of runs since it was asked last: an answer that is under way knows nothing of it. */
  news: Map<string, OwedRun | null>;
  /** Of the monotonic clock: it is ours until then, and not worth asking for before. */
  until: number;
  askAt: number;
}

export class Courier {
  readonly #context: Context;
  readonly #hook: NoticeHook;
  readonly #tell: TellHook;
  readonly #shards: readonly Held[];
  readonly #underWay = new Map<string, boolean>();
  readonly #abort = new AbortController();
  #course = freshCourse;
  /** The store's time is the monotonic clock's with this. */
  #aheadMs = 0;
  /** Each shard is the first one in its turn. */
  #rounds = 0;
  #cancelTimer: () => void = () => undefined;

  constructor(context: Context, hook: NoticeHook, tell: TellHook) {
    this.#context = context;
    this.#hook = hook;
    this.#tell = tell;
    this.#shards = Array.from({ length: context.store.shards }, () => ({
      runs: [],
      news: new Map(),
      until: 0,
      askAt: 0,
    }));
  }

  start(): void {
    if (this.#hook.isRead === true) this.#trim();
    else this.#look();
  }

  /** Of a hook that reads: nothing is taken, and it is kept within its bound though nobody should ever read. */
  #trim(): void {
    const { store, clock, owner, background } = this.#context;
    const nothing = { hook: this.#hook.name, owner, leaseMs: 1, limit: 0, most: bounds.most };
    const trimmed = this.#shards.map(async (_, shard) =>
      this.#tellLost(await store.takeNotices({ shard, ...nothing })),
    );
    const failed = (error: unknown): void => trouble(this.#context, "notices", error);
    background(
      Promise.all(trimmed)
        .then(() => undefined, failed)
        .finally(() => {
          if (!this.#abort.signal.aborted) this.#cancelTimer = clock.after(bounds.trimMs, () => this.#trim());
        }),
    );
  }

  #tellLost(taken: TakeNoticesAnswer): void {
    if (taken.answer === "HELD" || taken.lost === 0) return;
    const why = `${taken.lost} notices to ${this.#hook.name} are lost: more than ${bounds.most} were owed in one shard`;
    trouble(this.#context, "notices", new Error(why));
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
    held.news = new Map();
    const taken = await store.takeNotices({ shard, hook: this.#hook.name, owner, leaseMs, limit, most });
    if (taken.answer === "HELD") {
      Object.assign(held, { runs: [], until: 0, askAt: askedAt + leaseMs / 2 });
      return;
    }
    this.#aheadMs = taken.now - askedAt;
    const newer = [...held.news.values()].flatMap((owed) => owed ?? []);
    const runs = [...taken.runs.filter(({ run }) => !held.news.has(run)), ...newer];
    Object.assign(held, { runs, until: askedAt + leaseMs - bounds.marginMs, askAt: 0 });
    this.#tellLost(taken);
  }

  #sendNext(): void {
    if (this.#abort.signal.aborted) return;
    const now = this.#context.clock.monotonicMs();
    this.#rounds += 1;
    for (let nth = 0; nth < this.#shards.length; nth += 1) {
      const shard = (this.#rounds + nth) % this.#shards.length;
      const { runs, until } = this.#shards[shard] as Held; // one of them
      if (until <= now) continue;
      for (const owed of nextNotices(this.#course, runs, this.#underWay, now + this.#aheadMs)) {
        this.#underWay.set(owed.run, owed.failure !== null);
        this.#context.background(this.#send(shard, owed));
      }
    }
  }

  async #send(shard: number, owed: OwedRun): Promise<void> {
    const { clock, ids, facts, namespace } = this.#context;
    const notice = noticeIn(owed.text);
    const id = noticeId(namespace, notice);
    const sentAt = clock.monotonicMs();
    const body = JSON.stringify({ id, namespace, ...notice });
    const { fate, why } = await this.#tell(this.#hook.name, id, body, this.#abort.signal);
    if (this.#abort.signal.aborted && fate !== "taken") return;
    const ms = clock.monotonicMs() - sentAt;
    try {
      await this.#record(shard, owed, fate, why);
    } catch (error) {
      // It is told again, under the same id.
      trouble({ facts }, "notices", error);
    }
    this.#underWay.delete(owed.run);
    if (this.#abort.signal.aborted) return;
    this.#course = afterAnswer(this.#course, fate, clock.monotonicMs() + this.#aheadMs, ids.random());
    facts.emit({ fact: "notified", hook: this.#hook.name, fate, ms });
    if (fate !== "taken") trouble({ facts }, "notices", new Error(`${this.#hook.name} did not take ${id}: ${why}`));
    this.#sendNext();
  }

  /** What was told is not told again from here, unless the write fails: then it is still owed, and taken again. */
  async #record(shard: number, owed: OwedRun, fate: NoticeFate, why: string): Promise<void> {
    const { store } = this.#context;
    const { run, text } = owed;
    if (fate === "taken" || fate === "refused") {
      this.#replace(shard, owed, null);
      const next = await store.strikeNotice(shard, this.#hook.name, { run, text });
      if (next !== null) this.#replace(shard, owed, { run, text: next, failure: null });
      return;
    }
    const tries = (owed.failure?.tries ?? 0) + 1;
    const afterMs = againAfterMs(tries, this.#context.ids.random());
    const shortWhy = redact(why).slice(0, bounds.maxWhyChars);
    const at = this.#context.clock.monotonicMs() + this.#aheadMs;
    this.#replace(shard, owed, { run, text, failure: { tries, at, why: shortWhy, againAt: at + afterMs } });
    await store.putOffNotice({ shard, hook: this.#hook.name, run, text, afterMs, why: shortWhy });
  }

  #replace(shard: number, { run }: OwedRun, by: OwedRun | null): void {
    const held = this.#shards[shard] as Held; // one of them
    held.news.set(run, by);
    const others = held.runs.filter((each) => each.run !== run);
    held.runs = by === null ? others : [...others, by];
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
