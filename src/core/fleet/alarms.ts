/** What is wrong in one observation of a namespace. Owns which things are worth an alert, and from when on; `watch.ts` when one is told. */
import { type KeptHeartbeat, staleAfterMs } from "./heartbeat.ts";
import type { SeenWorker, WorkerState } from "./worker-state.ts";

/** From when on something is worth an alert. */
export interface Thresholds {
  /** A worker that is silent, wedged or gone without being replaced. */
  readonly workerMs: number;
  /** Leases of a dead worker that nobody has ended. */
  readonly recoveryMs: number;
  /** Open runs that no living worker can drive. */
  readonly unservedMs: number;
  /** A run whose outcome nobody knows. */
  readonly unknownMs: number;
  /** A question that nobody has answered. */
  readonly approvalMs: number;
  /** So many more parked runs than `parkedWindowMs` ago. */
  readonly parkedGrowth: number;
  readonly parkedWindowMs: number;
  /** Share of `maxmemory` in use. */
  readonly memoryShare: number;
  /** The store does not answer. */
  readonly storeMs: number;
  /** An alert that still holds is told again after this. */
  readonly againMs: number;
}

export const defaultThresholds: Thresholds = {
  workerMs: 0,
  recoveryMs: 10_000,
  unservedMs: 60_000,
  unknownMs: 300_000,
  approvalMs: 86_400_000,
  parkedGrowth: 5,
  parkedWindowMs: 1_800_000,
  memoryShare: 0.75,
  storeMs: 10_000,
  againMs: 14_400_000,
};

/** A Redis server as it says it is. */
export interface ServerFacts {
  readonly address: string;
  readonly version: string;
  readonly policy: string;
  /** `null`: CONFIG is forbidden. */
  readonly appendonly: string | null;
  readonly appendfsync: string | null;
  readonly usedBytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
  readonly replicas: number;
}

/** What was seen of a namespace. */
export interface Seen {
  readonly workers: readonly SeenWorker[];
  /** Structures with open runs that no living worker drives. */
  readonly unserved: readonly string[];
  /** Runs that are parked, as far as they were counted. */
  readonly parked: number;
  /** How long the oldest of each waits; `null`: there is none. */
  readonly unknownMs: number | null;
  readonly approvalMs: number | null;
  readonly servers: readonly ServerFacts[];
}

/** What an alarm is judged by beside the observation itself. */
export interface Before {
  /** How many runs were parked at the beginning of the window. */
  readonly parked: number;
  /** Settings of each server when it was first seen. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface Alarm {
  /** What it is about; the same alarm has the same key. */
  readonly key: string;
  readonly severity: "page" | "ticket";
  readonly message: string;
  /** It counts when it has held for so long. */
  readonly afterMs: number;
}

/** All that is wrong, by key. */
export function alarmsIn(seen: Seen, before: Before, limits: Thresholds): readonly Alarm[] {
  return [
    ...lostWorkers(seen, limits),
    ...sickWorkers(seen, limits),
    ...slowRecovery(seen, limits),
    ...seen.unserved.map((structure) => unserved(structure, limits)),
    ...tooOld(seen, limits),
    ...growth(seen, before, limits),
    ...seen.servers.flatMap((server) => serverAlarms(server, before, limits)),
  ];
}

/** Who works on the same: a pod that replaces another has another id. */
function groupOf({ pools, queues }: KeptHeartbeat): string {
  return [...pools, ...queues.map((queue) => `queue ${queue}`)].join(",");
}

/** Gone without a goodbye, and no other one has come since. */
function lostWorkers({ workers }: Seen, { workerMs }: Thresholds): readonly Alarm[] {
  const lost = heartbeatsOf(workers, ["lost"]);
  const alive = heartbeatsOf(workers, ["ready", "draining"]);
  return [...new Set(lost.map(groupOf))].flatMap((group): readonly Alarm[] => {
    const gone = lost.filter((worker) => groupOf(worker) === group);
    const firstAt = Math.min(...gone.map(({ at }) => at));
    const came = alive.filter((worker) => worker.at - worker.upMs > firstAt && groupOf(worker) === group);
    if (came.length >= gone.length) return [];
    const names = gone.map(({ name }) => name).join(", ");
    const message = `${gone.length} worker(s) of ${group} gone without a goodbye, ${came.length} came instead: ${names}`;
    return [{ key: `workers_lost ${group}`, severity: "page", message, afterMs: workerMs }];
  });
}

function heartbeatsOf(workers: readonly SeenWorker[], states: readonly WorkerState[]): readonly KeptHeartbeat[] {
  return workers.flatMap(({ state, heartbeat }) => (heartbeat !== null && states.includes(state) ? [heartbeat] : []));
}

function sickWorkers({ workers }: Seen, { workerMs: afterMs }: Thresholds): readonly Alarm[] {
  return workers.flatMap(({ id, state, heartbeat }): readonly Alarm[] => {
    const name = heartbeat?.name ?? id;
    if (state === "stale") {
      const message = `worker ${name} (${id}) is there and says nothing`;
      // One that has just registered has not had the time to say anything.
      const patienceMs = heartbeat === null ? Math.max(afterMs, staleAfterMs) : afterMs;
      return [{ key: `worker_stale ${id}`, severity: "page", message, afterMs: patienceMs }];
    }
    if (state !== "wedged") return [];
    const message = `worker ${name} (${id}) takes nothing though Redis answers: restart it`;
    return [{ key: `worker_wedged ${id}`, severity: "page", message, afterMs }];
  });
}

/** A lost worker that is still registered has leases that nobody has ended. */
function slowRecovery({ workers }: Seen, { recoveryMs }: Thresholds): readonly Alarm[] {
  const held = workers.filter(({ state, serves }) => state === "lost" && serves.length > 0);
  return held.map(({ id, heartbeat }) => ({
    key: `recovery ${id}`,
    severity: "page",
    message: `nobody has taken over from ${heartbeat?.name ?? id}: is any worker alive?`,
    afterMs: recoveryMs,
  }));
}

function unserved(structure: string, { unservedMs }: Thresholds): Alarm {
  const message = `open runs cannot advance: no worker serves ${structure}`;
  return { key: `unserved ${structure}`, severity: "page", message, afterMs: unservedMs };
}

function tooOld({ unknownMs, approvalMs }: Seen, limits: Thresholds): readonly Alarm[] {
  const minutes = (ms: number): number => Math.round(ms / 60_000);
  const alarms: Alarm[] = [];
  if (unknownMs !== null && unknownMs >= limits.unknownMs) {
    const message = `an outcome is unknown for ${minutes(unknownMs)} min: reprise dlq list`;
    alarms.push({ key: "unknown_old", severity: "page", message, afterMs: 0 });
  }
  if (approvalMs !== null && approvalMs >= limits.approvalMs) {
    const message = `a question waits for ${minutes(approvalMs)} min: reprise approvals list`;
    alarms.push({ key: "approval_old", severity: "ticket", message, afterMs: 0 });
  }
  return alarms;
}

function growth({ parked }: Seen, before: Before, { parkedGrowth }: Thresholds): readonly Alarm[] {
  if (parked - before.parked < parkedGrowth) return [];
  const message = `${parked - before.parked} more runs are parked than a while ago (${parked} in all): reprise dlq groups`;
  return [{ key: "dead_letters", severity: "ticket", message, afterMs: 0 }];
}

function serverAlarms(server: ServerFacts, { settings }: Before, { memoryShare }: Thresholds): readonly Alarm[] {
  const { address, usedBytes, maxBytes } = server;
  const alarms: Alarm[] = [];
  const [was, is] = [settings[address], settingsOf(server)];
  if (was !== undefined && was !== is) {
    const message = `settings of Redis at ${address} have changed from ${was} to ${is}`;
    alarms.push({ key: `store_settings ${address}`, severity: "page", message, afterMs: 0 });
  }
  if (maxBytes > 0 && usedBytes >= maxBytes * memoryShare) {
    const message = `Redis at ${address} uses ${Math.round((100 * usedBytes) / maxBytes)} % of its memory`;
    alarms.push({ key: `store_memory ${address}`, severity: "page", message, afterMs: 0 });
  }
  return alarms;
}

/** What must not change under the feet of those who rely on it. */
export function settingsOf({ policy, appendonly, appendfsync }: ServerFacts): string {
  return `maxmemory-policy ${policy}, appendonly ${appendonly ?? "?"}, appendfsync ${appendfsync ?? "?"}`;
}
