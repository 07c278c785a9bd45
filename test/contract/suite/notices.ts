/** What is owed to hooks: written by the commit that owes it, taken by one at a time, there until it is struck off. */
import { expect, test } from "vitest";
import type { RunRecord } from "../../../src/core/run/index.ts";
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

  test("what a commit owes is there from it on, once, until it is struck off", async () => {
    const hook = fresh("hook");
    const { record, command } = await moved(hook, ["0000000002 x"]);
    expect(await current.store.commit(command)).toMatchObject({ answer: "DUP" });
    expect(await take(hook, shardOf(record))).toEqual({ answer: "OK", texts: ["0000000002 x"], lost: 0 });
    expect(await take(hook, shardOf(record))).toMatchObject({ texts: ["0000000002 x"] });
    await current.store.dropNotices(shardOf(record), hook, ["0000000002 x", "0000000009 never there"]);
    await current.store.dropNotices(shardOf(record), hook, []);
    expect(await take(hook, shardOf(record))).toMatchObject({ texts: [] });
  });

  test("a commit that is refused owes nothing", async () => {
    const hook = fresh("hook");
    const { lease, record } = await held(current.store);
    const stale = { ...lease, token: "another" };
    const notices = [{ hook, text: "0000000002 x" }];
    const command = { lease: stale, commit: aCommit(record), leaseMs, notices };
    expect(await current.store.commit(command)).toMatchObject({ answer: "FENCED" });
    expect(await take(hook, shardOf(record))).toMatchObject({ texts: [] });
  });

  test("a run that joins a structure owes as well, and each hook has its own", async () => {
    const [one, two] = [fresh("hook"), fresh("hook")];
    const { lease, record } = await held(current.store);
    const structure = `open:${record.saga}@2#${fresh("hash")}`;
    const notices = [one, two].map((hook) => ({ hook, text: `0000000002 ${hook}` }));
    const command = { lease, commit: { ...aCommit(record), join: [structure] }, leaseMs, notices };
    expect(await current.store.commit(command)).toMatchObject({ answer: "OK" });
    for (const hook of [one, two]) {
      expect(await take(hook, shardOf(record))).toMatchObject({ texts: [`0000000002 ${hook}`] });
    }
    expect((await current.store.serving()).open).toContain(structure.slice("open:".length));
  });

  test("they come by time, then by text, and one takes at a time until its time is over or it gives up", async () => {
    const hook = fresh("hook");
    const { record } = await moved(hook, ["0000000010 late", "0000000009 early"]);
    expect(await take(hook, shardOf(record))).toMatchObject({ texts: ["0000000009 early", "0000000010 late"] });
    expect(await take(hook, shardOf(record), { owner: "b" })).toEqual({ answer: "HELD" });
    expect(await take(hook, shardOf(record), { leaseMs: 0 })).toEqual({ answer: "OK", texts: [], lost: 0 });
    expect(await take(hook, shardOf(record), { owner: "b" })).toMatchObject({ answer: "OK" });
    expect(await take(hook, shardOf(record))).toEqual({ answer: "HELD" });
  });

  test("of more than are kept the oldest are lost, and that is counted and shown", async () => {
    const hook = fresh("hook");
    const { record } = await moved(hook, ["0000000002 a", "0000000003 b", "0000000004 c"]);
    const all = async () => (await current.store.noticesOwed()).hooks.find((of) => of.hook === hook);
    expect(await all()).toBeUndefined();
    expect(await take(hook, shardOf(record), { most: 2 })).toEqual({
      ...{ answer: "OK", lost: 1 },
      texts: ["0000000003 b", "0000000004 c"],
    });
    expect(await all()).toEqual({ hook, owed: 2, oldestAt: epochMs, lost: 1 });
    await current.store.dropNotices(shardOf(record), hook, ["0000000003 b", "0000000004 c"]);
    expect(await all()).toEqual({ hook, owed: 0, oldestAt: null, lost: 1 });
  });
}
