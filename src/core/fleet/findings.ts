/**
 * What is wrong with an installation, as somebody sees it who looks once: settings that will hurt one day, workers and runs that are not
 * well. Owns what is a finding, how bad it is, and what to do about it; nothing is repaired.
 */
import type { ServerFacts } from "./alarms.ts";
import type { SeenWorker } from "./worker-state.ts";

/** A Redis server as somebody sees it who looks closely. */
export interface InspectedServerFacts extends ServerFacts {
  readonly role: string;
  /** Replicas without which it takes no write; `null`: it does not say. */
  readonly minReplicas: number | null;
  readonly machineBytes: number;
  /** Could it write its last piece of the AOF? */
  readonly aofWrites: boolean;
  /** Its clock against that of whoever looks. */
  readonly skewMs: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

/** A key that nothing accounts for. */
export interface StrayKey {
  readonly key: string;
  readonly why: string;
}

/** What was seen of an installation. */
export interface Installation {
  /** Of this process: `20.20.2`, and the oldest that is supported. */
  readonly node: { readonly version: string; readonly oldest: string };
  readonly servers: readonly InspectedServerFacts[];
  /** `registered`: what the namespace was begun with; `null`: it has not begun. */
  readonly shards: { readonly configured: number; readonly registered: number | null };
  readonly keys: { readonly looked: number; readonly isWhole: boolean; readonly strays: readonly StrayKey[] };
  /** `null`: they could not be looked at, since the store would not be opened as it is. */
  readonly fleet: { readonly workers: readonly SeenWorker[]; readonly unserved: readonly string[] } | null;
  /** Are `once` steps allowed on a Redis that may forget them? */
  readonly allowsForgetful: boolean;
  /** Is it, or is it to be, in production? */
  readonly isProduction: boolean;
}

export interface Finding {
  /** What kind it is; stable. */
  readonly id: string;
  /** `unsafe`: what was promised may be lost, or nothing is taken at all. */
  readonly severity: "warning" | "unsafe";
  /** A server, a worker, a structure. */
  readonly about: string;
  readonly seen: string;
  readonly expected: string;
  readonly todo: string;
}

/** Older ones lack commands that are used, or were never tried. */
const oldestRedis = "7.0";
const maxSkewMs = 1_000;
/** Every commit is one such way there and back, and more. */
const maxMedianMs = 20;
/** Half of what a command may take. */
const maxWorstMs = 500;
const memoryShare = 0.75;
const straysShown = 3;

/** The worst first. */
export function findingsIn(seen: Installation): readonly Finding[] {
  const found = [
    ...nodeFindings(seen),
    ...seen.servers.flatMap((server) => serverFindings(server, seen)),
    ...shardFindings(seen),
    ...fleetFindings(seen),
    ...keyFindings(seen),
  ];
  return [
    ...found.filter(({ severity }) => severity === "unsafe"),
    ...found.filter((each) => each.severity !== "unsafe"),
  ];
}

function nodeFindings({ node: { version, oldest } }: Installation): readonly Finding[] {
  if (isAtLeast(version, oldest)) return [];
  return [
    {
      ...{ id: "node_version", severity: "unsafe", about: "this process", seen: `Node ${version}` },
      expected: `Node ${oldest} or newer`,
      todo: "install a newer Node.js",
    },
  ];
}

function serverFindings(server: InspectedServerFacts, seen: Installation): readonly Finding[] {
  const about = `Redis at ${server.address}`;
  return [
    ...versionFindings(server),
    ...durabilityFindings(server, seen),
    ...replicaFindings(server, seen),
    ...paceFindings(server),
  ].map((finding) => ({ ...finding, about }));
}

type Nameless = Omit<Finding, "about">;

function versionFindings({ version, role }: InspectedServerFacts): readonly Nameless[] {
  const found: Nameless[] = [];
  if (!isAtLeast(version, oldestRedis)) {
    found.push({
      ...{ id: "redis_version", severity: "unsafe", seen: `Redis ${version}` },
      expected: `Redis ${oldestRedis} or newer`,
      todo: "use a newer Redis (or Valkey)",
    });
  }
  if (role !== "master") {
    found.push({
      ...{ id: "redis_role", severity: "unsafe", seen: `it is a ${role}`, expected: "the primary" },
      todo: "let REDIS_URL lead to the primary: a replica takes no writes",
    });
  }
  return found;
}

function durabilityFindings(server: InspectedServerFacts, { allowsForgetful }: Installation): readonly Nameless[] {
  const { policy, appendonly, appendfsync, aofWrites } = server;
  const found: Nameless[] = [];
  if (policy !== "noeviction") {
    found.push({
      ...{ id: "redis_evicts", severity: "unsafe", seen: `maxmemory-policy ${policy}`, expected: "noeviction" },
      todo: "CONFIG SET maxmemory-policy noeviction, and in its configuration: a run's record is a key (docs/runbooks/STORE_EVICTS.md)",
    });
  }
  if (appendonly !== "yes") {
    found.push({
      ...{ id: "redis_aof", severity: "unsafe", seen: `appendonly ${appendonly ?? "?"}`, expected: "appendonly yes" },
      todo: "CONFIG SET appendonly yes, and in its configuration: else a restart forgets what was acknowledged",
    });
  } else if (appendfsync !== "always") found.push(fsyncFinding(appendfsync));
  if (!aofWrites) {
    found.push({
      ...{ id: "redis_disk", severity: "unsafe", seen: "it could not write its AOF", expected: "a disk that takes it" },
      todo: "look at its disk: while it cannot write, it refuses every commit",
    });
  }
  if (allowsForgetful && (appendonly !== "yes" || appendfsync !== "always")) {
    found.push({
      ...{ id: "forgetful_allowed", severity: "warning", seen: "REPRISE_ALLOW_FORGETFUL_STORE is set" },
      expected: "a store that does not forget, or a barrier",
      todo: "a once step may be carried out twice after a crash of Redis: appendfsync always, or a barrier (docs/operations.md)",
    });
  }
  return found;
}

function fsyncFinding(appendfsync: string | null): Nameless {
  const shown = `appendfsync ${appendfsync ?? "is not to be seen (CONFIG is forbidden)"}`;
  return {
    ...{ id: "redis_fsync", severity: appendfsync === "no" ? "unsafe" : "warning", seen: shown },
    expected: "appendfsync always",
    todo: "CONFIG SET appendfsync always; with everysec a crash forgets a second, and once steps want a barrier (docs/operations.md)",
  };
}

function replicaFindings({ replicas, minReplicas }: InspectedServerFacts, seen: Installation): readonly Nameless[] {
  if (minReplicas !== null && minReplicas > replicas) {
    return [
      {
        ...{ id: "redis_replicas_short", severity: "unsafe", expected: `${minReplicas}, by min-replicas-to-write` },
        seen: `${replicas} replica(s)`,
        todo: "bring its replicas back: until then it refuses every write",
      },
    ];
  }
  if (replicas > 0 && minReplicas === 0) {
    return [
      {
        ...{ id: "redis_wait", severity: "warning", seen: "replicas, and min-replicas-to-write 0" },
        expected: "min-replicas-to-write 1, or workers with barrier: { replicas: 1 }",
        todo: "a fail-over to a replica that lags forgets what was acknowledged: CONFIG SET min-replicas-to-write 1",
      },
    ];
  }
  if (replicas > 0 || !seen.isProduction) return [];
  return [
    {
      ...{ id: "redis_replicas", severity: "warning", seen: "no replica", expected: "one at least" },
      todo: "with its machine everything is gone that no backup has: add a replica",
    },
  ];
}

function paceFindings(server: InspectedServerFacts): readonly Nameless[] {
  const { skewMs, medianMs, worstMs, usedBytes, maxBytes, machineBytes } = server;
  const found: Nameless[] = [];
  if (Math.abs(skewMs) >= maxSkewMs) {
    found.push({
      ...{ id: "clock_skew", severity: "warning", seen: `its clock is ${skewMs} ms ahead`, expected: "less than 1 s" },
      todo: "set both clocks by NTP: runs go by that of Redis alone, but logs, traces and BullMQ's delays do not",
    });
  }
  if (medianMs >= maxMedianMs || worstMs >= maxWorstMs) {
    found.push({
      ...{ id: "redis_latency", severity: "warning", seen: `PING takes ${medianMs} ms, ${worstMs} ms at worst` },
      expected: `${maxMedianMs} ms, ${maxWorstMs} ms at worst`,
      todo: "bring workers and Redis nearer together, or look for what holds it up (SLOWLOG, its disk, its machine)",
    });
  }
  const room = maxBytes > 0 ? maxBytes : machineBytes;
  if (room > 0 && usedBytes >= room * memoryShare) {
    const of = maxBytes > 0 ? "maxmemory" : "the machine's memory (no maxmemory is set)";
    found.push({
      ...{ id: "redis_memory", severity: "warning", seen: `${Math.round((100 * usedBytes) / room)} % of ${of} in use` },
      expected: `less than ${100 * memoryShare} %`,
      todo: "give it more, or keep less (docs/retention.md): full means that nothing goes on",
    });
  }
  return found;
}

function shardFindings({ shards: { configured, registered } }: Installation): readonly Finding[] {
  if (registered === null || registered === configured) return [];
  return [
    {
      ...{ id: "shards_mismatch", severity: "unsafe", about: "the namespace", seen: `it has ${registered} shard(s)` },
      expected: `${configured}, as it is configured here`,
      todo: `REPRISE_SHARDS=${registered}: the number never changes (docs/runbooks/SHARDS_MISMATCH.md)`,
    },
  ];
}

function fleetFindings({ fleet }: Installation): readonly Finding[] {
  if (fleet === null) return [];
  const unserved = fleet.unserved.map(
    (structure): Finding => ({
      ...{ id: "unserved", severity: "warning", about: structure, seen: "open runs, and no worker that drives them" },
      expected: "a worker that has this version",
      todo: "deploy a worker with it, or move the runs: reprise migrate (docs/runbooks/UNSERVED.md)",
    }),
  );
  return [...unserved, ...fleet.workers.flatMap(workerFindings)];
}

function workerFindings({ id, state, heartbeat }: SeenWorker): readonly Finding[] {
  const about = `worker ${heartbeat?.name ?? id} (${id})`;
  const base = { severity: "warning", about, expected: "ready" } as const;
  switch (state) {
    case "ready":
    case "draining":
      return [];
    case "stale":
      return [
        { ...base, id: "worker_stale", seen: "it is there and says nothing", todo: "look at its process, restart it" },
      ];
    case "wedged":
      return [{ ...base, id: "worker_wedged", seen: "it takes nothing though Redis answers", todo: "restart it" }];
    case "lost":
      return [
        { ...base, id: "worker_lost", seen: "gone without a goodbye", todo: "see what killed it (memory? kill -9?)" },
      ];
  }
}

function keyFindings({ keys: { strays } }: Installation): readonly Finding[] {
  if (strays.length === 0) return [];
  const shown = strays.slice(0, straysShown).map(({ key, why }) => `${key} (${why})`);
  const more = strays.length > straysShown ? `, and ${strays.length - straysShown} more` : "";
  return [
    {
      ...{ id: "orphan_keys", severity: "warning", about: "the namespace", seen: `${shown.join(", ")}${more}` },
      expected: "no key that nothing accounts for",
      todo: "nobody reads them: find out who wrote them, then delete them (--json lists them)",
    },
  ];
}

/** By major and minor; what is no version is not old. */
function isAtLeast(version: string, wanted: string): boolean {
  return orderOf(version) >= orderOf(wanted);
}

function orderOf(version: string): number {
  const match = /^(\d+)\.(\d+)/.exec(version);
  return match === null ? Number.POSITIVE_INFINITY : 1_000 * Number(match[1]) + Number(match[2]);
}
