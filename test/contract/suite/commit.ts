import { expect, test } from "vitest";
import { openListing, structureName } from "../../../src/core/commit.ts";
import { aCommit, aLogEntry, anOfferedRow, aRow, aSend, refOf } from "../../support/records.ts";
import { acquired, type Current, committed, created, epochMs, held, leaseMs, sweep } from "./harness.ts";

export function commitContract(current: Current): void {
  test("moves record, rows and log together, and holds the lease", async () => {
    const { lease, record } = await held(current.store);
    const commit = aCommit(record, {
      record: { status: "waiting", waitingFor: "timer", rows: 2, open: [1, 2] },
      rows: [aRow(1, { state: "sent", attempt: 1, send: 1, sentAt: epochMs, fence: 1 }), aRow(2)],
      taken: [{ what: "sent", seq: 1 }],
    });
    expect(await current.store.commit({ lease, commit, leaseMs })).toEqual({ answer: "OK", inbox: [], now: epochMs });
    expect(await current.store.read(record)).toEqual(commit.record);
    expect(await current.store.ledger(record)).toEqual(commit.rows);
    expect(await current.store.log(record)).toEqual([aLogEntry(1), commit.log]);
    await current.bench.advance(leaseMs - 1);
    const other = await current.store.acquire({ run: refOf(record), owner: "worker-2", token: "t-2", leaseMs });
    expect(other).toMatchObject({ answer: "HELD" });
  });

  test("rows are changed in place and added at the end, in one commit", async () => {
    const { lease, record } = await held(current.store);
    const next = await committed(current.store, lease, record, { rows: [aRow(1), aRow(2)] });
    const rows = [aRow(2, { state: "succeeded" }, { output: { ok: true } }), aRow(3)];
    await committed(current.store, lease, next, { rows });
    expect(await current.store.ledger(record)).toEqual([aRow(1), ...rows]);
    expect((await acquiredAgain(lease.run)).rows).toEqual([aRow(1), ...rows]);
  });

  const acquiredAgain = async (run: { tenant: string; id: string }) => {
    await current.bench.advance(leaseMs);
    return (await acquired(current.store, run)).answer;
  };

  test("a part of the log is read by revision, both ends included", async () => {
    const { lease, record } = await held(current.store);
    let next = record;
    for (let n = 2; n <= 6; n += 1) next = await committed(current.store, lease, next);
    const revisions = async (from?: number, to?: number) =>
      (await current.store.log(record, from, to)).map(({ revision }) => revision);
    expect(await revisions()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await revisions(2, 4)).toEqual([2, 3, 4]);
    expect(await revisions(5)).toEqual([5, 6]);
    expect(await revisions(7)).toEqual([]);
    expect(await revisions(3, 2)).toEqual([]);
  });

  test("what the store has lost has its place in the log, and no revision is given twice", async () => {
    const { lease, record } = await held(current.store);
    const lost = [2, 3].map((n) => aLogEntry(n, { taken: [{ what: "forgotten" }], digest: "digest-1", fence: 1 }));
    const next = await committed(current.store, lease, record, { lost });
    expect(next.revision).toBe(4);
    expect(await current.store.read(record)).toMatchObject({ revision: 4 });
    expect((await current.store.log(record)).slice(0, 3)).toEqual([aLogEntry(1), ...lost]);
    await committed(current.store, lease, next);
    expect((await current.store.log(record, 4)).map(({ revision }) => revision)).toEqual([4, 5]);
    const holey = aCommit(record, { lost: lost.slice(1) });
    const refused = current.store.commit({ lease, commit: holey, leaseMs });
    await expect(refused).rejects.toMatchObject({ code: "RECORD_CORRUPT" });
  });

  test("of a log that was cut the newest entries are there, by revision, each with who wrote it", async () => {
    const { lease, record } = await held(current.store);
    const base = { after: "digest-2", snapshot: null, rows: 0, waits: [], used: [], timers: [] };
    let next = await committed(current.store, lease, record);
    next = await committed(current.store, lease, next, { taken: [{ what: "stood", base }] });
    for (let n = 4; n <= 6; n += 1) next = await committed(current.store, lease, next);
    next = await committed(current.store, lease, next, { record: { logFrom: 3, logMark: 7 } });
    const whole = await current.store.log(record);
    expect(whole.map(({ revision }) => revision)).toEqual([3, 4, 5, 6, 7]);
    expect(new Set(whole.map(({ actor }) => actor))).toEqual(new Set(["worker-1"]));
    expect(whole[0]?.taken).toEqual([{ what: "stood", base }]);
    expect(await current.store.log(record, 1, 2)).toEqual([]);
    expect(await current.store.log(record, 2, 3)).toEqual(whole.slice(0, 1));
    expect(await current.store.log(record, 5, 6)).toEqual(whole.slice(2, 4));
    expect(await current.store.read(record)).toMatchObject({ logFrom: 3, logMark: 7 });
  });

  test("a run that moves to another structure is told among its open runs, and no longer among those of the old one", async () => {
    const { lease, record } = await held(current.store, { saga: "moving" });
    const moved = { ...record, version: 2, hash: "hash-2" };
    const names = [structureName(record), structureName(moved)] as const;
    const leave = [openListing(names[0])];
    const join = [openListing(names[1])];
    await committed(current.store, lease, record, { record: { version: 2, hash: "hash-2" }, leave, join });
    expect((await current.store.serving()).open).toContain(names[1]);
    expect((await current.store.serving()).open).not.toContain(names[0]);
    const { runs } = await current.store.listShared({ listings: join, limit: 10 });
    expect(runs).toMatchObject([{ id: record.id, version: 2, hash: "hash-2" }]);
    const saga = { saga: "moving", structure: "s", schemas: "" };
    expect(await current.store.register({ ...saga, version: 1, hash: "other" })).toEqual({ answer: "OK" });
  });

  test("the same commit again is DUP and writes nothing", async () => {
    const { lease, record } = await held(current.store);
    const commit = aCommit(record, { rows: [aRow(1)] });
    await current.store.commit({ lease, commit, leaseMs });
    expect(await current.store.commit({ lease, commit, leaseMs })).toEqual({ answer: "DUP", inbox: [], now: epochMs });
    expect(await current.store.ledger(record)).toHaveLength(1);
    expect(await current.store.log(record)).toHaveLength(2);
  });

  test("a commit that landed is DUP although its lease was given back or taken over since", async () => {
    const { lease, record } = await held(current.store);
    const commit = aCommit(record, { release: true, mustSee: true });
    await current.store.commit({ lease, commit, leaseMs });
    expect(await current.store.commit({ lease, commit, leaseMs })).toMatchObject({ answer: "DUP" });
    await acquired(current.store, record, "worker-2");
    expect(await current.store.commit({ lease, commit, leaseMs })).toMatchObject({ answer: "DUP" });
  });

  test("a ghost that lands after it was found missing is one commit: the resend is DUP, a new decision is STALE", async () => {
    const { lease, record } = await held(current.store);
    const ghost = aCommit(record);
    expect(await current.store.read(record)).toMatchObject({ revision: 1 });
    await current.store.commit({ lease, commit: ghost, leaseMs });
    expect(await current.store.commit({ lease, commit: aCommit(record), leaseMs })).toMatchObject({ answer: "STALE" });
    expect(await current.store.commit({ lease, commit: ghost, leaseMs })).toMatchObject({ answer: "DUP" });
    expect(await current.store.log(record)).toHaveLength(2);
  });

  test("a stale fence changes nothing: FENCED", async () => {
    const { lease, record } = await held(current.store);
    await current.bench.advance(leaseMs);
    await acquired(current.store, record, "worker-2");
    const commit = aCommit(record, { record: { status: "completed" }, rows: [aRow(1)] });
    expect(await current.store.commit({ lease, commit, leaseMs })).toMatchObject({ answer: "FENCED" });
    expect(await current.store.read(record)).toEqual(record);
    expect(await current.store.ledger(record)).toEqual([]);
    expect(await current.store.log(record)).toHaveLength(1);
  });

  test("a fence handed out twice does not help: another acquisition's token is FENCED", async () => {
    const { lease, record } = await held(current.store);
    const twin = { ...lease, token: "of-the-time-before-the-roll-back" };
    expect(await current.store.commit({ lease: twin, commit: aCommit(record), leaseMs })).toMatchObject({
      answer: "FENCED",
    });
  });

  test("a lease given back commits nothing, and neither does one on a run that never was", async () => {
    const { lease, record } = await held(current.store);
    await current.store.release(lease, 0, null);
    expect(await current.store.commit({ lease, commit: aCommit(record), leaseMs })).toMatchObject({ answer: "FENCED" });
    const nobody = { ...record, id: "nobody" };
    const commit = aCommit(nobody);
    expect(await current.store.commit({ lease: { ...lease, run: refOf(nobody) }, commit, leaseMs })).toMatchObject({
      answer: "FENCED",
    });
  });

  test("another revision than was decided on is STALE and changes nothing", async () => {
    const { lease, record } = await held(current.store);
    const next = await committed(current.store, lease, record);
    expect(await current.store.commit({ lease, commit: aCommit(record), leaseMs })).toMatchObject({ answer: "STALE" });
    expect(await current.store.read(record)).toEqual(next);
  });

  test("a lapsed lease that nobody took still commits, and is whole again", async () => {
    const { lease, record } = await held(current.store);
    await current.bench.advance(3 * leaseMs);
    expect(await sweep(current.store)).toHaveLength(1);
    await committed(current.store, lease, record);
    await current.bench.advance(leaseMs - 1);
    expect(await sweep(current.store)).toEqual([]);
    await current.bench.advance(1);
    expect(await sweep(current.store)).toMatchObject([{ run: { id: record.id } }]);
  });

  test("a decision from a time that the store has not reached is CLOCK and changes nothing", async () => {
    const { lease, record } = await held(current.store);
    const early = aCommit(record, { now: epochMs + 1 });
    expect(await current.store.commit({ lease, commit: early, leaseMs })).toEqual({ answer: "CLOCK", now: epochMs });
    expect(await current.store.read(record)).toEqual(record);
    await current.bench.advance(1);
    expect(await current.store.commit({ lease, commit: early, leaseMs })).toMatchObject({ answer: "OK" });
  });

  test("a commit that ends the run and has not seen the newest entry is INBOX, with that entry", async () => {
    const { lease, record } = await held(current.store);
    await current.store.send(aSend(record, "event:1"));
    await current.store.send(aSend(record, "cancel"));
    const end = { record: { status: "completed" as const }, release: true, mustSee: true };
    const answer = await current.store.commit({ lease, commit: aCommit(record, { ...end, seen: 1 }), leaseMs });
    expect(answer).toMatchObject({ answer: "INBOX", inbox: [{ slot: "cancel", position: 2 }] });
    expect(await current.store.read(record)).toEqual(record);
    await committed(current.store, lease, record, { ...end, seen: 2 });
  });

  test("a commit that gives the lease back must have seen everything, whatever it says", async () => {
    const { lease, record } = await held(current.store);
    await current.store.send(aSend(record, "event:1"));
    const commit = aCommit(record, { release: true, mustSee: false });
    expect(await current.store.commit({ lease, commit, leaseMs })).toMatchObject({ answer: "INBOX" });
  });

  test("any other commit goes through and brings what is newer, oldest first", async () => {
    const { lease, record } = await held(current.store);
    for (const slot of ["event:b", "event:a", "event:c"]) await current.store.send(aSend(record, slot));
    const answer = await current.store.commit({ lease, commit: aCommit(record, { seen: 1 }), leaseMs });
    expect(answer).toMatchObject({ answer: "OK", inbox: [{ slot: "event:a" }, { slot: "event:c" }] });
  });

  test("an end with release frees the run and it is never due again", async () => {
    const { lease, record } = await held(current.store);
    const done = { record: { status: "completed" as const, endedAt: epochMs }, release: true, mustSee: true };
    await committed(current.store, lease, record, done);
    await current.bench.advance(1_000_000);
    expect(await sweep(current.store)).toEqual([]);
  });

  test("a commit that waits gives back the lease and is due at the time it names", async () => {
    const { lease, record } = await held(current.store);
    await committed(current.store, lease, record, { due: epochMs + 100_000, release: true });
    await current.bench.advance(99_999);
    expect(await sweep(current.store)).toEqual([]);
    await current.bench.advance(1);
    expect(await sweep(current.store)).toMatchObject([{ run: { id: record.id }, wake: 2 }]);
  });

  test("a commit that goes on leaves the run due only when its lease has run out", async () => {
    const { lease, record } = await held(current.store);
    await current.bench.advance(5_000);
    await committed(current.store, lease, record, { due: epochMs + 6_000 });
    await current.bench.advance(leaseMs - 1);
    expect(await sweep(current.store)).toEqual([]);
    await current.bench.advance(1);
    expect(await sweep(current.store)).toHaveLength(1);
  });

  test("rows that leave a gap, or a revision that skips one, are refused loudly and change nothing", async () => {
    const { lease, record } = await held(current.store);
    const gap = aCommit(record, { rows: [aRow(1), aRow(3)] });
    await expect(current.store.commit({ lease, commit: gap, leaseMs })).rejects.toMatchObject({
      code: "RECORD_CORRUPT",
    });
    const skip = aCommit(record, { record: { revision: 3 } });
    await expect(current.store.commit({ lease, commit: skip, leaseMs })).rejects.toMatchObject({
      code: "RECORD_CORRUPT",
    });
    expect(await current.store.read(record)).toEqual(record);
    expect(await current.store.ledger(record)).toEqual([]);
  });

  test("whoever watches hears of the run, its revision and its status", async () => {
    const heard: string[] = [];
    const stop = await current.store.watch((run, revision, status) =>
      heard.push(`${run.tenant}/${run.id}@${revision} ${status}`),
    );
    const { lease, record } = await held(current.store);
    const next = await committed(current.store, lease, record);
    await committed(current.store, lease, next, { record: { status: "waiting", waitingFor: "timer" } });
    await expect.poll(() => heard).toEqual([`default/${record.id}@2 running`, `default/${record.id}@3 waiting`]);
    await stop();
    await stop();
  });

  test("of several who watch, one that stops does not stop the others", async () => {
    const [first, second]: [number[], number[]] = [[], []];
    const stop = await current.store.watch((_, revision) => first.push(revision));
    const stopSecond = await current.store.watch((_, revision) => second.push(revision));
    const { lease, record } = await held(current.store);
    await stop();
    await committed(current.store, lease, record);
    await expect.poll(() => second).toEqual([2]);
    expect(first).toEqual([]);
    await stopSecond();
  });

  test("a commit that withdraws an offered row that nobody took is taken", async () => {
    const { lease, record } = await held(current.store);
    const next = await committed(current.store, lease, record, { rows: [anOfferedRow(1)] });
    await committed(current.store, lease, next, {
      rows: [aRow(1, { state: "withdrawn", send: 1 })],
      withdraw: [{ seq: 1, send: 1 }],
    });
  });

  test("a run is created with whatever its record says and read back so after a commit", async () => {
    const record = await created(current.store, {
      input: { "": [null, true, 1.5, "line\nbreak \u2028 \u0000 ☃"], nested: { __proto__x: 1 } },
      attributes: { customer: "c:1 {x}" },
    });
    const { lease } = await acquired(current.store, record);
    const next = await committed(current.store, lease, record, {
      record: {
        output: "🚀",
        snapshot: { value: { a: "b" }, context: { n: 1 }, status: "active", history: { h: ["x"] } },
      },
    });
    expect(await current.store.read(record)).toEqual(next);
  });
}
