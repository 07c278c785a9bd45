/**
 * Looks at schedules and carries out what is to be done for them. Owns when they are looked at: when one ticks, and all of them from
 * time to time, so that no lost tick is missed and what makes them tick is put back. What is to be done is core's
 * (`core/company/schedules.ts`). Any number of workers may do it.
 *
 * Invariants: X1 what is decided is written before it is done, on the revision it was decided on; whoever comes second looks again.
 * X2 doing it twice makes one run: its id and its command follow from the tick.
 */
import {
  begin,
  type CreateAnswer,
  hasEnded,
  listingsOf,
  machineOf,
  moveOf,
  type RunRef,
  type Schedule,
  type ScheduleMove,
  startedOf,
  structureHashOf,
  type Ticks,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { decode, type Saga } from "../saga/index.ts";
import { type EngineContext, pause, started, trouble, wake } from "./context.ts";

/** How often all schedules are looked at, and how many times that is before it is seen to that they tick. */
const sweepMs = 2_000;
const sweepsPerKeep = 5;
/** A tick that comes as much before its time is waited for. */
const earlyMs = 5_000;
/** Moves for one schedule in one go; what is left after them is left to the next look. */
const maxMoves = 1_000;

export interface ScheduleDeskOptions {
  readonly context: EngineContext;
  readonly ticks: Ticks;
  /** The sagas of which this worker may start runs. */
  readonly sagas: readonly Saga[];
}

export class ScheduleDesk {
  readonly #options: ScheduleDeskOptions;
  #sweeps = 0;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;

  constructor(options: ScheduleDeskOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#sweep();
    this.#plan();
    await this.#options.ticks.start((id) => this.#ticked(id));
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#options.ticks.stop(graceMs);
  }

  #plan(): void {
    const { context } = this.#options;
    if (this.#stopped) return;
    this.#cancelTimer = context.clock.after(sweepMs, () =>
      context.background(this.#sweep().finally(() => this.#plan())),
    );
  }

  async #sweep(): Promise<void> {
    const { context, ticks } = this.#options;
    try {
      const { schedules, now } = await context.store.listSchedules();
      for (const schedule of schedules) if (!isResting(schedule, now)) await this.#look(schedule.id);
      if (this.#sweeps % sweepsPerKeep === 0) await ticks.keep(schedules.filter(({ paused }) => paused === null));
      this.#sweeps += 1;
    } catch (error) {
      trouble(context, "schedules", error);
    }
  }

  /** The clock of whoever ticks may be ahead of the store's. */
  async #ticked(id: string): Promise<void> {
    const { clock } = this.#options.context;
    const rests = await this.#look(id);
    if (rests === null || rests <= 0 || rests > earlyMs) return;
    await pause(clock, rests);
    await this.#look(id);
  }

  /** Does what is to be done for it; answers for how many ms it then rests (`null`: nobody knows). */
  async #look(id: string): Promise<number | null> {
    const { context } = this.#options;
    try {
      for (let moves = 0; moves < maxMoves && !this.#stopped; moves += 1) {
        const { schedule, now } = await context.store.getSchedule(id);
        if (schedule === null || this.#sagaOf(schedule) === null) return null;
        const move = moveOf(schedule, { now, isOpen: await this.#isOpen(schedule) });
        if (move.does === "rest") return move.at === null ? null : move.at - now;
        if (!(await this.#carryOut(schedule, move))) return null;
      }
    } catch (error) {
      trouble(context, `schedule ${id}`, error);
    }
    return null;
  }

  /** `false`: what was begun takes its time. */
  async #carryOut(schedule: Schedule, move: Exclude<ScheduleMove, { does: "rest" }>): Promise<boolean> {
    switch (move.does) {
      case "save":
        await this.#save(schedule, move.schedule);
        return true;
      case "start":
        await this.#save(schedule, startedOf(schedule, await this.#start(schedule, move.run)));
        return true;
      case "cancel":
        await this.#cancel(schedule, move.run);
        return false;
    }
  }

  async #save({ id, revision }: Schedule, schedule: Schedule): Promise<void> {
    await this.#options.context.store.putSchedule({ id, schedule, expects: revision });
  }

  /** Starts the run of its tick, or finds it started; else says why it cannot be. */
  async #start(schedule: Schedule, run: RunRef): Promise<string | null> {
    const { context } = this.#options;
    const { input, priority } = schedule;
    // Looked for just before.
    const saga = this.#sagaOf(schedule) as Saga;
    const fits = decode(saga.spec.input, input);
    if (!fits.ok) return `its input does not fit ${saga.name} version ${saga.version}: ${fits.problem}`;
    const now = await context.store.now();
    try {
      const hash = structureHashOf(saga);
      const { tenant } = run;
      return await started(context, { tenant, saga: saga.name, version: saga.version }, async (trace) => {
        const first = begin({ machine: machineOf(saga.spec), hash, ...run, input, priority, now, startAt: now, trace });
        const command = { ...first, memberships: listingsOf(first.record), commandId: `schedule:${run.id}` };
        const answer = await context.store.create(command);
        if (answer.answer === "OK")
          context.facts.emit({ fact: "created", run, record: first.record, entry: first.log });
        return await this.#started(run, answer);
      });
    } catch (error) {
      if (error instanceof RepriseError && error.code === "INPUT_INVALID") return error.message;
      throw error;
    }
  }

  async #started(run: RunRef, answer: CreateAnswer): Promise<string | null> {
    if (answer.answer === "GONE") return `a run ${run.id} was there already, and was deleted`;
    if (answer.answer === "CONFLICT") return `there is another run ${run.id} already, of ${answer.saga}`;
    if (answer.answer === "OK") await wake(this.#options.context, answer.wake);
    return null;
  }

  async #cancel({ id }: Schedule, run: RunRef): Promise<void> {
    const { store } = this.#options.context;
    const body = { type: "cancel", mode: "compensate", reason: "the next tick of its schedule has come" } as const;
    const answer = await store.send({ run, slot: "cancel", commandId: `schedule:${id}`, by: `schedule:${id}`, body });
    if (answer.answer === "OK") await wake(this.#options.context, answer.wake);
  }

  /** Has the run before ended? Asked only where something waits for that. */
  async #isOpen({ tenant, current, pending }: Schedule): Promise<boolean> {
    if (current === null || pending.length === 0) return false;
    const record = await this.#options.context.store.read({ tenant, id: current.run });
    return record !== null && !hasEnded(record.status);
  }

  /** The newest version here, if it is new enough. */
  #sagaOf({ saga: name, version }: Schedule): Saga | null {
    const known = this.#options.sagas.filter((saga) => saga.name === name && saga.version >= version);
    return known.reduce<Saga | null>(
      (newest, saga) => (newest === null || saga.version > newest.version ? saga : newest),
      null,
    );
  }
}

/** Known without asking for its run. */
function isResting(schedule: Schedule, now: number): boolean {
  if (schedule.pending.length > 0 && schedule.paused === null) return false;
  const move = moveOf(schedule, { now, isOpen: true });
  return move.does === "rest";
}
