/** When something is told to whoever is on call: once, again after a while, and its end; and what is worth it. */
import { describe, expect, test } from "vitest";
import {
  type Alert,
  defaultThresholds,
  firingIn,
  nothingSeen,
  nothingToRecover,
  recoveryAfter,
  type Seen,
  type SeenWorker,
  type ServerFacts,
  type WorkerState,
  waitingMs,
  watch,
} from "../../src/core/index.ts";
import { aHeartbeat } from "../support/records.ts";

const limits = { ...defaultThresholds, againMs: 3_600_000 };
const server: ServerFacts = {
  address: "redis:6379",
  version: "7.2.0",
  policy: "noeviction",
  appendonly: "yes",
  appendfsync: "always",
  usedBytes: 10,
  maxBytes: 100,
  replicas: 0,
};
const well: Seen = { workers: [], unserved: [], parked: 0, unknownMs: null, approvalMs: null, servers: [server] };

function worker(
  id: string,
  state: WorkerState,
  patch: Partial<SeenWorker> & { at?: number; upMs?: number } = {},
): SeenWorker {
  const { at = 1_000, upMs = 500, ...rest } = patch;
  const heartbeat = { ...aHeartbeat({ id, name: id, upMs, queues: ["gpu"] }), at };
  return { id, state, heartbeat, ageMs: 0, serves: [], drain: null, ...rest };
}

/** What is told in a course of observations, a second apart unless said. */
function course(seen: readonly (Seen | null)[], everyMs = 1_000): readonly (readonly Alert[])[] {
  let state = nothingSeen;
  return seen.map((each, n) => {
    const next = watch(state, { at: n * everyMs, seen: each }, limits);
    state = next.state;
    return next.alerts;
  });
}

const told = (seen: readonly (Seen | null)[], everyMs?: number) =>
  course(seen, everyMs).map((alerts) => alerts.map(({ key, state }) => `${state} ${key}`));

describe("an alert", () => {
  const unknown: Seen = { ...well, unknownMs: 300_000 };

  test("is told once while it holds, and its end once, each under an id of its own", () => {
    expect(told([well, unknown, unknown, well, well])).toEqual([
      [],
      ["firing unknown_old"],
      [],
      ["resolved unknown_old"],
      [],
    ]);
    const ids = course([unknown, well, unknown]).flatMap((alerts) => alerts.map(({ id }) => id));
    expect(new Set(ids).size).toBe(3);
  });

  test("is told again when it has held for long", () => {
    const hours = told([unknown, unknown, unknown], limits.againMs / 2);
    expect(hours).toEqual([["firing unknown_old"], [], ["firing unknown_old"]]);
  });

  test("is told only when it has held for as long as is borne; what passes sooner is never told", () => {
    const unserved: Seen = { ...well, unserved: ["order@2#h"] };
    expect(told([unserved, unserved, unserved, unserved], 20_000)).toEqual([[], [], [], ["firing unserved order@2#h"]]);
    expect(told([unserved, well, unserved, well], 20_000)).toEqual([[], [], [], []]);
  });

  test("neither begins nor ends while the store is away, which is one by itself", () => {
    expect(told([unknown, null, null, null, unknown, well], 5_000)).toEqual([
      ["firing unknown_old"],
      [],
      [],
      ["firing store_away"],
      ["resolved store_away"],
      ["resolved unknown_old"],
    ]);
    expect(told([well, null, well], 5_000)).toEqual([[], [], []]);
    expect(told([null, null, null], 5_000)).toEqual([[], [], ["firing store_away"]]);
  });

  test("that holds is told to whoever asks", () => {
    const { state } = watch(nothingSeen, { at: 0, seen: { ...unknown, unserved: ["a@1#h"] } }, limits);
    expect(firingIn(state).map(({ key }) => key)).toEqual(["unknown_old"]);
  });
});

describe("it is worth an alert", () => {
  const keys = (seen: Partial<Seen>) => told([{ ...well, ...seen }])[0];

  test("that workers are gone and nobody came instead", () => {
    const gone = [worker("a", "lost"), worker("b", "lost")];
    expect(keys({ workers: gone })).toEqual(["firing workers_lost default,queue gpu"]);
    const came = (id: string) => worker(id, "ready", { at: 9_000, upMs: 2_000 });
    expect(keys({ workers: [...gone, came("c")] })).toEqual(["firing workers_lost default,queue gpu"]);
    expect(keys({ workers: [...gone, came("c"), came("d")] })).toEqual([]);
    const old = worker("e", "ready", { at: 9_000, upMs: 8_900 });
    expect(keys({ workers: [...gone, came("c"), old] })).toHaveLength(1);
    const apart = worker("f", "draining", { at: 9_000, upMs: 1 });
    const elsewhere = { ...apart, heartbeat: { ...aHeartbeat({ upMs: 1 }), at: 9_000 } };
    expect(keys({ workers: [...gone, came("c"), elsewhere] })).toHaveLength(1);
    expect(keys({ workers: [{ ...worker("g", "lost"), heartbeat: null }] })).toEqual([]);
  });

  test("that a worker is silent, once it had the time to speak, or takes nothing", () => {
    expect(keys({ workers: [worker("a", "stale"), worker("b", "wedged"), worker("c", "ready")] })).toEqual([
      "firing worker_stale a",
      "firing worker_wedged b",
    ]);
    const isNew = { ...well, workers: [{ ...worker("n", "stale"), heartbeat: null }] };
    expect(told([isNew, isNew], 15_000)).toEqual([[], ["firing worker_stale n"]]);
    const nameless = { ...worker("w", "wedged"), heartbeat: null };
    expect(keys({ workers: [nameless] })).toEqual(["firing worker_wedged w"]);
  });

  test("that nobody takes over from a dead worker", () => {
    const dead = { ...well, workers: [{ ...worker("a", "lost"), heartbeat: null, serves: ["order@1#h"] }] };
    expect(told([dead, dead], 10_000)).toEqual([[], ["firing recovery a"]]);
    const named = { ...well, workers: [worker("a", "lost", { serves: ["order@1#h"] })] };
    expect(told([named, named], 10_000)[1]).toEqual(["firing recovery a"]);
  });

  test("that a question waits for a day", () => {
    expect(keys({ approvalMs: 86_399_999 })).toEqual([]);
    expect(keys({ approvalMs: 86_400_000 })).toEqual(["firing approval_old"]);
    expect(keys({ unknownMs: 299_999 })).toEqual([]);
  });

  test("that many more runs are parked than half an hour ago", () => {
    const parked = (count: number): Seen => ({ ...well, parked: count });
    expect(told([parked(10), parked(14), parked(15)], 60_000)).toEqual([[], [], ["firing dead_letters"]]);
    expect(told([parked(10), parked(12), parked(15)], 1_700_000)).toEqual([[], [], []]);
  });

  test("that Redis is short of memory, or not set as it was", () => {
    const with_ = (patch: Partial<ServerFacts>): Seen => ({ ...well, servers: [{ ...server, ...patch }] });
    expect(told([with_({ usedBytes: 75 }), with_({ usedBytes: 75, maxBytes: 0 })])).toEqual([
      ["firing store_memory redis:6379"],
      ["resolved store_memory redis:6379"],
    ]);
    expect(told([well, with_({ appendfsync: "no" }), well])).toEqual([
      [],
      ["firing store_settings redis:6379"],
      ["resolved store_settings redis:6379"],
    ]);
    expect(told([with_({ appendonly: null, appendfsync: null }), well])[1]).toHaveLength(1);
  });
});

describe("several supervisors", () => {
  const stale: Seen = { ...well, workers: [worker("w", "stale")] };

  test("one that stands by tells nothing, and what holds when it begins to tell, once", () => {
    let state = nothingSeen;
    const steps = [
      ...[true, true].map((isStandby) => ({ seen: stale, isStandby })),
      ...[false, false].map((isStandby) => ({ seen: stale, isStandby })),
      { seen: stale, isStandby: true },
      { seen: well, isStandby: true },
      { seen: well, isStandby: false },
    ];
    const words = steps.map((step, n) => {
      const next = watch(state, { at: n * 60_000, ...step }, limits);
      state = next.state;
      return next.alerts.map((alert) => alert.state);
    });
    expect(words).toEqual([[], [], ["firing"], [], [], [], []]);
  });
});

describe("recovery", () => {
  const left = (...ids: readonly string[]) => ids.map((id) => worker(id, "lost", { serves: ["order@1#a"] }));

  test("a dead worker is waited for until its leases are ended, and how long that took is known then", () => {
    const first = recoveryAfter(nothingToRecover, left("a"), 1_000);
    const both = recoveryAfter(first, left("a", "b"), 2_000);
    expect([waitingMs(nothingToRecover, 0), waitingMs(both, 3_000), both.lastMs]).toEqual([0, 2_000, null]);
    const over = recoveryAfter(both, [worker("a", "lost"), ...left("b")], 4_000);
    expect([waitingMs(over, 4_500), over.lastMs]).toEqual([2_500, 3_000]);
    expect(recoveryAfter(over, [worker("b", "ready")], 5_000)).toEqual({ waiting: {}, lastMs: 3_000 });
    expect(recoveryAfter(over, left("b"), 5_000).lastMs).toBe(3_000);
  });
});
