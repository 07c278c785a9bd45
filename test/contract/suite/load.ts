import { expect, test } from "vitest";
import { type Current, committed, created, epochMs, held, leaseMs, sweep } from "./harness.ts";

export function loadContract(current: Current): void {
  test("an empty store has no load", async () => {
    const load = { due: 0, oldestDueAt: null, open: [], parked: 0, asking: 0, now: epochMs };
    expect(await current.store.load()).toEqual(load);
  });

  test("a run counts as due until it is taken up, and again when its time has come", async () => {
    const { lease, record } = await held(current.store);
    await created(current.store);
    expect(await current.store.load()).toMatchObject({ due: 1, oldestDueAt: null });
    await committed(current.store, lease, record, {
      record: { status: "waiting", waitingFor: "timer" },
      due: epochMs + 3_000,
      release: true,
    });
    await current.bench.advance(2_999);
    const { due } = await current.store.load();
    await current.bench.advance(1);
    const after = await current.store.load();
    expect([after.due - due, after.oldestDueAt]).toEqual([1, expect.any(Number)]);
    expect(after.oldestDueAt).toBeLessThanOrEqual(epochMs + 3_000);
  });

  test("a dead worker's run counts from when its lease was over", async () => {
    await held(current.store);
    await current.bench.advance(leaseMs + 3_000);
    const { due, oldestDueAt, now } = await current.store.load();
    expect([due, now - (oldestDueAt ?? 0)]).toEqual([1, 3_000]);
    await sweep(current.store);
    expect(await current.store.load()).toMatchObject({ due: 1, oldestDueAt: null });
  });

  test("open runs by structure, those that are parked and those that ask people", async () => {
    const { lease, record } = await held(current.store, { saga: "trip" });
    const parked = { status: "needs_review", asks: [1] } as const;
    await committed(current.store, lease, record, { record: parked, release: true });
    await created(current.store);
    await created(current.store);
    expect(await current.store.load()).toMatchObject({
      open: [
        { structure: "order@1#hash-of-order", runs: 2 },
        { structure: "trip@1#hash-of-order", runs: 1 },
      ],
      parked: 1,
      asking: 1,
    });
  });
}
