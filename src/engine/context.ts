/**
 * What everything in one worker process shares: ports, settings and who it is. Made once by `worker.ts`.
 */
import {
  type CallOrder,
  type Clock,
  type Commit,
  type Facts,
  type Ids,
  type Machine,
  type NoticeHook,
  promised,
  type Remembered,
  type Run,
  type RunRecord,
  type RunRef,
  type Store,
  type TracedCall,
  type Tracing,
  type WakeUp,
  type WakeUps,
} from "../core/index.ts";
import { isUnavailable, RepriseError } from "../errors.ts";
import type { RunIdentity } from "../saga/index.ts";
import type { Around, InvokeDeps } from "./invoke.ts";
import type { Leases } from "./lease.ts";
import { messageOf } from "./outcome.ts";
import type { EngineSettings } from "./settings.ts";
import { resendMs } from "./settings.ts";

export interface EnginePorts {
  readonly store: Store;
  readonly wakeUps: WakeUps;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly facts: Facts;
  /** Where calls are seen from outside; nowhere where it is left out. */
  readonly tracing?: Tracing;
}

/** The sagas a worker serves, by the structure a run is pinned to. */
export interface ServedSagas {
  /** `null`: this worker does not serve that name, version and hash. */
  machineFor(record: Pick<RunRecord, "saga" | "version" | "hash">): Machine | null;
}

export interface EngineContext extends EnginePorts {
  readonly namespace: string;
  /** This process's incarnation: unique, never reused. */
  readonly owner: string;
  readonly settings: EngineSettings;
  readonly sagas: ServedSagas;
  /** Who wants to hear of runs. */
  readonly hooks: readonly NoticeHook[];
  readonly leases: Leases;
  readonly invoke: InvokeDeps;
  /** `once` calls wait for a durable store. */
  readonly needsBarrier: () => boolean;
  /** A commit has taken a run from one record to the next. */
  moved(before: RunRecord, commit: Commit, run: Run): void;
  /** A commit of the run was refused. */
  refused(run: RunRef): void;
  /** May runs be driven of which this process remembers nothing more, or is that left to others for now (`worlds.ts`)? */
  isOpen(): boolean;
  /** Has this process compared all that it remembers with the store that answers now, and put right what that had forgotten? */
  isSettled(): boolean;
  /** What this process remembers of the run, where the store that answered has forgotten it. */
  forgottenBy(stored: RunRecord): Remembered | null;
  /** Nobody is to drive runs of this saga for the time being. */
  isPaused(saga: string): boolean;
  /** No call is begun any more. */
  isStopping(): boolean;
  /** Nothing is waited for any more: the process is about to go. */
  isOver(): boolean;
  /** Work that nobody waits for but that must be owned. */
  background(work: Promise<unknown>): void;
}

export function trouble(context: Pick<EngineContext, "facts">, where: string, error: unknown): void {
  context.facts.emit({ fact: "trouble", where, message: messageOf(error) });
}

/** Begins a run where whoever follows its trace can see it. */
export function started<Result>(
  { tracing }: Pick<EngineContext, "tracing">,
  run: Parameters<Tracing["start"]>[0],
  work: (trace: string | null) => Promise<Result>,
): Promise<Result> {
  return tracing === undefined ? work(null) : tracing.start(run, work);
}

/** How user code of one call is called: as part of its run's trace, or plainly. */
export function traced(
  { tracing, owner }: Pick<EngineContext, "tracing" | "owner">,
  {
    record,
    row,
    order,
    routed,
    now,
  }: Pick<TracedCall, "record" | "row" | "routed" | "now"> & { readonly order: CallOrder },
): Around | null {
  if (tracing === undefined) return null;
  const { kind, send, attempt, operationId } = order;
  return (work) => tracing.call({ record, row, kind, send, attempt, operationId, owner, routed, now }, work);
}

export function identityOf(record: RunRecord): RunIdentity {
  return { id: record.id, tenant: record.tenant, saga: record.saga, version: record.version };
}

/** Adds a wake-up where an answer asks for one. A lost one is found by the sweep. */
export async function wake(context: EngineContext, wakeUp: WakeUp | null): Promise<void> {
  if (wakeUp === null) return;
  try {
    await context.wakeUps.wake([wakeUp]);
  } catch (error) {
    trouble(context, "wake", error);
  }
}

export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}

/** Did the work end within `ms`? Leaves no timer behind. */
export function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(false));
    work.then(
      () => {
        cancel();
        resolve(true);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

export interface Answered<Answer> {
  readonly answer: Answer;
  /** When the sending was begun that was answered. */
  readonly askedAt: number;
  readonly resent: boolean;
}

/**
 * Sends one request again, unchanged, until it is answered or the process ends (`null`). It must be idempotent. Throws only
 * what sending it again cannot change: a refusal by name. `isOwed` is asked before it is sent again: `false` ends it (`null`).
 */
export function untilAnswered<Answer>(
  context: EngineContext,
  where: string,
  request: () => Promise<Answer>,
  isOwed: () => Promise<boolean> = async () => true,
): Promise<Answered<Answer> | null> {
  const askedAt = context.clock.monotonicMs();
  return promised(request).then(
    (answer) => ({ answer, askedAt, resent: false }),
    (error: unknown) => askAgain(context, where, error, { request, isOwed }),
  );
}

async function askAgain<Answer>(
  context: EngineContext,
  where: string,
  failure: unknown,
  { request, isOwed }: { readonly request: () => Promise<Answer>; readonly isOwed: () => Promise<boolean> },
): Promise<Answered<Answer> | null> {
  let error = failure;
  for (let delay: number = resendMs.first; ; delay = Math.min(delay * 2, resendMs.most)) {
    trouble(context, where, error);
    if (context.isOver()) return null;
    if (error instanceof RepriseError && !isUnavailable(error)) throw error;
    await pause(context.clock, delay);
    if (!(await isOwed())) return null;
    const askedAt = context.clock.monotonicMs();
    try {
      return { answer: await request(), askedAt, resent: true };
    } catch (again) {
      error = again;
    }
  }
}

/** Waits until this process knows what the store that answers now has forgotten; `false`: it ends before that. */
export async function untilSettled(context: EngineContext): Promise<boolean> {
  while (!context.isSettled()) {
    if (context.isOver()) return false;
    await pause(context.clock, resendMs.first);
  }
  return true;
}

/** Waits until what the store has acknowledged is durable, where that is not a matter of course. */
export async function isDurable(context: EngineContext): Promise<boolean> {
  if (!context.needsBarrier()) return true;
  try {
    return await context.store.barrier(context.settings.barrierMs);
  } catch (error) {
    trouble(context, "barrier", error);
    return false;
  }
}
