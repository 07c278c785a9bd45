/**
 * What hooks are owed: as people look at it, which changes nothing, and as a hook without a URL reads it. What has a URL is told by workers
 * (`engine/couriers.ts`). Invariant: what is read is struck off when the next one is asked for, and not before.
 */
import {
  maxNoticesKept,
  type Notice,
  type NoticeFailure,
  noticeId,
  noticeIn,
  type OwedToHook,
  type ShownOwed,
  type Store,
} from "../core/index.ts";
import { checkedId } from "./checks.ts";
import type { Connection } from "./connection.ts";

/** A run of which a hook is to be told: the next event, and how it went so far. All times are ms since 1970, by the store's clock. */
export interface OwedNotification extends Notice {
  readonly hook: string;
  /** Of the event, the same on every delivery. */
  readonly id: string;
  /** Since when it is owed. */
  readonly since: number;
  /** How many events of the run are owed to the hook, with this one. */
  readonly owed: number;
  /** What came of the last try; `null`: it was not tried yet. */
  readonly failure: NoticeFailure | null;
}

/** An event of a run, as a webhook would hear it. */
export interface Notification extends Notice {
  readonly hook: string;
  /** The same whenever it is read. */
  readonly id: string;
}

export interface OwedNotifications {
  /** Store time. */
  readonly at: number;
  /** Every hook that was ever known, by name. */
  readonly hooks: readonly OwedToHook[];
  /** Of each hook those that are owed the longest, first. */
  readonly runs: readonly OwedNotification[];
}

export interface OwedQuery {
  /** Of this one only. */
  readonly hook?: string;
  /** Runs of each hook; 1 to 1,000, 50 unless given. */
  readonly limit?: number;
}

export interface Notifications {
  /**
   * What hooks (`notify` of a worker) were not told yet. Looking changes nothing.
   *
   * @throws RepriseError INPUT_INVALID, ID_INVALID, STORE_UNAVAILABLE.
   */
  owed(query?: OwedQuery): Promise<OwedNotifications>;
  /**
   * What a hook that was declared without a URL is to be told, in the order of each run, until `signal` is aborted or the loop is left. Each
   * is owed until the next one is asked for: whoever dies in between, or throws, is given it again, under the same id. One reads at a
   * time; others wait for their turn.
   *
   * @throws RepriseError ID_INVALID, STORE_UNAVAILABLE.
   */
  read(hook: string, options?: { readonly signal?: AbortSignal }): AsyncIterableIterator<Notification>;
}

const reading = { leaseMs: 30_000, marginMs: 5_000, limit: 100, pollMs: 500 } as const;

interface Reader {
  readonly connection: Connection;
  readonly store: Store;
  readonly hook: string;
  readonly owner: string;
  readonly signal: AbortSignal;
}

export async function* readNotifications(
  connection: Connection,
  hook: string,
  signal: AbortSignal,
): AsyncGenerator<Notification, undefined, undefined> {
  checkedId(hook, "the hook");
  const store = await connection.store();
  const owner = connection.ports.ids.next();
  const reader = { connection, store, hook, owner, signal };
  const shards = Array.from({ length: store.shards }, (_, shard) => shard);
  try {
    while (!signal.aborted) {
      let count = 0;
      for (const shard of shards) {
        for await (const notification of ofShard(reader, shard)) {
          count += 1;
          yield notification;
        }
      }
      if (count === 0) await pause(reader);
    }
  } finally {
    const none = { hook, owner, leaseMs: 0, limit: 0, most: maxNoticesKept };
    // Whoever waits for it hears nothing for half a minute where that fails.
    await Promise.all(shards.map((shard) => store.takeNotices({ shard, ...none }))).catch(() => undefined);
  }
}

/** Of each run one after the other, as long as it is ours. */
async function* ofShard({ connection, store, hook, owner, signal }: Reader, shard: number) {
  const { clock } = connection.ports;
  const { leaseMs, marginMs, limit } = reading;
  const until = clock.monotonicMs() + leaseMs - marginMs;
  const taken = await store.takeNotices({ shard, hook, owner, leaseMs, limit, most: maxNoticesKept });
  for (const { run, text } of taken.answer === "HELD" ? [] : taken.runs) {
    for (let next: string | null = text; next !== null; ) {
      if (signal.aborted || clock.monotonicMs() >= until) return;
      const notice = noticeIn(next);
      yield { hook, id: noticeId(connection.options.namespace, notice), ...notice };
      next = await store.strikeNotice(shard, hook, { run, text: next });
    }
  }
}

function pause({ connection, signal }: Reader): Promise<void> {
  return new Promise((resolve) => {
    const cancel = connection.ports.clock.after(reading.pollMs, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    const stop = (): void => {
      cancel();
      resolve();
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}

export async function owedNotifications(
  connection: Connection,
  { hook, limit }: { readonly hook: string | undefined; readonly limit: number },
): Promise<OwedNotifications> {
  if (hook !== undefined) checkedId(hook, "the hook");
  const store = await connection.store();
  const { hooks, now } = await store.noticesOwed();
  const wanted = hooks.filter(({ hook: name }) => hook === undefined || name === hook);
  const runs = await Promise.all(
    wanted.map(async ({ hook: name }) => {
      const shown = await store.owedRuns(name, limit);
      return shown.map((owed) => viewOf(connection.options.namespace, name, owed));
    }),
  );
  return { at: now, hooks: wanted, runs: runs.flat() };
}

function viewOf(namespace: string, hook: string, { text, since, owed, failure }: ShownOwed): OwedNotification {
  const notice = noticeIn(text);
  return { hook, id: noticeId(namespace, notice), ...notice, since, owed, failure };
}
