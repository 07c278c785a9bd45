/**
 * Pausing a run, a saga, or a named queue, and saying what is paused. Owns what is refused at once; workers notice by themselves, and
 * wake what has waited when it is over (`engine/paused.ts`). Invariant: done twice it changes nothing.
 */
import type { PausedSaga, RunRef } from "../core/index.ts";
import { checkedReason, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { sendRequest } from "./send.ts";

export interface PauseOptions {
  readonly by: string;
  readonly reason: string;
}

/** What nobody works on for the time being. */
export interface Paused {
  readonly sagas: readonly PausedSaga[];
  /** Named queues of the sagas that this client was given. */
  readonly queues: readonly string[];
}

/** Leaves a pause, or the end of one, with a run: the newest counts. Throws RUN_NOT_FOUND, RUN_ENDED, INPUT_INVALID. */
export async function controlRun(
  connection: Connection,
  run: RunRef,
  control: "pause" | "resume",
  { by, reason }: PauseOptions,
): Promise<void> {
  const commandId = connection.ports.ids.next();
  const body = { type: "control", control, reason: checkedReason(reason) } as const;
  await sendRequest(connection, { run, slot: `control:${commandId}`, commandId, by, body });
}

/** Throws SAGA_UNKNOWN, INPUT_INVALID. */
export async function pauseSaga(
  connection: Connection,
  name: string,
  { by, reason }: PauseOptions,
): Promise<PausedSaga> {
  const { name: saga } = connection.newest(name);
  const paused = await (await connection.store()).pauseSaga({ saga, by, reason: checkedReason(reason) });
  await noteOf(connection, "pause_saga", `saga ${saga}`, { by, reason });
  connection.ports.facts.emit({ fact: "saga_paused", saga, by, reason });
  return paused;
}

/** Throws INPUT_INVALID. */
export async function resumeSaga(connection: Connection, saga: string, { by, reason }: PauseOptions): Promise<void> {
  checkedReason(reason);
  const was = await (await connection.store()).resumeSaga(saga);
  if (was === null) return;
  await noteOf(connection, "resume_saga", `saga ${saga}`, { by, reason });
  connection.ports.facts.emit({ fact: "saga_resumed", saga, by, reason });
}

async function noteOf(connection: Connection, act: string, about: string, { by, reason }: PauseOptions): Promise<void> {
  await (await connection.store()).note({ act, by, reason, run: null, about });
}

/** Throws INPUT_INVALID for a queue that no saga here has, and without a reason. */
export async function pauseQueue(connection: Connection, queue: string, options: PauseOptions): Promise<void> {
  checkedReason(options.reason);
  await connection.ports.wakeUps.pauseQueue(checkedQueue(connection, queue));
  await noteOf(connection, "pause_queue", `queue ${queue}`, options);
}

/** Throws INPUT_INVALID for a queue that no saga here has, and without a reason. */
export async function resumeQueue(connection: Connection, queue: string, options: PauseOptions): Promise<void> {
  checkedReason(options.reason);
  await connection.ports.wakeUps.resumeQueue(checkedQueue(connection, queue));
  await noteOf(connection, "resume_queue", `queue ${queue}`, options);
}

export async function pausedNow(connection: Connection): Promise<Paused> {
  const { wakeUps } = connection.ports;
  const sagas = await (await connection.store()).pausedSagas();
  const queues = await Promise.all(
    queuesOf(connection).map(async (queue) => ((await wakeUps.isQueuePaused(queue)) ? [queue] : [])),
  );
  return { sagas, queues: queues.flat() };
}

function checkedQueue(connection: Connection, queue: string): string {
  const known = queuesOf(connection);
  if (known.includes(queue)) return queue;
  throw invalid(
    "INPUT_INVALID",
    "queue",
    `no saga here has steps on ${JSON.stringify(queue)}, but on ${known.join(", ") || "none"}`,
  );
}

function queuesOf({ options }: Connection): readonly string[] {
  const steps = options.sagas.flatMap(({ spec }) => Object.values(spec.steps));
  return [...new Set(steps.flatMap(({ queue }) => queue ?? []))].sort();
}
