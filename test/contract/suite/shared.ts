/** Listings that all tenants share, and who serves what is open in them. */
import { expect, test } from "vitest";
import type { SharedQuery } from "../../../src/core/ports.ts";
import type { RunRecord } from "../../../src/core/run/index.ts";
import { aRow, fresh } from "../../support/records.ts";
import { type Current, committed, ended, epochMs, held, leaseMs } from "./harness.ts";

const review = {
  n: 1,
  reason: "unknown_outcome",
  message: "it may have happened",
  seq: null,
  side: null,
  since: epochMs,
  evidence: null,
  verbs: ["close"],
} as const;

export function sharedContract(current: Current): void {
  const parked = async (patch: Partial<RunRecord> = {}) => {
    const { lease, record } = await held(current.store, patch);
    const after = await committed(current.store, lease, record, {
      record: { status: "needs_review", review },
      release: true,
    });
    return { lease, record: after };
  };

  const idsIn = async (query: Omit<SharedQuery, "listings" | "limit"> = {}, listings = ["parked"]) =>
    (await current.store.listShared({ listings, limit: 100, ...query })).runs.map(({ id }) => id);

  const allPages = async (query: SharedQuery): Promise<readonly string[]> => {
    const all: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await current.store.listShared(cursor === undefined ? query : { ...query, cursor });
      expect(page.runs.length).toBeLessThanOrEqual(query.limit);
      all.push(...page.runs.map(({ id }) => id));
      cursor = page.cursor;
    }
    return all;
  };

  test("a run that cannot be read is set aside until its time, and listed as that until somebody takes it", async () => {
    const { lease, record } = await held(current.store);
    const why = "its record cannot be read";
    const due = epochMs + 10 * leaseMs;
    expect(await current.store.setAside({ ...lease, token: "another" }, due, why)).toMatchObject({ answer: "FENCED" });
    expect(await current.store.setAside(lease, due, why)).toMatchObject({ answer: "OK" });
    const listed = { listings: ["unreadable"], limit: 10 };
    const { tenant, id } = record;
    expect(await current.store.listShared(listed)).toMatchObject({
      runs: [],
      unreadable: [{ tenant, id, message: why }],
    });
    const command = { run: { tenant, id }, owner: fresh("owner"), token: fresh("token"), leaseMs };
    expect(await current.store.acquire(command)).toMatchObject({ answer: "OK", record: { id } });
    expect(await current.store.listShared(listed)).toMatchObject({ runs: [], unreadable: [] });
  });

  test("parked runs of all tenants are found, newest first, and of one where it is named", async () => {
    const { record: mine } = await parked({ createdAt: epochMs - 2 });
    const { record: theirs } = await parked({ createdAt: epochMs - 1, tenant: "theirs" });
    await held(current.store);
    await ended(current.store);
    expect(await idsIn()).toEqual([theirs.id, mine.id]);
    expect(await idsIn({ tenant: "theirs" })).toEqual([theirs.id]);
    const { runs } = await current.store.listShared({ listings: ["parked"], limit: 1 });
    expect(runs).toEqual([
      {
        tenant: "theirs",
        id: theirs.id,
        saga: "order",
        version: 1,
        hash: "hash-of-order",
        status: "needs_review",
        review,
        asks: [],
        revision: 2,
        createdAt: epochMs - 1,
        parent: null,
        step: null,
        holder: null,
      },
    ]);
  });

  test("runs that ask people are found while they do, whatever else they are", async () => {
    const { lease, record } = await held(current.store, { tenant: fresh("tenant") });
    const { tenant } = record;
    const asked = await committed(current.store, lease, record, { record: { asks: [2] } });
    const query = { listings: ["asking"], limit: 10, tenant };
    expect((await current.store.listShared(query)).runs).toMatchObject([
      { id: record.id, status: "running", asks: [2] },
    ]);
    await committed(current.store, lease, asked, { record: { asks: [] } });
    expect((await current.store.listShared(query)).runs).toEqual([]);
  });

  test("the step that a review is about is told, of whatever row that is", async () => {
    const { lease, record } = await held(current.store);
    const rows = [
      { ...aRow(1), step: "charge" },
      { ...aRow(2), step: "ship" },
    ];
    const asked = { status: "needs_review", rows: 2, review: { ...review, seq: 2, side: "action" } } as const;
    await committed(current.store, lease, record, { record: asked, rows });
    expect((await current.store.listShared({ listings: ["parked"], limit: 1 })).runs).toMatchObject([{ step: "ship" }]);
  });

  test("a run that goes on is no longer among them", async () => {
    const { record } = await parked();
    const again = await current.store.acquire({ run: record, owner: "w", token: "again", leaseMs });
    if (again.answer !== "OK") throw new Error(again.answer);
    const lease = { run: record, owner: "w", fence: again.fence, token: "again" };
    await committed(current.store, lease, record, { record: { status: "running", review: null } });
    expect(await idsIn()).toEqual([]);
    expect(await idsIn({}, ["open:order@1#hash-of-order"])).toEqual([record.id]);
  });

  test("two runs of one id under two tenants are two", async () => {
    const id = fresh("twin");
    await parked({ id, tenant: "a" });
    await parked({ id, tenant: "b" });
    expect(await idsIn()).toEqual([id, id]);
    expect(await allPages({ listings: ["parked"], limit: 1 })).toEqual([id, id]);
  });

  test("a run in several of the listings is shown once, and each is on exactly one page", async () => {
    const runs = [];
    for (let n = 0; n < 7; n += 1)
      runs.push(
        (await parked({ createdAt: epochMs - Math.floor(n / 3), tenant: n % 2 === 0 ? "even" : "odd" })).record,
      );
    const listings = ["parked", "open:order@1#hash-of-order"];
    for (const limit of [1, 2, 3, 100]) {
      const shown = await allPages({ listings, limit });
      expect(shown.toSorted()).toEqual(runs.map(({ id }) => id).toSorted());
      const even = runs.filter(({ tenant }) => tenant === "even").map(({ id }) => id);
      expect((await allPages({ listings, limit, tenant: "even" })).toSorted()).toEqual(even.toSorted());
    }
  });

  test("the holder is whoever has a lease that has not run out", async () => {
    const { record } = await held(current.store, {}, "worker-7");
    const query = { listings: ["open:order@1#hash-of-order"], limit: 10 };
    expect((await current.store.listShared(query)).runs).toMatchObject([{ id: record.id, holder: "worker-7" }]);
    await current.bench.advance(leaseMs);
    expect((await current.store.listShared(query)).runs).toMatchObject([{ id: record.id, holder: null }]);
  });

  test("a cursor that no such page made is refused: CURSOR_INVALID", async () => {
    for (const cursor of ["", "garbage", Buffer.from("1:no-tenant").toString("base64url")]) {
      const query = { listings: ["parked"], limit: 5, cursor };
      await expect(current.store.listShared(query)).rejects.toMatchObject({ code: "CURSOR_INVALID" });
    }
  });

  test("structures with open runs are named, and what each owner serves, until it is gone", async () => {
    await ended(current.store, { saga: "over" });
    await held(current.store, { saga: "trip", version: 2 });
    const pulse = { serverId: null, pulse: null, compared: null };
    await current.store.hello({ owner: "w-1", ...pulse }, ["trip@1#before"]);
    await current.store.hello({ owner: "w-1", ...pulse }, ["trip@2#hash-of-order", "order@1#x"]);
    await current.store.hello({ owner: "w-2", ...pulse }, []);
    const serving = await current.store.serving();
    expect(serving.open).toEqual(["trip@2#hash-of-order"]);
    expect(serving.owners.find(({ owner }) => owner === "w-1")?.serves).toEqual(["trip@2#hash-of-order", "order@1#x"]);
    await current.store.goodbye("w-1");
    await current.store.expire({ owner: "w-2", ...pulse });
    expect((await current.store.serving()).owners).toEqual([]);
  });
}
