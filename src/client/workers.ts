/**
 * The workers of a namespace, and asking one of them to leave. Owns what is asked to see them; what it means is core's
 * (`core/fleet`).
 */
import { type DrainRequest, type KeptHeartbeat, type SeenWorker, unservedBy, workersSeen } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { checkedId, checkedReason } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { missedOnce, missedTwice } from "./lost.ts";
import type { PauseOptions } from "./paused.ts";

/** A supervisor that was heard of lately. */
export interface SupervisorView extends Pick<KeptHeartbeat, "id" | "name" | "host" | "pid" | "version"> {
  /** How old its last heartbeat is. */
  readonly ageMs: number;
}

export interface Workers {
  /** By name. Those that are gone without a goodbye can be seen for ten minutes. */
  readonly workers: readonly SeenWorker[];
  /** None: nobody watches over this namespace. */
  readonly supervisors: readonly SupervisorView[];
  /** Structures (`<saga>@<version>#<hash>`) with open runs that no living worker drives. */
  readonly unserved: readonly string[];
}

export async function workersNow(connection: Connection): Promise<Workers> {
  const store = await connection.store();
  const lost = await missedTwice(connection, store, await missedOnce(store));
  const [serving, { heartbeats, drains, now }] = await Promise.all([store.serving(), store.heartbeats()]);
  return {
    workers: workersSeen({ now, serving, lost, heartbeats, drains }),
    supervisors: heartbeats.filter(({ role }) => role === "supervisor").map((beat) => supervisorOf(beat, now)),
    unserved: unservedBy(serving, lost),
  };
}

function supervisorOf({ id, name, host, pid, version, at }: KeptHeartbeat, now: number): SupervisorView {
  return { id, name, host, pid, version, ageMs: Math.max(0, now - at) };
}

/** Throws WORKER_NOT_FOUND, ID_INVALID, INPUT_INVALID. */
export async function drainWorker(
  connection: Connection,
  worker: string,
  { by, reason }: PauseOptions,
): Promise<DrainRequest> {
  const store = await connection.store();
  checkedId(worker, "the worker");
  const { drain } = await store.askToDrain({ worker, by, reason: checkedReason(reason) });
  if (drain !== null) return drain;
  throw workerNotFound(worker);
}

export function workerNotFound(worker: string): RepriseError {
  return new RepriseError("WORKER_NOT_FOUND", `no worker with the id ${worker} was heard of lately`, {
    details: { worker },
  });
}
