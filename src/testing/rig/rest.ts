/**
 * When runs are at rest, and for how long: what a test waits for before it looks, and how far time may go at once. Invariant: what is
 * at rest goes on only when somebody says something, or when a time comes that it has on record.
 */
import { hasEnded, type Row, type RunRecord } from "../../core/index.ts";

/** Longest time between two looks of a worker at runs that are at rest, and at runs that wait for a time of their own. */
export const maxCoastMs = 24 * 3_600_000;
const maxPauseMs = 60_000;
/** A worker holds on to a run that wants attention again so soon. */
const heldMs = 5_000;

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

/** Until when nobody need look at runs of which nothing is under way, as those that try again later; 0: somebody must. */
export function pauseOf(runs: readonly Seen[], now: number): number {
  if (!runs.every(isIdle) || runs.some((run) => isOverdue(run, now))) return 0;
  const next = Math.min(...runs.flatMap(dueTimes).filter((at) => at > now - heldMs));
  return next <= now + heldMs ? 0 : Math.min(next, now + maxPauseMs);
}

function isIdle({ record: { status, waitingFor }, rows, unread }: Seen): boolean {
  if (hasEnded(status)) return true;
  const isQuiet = status === "waiting" || status === "needs_review" || status === "unwinding";
  const isOut = rows.some(({ call, undo }) => underWay.has(call.state) || underWay.has(undo?.call?.state ?? ""));
  return isQuiet && unread === 0 && !isOut && waitingFor !== "intent";
}

const underWay: ReadonlySet<string> = new Set(["sent", "offered", "claiming"]);

function dueTimes({ record, rows }: Seen): readonly number[] {
  const times = rows.flatMap(({ call, undo, approval, dueBy }) => [
    ...[call.nextAt, call.probeAt, dueBy, approval?.expiresAt, undo?.call?.nextAt, undo?.call?.probeAt],
    ...(approval?.escalations ?? []).map(({ at }) => at),
  ]);
  const { deadlineAt, limit, unwind } = record;
  const all = [...times, deadlineAt, limit?.askAt, unwind?.quiesceUntil, ...record.timers.map(({ at }) => at)];
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
