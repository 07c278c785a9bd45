import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Store } from "../../../src/core/index.ts";
import { RepriseError } from "../../../src/errors.ts";
import { saga, step } from "../../../src/saga/index.ts";
import { benchTop, settings, wrapped } from "./bench-top.ts";

const input = z.object({ n: z.number() });

/** One keyed step that never answers its first call. */
function hangingOnce() {
  let calls = 0;
  const ids: string[] = [];
  const act = step("act", {
    input,
    effect: "keyed",
    action: ({ operationId }) => {
      calls += 1;
      ids.push(operationId);
      return calls === 1 ? new Promise(() => undefined) : null;
    },
    compensate: () => undefined,
  });
  const one = saga("one", { version: 1, input })
    .step(act, ({ input }) => input)
    .build();
  return { one, ids };
}

describe("what nobody is at is found", () => {
  test("a run whose wake-up job was lost", async () => {
    const { one, ids } = hangingOnce();
    const top = benchTop([one]);
    await top.store.open();
    const run = await top.start(one, { n: 1 }, "r1", { wake: false });
    await top.worker().start();
    await top.clock.advance(6_000);
    expect(ids).toHaveLength(1);
    expect((await top.store.read(run))?.revision).toBe(2);
  });

  test("the runs of a worker that died, within two seconds of its pulse", async () => {
    const { one, ids } = hangingOnce();
    const top = benchTop([one]);
    const first = await top.mortal();
    const run = await top.start(one, { n: 1 });
    await top.clock.advance(100);
    expect(ids).toHaveLength(1);
    await top.mortal();
    first.kill();
    await top.clock.advance(2_000);
    expect(await top.store.read(run)).toMatchObject({ status: "completed" });
    expect(ids).toEqual([ids[0], ids[0]]);
    expect(top.facts).toContainEqual({ fact: "recovered", owner: first.worker.id, runs: 1 });
  });

  test("a pulse that is missing for less than 900 ms is no death", async () => {
    const { one } = hangingOnce();
    let lost = 0;
    const top = benchTop(
      [one],
      wrapped(() => ({
        lostOwners: async () => {
          lost += 1;
          return lost <= 2 ? [{ owner: "blinking", serverId: "s", pulse: "p", compared: null }] : [];
        },
      })),
    );
    await top.worker().start();
    await top.clock.advance(5_000);
    expect(top.facts.filter(({ fact }) => fact === "recovered")).toEqual([]);
  });

  test("a worker is registered with its pulse, and where that is, is said again until it is heard", async () => {
    const { one } = hangingOnce();
    const heard: (string | null)[] = [];
    const unheard = new RepriseError("STORE_UNAVAILABLE", "not now");
    let said = 0;
    const top = benchTop(
      [one],
      wrapped((store) => ({
        hello: async (owner, serves) => {
          said += 1;
          if (said > 1 && said < 5) throw unheard;
          heard.push(owner.pulse);
          await store.hello(owner, serves);
        },
      })),
    );
    const { beatElsewhere } = await top.mortal();
    expect(heard).toEqual(["p0"]);
    beatElsewhere();
    await top.clock.advance(5_000);
    expect(heard).toEqual(["p0", "p0'"]);
  });

  test("a worker whose pulse cannot be opened serves without one, after a lease", async () => {
    const { one } = hangingOnce();
    const top = benchTop([one]);
    const starting = top.mortal({ silent: true });
    await top.clock.advance(settings.leaseMs - 1);
    expect(await top.store.owners()).toEqual([]);
    await top.clock.advance(1);
    await starting;
    expect(await top.store.owners()).toMatchObject([{ serverId: null, pulse: null, compared: "memory" }]);
  });

  test("leases of a worker that cannot be asked for lapse by themselves, in less than two leases", async () => {
    const { one, ids } = hangingOnce();
    const top = benchTop(
      [one],
      wrapped(() => ({ lostOwners: async () => [] })),
    );
    const first = await top.mortal();
    const run = await top.start(one, { n: 1 });
    await top.clock.advance(100);
    await top.mortal();
    first.kill();
    await top.clock.advance(2 * settings.leaseMs);
    expect(await top.store.read(run)).toMatchObject({ status: "completed" });
    expect(ids).toHaveLength(2);
  });
});

describe("a worker that was held up takes nothing for one lease", () => {
  /** A store whose answers to sweeps take as long as is said. */
  function slow(delays: number[]) {
    return (store: Store): Partial<Store> => ({
      due: async (shard, limit) => {
        const answer = await store.due(shard, limit);
        const delay = delays.shift() ?? 0;
        if (delay > 0) await new Promise<void>((resolve) => void pass.after(delay, resolve));
        return answer;
      },
    });
  }
  let pass = benchTop([]).clock;

  test("after a sweep that was answered late, owners come first", async () => {
    const { one } = hangingOnce();
    const top = benchTop([one], wrapped(slow([0, 0, settings.leaseMs])));
    pass = top.clock;
    const acquired: number[] = [];
    const counting = wrapped((store) => ({
      acquire: (command) => {
        acquired.push(top.clock.monotonicMs());
        return store.acquire(command);
      },
    }));
    top.ports.store = counting(top.ports.store);
    await top.worker().start();
    const start = top.clock.monotonicMs();
    await top.clock.advance(8_000);
    await top.start(one, { n: 1 });
    await top.clock.advance(1_000);
    expect(acquired).toEqual([]);
    await top.clock.advance(settings.leaseMs + 6_000);
    expect(acquired.length).toBeGreaterThan(0);
    expect(acquired[0]).toBeGreaterThanOrEqual(start + settings.leaseMs);
    expect(top.facts.some((fact) => fact.fact === "trouble" && fact.message.includes("held up"))).toBe(true);
  });

  test("after a store that was away for longer than that is back", async () => {
    const { one } = hangingOnce();
    let isAway = false;
    const acquired: number[] = [];
    const top = benchTop(
      [one],
      wrapped((store) => ({
        due: (shard, limit) => (isAway ? Promise.reject(new Error("away")) : store.due(shard, limit)),
        acquire: (command) => {
          acquired.push(top.clock.monotonicMs());
          return store.acquire(command);
        },
      })),
    );
    await top.worker().start();
    await top.clock.advance(1_000);
    isAway = true;
    await top.start(one, { n: 1 });
    await top.start(one, { n: 1 }, "r2", { wake: false });
    await top.clock.advance(settings.leaseMs / 2 + 2 * settings.sweepMs);
    const before = acquired.splice(0).length;
    await top.clock.advance(3 * settings.leaseMs);
    isAway = false;
    const back = top.clock.monotonicMs();
    await top.clock.advance(2 * settings.leaseMs);
    expect([before, acquired.length]).toEqual([1, 1]);
    expect(acquired[0]).toBeGreaterThanOrEqual(back + settings.leaseMs);
    expect(top.facts.filter((fact) => fact.fact === "trouble" && fact.message.includes("held up"))).toHaveLength(1);
  });

  test.each([0.6, 1.1, 1.6, 2.1, 3.2])("after %f leases without the store, from when it is back", async (leases) => {
    let isAway = false;
    const swept: number[] = [];
    const top = benchTop(
      [],
      wrapped((store) => ({
        due: (shard, limit) => {
          if (isAway) return Promise.reject(new RepriseError("STORE_UNAVAILABLE", "away"));
          if (limit > 0) swept.push(top.clock.monotonicMs());
          return store.due(shard, limit);
        },
      })),
    );
    await top.worker().start();
    await top.clock.advance(1_000);
    isAway = true;
    await top.clock.advance(leases * settings.leaseMs);
    isAway = false;
    const backAt = top.clock.monotonicMs();
    swept.length = 0;
    await top.clock.advance(2 * settings.leaseMs);
    expect(swept[0]).toBeGreaterThanOrEqual(backAt + settings.leaseMs - settings.sweepMs);
  });

  test("after the store's clock jumped", async () => {
    const { one } = hangingOnce();
    let ahead = 0;
    const top = benchTop(
      [one],
      wrapped((store) => ({
        due: async (shard, limit) => {
          const answer = await store.due(shard, limit);
          return { ...answer, now: answer.now + ahead };
        },
      })),
    );
    await top.worker().start();
    await top.clock.advance(2_000);
    ahead = 60_000;
    await top.clock.advance(1_000);
    expect(top.facts.filter((fact) => fact.fact === "trouble" && fact.message.includes("jumped"))).toHaveLength(1);
  });
});

test("an answer that is read late is no jump of the store's clock", async () => {
  let isSlow = false;
  const top = benchTop(
    [],
    wrapped((store) => ({
      due: async (shard, limit) => {
        const answer = await store.due(shard, limit);
        if (isSlow) await new Promise<void>((resolve) => void top.clock.after(3_000, resolve));
        isSlow = false;
        return answer;
      },
    })),
  );
  await top.worker().start();
  await top.clock.advance(1_000);
  isSlow = true;
  await top.clock.advance(5_000);
  expect(top.facts.filter((fact) => fact.fact === "trouble")).toEqual([]);
});

test("a full sweep is followed by another at once", async () => {
  const { one } = hangingOnce();
  const asked: number[] = [];
  const top = benchTop(
    [one],
    wrapped((store) => ({
      due: async (shard, limit) => {
        asked.push(top.clock.monotonicMs());
        const answer = await store.due(shard, limit);
        const run = { tenant: "default", id: "nobody" };
        const wakeUps = [{ run, wake: asked.length, pool: "other", lane: 0, priority: 0 }];
        return asked.length <= 3 ? { ...answer, wakeUps: asked.length === 2 ? [] : wakeUps, full: true } : answer;
      },
    })),
  );
  await top.worker().start();
  await top.clock.advance(100);
  expect(asked).toHaveLength(4);
});

test("after one death a worker's runs go on side by side; after two each is driven alone until its first outcome", async () => {
  let hang = true;
  let now = 0;
  const most: number[] = [0, 0];
  const act = step("act", {
    input,
    effect: "keyed",
    action: async () => {
      now += 1;
      most[hang ? 0 : 1] = Math.max(most[hang ? 0 : 1] ?? 0, now);
      if (hang) return await new Promise(() => undefined);
      await new Promise<void>((resolve) => void top.clock.after(100, resolve));
      now -= 1;
      return null;
    },
    compensate: () => undefined,
  });
  const slow = () => new Promise<null>((resolve) => void top.clock.after(5_000, () => resolve(null)));
  const last = step("last", { input, effect: "none", action: slow });
  const one = saga("one", { version: 1, input })
    .step(act, ({ input }) => input)
    .step(last, ({ input }) => input)
    .build();
  const top = benchTop([one]);
  const first = await top.mortal();
  const runs = await Promise.all(["a", "b", "c", "d", "e"].map((id) => top.start(one, { n: 1 }, id)));
  await top.clock.advance(100);
  const second = await top.mortal();
  first.kill();
  now = 0;
  await top.clock.advance(2_000);
  expect(most[0]).toBe(5);
  await top.mortal();
  second.kill();
  now = 0;
  hang = false;
  await top.clock.advance(3_000);
  expect(most[1]).toBe(1);
  await top.clock.advance(5_200);
  for (const run of runs) expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});
