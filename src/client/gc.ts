/** Deleting what is over at somebody's word. Which runs those are, and when, is core's (`retention.ts`) and the store's. */
import type { Connection } from "./connection.ts";

export interface GcOptions {
  /** Only count. */
  readonly dryRun?: boolean;
  /** Who wants it, and why, for the audit; nobody is named unless given. */
  readonly by?: string;
  readonly reason?: string;
  /** Told after each portion how many runs were deleted so far. */
  readonly onProgress?: (purged: number) => void;
}

/** What was deleted, and what is still to be. */
export interface GcReport {
  /** Runs that were deleted; 0 of a dry run. */
  readonly purged: number;
  /** Ended runs whose time is over and that are still there: kept for a parent, or not looked at (a dry run). */
  readonly due: number;
  /** Ended runs whose time is to come. Runs that are kept for ever are in neither number. */
  readonly later: number;
}

/** Runs deleted together: others wait no longer for the store than that takes. */
const atOnce = 50;

export async function gc(
  connection: Connection,
  { dryRun = false, by, reason, onProgress }: GcOptions,
): Promise<GcReport> {
  const store = await connection.store();
  if (!dryRun && by !== undefined) await store.note({ act: "gc", by, reason: reason ?? null, run: null, about: null });
  let purged = 0;
  for (let shard = 0; shard < store.shards && !dryRun; shard += 1) {
    for (let more = true; more; ) {
      const answer = await store.purge(shard, atOnce, connection.options.idsKeptMs ?? null);
      purged += answer.purged.length;
      more = answer.more;
      onProgress?.(purged);
    }
  }
  return { purged, ...(await store.expiring()) };
}
