import { describe, expect, test } from "vitest";
import { aSend } from "../../support/records.ts";
import { acquired, type Current, committed, ended, epochMs, held, idsOf, leaseMs, sweep } from "./harness.ts";

export function shelfContract(current: Current): void {
  const unshelved = async (paused: readonly string[] = [], limit = 100) => {
    const shards = Array.from({ length: current.store.shards }, (_, shard) => shard);
    return (await Promise.all(shards.map((shard) => current.store.unshelve(shard, paused, limit)))).flatMap(
      ({ wakeUps }) => wakeUps,
    );
  };

  describe("a saga that is paused", () => {
    test("is told with who, why and since when, until it is resumed", async () => {
      expect(await current.store.pausedSagas()).toEqual([]);
      const paused = { saga: "order", by: "Ann", reason: "the bank is down" };
      expect(await current.store.pauseSaga(paused)).toEqual({ ...paused, at: epochMs });
      await current.store.pauseSaga({ saga: "trip", by: "Bob", reason: "x" });
      expect(await current.store.pausedSagas()).toHaveLength(2);
      expect(await current.store.resumeSaga("order")).toEqual({ ...paused, at: epochMs });
      expect(await current.store.pausedSagas()).toMatchObject([{ saga: "trip" }]);
      expect(await current.store.resumeSaga("order")).toBeNull();
    });

    test("twice is paused as it was the first time", async () => {
      await current.store.pauseSaga({ saga: "order", by: "Ann", reason: "first" });
      await current.bench.advance(5);
      const first = { saga: "order", by: "Ann", reason: "first", at: epochMs };
      expect(await current.store.pauseSaga({ saga: "order", by: "Bob", reason: "second" })).toEqual(first);
      expect(await current.store.pausedSagas()).toEqual([first]);
    });
  });

  describe("a run on the shelf", () => {
    test("is unchanged, free, and due to nobody, whatever it had wanted", async () => {
      const { lease, record } = await held(current.store);
      expect(await current.store.shelve(lease, "order")).toEqual({ answer: "OK", now: epochMs });
      await current.bench.advance(1_000_000);
      expect(await sweep(current.store)).toEqual([]);
      expect(await unshelved(["order"])).toEqual([]);
      expect(await current.store.read(record)).toEqual(record);
      expect((await acquired(current.store, record)).answer.takenFrom).toBeNull();
    });

    test("is handed out once its saga is not paused any more, and not before; once, and again if that was lost", async () => {
      const [one, two] = [await held(current.store), await held(current.store)];
      await current.store.shelve(one.lease, "order");
      await current.store.shelve(two.lease, "trip");
      expect(idsOf(await unshelved(["trip"]))).toEqual([one.record.id]);
      expect(await unshelved(["trip"])).toEqual([]);
      await current.bench.advance(60_000);
      expect(idsOf(await sweep(current.store))).toEqual([one.record.id]);
      expect(idsOf(await unshelved())).toEqual([two.record.id]);
    });

    test("is handed out in bounded portions, those first that have lain longest", async () => {
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) {
        const { lease, record } = await held(current.store);
        ids.push(record.id);
        await current.store.shelve(lease, "order");
        await current.bench.advance(1);
      }
      const found: string[] = [];
      for (let rounds = 0; found.length < 5 && rounds < 9; rounds += 1) {
        const wakeUps = await unshelved([], 2);
        expect(wakeUps.length).toBeLessThanOrEqual(2 * current.store.shards);
        found.push(...idsOf(wakeUps));
      }
      expect(found.toSorted()).toEqual(ids.toSorted());
      if (current.store.shards === 1) expect(found).toEqual(ids);
    });

    test("is woken by what is sent to it, and may be put back", async () => {
      const { lease, record } = await held(current.store);
      await current.store.shelve(lease, "order");
      expect(await current.store.send(aSend(record, "event:1"))).toMatchObject({ wake: { run: { id: record.id } } });
      const again = await acquired(current.store, record);
      expect(again.answer.inbox).toHaveLength(1);
      await current.store.shelve(again.lease, "order");
      expect(idsOf(await unshelved())).toEqual([record.id]);
      expect(await unshelved()).toEqual([]);
    });

    test("that somebody drives meanwhile, or that is over, is left to that", async () => {
      const { lease, record } = await held(current.store);
      await current.store.shelve(lease, "order");
      const driven = await acquired(current.store, record);
      expect(await unshelved()).toEqual([]);
      await committed(current.store, driven.lease, record);
      const over = await ended(current.store);
      expect(await current.store.acquire({ run: over, owner: "w", token: "t", leaseMs })).toMatchObject({
        answer: "ENDED",
      });
    });

    test("was put there by who held it: anybody else is FENCED and changes nothing", async () => {
      const { lease, record } = await held(current.store);
      await current.bench.advance(leaseMs);
      await acquired(current.store, record, "worker-2");
      expect(await current.store.shelve(lease, "order")).toMatchObject({ answer: "FENCED" });
      expect(await unshelved()).toEqual([]);
      const other = await held(current.store);
      expect(await current.store.shelve({ ...other.lease, token: "x" }, "order")).toMatchObject({ answer: "FENCED" });
    });
  });
}
