/**
 * When runs are at rest, and for how long: what a test waits for before it looks, and how far time may go at once. Invariant: what is
 * at rest goes on only when somebody says something, or when a time comes that it has on record.
 */
import { hasEnded, type Row, type RunRecord } from "../../core/index.ts";

/** Longest time between two looks of a worker at runs that are at rest. */
export const maxCoastMs = 3_600_000;

/** A run as it is seen between two moments. */
export interface Seen {
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  /** Requests in its inbox that it has not looked at. */
  readonly unread: number;
}

/** Do they go on only when somebody says something, or when a timer of a machine is due? */
export function areAtRest(runs: readonly Seen[], now: number): boolean {
  const others = runs.some((run) => isAtRest(run, now) && !hasEnded(run.record.status));
  return runs.every((run) => isAtRest(run, now) || (others && waitsForOthers(run)));
}

/** When something is due next; 0 while something goes on. */
export function restOf(runs: readonly Seen[], now: number): number {
  if (!areAtRest(runs, now)) return 0;
  return Math.min(...runs.flatMap(dueTimes).filter((at) => at > now));
}

function dueTimes({ record, rows }: Seen): readonly number[] {
  const times = rows.flatMap(({ call, approval, dueBy }) => [
    ...[call.nextAt, call.probeAt, dueBy, approval?.expiresAt],
    ...(approval?.escalations ?? []).map(({ at }) => at),
  ]);
  const all = [...times, record.deadlineAt, record.limit?.askAt, ...record.timers.map(({ at }) => at)];
  return all.filter((at) => at !== null && at !== undefined);
}

/** Its child, or whoever has its turn, is at rest, and so it is. */
function waitsForOthers({ record: { status, waitingFor } }: Seen): boolean {
  return status === "waiting" && (waitingFor === "child" || waitingFor === "limit");
}

const goesOnByItself = new Set(["worker", "child", "intent", "limit"]);

function isAtRest(seen: Seen, now: number): boolean {
  const { record, unread } = seen;
  const { status, waitingFor } = record;
  if (unread > 0) return false;
  if (hasEnded(status) || status === "needs_review" || status === "paused") return true;
  if (status !== "waiting" || goesOnByItself.has(waitingFor ?? "")) return false;
  return !isRetried(seen, now) && !isOverdue(seen, now);
}

/** (A call that is due, and not made, is held up by what the run waits for.) */
function isRetried({ record, rows }: Seen, now: number): boolean {
  const since = record.waitingFor === "timer" ? 0 : now;
  return rows.some(
    ({ seq, call, approval }) =>
      record.open.includes(seq) && approval?.state !== "asking" && (call.nextAt ?? 0) > since,
  );
}

/** A timer of the machine, or what is to happen when nobody decides. */
function isOverdue({ record, rows }: Seen, now: number): boolean {
  const asking = rows.flatMap(({ approval }) => (approval?.state === "asking" ? [approval] : []));
  const times = asking.flatMap(({ expiresAt, escalations }) => [expiresAt, ...escalations.map(({ at }) => at)]);
  return [...times, ...record.timers.map(({ at }) => at)].some((at) => at !== null && at <= now);
}
