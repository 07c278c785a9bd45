/**
 * Runs that are started by the clock, as applications ask for them. Owns what is refused before a schedule is written. The store
 * is the truth; what makes it tick is set on the way and seen to by the workers. Every request may be sent again.
 */
import {
  type Act,
  idPattern,
  maxScheduleIdChars,
  nextTick,
  pausedOf,
  type Schedule,
  type ScheduleWish,
  scheduleOf,
  type Timing,
  timingProblem,
  unnamed,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Duration, Json, Saga, SagaInput } from "../saga/index.ts";
import { checkedDuration, checkedId, checkedPriority, checkedReason, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { ConnectedRun, type RunHandle } from "./handle.ts";
import { checkedInput, defaultTenant, startOne } from "./start.ts";

/** How often a write is decided anew because somebody else was quicker. */
const maxTries = 100;

/** What is started when. */
export interface ScheduleOptions<S extends Saga = Saga> {
  /** 1 to 43 characters as in the ids of runs; a run is called `<id>.<time of its tick>`. */
  readonly id: string;
  /** Each run is one of the newest version that the worker knows which starts it, this one or a newer one. */
  readonly saga: S;
  readonly input: SagaInput<S>;
  /** Five fields, or six with seconds first; read on the wall clock of `timeZone`. Give this or `every`. */
  readonly cron?: string;
  /** At whole multiples of it since 1970-01-01 UTC: `"15m"`, or ms; at least a second. */
  readonly every?: Duration;
  /** Of `cron`: `"Europe/Berlin"`; UTC unless given. */
  readonly timeZone?: string;
  /**
   * What happens to a tick while the run of the one before has not ended: `skip` (default) starts none, `queue` lets it wait,
   * `cancel_previous` cancels that run and starts the newest tick's once it has ended.
   */
  readonly overlap?: Schedule["overlap"];
  /**
   * What happens to ticks that nobody saw to within a minute: `skip` (default), `run_once` (one run for all of them), `run_all` (one
   * each, of more than 100 the newest).
   */
  readonly missed?: Schedule["missed"];
  /** Whose runs they are; `default` unless given. */
  readonly tenant?: string;
  /** Of its runs. */
  readonly priority?: number;
  /** Who keeps it and why, for the audit (`client` unless given): a change of its definition is an act. */
  readonly by?: string;
  readonly reason?: string;
}

export interface ScheduleBy {
  readonly by: string;
  readonly reason: string;
}

/** A schedule as it is now. All times are ms since 1970, by the store's clock. */
export interface ScheduleView extends Omit<Schedule, "timing" | "revision"> {
  readonly cron: string | null;
  readonly timeZone: string | null;
  readonly everyMs: number | null;
  /** When it ticks next; `null`: not while it is paused. */
  readonly nextAt: number | null;
}

/** Runs that are started by the clock. */
export interface Schedules {
  /**
   * Keeps a schedule; the same one again changes nothing, another definition under its id counts from now on.
   *
   * @throws RepriseError INPUT_INVALID (the cron expression, the zone, the input of the saga ...), ID_INVALID, SAGA_UNKNOWN.
   */
  put<S extends Saga>(options: ScheduleOptions<S>): Promise<ScheduleView>;
  /** All of the namespace, by id. */
  list(): Promise<readonly ScheduleView[]>;
  /** Throws SCHEDULE_NOT_FOUND. */
  get(id: string): Promise<ScheduleView>;
  /** From now on it starts nothing; what was due before is still started. Throws SCHEDULE_NOT_FOUND. */
  pause(id: string, by: ScheduleBy): Promise<ScheduleView>;
  /** It starts again what falls due from now on. Throws SCHEDULE_NOT_FOUND. */
  resume(id: string, by?: Partial<ScheduleBy>): Promise<ScheduleView>;
  /** Starts a run of it now, beside its ticks and whatever runs. With a `requestId` it is idempotent. Throws SCHEDULE_NOT_FOUND. */
  runNow(id: string, options?: { readonly requestId?: string } & Partial<ScheduleBy>): Promise<RunHandle>;
  /** It ticks no more; its runs go on. `false`: there was none. */
  remove(id: string, by?: Partial<ScheduleBy>): Promise<boolean>;
}

export function schedulesOf(connection: Connection): Schedules {
  async function put(options: ScheduleOptions): Promise<ScheduleView> {
    if (options.reason !== undefined) checkedReason(options.reason);
    const wish = wishOf(connection, options, await connection.storeNow());
    const schedule = await change(
      connection,
      wish.id,
      (before, now) => {
        return before !== null && isSame(before, wish) ? before : scheduleOf(wish, before, now);
      },
      done("put_schedule", wish.id, options),
    );
    // It is there: whether it ticks is seen to by the workers, too.
    await tick(connection, schedule);
    return viewOf(schedule);
  }

  async function patch(id: string, next: (before: Schedule, now: number) => Schedule, act: Act): Promise<ScheduleView> {
    const schedule = await change(connection, id, (before, now) => next(existing(id, before), now), act);
    await tick(connection, schedule);
    return viewOf(schedule);
  }

  return {
    put: (options) => put(options),
    list: async () => (await (await connection.store()).listSchedules()).schedules.map(viewOf),
    get: async (id) => viewOf(existing(id, (await (await connection.store()).getSchedule(id)).schedule)),
    pause: (id, { by, reason }) => {
      const why = { by, reason: checkedReason(reason) };
      return patch(
        id,
        (before, now) => (before.paused === null ? pausedOf(before, why, now) : before),
        done("pause_schedule", id, why),
      );
    },
    resume: (id, by) =>
      patch(
        id,
        (before, now) => (before.paused === null ? before : pausedOf(before, null, now)),
        done("resume_schedule", id, by),
      ),
    runNow: async (id, { requestId = connection.ports.ids.next(), ...by } = {}) => {
      const { schedule } = await (await connection.store()).getSchedule(id);
      const { tenant, saga, input, priority } = existing(id, schedule);
      const run = { tenant, id: checkedId(`${id}.now.${requestId}`, "the schedule's id with the request's") };
      const newest = connection.newest(saga);
      await startOne(connection, newest, { ...run, input, priority });
      const act = done("run_schedule_now", id, by);
      // As with any start of a run: where nobody is named it is traffic.
      if (by.by !== undefined) await (await connection.store()).note({ ...act, run });
      return new ConnectedRun(connection, run, newest);
    },
    remove: async (id, by) => {
      const store = await connection.store();
      for (let tries = 0; tries < maxTries; tries += 1) {
        const { schedule } = await store.getSchedule(id);
        if (schedule === null) return false;
        const { answer } = await store.putSchedule({
          ...{ id, schedule: null, expects: schedule.revision, act: done("remove_schedule", id, by) },
        });
        if (answer === "OK") return await silence(connection, id);
      }
      throw busy(id);
    },
  };
}

/** Writes what `next` makes of it, anew as long as somebody else is quicker; what it leaves as it is is not written. */
async function change(
  connection: Connection,
  id: string,
  next: (before: Schedule | null, now: number) => Schedule,
  act: Act,
): Promise<Schedule> {
  const store = await connection.store();
  for (let tries = 0; tries < maxTries; tries += 1) {
    const { schedule: before, now } = await store.getSchedule(id);
    const schedule = next(before, now);
    if (schedule === before) return before;
    const { answer } = await store.putSchedule({ id, schedule, expects: before?.revision ?? null, act });
    if (answer === "FULL")
      throw invalid("INPUT_INVALID", `schedule ${id}`, "there are 1,000 schedules already; remove one");
    if (answer === "OK") return schedule;
  }
  throw busy(id);
}

/** What the audit is told. */
function done(act: string, id: string, { by = unnamed, reason }: Partial<ScheduleBy> = {}): Act {
  return { act, by, reason: reason ?? null, run: null, about: `schedule ${id}` };
}

async function tick(connection: Connection, schedule: Schedule): Promise<void> {
  const { ticks } = connection.ports;
  try {
    if (schedule.paused === null) await ticks?.set(schedule);
    else await ticks?.remove(schedule.id);
  } catch (error) {
    connection.trouble("schedule", error);
  }
}

async function silence(connection: Connection, id: string): Promise<true> {
  try {
    await connection.ports.ticks?.remove(id);
  } catch (error) {
    connection.trouble("schedule", error);
  }
  return true;
}

function existing(id: string, schedule: Schedule | null): Schedule {
  if (schedule !== null) return schedule;
  throw new RepriseError("SCHEDULE_NOT_FOUND", `there is no schedule ${id}`, { details: { id } });
}

function busy(id: string): RepriseError {
  return new RepriseError("STORE_UNAVAILABLE", `the schedule ${id} is being changed all the time; try again`, {
    details: { id },
  });
}

/** Throws INPUT_INVALID, ID_INVALID, SAGA_UNKNOWN. */
function wishOf(connection: Connection, options: ScheduleOptions, now: number): ScheduleWish {
  const { id, saga, overlap = "skip", missed = "skip", tenant = defaultTenant, priority = 0 } = options;
  if (typeof id !== "string" || !idPattern.test(id) || id.length > maxScheduleIdChars) {
    const message = `the schedule id ${JSON.stringify(id)} is not 1 to ${maxScheduleIdChars} characters of A-Z a-z 0-9 _ . -`;
    throw new RepriseError("ID_INVALID", message, { details: { what: "the schedule id" } });
  }
  const { name, version } = connection.sagaOf(saga.name, saga.version);
  oneOf("overlap", overlap, ["skip", "queue", "cancel_previous"]);
  oneOf("missed", missed, ["skip", "run_once", "run_all"]);
  const input: Json = checkedInput(connection, saga, options.input);
  const timing = timingOf(options);
  const problem = timingProblem(timing, now);
  if (problem !== null) throw invalid("INPUT_INVALID", `schedule ${id}`, problem);
  const rest = { tenant: checkedId(tenant, "the tenant"), priority: checkedPriority(priority), overlap, missed };
  return { id, saga: name, version, input, timing, ...rest };
}

function oneOf(what: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  throw invalid("INPUT_INVALID", what, `it is one of ${known.join(", ")}, and not ${JSON.stringify(value)}`);
}

function timingOf({ id, cron, every, timeZone }: ScheduleOptions): Timing {
  if ((cron === undefined) === (every === undefined)) {
    throw invalid("INPUT_INVALID", `schedule ${id}`, "give it cron or every, one of them");
  }
  if (every === undefined) return { cron: cron ?? "", timeZone: timeZone ?? "UTC" };
  if (timeZone !== undefined) throw invalid("INPUT_INVALID", `schedule ${id}`, "every needs no time zone");
  return { everyMs: checkedDuration(every, "every") };
}

function isSame(schedule: Schedule, wish: ScheduleWish): boolean {
  return (Object.keys(wish) as (keyof ScheduleWish)[]).every(
    (key) => JSON.stringify(schedule[key]) === JSON.stringify(wish[key]),
  );
}

function viewOf({ timing, revision: _, ...schedule }: Schedule): ScheduleView {
  const isEvery = "everyMs" in timing;
  return {
    ...schedule,
    cron: isEvery ? null : timing.cron,
    timeZone: isEvery ? null : timing.timeZone,
    everyMs: isEvery ? timing.everyMs : null,
    nextAt: schedule.paused === null ? nextTick(timing, schedule.doneUntil) : null,
  };
}
