/** What is made of heartbeats: how a worker is, whether it is stuck, whether its process should be replaced. */
import { describe, expect, test } from "vitest";
import {
  absenceOf,
  deathOf,
  type KeptHeartbeat,
  type Sight,
  staleAfterMs,
  stuckMsOf,
  type WorkerHealth,
  wedgedAfterMs,
  workersSeen,
} from "../../src/core/index.ts";
import { aHeartbeat } from "../support/records.ts";

const now = 1_000_000;
const beat = (patch: Partial<KeptHeartbeat> = {}): KeptHeartbeat => ({
  ...aHeartbeat({ id: "w-1" }),
  at: now,
  ...patch,
});

function seen(patch: Partial<Sight> = {}) {
  const serving = { open: [], owners: [{ owner: "w-1", serves: ["order@1#h"] }] };
  return workersSeen({ now, serving, lost: new Set(), heartbeats: [beat()], drains: {}, ...patch });
}

describe("a worker", () => {
  test("that is registered and was heard of lately is as it says", () => {
    expect(seen()).toEqual([
      { id: "w-1", state: "ready", heartbeat: beat(), ageMs: 0, serves: ["order@1#h"], drain: null },
    ]);
    const drain = { by: "ann", reason: "deploy", at: now };
    expect(seen({ heartbeats: [beat({ state: "draining" })], drains: { "w-1": drain } })).toMatchObject([
      { state: "draining", drain },
    ]);
  });

  test("is stale when three heartbeats are missing, whatever the last one said", () => {
    const state = (at: number) => seen({ heartbeats: [beat({ at, state: "draining" })] })[0]?.state;
    expect(state(now - staleAfterMs)).toBe("draining");
    expect(state(now - staleAfterMs - 1)).toBe("stale");
    expect(seen({ heartbeats: [] })).toMatchObject([{ state: "stale", heartbeat: null, ageMs: null }]);
  });

  test("is wedged when it says that it takes nothing", () => {
    expect(seen({ heartbeats: [beat({ stuckMs: wedgedAfterMs })] })).toMatchObject([{ state: "wedged" }]);
    expect(seen({ heartbeats: [beat({ stuckMs: wedgedAfterMs - 1 })] })).toMatchObject([{ state: "ready" }]);
  });

  test("is lost when its pulse is missing, or when it is registered no more and has said no goodbye", () => {
    expect(seen({ lost: new Set(["w-1"]) })).toMatchObject([{ state: "lost", serves: ["order@1#h"] }]);
    expect(seen({ serving: { open: [], owners: [] } })).toMatchObject([{ state: "lost", serves: [] }]);
  });

  test("is told by name, and no supervisor is one", () => {
    const heartbeats = [
      beat({ id: "w-1", name: "b" }),
      beat({ id: "w-2", name: "a" }),
      beat({ id: "s", role: "supervisor" }),
    ];
    expect(seen({ heartbeats }).map(({ id }) => id)).toEqual(["w-2", "w-1"]);
    const backwards = [...heartbeats].reverse();
    expect(seen({ heartbeats: backwards, serving: { open: [], owners: [] } }).map(({ id }) => id)).toEqual([
      "w-2",
      "w-1",
    ]);
    const silent = seen({
      heartbeats: [],
      serving: { open: [], owners: ["b", "a"].map((owner) => ({ owner, serves: [] })) },
    });
    expect(silent.map(({ id }) => id)).toEqual(["a", "b"]);
  });
});

describe("a consumer", () => {
  const idle = { source: "pool-default", isFull: false, aliveAt: 0, tookAt: null };
  const stuck = (patch: Partial<Parameters<typeof stuckMsOf>[0]> = {}) =>
    stuckMsOf({ consumers: [idle], storeAnswersSince: 0, now: 100_000, ...patch });

  test("is silent since its last sign of life, and the most silent one counts", () => {
    expect(stuck()).toBe(100_000);
    expect(stuck({ consumers: [{ ...idle, aliveAt: 99_000 }] })).toBe(1_000);
    expect(stuck({ consumers: [{ ...idle, aliveAt: 99_000 }, idle] })).toBe(100_000);
    expect(stuck({ consumers: [] })).toBe(0);
  });

  test("is not blamed for a store that does not answer, nor for the time in which it did not", () => {
    expect(stuck({ storeAnswersSince: null })).toBe(0);
    expect(stuck({ storeAnswersSince: 95_000 })).toBe(5_000);
  });

  test("whose hands are full has no reason to ask", () => {
    expect(stuck({ consumers: [{ ...idle, isFull: true }] })).toBe(0);
  });
});

describe("a probe", () => {
  const well: WorkerHealth = { state: "ready", stuckMs: 0, storeAnswers: true, lagMs: 0, supervisedMs: null };

  test("has a process replaced that takes nothing, and no other", () => {
    expect(deathOf(well)).toBeNull();
    expect(deathOf({ ...well, storeAnswers: false })).toBeNull();
    expect(deathOf({ ...well, stuckMs: wedgedAfterMs })).toContain("90 s");
    expect(deathOf({ ...well, stuckMs: wedgedAfterMs, state: "draining" })).toBeNull();
  });

  test("is told why a worker does not serve", () => {
    expect(absenceOf(well)).toBeNull();
    expect(absenceOf({ ...well, storeAnswers: false })).toBe("Redis does not answer");
    const states = ["starting", "draining", "stopped"] as const;
    expect(states.map((state) => absenceOf({ ...well, state }))).toEqual([
      "it is starting",
      "it is draining",
      "it has stopped",
    ]);
  });
});
