/**
 * Runs that are started by the clock. Owns what a schedule is, which of its ticks start a run, and in which order that is written;
 * the port by which schedules are kept. When it ticks is `calendar.ts`'s.
 *
 * Invariants: S1 what follows from a tick is decided by one write that names the revision it was decided on; that a run is to be
 * started is written before it is. So a tick that is delivered twice, late, early or never makes no difference: whoever looks finds
 * what is left to do. S2 the run of a tick has one id, which is made of the schedule and the time of the tick. S3 no tick is looked
 * at twice: `doneUntil` only grows.
 */
import type { Json } from "../../saga/index.ts";
import type { RunRef } from "../run/index.ts";
import type { Act } from "../telling/acts.ts";
import { dueTicks, nextTick, type Timing } from "./calendar.ts";

/** What is asked for. */
export interface ScheduleWish {
  /** 1 to `maxScheduleIdChars` characters as in the ids of runs. */
  readonly id: string;
  /** Whose runs they are. */
  readonly tenant: string;
  readonly saga: string;
  /** A process that knows no version as new as this leaves it to others. */
  readonly version: number;
  /** Encoded. */
  readonly input: Json;
  readonly priority: number;
  readonly timing: Timing;
  /**
   * What happens to a tick while the run of the one before has not ended: it starts none (`skip`), it waits (`queue`), or that run is
   * cancelled, and the newest tick waits until it has ended (`cancel_previous`).
   */
  readonly overlap: "skip" | "queue" | "cancel_previous";
  /** Ticks that nobody could see to in time: none of them starts a run, one does for all of them, or each does. */
  readonly missed: "skip" | "run_once" | "run_all";
}

/** A schedule as it is kept. */
export interface Schedule extends ScheduleWish {
  /** Grows with every write. */
  readonly revision: number;
  readonly createdAt: number;
  readonly paused: { readonly by: string; readonly reason: string; readonly at: number } | null;
  /** Ticks up to this time are decided on. */
  readonly doneUntil: number;
  /** Ticks that are to start a run, oldest first. */
  readonly pending: readonly number[];
  /** The newest tick that has started a run, or (not `started`) is to. */
  readonly current: { readonly tick: number; readonly run: string; readonly started: boolean } | null;
  /** Ticks that have started none, of those that were looked at. */
  readonly skipped: number;
  /** Why the last tick that should have could start no run; `null`: it could. */
  readonly problem: { readonly tick: number; readonly message: string } | null;
}

/** So that an id, a dot and the time of a tick are the id of a run. */
export const maxScheduleIdChars = 43;
/** A tick that is seen to later than this was missed. */
export const onTimeMs = 60_000;
/** Ticks that wait for a run to end; of more the newest. */
export const maxPendingTicks = 100;

/** The run of a tick: `<schedule>.20261130T094429.000Z`. */
export function runOfTick({ id, tenant }: Pick<Schedule, "id" | "tenant">, tick: number): RunRef {
  return { tenant, id: `${id}.${new Date(tick).toISOString().replaceAll(/[-:]/g, "")}` };
}

/** A new schedule, or the one there is with another definition: what was due before that stays as it was decided. */
export function scheduleOf(wish: ScheduleWish, before: Schedule | null, now: number): Schedule {
  if (before !== null) {
    const decided = decidedUntil(before, now);
    return { ...decided, ...wish, revision: before.revision + 1, doneUntil: Math.max(now, decided.doneUntil) };
  }
  const state = { paused: null, pending: [], current: null, skipped: 0, problem: null };
  // One that was removed and is put again has no revision that it had before.
  return { ...wish, ...state, revision: now, createdAt: now, doneUntil: now };
}

/** What is to be done for a schedule now. `rest`: nothing, until `at` (`null`: until somebody changes it). */
export type ScheduleMove =
  | { readonly does: "rest"; readonly at: number | null }
  /** Write it; then look again. */
  | { readonly does: "save"; readonly schedule: Schedule }
  /** Start the run of `current`; then write what came of it. */
  | { readonly does: "start"; readonly run: RunRef }
  /** Ask the run of `current` to stop; its end is waited for. */
  | { readonly does: "cancel"; readonly run: RunRef };

/** `isOpen`: the run of `current` is there and has not ended. */
export function moveOf(
  schedule: Schedule,
  { now, isOpen }: { readonly now: number; readonly isOpen: boolean },
): ScheduleMove {
  const { current, paused } = schedule;
  if (current !== null && !current.started) return { does: "start", run: runOfTick(schedule, current.tick) };
  if (paused !== null) return { does: "rest", at: null };
  const collected = collect(schedule, now);
  if (collected !== null) return { does: "save", schedule: collected };
  const [first, ...others] = schedule.pending;
  if (first === undefined) return { does: "rest", at: nextTick(schedule.timing, schedule.doneUntil) };
  if (current === null || !isOpen) return { does: "save", schedule: begun(schedule, first, others) };
  switch (schedule.overlap) {
    case "skip":
      return { does: "save", schedule: skipping(schedule, [], schedule.pending.length) };
    case "queue":
      return { does: "rest", at: now };
    case "cancel_previous": {
      const newest = schedule.pending.slice(-1);
      if (others.length > 0) return { does: "save", schedule: skipping(schedule, newest, others.length) };
      return { does: "cancel", run: runOfTick(schedule, current.tick) };
    }
  }
}

/** The run of `current` is there (`null`), or can never be. */
export function startedOf(schedule: Schedule, problem: string | null): Schedule {
  const { current, revision } = schedule;
  // Asked only of one that is to be started.
  const { tick, run } = current as NonNullable<Schedule["current"]>;
  const next = { ...schedule, revision: revision + 1, current: { tick, run, started: true } };
  if (problem === null) return { ...next, problem: null };
  return { ...next, current: null, skipped: schedule.skipped + 1, problem: { tick, message: problem } };
}

/** From now on it does nothing; or, again, what falls due after now. */
export function pausedOf(
  schedule: Schedule,
  by: { readonly by: string; readonly reason: string } | null,
  now: number,
): Schedule {
  const revision = schedule.revision + 1;
  if (by !== null) return { ...decidedUntil(schedule, now), revision, paused: { ...by, at: now } };
  return { ...schedule, revision, paused: null, doneUntil: Math.max(now, schedule.doneUntil) };
}

/** As it is once everything was seen to that has come until now. */
function decidedUntil(schedule: Schedule, now: number): Schedule {
  return schedule.paused === null ? (collect(schedule, now) ?? schedule) : schedule;
}

/** The ticks that have come since it was last looked at, decided on; `null`: none has. */
function collect(schedule: Schedule, now: number): Schedule | null {
  const due = dueTicks(schedule.timing, schedule.doneUntil, now);
  const newest = due.at(-1);
  if (newest === undefined) return null;
  const wanted = wantedOf(schedule, due, now);
  const pending = [...schedule.pending, ...wanted].slice(-maxPendingTicks);
  const skipped = schedule.pending.length + due.length - pending.length;
  return { ...skipping(schedule, pending, skipped), doneUntil: newest };
}

function wantedOf({ missed }: Schedule, due: readonly number[], now: number): readonly number[] {
  const newest = due.slice(-1);
  switch (missed) {
    case "skip":
      return newest.filter((tick) => tick >= now - onTimeMs);
    case "run_once":
      return newest;
    case "run_all":
      return due;
  }
}

function skipping(schedule: Schedule, pending: readonly number[], count: number): Schedule {
  return { ...schedule, revision: schedule.revision + 1, pending, skipped: schedule.skipped + count };
}

function begun(schedule: Schedule, tick: number, pending: readonly number[]): Schedule {
  const { id } = runOfTick(schedule, tick);
  return { ...schedule, revision: schedule.revision + 1, pending, current: { tick, run: id, started: false } };
}

// ---- where they are kept

/** `schedule: null` removes it. It counts only on the revision that it `expects` (`null`: none is there). */
export interface PutScheduleCommand {
  readonly id: string;
  readonly schedule: Schedule | null;
  readonly expects: number | null;
  /** Whose act it is, to be kept with it; left out: nobody's. */
  readonly act?: Act | undefined;
}

/** An answer with the store's time. */
type Timed<Answer> = Answer & { readonly now: number };

/** The one place where schedules are remembered. */
export interface ScheduleShelf {
  /** `STALE`: it is not (any more) as expected, nothing was written. `FULL`: there is no room for another one. */
  putSchedule(command: PutScheduleCommand): Promise<Timed<{ readonly answer: "OK" | "STALE" | "FULL" }>>;
  getSchedule(id: string): Promise<Timed<{ readonly schedule: Schedule | null }>>;
  /** By id. */
  listSchedules(): Promise<Timed<{ readonly schedules: readonly Schedule[] }>>;
}

/** What makes somebody look at a schedule when it ticks: a hint that may be lost, doubled, early and late. */
export interface Ticks {
  /** Exactly these tick from now on. */
  keep(schedules: readonly Pick<Schedule, "id" | "timing">[]): Promise<void>;
  set(schedule: Pick<Schedule, "id" | "timing">): Promise<void>;
  remove(id: string): Promise<void>;
  start(onTick: (id: string) => Promise<void>): Promise<void>;
  /** Takes no ticks any more; resolves when what runs has ended or `graceMs` is over. */
  stop(graceMs: number): Promise<void>;
}
