/** What webhooks are owed, as people look at it. Nothing is told or struck off here: workers do (`engine/couriers.ts`). */
import { type Notice, type NoticeFailure, noticeId, noticeIn, type OwedToHook, type ShownOwed } from "../core/index.ts";
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
