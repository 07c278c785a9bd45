/** What is owed to hooks: written by the commit that owes it, taken by one at a time, there until it is struck off. */
import { expect, test } from "vitest";
import { type RunRecord, runKey } from "../../../src/core/run/index.ts";
import { aCommit, fresh } from "../../support/records.ts";
import { type Current, epochMs, held, leaseMs } from "./harness.ts";

const most = 100;

export function noticeContract(current: Current): void {
  const shardOf = (run: RunRecord) => current.store.shardOf(run);

  /** A run that moves once, and owes these. */
  const moved = async (hook: string, texts: readonly string[], patch: Partial<RunRecord> = {}) => {
    const { lease, record } = await held(current.store, patch);
    const notices = texts.map((text) => ({ hook, text }));
    const command = { lease, commit: aCommit(record), leaseMs, notices };
    expect(await current.store.commit(command)).toMatchObject({ answer: "OK" });
    return { record, command };
  };

  const take = (hook: string, shard: number, patch: { owner?: string; leaseMs?: number; most?: number } = {}) =>
    current.store.takeNotices({ shard, hook, owner: "a", leaseMs: 1_000, limit: 10, most, ...patch });

  const first = (record: RunRecord, text: string) => ({ run: runKey(record), text });
  const untried = (record: RunRecord, text: string) => ({ ...first(record, text), failure: null });

  test("what a commit owes is there from it on, once, until it is struck off", async () => {
    const hook = fresh("hook");
    const { record, command } = await moved(hook, ["0000000002 x"]);
    const shard = shardOf(record);
    expect(await current.store.commit(command)).toMatchObject({ answer: "DUP" });
    const runs = [untried(record, "0000000002 x")];
    expect(await take(hook, shard)).toEqual({ answer: "OK", runs, lost: 0, now: epochMs });
    expect(await take(hook, shard)).toMatchObject({ runs });
    expect(await current.store.strikeNotice(shard, hook, first(record, "0000000009 never there"))).toBe("0000000002 x");
    expect(await current.store.strikeNotice(shard, hook, first(record, "0000000002 x"))).toBeNull();
    expect(await current.store.strikeNotice(shard, hook, first(record, "0000000002 x"))).toBeNull();
    expect(await take(hook, shard)).toMatchObject({ runs: [] });
  });

  test("a commit that is refused owes nothing", async () => {
    const hook = fresh("hook");
    const { lease, record } = await held(current.store);
    const stale = { ...lease, token: "another" };
    const notices = [{ hook, text: "0000000002 x" }];
    const command = { lease: stale, commit: aCommit(record), leaseMs, notices };
    expect(await current.store.commit(command)).toMatchObject({ answer: "FENCED" });
    expect(await take(hook, shardOf(record))).toMatchObject({ runs: [] });
  });

  test("a run that joins a structure owes as well, and each hook has its own", async () => {
    const [one, two] = [fresh("hook"), fresh("hook")];
    const { lease, record } = await held(current.store);
    const structure = `open:${record.saga}@2#${fresh("hash")}`;
    const notices = [one, two].map((hook) => ({ hook, text: `0000000002 ${hook}` }));
    const command = { lease, commit: { ...aCommit(record), join: [structure] }, leaseMs, notices };
    expect(await current.store.commit(command)).toMatchObject({ answer: "OK" });
    for (const hook of [one, two]) {
      expect(await take(hook, shardOf(record))).toMatchObject({ runs: [untried(record, `0000000002 ${hook}`)] });
    }
    expect((await current.store.serving()).open).toContain(structure.slice("open:".length));
  });

  test("of a run the first comes alone, and one takes at a time until its time is over or it gives up", async () => {
    const hook = fresh("hook");
    const { record } = await moved(hook, ["0000000010 late", "0000000009 early"]);
    const shard = shardOf(record);
    expect(await take(hook, shard)).toMatchObject({ runs: [untried(record, "0000000009 early")] });
    expect(await take(hook, shard, { owner: "b" })).toEqual({ answer: "HELD" });
    expect(await take(hook, shard, { leaseMs: 0 })).toEqual({ answer: "OK", runs: [], lost: 0, now: epochMs });
    expect(await take(hook, shard, { owner: "b" })).toMatchObject({ answer: "OK" });
    expect(await take(hook, shard)).toEqual({ answer: "HELD" });
    expect(await current.store.strikeNotice(shard, hook, first(record, "0000000009 early"))).toBe("0000000010 late");
    expect(await take(hook, shard, { owner: "b" })).toMatchObject({ runs: [untried(record, "0000000010 late")] });
  });

  test("what was not taken stays first of its run and stands behind the runs that were not tried", async () => {
    const hook = fresh("hook");
    const { record } = await moved(hook, ["0000000002 a", "0000000003 b"]);
    const shard = shardOf(record);
    // A name that comes after the other one's, in the same shard, at the same time.
    const ids = Array.from({ length: 100 }, () => fresh("zz"));
    const id = ids.find((each) => current.store.shardOf({ tenant: record.tenant, id: each }) === shard) as string;
    const { record: other } = await moved(hook, ["0000000002 c"], { id });
    expect(await take(hook, shard)).toMatchObject({
      runs: [first(record, "0000000002 a"), first(other, "0000000002 c")],
    });
    const putOff = { shard, hook, ...first(record, "0000000002 a"), afterMs: 500, why: "it answered 500" };
    await current.store.putOffNotice(putOff);
    await current.store.putOffNotice({ ...putOff, afterMs: 1_000 });
    await current.store.putOffNotice({ ...putOff, text: "0000000003 b" });
    const failure = { tries: 2, at: epochMs, why: "it answered 500", againAt: epochMs + 1_000 };
    const runs = [untried(other, "0000000002 c"), { ...first(record, "0000000002 a"), failure }];
    expect(await take(hook, shard)).toMatchObject({ runs });
    expect(await current.store.owedRuns(hook, 10)).toEqual([
      { ...first(record, "0000000002 a"), failure, since: epochMs, owed: 2 },
      { ...untried(other, "0000000002 c"), since: epochMs, owed: 1 },
    ]);
    expect(await current.store.owedRuns(hook, 1)).toHaveLength(1);
    expect((await current.store.noticesOwed()).hooks).toContainEqual({
      ...{ hook, owed: 3, oldestAt: epochMs, lost: 0, failing: 1 },
    });
    // Once it was taken the next one of its run is as good as any.
    await current.store.strikeNotice(shard, hook, first(record, "0000000002 a"));
    expect(await take(hook, shard)).toMatchObject({
      runs: [untried(record, "0000000003 b"), untried(other, "0000000002 c")],
    });
  });

  test("of more than are kept those are lost that are owed the longest, and that is counted and shown", async () => {
    const hook = fresh("hook");
    const { record } = await moved(hook, ["0000000002 a", "0000000003 b", "0000000004 c"]);
    const shard = shardOf(record);
    const all = async () => (await current.store.noticesOwed()).hooks.find((of) => of.hook === hook);
    expect(await all()).toBeUndefined();
    const runs = [untried(record, "0000000003 b")];
    expect(await take(hook, shard, { most: 2 })).toEqual({ answer: "OK", lost: 1, runs, now: epochMs });
    expect(await all()).toEqual({ hook, owed: 2, oldestAt: epochMs, lost: 1, failing: 0 });
    for (const text of ["0000000003 b", "0000000004 c"]) {
      await current.store.strikeNotice(shard, hook, first(record, text));
    }
    expect(await all()).toEqual({ hook, owed: 0, oldestAt: null, lost: 1, failing: 0 });
  });
}
