import { describe, expect, test } from "vitest";
import type { Store, WakeUp } from "../../../src/core/ports.ts";
import type { RunRecord } from "../../../src/core/run/index.ts";
import { maxWakeUpsQueued, queueRoomOf } from "../../../src/store/limits.ts";
import { aCreate, aSend, fresh } from "../../support/records.ts";
import { acquired, type Current, committed, created, epochMs, held, idsOf, leaseMs, sweep } from "./harness.ts";

/** Fairness and room are counted in each shard: some tests stay in one. */
function onShard0(store: Store, tenant = "default"): { readonly tenant: string; readonly id: string } {
  for (;;) {
    const run = { tenant, id: fresh("run") };
    if (store.shardOf(run) === 0) return run;
  }
}

export function dueContract(current: Current): void {
  const room = () => queueRoomOf(current.store.shards);
  const handedOutAfter = async (ms: number) => {
    await current.bench.advance(ms - 1);
    expect(await sweep(current.store)).toEqual([]);
    await current.bench.advance(1);
    return await sweep(current.store);
  };

  test("a wake-up that nobody took is handed out again after 5, 10, 20, 40, 60, 60 s", async () => {
    const { id } = await created(current.store);
    for (const grace of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      expect(await handedOutAfter(grace)).toMatchObject([{ run: { id } }]);
    }
  });

  test("its number stays for three hand-outs and is a new one at the 4th, 8th and 16th: few jobs, none that a queue can swallow for ever", async () => {
    await created(current.store);
    const numbers = [1];
    for (const grace of [5_000, 10_000, 20_000, 40_000, ...Array.from({ length: 12 }, () => 60_000)]) {
      const [wakeUp] = await handedOutAfter(grace);
      numbers.push(wakeUp?.wake ?? Number.NaN);
    }
    expect(numbers).toEqual([1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4]);
  });

  test("a number that was taken anew is told to who asks again, and the next holder's is another", async () => {
    const record = await created(current.store);
    for (const grace of [5_000, 10_000, 20_000]) await handedOutAfter(grace);
    expect(await current.store.send(aSend(record, "cancel"))).toMatchObject({ wake: { wake: 2 } });
    const { lease } = await acquired(current.store, record);
    const now = await current.store.now();
    expect(await current.store.release(lease, Number.MAX_SAFE_INTEGER, now)).toMatchObject({ wake: { wake: 3 } });
    for (const grace of [5_000, 10_000]) expect(await handedOutAfter(grace)).toMatchObject([{ wake: 3 }]);
  });

  test("the wake number grows with each acquisition and the grace begins anew", async () => {
    const record = await created(current.store);
    await handedOutAfter(5_000);
    const { lease } = await acquired(current.store, record);
    expect(await current.store.release(lease, 0, epochMs + 5_000)).toMatchObject({ wake: { wake: 2 } });
    expect(await handedOutAfter(5_000)).toMatchObject([{ wake: 2 }]);
    const again = await acquired(current.store, record);
    expect(await current.store.release(again.lease, 0, epochMs)).toMatchObject({ wake: { wake: 3 } });
  });

  test("a held run is left alone until its lease has run out", async () => {
    await held(current.store);
    expect(await handedOutAfter(leaseMs)).toMatchObject([{ wake: 2 }]);
  });

  test("a sweep takes at most its limit, the longest overdue first, and says that there may be more", async () => {
    const runs: RunRecord[] = [];
    for (let n = 0; runs.length < 5; n += 1) {
      const record = aCreate({ id: `due-${n}`, createdAt: epochMs, startAt: epochMs + 100 - runs.length }).record;
      if (current.store.shardOf(record) !== 0) continue;
      await current.store.create(aCreate(record));
      runs.unshift(record);
    }
    await current.bench.advance(200);
    const first = await current.store.due(0, 3);
    expect(idsOf(first.wakeUps)).toEqual(runs.slice(0, 3).map(({ id }) => id));
    expect(first).toMatchObject({ full: true, now: epochMs + 200 });
    const second = await current.store.due(0, 3);
    expect(idsOf(second.wakeUps)).toEqual(runs.slice(3).map(({ id }) => id));
    expect(second.full).toBe(false);
    expect(await current.store.due(0, 3)).toMatchObject({ wakeUps: [], full: false });
  });

  test("a sweep that takes none tells the time, and nobody has been given a grace", async () => {
    const { id } = await created(current.store, { startAt: epochMs + 1 });
    await current.bench.advance(1);
    expect(await current.store.due(0, 0)).toMatchObject({ wakeUps: [], now: epochMs + 1 });
    expect(idsOf(await sweep(current.store))).toEqual([id]);
  });

  test("two who sweep at once hand out each run once", async () => {
    const runs = await Promise.all(Array.from({ length: 20 }, () => created(current.store, { startAt: epochMs + 1 })));
    await current.bench.advance(1);
    const sweeps = await Promise.all([sweep(current.store, 10), sweep(current.store, 10), sweep(current.store)]);
    expect(idsOf(sweeps.flat()).toSorted()).toEqual(runs.map(({ id }) => id).toSorted());
  });

  test("a clock that is turned back does not turn the store's time back, and nothing gets stuck", async () => {
    const { lease } = await held(current.store);
    await current.bench.advance(50_000);
    const { now } = await current.store.renew([lease], leaseMs);
    await current.bench.turnBack(40_000);
    expect((await current.store.renew([lease], leaseMs)).now).toBe(now);
    const record = await created(current.store);
    expect(await current.store.acquire({ run: record, owner: "w", token: "t", leaseMs })).toMatchObject({ now });
  });

  describe("a tenant's share", () => {
    const fill = async (patch: Partial<RunRecord> = {}) => {
      const runs = Array.from({ length: room().maxWakeUpsQueued }, () =>
        aCreate({ createdAt: epochMs, ...patch, ...onShard0(current.store, patch.tenant) }),
      );
      const answers = await current.store.createMany(runs);
      expect(answers.every((answer) => answer.answer === "OK" && answer.wake !== null)).toBe(true);
      return runs.map(({ record }) => record);
    };

    const startOver = async (patch: Partial<RunRecord> = {}) => {
      await current.bench.advance(1);
      const command = aCreate({ createdAt: epochMs, ...patch, ...onShard0(current.store, patch.tenant) });
      const answer = await current.store.create(command);
      expect(answer).toMatchObject({ answer: "OK", wake: null });
      return command;
    };

    test("shards share the room in the queue", async () => {
      const starts = Array.from({ length: 4 * maxWakeUpsQueued }, () => aCreate({ createdAt: epochMs }));
      const answers = await current.store.createMany(starts);
      const queued = answers.filter((answer) => answer.answer === "OK" && answer.wake !== null).length;
      expect(queued).toBeGreaterThan(maxWakeUpsQueued / 2);
      // Rounded up in each.
      expect(queued).toBeLessThan(maxWakeUpsQueued + current.store.shards);
    });

    test("so many wake-ups are queued, further starts wait; other tenants and pools do not", async () => {
      await fill();
      const { record } = await startOver();
      expect(
        await current.store.create(aCreate({ createdAt: epochMs, ...onShard0(current.store, "other") })),
      ).toMatchObject({
        wake: { wake: 1 },
      });
      expect(
        await current.store.create(aCreate({ createdAt: epochMs, ...onShard0(current.store), pool: "gpu" })),
      ).toMatchObject({
        wake: { pool: "gpu" },
      });
      expect(await current.store.read(record)).toMatchObject({ id: record.id, status: "running" });
      expect(await sweep(current.store)).toEqual([]);
    });

    test("each wake-up that is taken up makes room for one, in order of start", async () => {
      const runs = await fill();
      const waiting = [await startOver(), await startOver(), await startOver()].map(({ record }) => record.id);
      await acquired(current.store, runs[0]!);
      expect(idsOf(await sweep(current.store))).toEqual(waiting.slice(0, 1));
      await acquired(current.store, runs[1]!);
      await acquired(current.store, runs[2]!);
      await startOver();
      expect(idsOf(await sweep(current.store))).toEqual(waiting.slice(1));
    });

    test("while some wait, a new start waits behind them although there is room", async () => {
      const runs = await fill();
      const first = await startOver();
      await acquired(current.store, runs[0]!);
      await acquired(current.store, runs[1]!);
      const second = await startOver();
      expect(idsOf(await sweep(current.store))).toEqual([first.record.id, second.record.id]);
    });

    test("tenants that wait are served in turn", async () => {
      const mine = await fill({ tenant: "mine" });
      const theirs = await fill({ tenant: "theirs" });
      const waiting: string[] = [];
      for (const tenant of ["mine", "mine", "mine", "theirs", "theirs", "theirs"]) {
        waiting.push((await startOver({ tenant })).record.id);
      }
      for (const run of [...mine.slice(0, 5), ...theirs.slice(0, 5)]) await acquired(current.store, run);
      const order = [0, 3, 1, 4, 2, 5].map((n) => waiting[n]);
      expect(idsOf((await current.store.due(0, 4)).wakeUps)).toEqual(order.slice(0, 4));
      expect(idsOf((await current.store.due(0, 4)).wakeUps)).toEqual(order.slice(4));
    });

    test("a start that waits is woken by what is sent to it, and not a second time", async () => {
      const runs = await fill();
      const { record } = await startOver();
      expect(await current.store.send(aSend(record, "cancel"))).toMatchObject({ wake: { run: { id: record.id } } });
      await acquired(current.store, record);
      await acquired(current.store, runs[0]!);
      await acquired(current.store, runs[1]!);
      expect(await sweep(current.store)).toEqual([]);
    });

    test("a start waits for nobody who is in its way no more, however many there are", async () => {
      const [first] = await fill();
      const gone = [await startOver(), await startOver(), await startOver()].map(({ record }) => record);
      const waiting = await startOver();
      for (const run of gone) {
        await current.store.send(aSend(run, "cancel"));
        await acquired(current.store, run);
      }
      expect(await sweep(current.store)).toEqual([]);
      await acquired(current.store, first!);
      expect(idsOf(await sweep(current.store))).toEqual([waiting.record.id]);
    });

    test("the same start again while it waits is OK without a wake-up", async () => {
      await fill();
      const command = await startOver();
      expect(await current.store.create(command)).toMatchObject({ answer: "OK", wake: null });
    });

    test("a delayed start whose time has come waits for its share like any other", async () => {
      const late = aCreate({ createdAt: epochMs, startAt: epochMs + 1, ...onShard0(current.store) });
      await current.store.create(late);
      const runs = await fill();
      await current.bench.advance(1);
      expect(await sweep(current.store)).toEqual([]);
      await acquired(current.store, runs[0]!);
      expect(idsOf(await sweep(current.store))).toEqual([late.record.id]);
    });
  });
  describe("runs that come due again", () => {
    /** Rests from now on until `due`; all in one shard, where room is counted. */
    const resting = async (due: number, patch: Partial<RunRecord> = {}) => {
      const { lease, record } = await held(current.store, { ...patch, ...onShard0(current.store, patch.tenant) });
      return await committed(current.store, lease, record, { release: true, due });
    };
    const crowd = async (count: number, patch: Partial<RunRecord> = {}) =>
      await Promise.all(Array.from({ length: count }, (_, n) => resting(epochMs + 1 + n, patch)));
    const handOutAll = async () => {
      const found: WakeUp[] = [];
      for (;;) {
        const { wakeUps, full } = await current.store.due(0, 100);
        found.push(...wakeUps);
        if (!full) return found;
      }
    };
    const overBy = 3;
    const soon = () => room().maxDueQueued + overBy;

    test("as many of a pool are in the queue as have room, the longest overdue first; the others wait, and it is said", async () => {
      const runs = await crowd(soon());
      await current.bench.advance(soon());
      expect(idsOf(await handOutAll())).toEqual(runs.slice(0, room().maxDueQueued).map(({ id }) => id));
      expect(await current.store.due(0, 100)).toMatchObject({ wakeUps: [], full: false, crowded: true });
    });

    test("a new run does not wait for them, and runs of another pool do not either", async () => {
      await crowd(soon());
      const other = await resting(epochMs + 1, { pool: "gpu" });
      await current.bench.advance(soon());
      expect(idsOf(await handOutAll())).toContain(other.id);
      expect(await current.store.create(aCreate(onShard0(current.store)))).toMatchObject({ wake: { wake: 1 } });
    });

    test("each that is taken up makes room for one, until none waits", async () => {
      const runs = await crowd(soon());
      await current.bench.advance(soon());
      await handOutAll();
      for (let n = 0; n < overBy; n += 1) {
        await acquired(current.store, runs[n]!);
        expect(idsOf(await sweep(current.store))).toEqual([runs[room().maxDueQueued + n]?.id]);
      }
      expect(await current.store.due(0, 100)).toMatchObject({ crowded: false });
    });

    test("tenants whose runs wait are served in turn", async () => {
      const first = await crowd(room().maxDueQueued);
      const mine = await Promise.all([1, 2].map((n) => resting(epochMs + 500 + n, { tenant: "mine" })));
      const theirs = await Promise.all([3, 4].map((n) => resting(epochMs + 500 + n, { tenant: "theirs" })));
      await current.bench.advance(600);
      await handOutAll();
      for (const run of first.slice(0, 4)) await acquired(current.store, run);
      expect(idsOf(await sweep(current.store))).toEqual([mine[0], theirs[0], mine[1], theirs[1]].map((run) => run?.id));
    });

    test("what nobody took up is handed out again although others wait, so a queue that lost its jobs fills again", async () => {
      const runs = await crowd(soon());
      await current.bench.advance(soon());
      await handOutAll();
      await current.bench.advance(5_000);
      expect(idsOf(await handOutAll())).toEqual(runs.slice(0, room().maxDueQueued).map(({ id }) => id));
    });

    test("what a dead worker held waits for nobody", async () => {
      const { record } = await held(current.store, onShard0(current.store), "dead");
      await crowd(soon());
      await current.bench.advance(leaseMs - 1_000);
      await handOutAll();
      await current.bench.advance(1_000);
      expect(idsOf(await handOutAll())).toContain(record.id);
    });

    test("one that waits is woken by what is sent to it, and not a second time", async () => {
      const runs = await crowd(soon());
      await current.bench.advance(soon());
      await handOutAll();
      const [last] = runs.slice(-1);
      expect(await current.store.send(aSend(last!, "cancel"))).toMatchObject({ wake: { run: { id: last?.id } } });
      await acquired(current.store, last!);
      for (const run of runs.slice(0, 5)) await acquired(current.store, run);
      expect(idsOf(await handOutAll())).toEqual(runs.slice(room().maxDueQueued, -1).map(({ id }) => id));
    });
  });
}
