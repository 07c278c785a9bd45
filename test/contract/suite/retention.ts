import { ulid } from "ulid";
import { describe, expect, test } from "vitest";
import type { RunRecord } from "../../../src/core/run/index.ts";
import { aCreate, aSend, fresh } from "../../support/records.ts";
import { acquired, type Current, committed, created, epochMs, held, leaseMs } from "./harness.ts";

const dayMs = 86_400_000;

export function retentionContract(current: Current): void {
  /** A run that has ended, to be kept until then. */
  const over = async (keepUntil: number | null, patch: Partial<RunRecord> = {}) => {
    const { lease, record } = await held(current.store, patch);
    return await committed(current.store, lease, record, {
      record: { status: "completed", endedAt: epochMs },
      release: true,
      keepUntil,
      join: ["status:completed", `saga:${record.saga}:completed`, ...(keepUntil === null ? [] : ["expiring"])],
    });
  };

  const purged = async (idsKeptMs: number | null = null, limit = 100) => {
    const shards = Array.from({ length: current.store.shards }, (_, shard) => shard);
    const answers = await Promise.all(shards.map((shard) => current.store.purge(shard, limit, idsKeptMs)));
    return answers.flatMap((answer) => answer.purged.map(({ id }) => id)).sort();
  };

  const isThere = async (run: RunRecord) => (await current.store.read(run)) !== null;

  test("a run is deleted when its time is over and not before, and nothing of it is left", async () => {
    const run = await over(epochMs + dayMs);
    expect(await current.store.expiring()).toEqual({ due: 0, later: 1 });
    await current.bench.advance(dayMs - 1);
    expect(await purged()).toEqual([]);
    await current.bench.advance(1);
    expect(await current.store.expiring()).toEqual({ due: 1, later: 0 });
    expect(await purged()).toEqual([run.id]);
    expect(await current.store.read(run)).toBeNull();
    expect([await current.store.ledger(run), await current.store.log(run)]).toEqual([[], []]);
    expect((await current.store.list({ limit: 10 })).runs).toEqual([]);
    expect(await current.store.expiring()).toEqual({ due: 0, later: 0 });
    const again = { run, owner: fresh("owner"), token: fresh("token"), leaseMs };
    expect(await current.store.acquire(again)).toMatchObject({ answer: "ABSENT" });
    expect(await current.store.send(aSend(run, "late:1:1"))).toMatchObject({ answer: "ABSENT" });
  });

  test("its id is not free for as long as was said: calls of two runs would bear the same operation ids", async () => {
    const [day, ever] = [await over(epochMs), await over(epochMs)];
    await current.store.purge(current.store.shardOf(day), 1, dayMs);
    const rest = await purged(null);
    const [brief, long] = rest.includes(ever.id) ? [day, ever] : [ever, day];
    const answerTo = ({ id }: RunRecord) => current.store.create(aCreate({ id, createdAt: epochMs }));
    expect(await answerTo(brief)).toMatchObject({ answer: "GONE", freeAt: epochMs + dayMs });
    expect(await answerTo(long)).toMatchObject({ answer: "GONE", freeAt: null });
    await current.bench.advance(dayMs);
    expect(await answerTo(brief)).toMatchObject({ answer: "OK" });
    expect(await answerTo(long)).toMatchObject({ answer: "GONE", freeAt: null });
  });

  test("an id that was made for its run alone is not remembered, nor that of a child", async () => {
    const id = ulid(epochMs);
    const made = await over(epochMs, { id });
    const parent = await created(current.store);
    const child = await over(epochMs, { parent: { run: parent.id, seq: 1, detached: true } });
    expect(await purged()).toEqual([made.id, child.id].sort());
    for (const run of [made, child]) {
      expect(await current.store.create(aCreate({ id: run.id, createdAt: epochMs }))).toMatchObject({ answer: "OK" });
    }
  });

  test("its id is free again after that, for a run that has nothing of it", async () => {
    const { id } = await over(epochMs);
    expect(await purged(0)).toEqual([id]);
    await created(current.store, { id, createdAt: epochMs + 1 });
    const { record, answer } = await acquired(current.store, { tenant: "default", id });
    expect({ revision: record.revision, inbox: answer.inbox, rows: answer.rows }).toEqual({
      revision: 1,
      inbox: [],
      rows: [],
    });
  });

  test("one that is kept for ever, or has not ended, is not deleted", async () => {
    const kept = await over(null);
    const open = await created(current.store);
    await current.bench.advance(400 * dayMs);
    expect(await purged()).toEqual([]);
    expect([await isThere(kept), await isThere(open)]).toEqual([true, true]);
  });

  test("one that was taken up again is kept", async () => {
    const run = await over(epochMs);
    await current.store.send(aSend(run, "undo"));
    const { lease, record } = await acquired(current.store, run);
    await committed(current.store, lease, record, {
      record: { status: "unwinding", endedAt: null, seen: 1 },
      consumed: ["undo"],
      leave: ["status:completed", `saga:${record.saga}:completed`, "expiring"],
    });
    await current.bench.advance(dayMs);
    expect(await purged()).toEqual([]);
    expect(await current.store.expiring()).toEqual({ due: 0, later: 0 });
    expect(await isThere(run)).toBe(true);
  });

  test("one that somebody has asked to be undone is kept, whoever looks first", async () => {
    const run = await over(epochMs);
    await current.store.send(aSend(run, "undo"));
    expect(await purged()).toEqual([]);
    await acquired(current.store, run);
    await current.bench.advance(2 * 3_600_000);
    expect(await purged()).toEqual([]);
    expect(await isThere(run)).toBe(true);
  });

  test("as many as were wished, those first whose time was over first; `more` says that there are", async () => {
    const runs: RunRecord[] = [];
    for (let n = 0; n < 5; n += 1) runs.push(await over(epochMs + n));
    await current.bench.advance(dayMs);
    const shard = current.store.shardOf(runs[0] as RunRecord);
    const mine = runs.filter((run) => current.store.shardOf(run) === shard).map(({ id }) => id);
    const deleted: string[] = [];
    for (let more = true; more; ) {
      const answer = await current.store.purge(shard, 1, null);
      expect(answer.purged.length).toBeLessThanOrEqual(1);
      deleted.push(...answer.purged.map(({ id }) => id));
      more = answer.more;
    }
    expect(deleted).toEqual(mine);
  });

  describe("a child", () => {
    const child = (parent: RunRecord, patch: Partial<RunRecord["parent"] & object> = {}) =>
      over(epochMs, { parent: { run: parent.id, seq: 1, detached: false, ...patch } });

    test("is kept as long as its parent is there, and deleted then", async () => {
      const parent = await over(epochMs + dayMs);
      const run = await child(parent);
      expect(await purged()).toEqual([]);
      await current.bench.advance(dayMs);
      // In one shard it may go in the same look as its parent, after it.
      const deleted = await purged();
      expect(deleted).toContain(parent.id);
      await current.bench.advance(dayMs);
      expect([...deleted, ...(await purged())].sort()).toEqual([parent.id, run.id].sort());
    });

    test("that goes its own way is not", async () => {
      const parent = await over(epochMs + dayMs);
      const run = await child(parent, { detached: true });
      expect(await purged()).toEqual([run.id]);
    });
  });
}
