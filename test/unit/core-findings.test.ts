/** What somebody who looks at an installation is told: each thing that is wrong is a finding, and nothing else is. */
import { describe, expect, test } from "vitest";
import {
  findingsIn,
  type InspectedServerFacts,
  type Installation,
  type SeenWorker,
  type WorkerState,
} from "../../src/core/index.ts";
import { aHeartbeat } from "../support/records.ts";

const server: InspectedServerFacts = {
  address: "redis:6379",
  version: "7.0.15",
  policy: "noeviction",
  appendonly: "yes",
  appendfsync: "always",
  usedBytes: 74,
  maxBytes: 100,
  machineBytes: 1_000,
  replicas: 1,
  minReplicas: 1,
  role: "master",
  aofWrites: true,
  skewMs: -999,
  medianMs: 19,
  worstMs: 499,
};
const well: Installation = {
  node: { version: "20.19.0", oldest: "20.19" },
  servers: [server],
  shards: { configured: 4, registered: 4 },
  keys: { looked: 10, isWhole: true, strays: [] },
  fleet: { workers: [], unserved: [] },
  allowsForgetful: false,
  isProduction: true,
};
const told = (patch: Partial<Installation>) =>
  findingsIn({ ...well, ...patch }).map(({ id, severity }) => `${id} ${severity}`);
const of = (patch: Partial<InspectedServerFacts>, more: Partial<Installation> = {}) =>
  told({ ...more, servers: [{ ...server, ...patch }] });

function worker(state: WorkerState, heartbeat: SeenWorker["heartbeat"]): SeenWorker {
  return { id: "w1", state, heartbeat, ageMs: 0, serves: [], drain: null };
}

test("what is well has no finding", () => {
  expect(told({})).toEqual([]);
  expect(told({ fleet: null, shards: { configured: 4, registered: null } })).toEqual([]);
});

test.each([
  ["20.19", []],
  ["21.0.0", []],
  ["20.20.2", []],
  ["20.18.9", ["node_version unsafe"]],
  ["18.20.0", ["node_version unsafe"]],
])("Node %s: %j", (version, findings) => {
  expect(told({ node: { version, oldest: "20.19" } })).toEqual(findings);
});

describe("a server", () => {
  test.each<[Partial<InspectedServerFacts>, string[]]>([
    [{ version: "8.2" }, []],
    [{ version: "6.2.14" }, ["redis_version unsafe"]],
    [{ version: "?" }, []],
    [{ role: "slave" }, ["redis_role unsafe"]],
    [{ policy: "allkeys-lru" }, ["redis_evicts unsafe"]],
    [{ appendonly: "no" }, ["redis_aof unsafe"]],
    [{ appendonly: null }, ["redis_aof unsafe"]],
    [{ appendfsync: "everysec" }, ["redis_fsync warning"]],
    [{ appendfsync: "no" }, ["redis_fsync unsafe"]],
    [{ appendfsync: null }, ["redis_fsync warning"]],
    [{ aofWrites: false }, ["redis_disk unsafe"]],
    [{ replicas: 1, minReplicas: 2 }, ["redis_replicas_short unsafe"]],
    [{ replicas: 1, minReplicas: 0 }, ["redis_wait warning"]],
    [{ replicas: 1, minReplicas: null }, []],
    [{ replicas: 0, minReplicas: 0 }, ["redis_replicas warning"]],
    [{ skewMs: 1_000 }, ["clock_skew warning"]],
    [{ skewMs: -1_000 }, ["clock_skew warning"]],
    [{ medianMs: 20 }, ["redis_latency warning"]],
    [{ worstMs: 500 }, ["redis_latency warning"]],
    [{ usedBytes: 75 }, ["redis_memory warning"]],
    [{ usedBytes: 750, maxBytes: 0 }, ["redis_memory warning"]],
    [{ usedBytes: 750, maxBytes: 0, machineBytes: 0 }, []],
  ])("with %j: %j", (patch, findings) => {
    expect(of(patch)).toEqual(findings);
  });

  test("needs no replica where it is not for production", () => {
    expect(of({ replicas: 0, minReplicas: 0 }, { isProduction: false })).toEqual([]);
  });

  test("that may forget is told apart where once steps are allowed on it", () => {
    expect(of({}, { allowsForgetful: true })).toEqual([]);
    const both = ["redis_fsync warning", "forgetful_allowed warning"];
    expect(of({ appendfsync: "everysec" }, { allowsForgetful: true })).toEqual(both);
    expect(of({ appendonly: "no" }, { allowsForgetful: true })).toEqual([
      "redis_aof unsafe",
      "forgetful_allowed warning",
    ]);
  });
});

test("the number of shards, runs that nobody serves, and workers are findings", () => {
  expect(told({ shards: { configured: 4, registered: 16 } })).toEqual(["shards_mismatch unsafe"]);
  expect(told({ fleet: { workers: [], unserved: ["order@2#h"] } })).toEqual(["unserved warning"]);
  const workers = (["ready", "draining", "stale", "wedged", "lost"] as const).map((state) => worker(state, null));
  expect(told({ fleet: { workers, unserved: [] } })).toEqual([
    "worker_stale warning",
    "worker_wedged warning",
    "worker_lost warning",
  ]);
  const named = worker("stale", { ...aHeartbeat({ name: "eu-1" }), at: 0 });
  expect(findingsIn({ ...well, fleet: { workers: [named], unserved: [] } })[0]?.about).toBe("worker eu-1 (w1)");
});

test("orphans are one finding that names some of them", () => {
  const strays = ["a", "b", "c", "d"].map((key) => ({ key, why: "its run is not there" }));
  const [finding] = findingsIn({ ...well, keys: { looked: 9, isWhole: true, strays } });
  expect([finding?.id, finding?.seen]).toEqual(["orphan_keys", expect.stringMatching(/^a \(its.*, and 1 more$/)]);
  const [few] = findingsIn({ ...well, keys: { looked: 9, isWhole: true, strays: strays.slice(0, 1) } });
  expect(few?.seen).toBe("a (its run is not there)");
});

test("what is unsafe comes first", () => {
  expect(of({ usedBytes: 99, policy: "allkeys-lru" }, { shards: { configured: 1, registered: 2 } })).toEqual([
    "redis_evicts unsafe",
    "shards_mismatch unsafe",
    "redis_memory warning",
  ]);
});
