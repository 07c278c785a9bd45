/**
 * How a worker is, from what can be seen of it. Invariants: F1 who is there is said by the owners that are registered and by their
 * pulses, never by a heartbeat. F2 what a worker says of itself counts only while it says it.
 */
import type { Serving } from "../ports.ts";
import { type DrainRequest, type Drains, type KeptHeartbeat, staleAfterMs } from "./heartbeat.ts";
import { isWedged } from "./liveness.ts";

/**
 * `lost`: its process is gone without a goodbye. `stale`: it is there as far as can be seen, and silent. `wedged`: it takes no jobs though
 * the store answers. `draining`: it takes no new runs and leaves.
 */
export const workerStates = ["ready", "draining", "stale", "wedged", "lost"] as const;
export type WorkerState = (typeof workerStates)[number];

export interface SeenWorker {
  readonly id: string;
  readonly state: WorkerState;
  /** The last one; `null`: none was heard within `heartbeatKeptMs`. */
  readonly heartbeat: KeptHeartbeat | null;
  /** How old it is. */
  readonly ageMs: number | null;
  /** Structures whose runs it drives; none of one that is no longer registered. */
  readonly serves: readonly string[];
  /** It was asked to leave. */
  readonly drain: DrainRequest | null;
}

/** What there is to be seen of all workers. */
export interface Sight {
  readonly now: number;
  readonly serving: Serving;
  readonly lost: ReadonlySet<string>;
  readonly heartbeats: readonly KeptHeartbeat[];
  readonly drains: Drains;
}

/** Every worker that is registered, or gone without a goodbye; by name, then id. */
export function workersSeen({ now, serving, lost, heartbeats, drains }: Sight): readonly SeenWorker[] {
  const heard = new Map(heartbeats.flatMap((beat) => (beat.role === "worker" ? [[beat.id, beat] as const] : [])));
  const served = new Map(serving.owners.map(({ owner, serves }) => [owner, serves]));
  const ids = [...new Set([...served.keys(), ...heard.keys()])];
  const seen = ids.map((id): SeenWorker => {
    const heartbeat = heard.get(id) ?? null;
    const ageMs = heartbeat === null ? null : Math.max(0, now - heartbeat.at);
    const state = served.has(id) && !lost.has(id) ? presentState(heartbeat, ageMs) : "lost";
    return { id, state, heartbeat, ageMs, serves: served.get(id) ?? [], drain: drains[id] ?? null };
  });
  return seen.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

function presentState(heartbeat: KeptHeartbeat | null, ageMs: number | null): WorkerState {
  if (heartbeat === null || ageMs === null || ageMs > staleAfterMs) return "stale";
  return isWedged(heartbeat.stuckMs) ? "wedged" : heartbeat.state;
}

function nameOf({ heartbeat, id }: SeenWorker): string {
  return `${heartbeat?.name ?? ""} ${id}`;
}
