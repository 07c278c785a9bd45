import { describe, expect, test } from "vitest";
import type { ListQuery, RunSummary } from "../../../src/core/ports.ts";
import type { Json } from "../../../src/saga/index.ts";
import { aCreate, fresh } from "../../support/records.ts";
import { type Current, committed, created, ended, epochMs, held } from "./harness.ts";

export function listingContract(current: Current): void {
  const idsIn = async (query: Omit<ListQuery, "limit">) =>
    (await current.store.list({ ...query, limit: 100 })).runs.map(({ id }) => id);

  const pages = async (query: ListQuery): Promise<readonly RunSummary[]> => {
    const all: RunSummary[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await current.store.list(cursor === undefined ? query : { ...query, cursor });
      expect(page.runs.length).toBeLessThanOrEqual(query.limit);
      all.push(...page.runs);
      cursor = page.cursor;
    }
    return all;
  };

  test("counts the runs of a tenant in each listing, in all shards", async () => {
    const tenant = fresh("tenant");
    for (let n = 0; n < 3; n += 1) await created(current.store, { tenant });
    await created(current.store, { tenant, saga: "another" });
    const listings = ["status:running", "saga:another:running", "status:completed"];
    expect(await current.store.count(tenant, listings)).toEqual([4, 1, 0]);
    expect(await current.store.count(fresh("tenant"), listings)).toEqual([0, 0, 0]);
  });

  test("runs are listed newest first, with what an operator needs to see", async () => {
    const older = await created(current.store, { createdAt: epochMs - 5 });
    const newer = await ended(current.store, { createdAt: epochMs });
    const { runs, cursor } = await current.store.list({ limit: 10 });
    expect(cursor).toBeNull();
    expect(runs).toEqual([
      {
        tenant: "default",
        id: newer.id,
        saga: "order",
        version: 1,
        status: "completed",
        rollback: "none",
        waitingFor: null,
        review: null,
        createdAt: epochMs,
        endedAt: epochMs,
        revision: 2,
      },
      expect.objectContaining({ id: older.id, status: "running", revision: 1 }),
    ]);
  });

  test("by attributes: all that are named have to be so, and a page looks at as many runs as it may hold", async () => {
    const tenant = fresh("tenant");
    const attributes = { customer: "ann", urgent: true };
    const ann = await created(current.store, { tenant, attributes, createdAt: epochMs - 9 });
    await created(current.store, { tenant, attributes: { customer: "bob", urgent: true } });
    const found = async (asked: Readonly<Record<string, Json>>, limit = 10) =>
      (await current.store.list({ tenant, attributes: asked, limit })).runs.map(({ id }) => id);
    expect(await found({ customer: "ann" })).toEqual([ann.id]);
    expect(await found({ customer: "ann", urgent: true })).toEqual([ann.id]);
    expect(await found({ customer: "ann", urgent: false })).toEqual([]);
    expect(await found({ place: null })).toEqual([]);
    expect(await found({})).toHaveLength(2);
    expect(await found({ customer: "ann" }, 1)).toEqual([]);
  });

  test("by status, by saga, by both, and by tenant", async () => {
    const order = await created(current.store);
    const trip = await created(current.store, { saga: "trip" });
    const done = await ended(current.store, { saga: "trip", createdAt: epochMs + 1 });
    const theirs = await created(current.store, { tenant: "theirs" });
    expect(await idsIn({ status: "completed" })).toEqual([done.id]);
    expect(await idsIn({ saga: "trip" })).toEqual([done.id, trip.id]);
    expect(await idsIn({ saga: "trip", status: "running" })).toEqual([trip.id]);
    expect(await idsIn({ saga: "order" })).toEqual([order.id]);
    expect(await idsIn({ tenant: "theirs" })).toEqual([theirs.id]);
    expect(await idsIn({ saga: "nothing" })).toEqual([]);
  });

  test("a run is in the listings of its state and in no other", async () => {
    const { lease, record } = await held(current.store);
    const waiting = await committed(current.store, lease, record, { record: { status: "waiting" } });
    expect([await idsIn({ status: "running" }), await idsIn({ status: "waiting" })]).toEqual([[], [record.id]]);
    await committed(current.store, lease, waiting, { record: { status: "failed" }, release: true });
    expect(await idsIn({ status: "waiting" })).toEqual([]);
    expect(await idsIn({ status: "failed", saga: "order" })).toEqual([record.id]);
    expect(await idsIn({})).toEqual([record.id]);
  });

  test("over a thousand runs, many made in the same millisecond: each is on exactly one page, in order", async () => {
    const commands = Array.from({ length: 1_200 }, (_, n) =>
      aCreate({ createdAt: epochMs - Math.floor(n / 300), saga: n % 3 === 0 ? "trip" : "order" }),
    );
    await current.store.createMany(commands);
    const expected = commands
      .map(({ record }) => record)
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
      .map(({ id }) => id);
    for (const limit of [64, 1_000]) {
      expect((await pages({ limit })).map(({ id }) => id)).toEqual(expected);
    }
    expect(await pages({ limit: 50, saga: "trip", status: "running" })).toHaveLength(400);
  });

  test("a run that changes its state between two pages is neither lost nor shown twice", async () => {
    const runs = [];
    for (let n = 0; n < 6; n += 1) runs.push(await held(current.store, { createdAt: epochMs - n }));
    const first = await current.store.list({ limit: 3 });
    for (const { lease, record } of runs) {
      await committed(current.store, lease, record, { record: { status: "completed" }, release: true });
    }
    const second = await current.store.list({ limit: 3, cursor: first.cursor ?? "" });
    const shown = [...first.runs, ...second.runs].map(({ id }) => id);
    expect(shown).toEqual(runs.map(({ record }) => record.id));
    expect(second.cursor).toBeNull();
  });

  test("a cursor that no list made is refused: CURSOR_INVALID", async () => {
    for (const cursor of ["", "garbage", "MTIz", Buffer.from("1:a b").toString("base64url")]) {
      await expect(current.store.list({ limit: 5, cursor })).rejects.toMatchObject({ code: "CURSOR_INVALID" });
    }
  });

  describe("register", () => {
    const order = { saga: "order", version: 1, hash: "hash-of-order", structure: '{"states":["a"]}', schemas: "{}" };
    const changed = { ...order, hash: "another-hash", structure: '{"states":["b"]}' };

    test("the same structure is OK as often as it is said", async () => {
      await created(current.store);
      expect(await current.store.register(order)).toEqual({ answer: "OK" });
      expect(await current.store.register(order)).toEqual({ answer: "OK" });
    });

    test("another structure is CHANGED while runs of the registered one are open, with both to compare", async () => {
      await current.store.register(order);
      await created(current.store);
      const { lease, record } = await held(current.store);
      expect(await current.store.register(changed)).toEqual({ answer: "CHANGED", registered: order, openRuns: 2 });
      await committed(current.store, lease, record, { record: { status: "completed" }, release: true });
      expect(await current.store.register(changed)).toMatchObject({ openRuns: 1 });
    });

    test("another structure takes the place once the last run of the old one has ended", async () => {
      await current.store.register(order);
      await ended(current.store);
      expect(await current.store.register(changed)).toEqual({ answer: "OK", replaced: order });
      await created(current.store, { hash: changed.hash });
      expect(await current.store.register(order)).toMatchObject({ answer: "CHANGED", registered: changed });
    });

    test("other schemas of the same structure take the place, whatever is open, and say what they replaced", async () => {
      await current.store.register(order);
      await created(current.store);
      const other = { ...order, schemas: '{"input":{}}' };
      expect(await current.store.register(other)).toEqual({ answer: "OK", replaced: order });
      expect(await current.store.register(other)).toEqual({ answer: "OK" });
      expect(await current.store.registered("order", 1)).toEqual(other);
      expect(await current.store.registered("order", 2)).toBeNull();
    });

    test("another version, or another saga, is nobody's business", async () => {
      await current.store.register(order);
      await created(current.store);
      expect(await current.store.register({ ...changed, version: 2 })).toEqual({ answer: "OK" });
      expect(await current.store.register({ ...changed, saga: "trip" })).toEqual({ answer: "OK" });
    });

    test("an ended run that a late result reopens is open again", async () => {
      await current.store.register(order);
      const record = await ended(current.store);
      await current.store.send({
        run: record,
        slot: "undo",
        commandId: "c",
        by: "Ann",
        body: { type: "cancel", mode: "compensate", reason: "" },
      });
      const { lease } = await heldAgain(record);
      await committed(current.store, lease, record, { record: { status: "unwinding" }, consumed: ["undo"], seen: 1 });
      expect(await current.store.register(changed)).toMatchObject({ answer: "CHANGED", openRuns: 1 });
    });

    const heldAgain = async (run: { tenant: string; id: string }) => {
      const answer = await current.store.acquire({ run, owner: "w", token: "t-again", leaseMs: 10_000 });
      if (answer.answer !== "OK") throw new Error(answer.answer);
      return { lease: { run, owner: "w", fence: answer.fence, token: "t-again" } };
    };
  });
}
