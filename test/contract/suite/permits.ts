import { describe, expect, test } from "vitest";
import type { PermitCommand } from "../../../src/core/ports.ts";
import type { RunRecord } from "../../../src/core/run/index.ts";
import { aCommit, anOfferedRow, anOfferedUndo, aRow } from "../../support/records.ts";
import { acquired, type Current, committed, ended, epochMs, held, leaseMs, sweep } from "./harness.ts";

const windowMs = 60_000;

export function permitContract(current: Current): void {
  const asking = (run: RunRecord, patch: Partial<PermitCommand> = {}): PermitCommand => ({
    run: { tenant: run.tenant, id: run.id },
    seq: 1,
    send: 1,
    side: "action",
    owner: "gpu-1",
    token: "p-1",
    leaseMs,
    windowMs,
    ...patch,
  });

  /** A run at rest whose row 1 lies in a named queue. */
  const offered = async (due: number | null = null) => {
    const { lease, record } = await held(current.store);
    const rows = [anOfferedRow(1)];
    const next = await committed(current.store, lease, record, { rows, due, release: true });
    return { record: next, row: rows[0]! };
  };

  const permitOf1 = {
    seq: 1,
    send: 1,
    side: "action",
    token: "p-1",
    owner: "gpu-1",
    until: epochMs + leaseMs,
    sentAt: epochMs,
    deadline: epochMs + windowMs,
    expired: false,
  };

  test("an offered row is permitted once: record and row come with it, others are told GONE", async () => {
    const { record, row } = await offered();
    expect(await current.store.permit(asking(record))).toEqual({ answer: "OK", record, row, now: epochMs });
    expect(await current.store.permit(asking(record, { token: "p-2" }))).toEqual({ answer: "GONE", now: epochMs });
  });

  test("of two workers at once one gets the permit", async () => {
    const { record } = await offered();
    const answers = await Promise.all(["p-1", "p-2"].map((token) => current.store.permit(asking(record, { token }))));
    expect(answers.map(({ answer }) => answer).sort()).toEqual(["GONE", "OK"]);
  });

  test("the same token again is answered the same", async () => {
    const { record } = await offered();
    const first = await current.store.permit(asking(record));
    await current.bench.advance(10);
    expect(await current.store.permit(asking(record))).toEqual({ ...first, now: epochMs + 10 });
    const { answer } = await acquired(current.store, record);
    expect(answer.permits).toEqual([permitOf1]);
  });

  test("another send, another side, another row or another run is GONE", async () => {
    const { record } = await offered();
    const others = [{ send: 2 }, { side: "undo" as const }, { seq: 2 }, { seq: 0 }, { run: { tenant: "x", id: "y" } }];
    for (const other of others) {
      expect(await current.store.permit(asking(record, other))).toMatchObject({ answer: "GONE" });
    }
  });

  test("a row that is not offered, or not any more, is GONE", async () => {
    const { lease, record } = await held(current.store);
    const sent = aRow(1, { state: "sent", attempt: 1, send: 1 });
    const next = await committed(current.store, lease, record, { rows: [sent, anOfferedRow(2)] });
    expect(await current.store.permit(asking(record))).toMatchObject({ answer: "GONE" });
    const withdrawn = { rows: [aRow(2, { state: "withdrawn", send: 1 })], withdraw: [{ seq: 2, send: 1 }] };
    await committed(current.store, lease, next, withdrawn);
    expect(await current.store.permit(asking(record, { seq: 2 }))).toMatchObject({ answer: "GONE" });
  });

  test("a run that unwinds permits compensations and no actions; one that has ended permits nothing", async () => {
    const { lease, record } = await held(current.store);
    const unwinding = await committed(current.store, lease, record, {
      record: { status: "unwinding" },
      rows: [anOfferedRow(1), anOfferedUndo(2)],
    });
    expect(await current.store.permit(asking(record))).toMatchObject({ answer: "GONE" });
    const undo = asking(record, { seq: 2, side: "undo" });
    expect(await current.store.permit(undo)).toMatchObject({ answer: "OK" });
    await committed(current.store, lease, unwinding, { record: { status: "failed" }, release: true });
    expect(await current.store.permit({ ...undo, token: "p-3" })).toMatchObject({ answer: "GONE" });
    expect(await current.store.permit(asking(await ended(current.store)))).toMatchObject({ answer: "GONE" });
  });

  describe("a permit and the driver", () => {
    test("a commit that withdraws a row with a permit is PERMITTED, with the permit, and changes nothing", async () => {
      const { record } = await offered();
      await current.store.permit(asking(record));
      const { lease } = await acquired(current.store, record);
      const rows = [aRow(1, { state: "withdrawn", send: 1 })];
      const commit = aCommit(record, { rows, withdraw: [{ seq: 1, send: 1 }] });
      expect(await current.store.commit({ lease, commit, leaseMs })).toEqual({
        answer: "PERMITTED",
        permits: [permitOf1],
        now: epochMs,
      });
      expect(await current.store.read(record)).toEqual(record);
    });

    test("a permit of an older send does not stop a withdrawal of the newer", async () => {
      const { record } = await offered();
      await current.store.permit(asking(record));
      const { lease } = await acquired(current.store, record);
      const again = await committed(current.store, lease, record, { rows: [anOfferedRow(1, 2)] });
      await committed(current.store, lease, again, {
        rows: [aRow(1, { state: "withdrawn", send: 2 })],
        withdraw: [{ seq: 1, send: 2 }],
      });
    });

    test("a newer send is permitted although an older one had a permit", async () => {
      const { record } = await offered();
      await current.store.permit(asking(record));
      const { lease } = await acquired(current.store, record);
      await committed(current.store, lease, record, { rows: [anOfferedRow(1, 2)] });
      const newer = asking(record, { send: 2, token: "p-2" });
      expect(await current.store.permit(newer)).toMatchObject({ answer: "OK" });
      expect(await current.store.renewPermit(asking(record))).toMatchObject({ answer: "ABORT" });
    });

    test("a new driver is told which permits live and which have run out", async () => {
      const { lease, record } = await held(current.store);
      const rows = [anOfferedRow(1), anOfferedRow(2)];
      const next = await committed(current.store, lease, record, { rows, release: true });
      await current.store.permit(asking(next));
      await current.bench.advance(leaseMs);
      await current.store.permit(asking(next, { seq: 2, token: "p-2" }));
      const { answer } = await acquired(current.store, record);
      expect(answer.permits).toMatchObject([
        { seq: 1, expired: true },
        { seq: 2, expired: false },
      ]);
    });

    test("the permit goes with the commit that records the outcome", async () => {
      const { record } = await offered();
      await current.store.permit(asking(record));
      const { lease } = await acquired(current.store, record);
      const rows = [aRow(1, { state: "succeeded", attempt: 1, send: 1, proof: "answer" })];
      await committed(current.store, lease, record, { rows, settledPermits: [1], due: null, release: true });
      expect((await acquired(current.store, record)).answer.permits).toEqual([]);
      expect(await current.store.renewPermit(asking(record))).toMatchObject({ answer: "ABORT" });
    });
  });

  describe("renewing a permit", () => {
    test("is OK for its holder and for nobody else", async () => {
      const { record } = await offered();
      expect(await current.store.renewPermit(asking(record))).toEqual({ answer: "ABORT", now: epochMs });
      await current.store.permit(asking(record));
      expect(await current.store.renewPermit(asking(record))).toEqual({ answer: "OK", now: epochMs });
      for (const other of [{ token: "p-2" }, { send: 2 }, { seq: 2 }, { side: "undo" as const }]) {
        expect(await current.store.renewPermit(asking(record, other))).toMatchObject({ answer: "ABORT" });
      }
    });

    test("keeps what the outside was promised: time of sending and deadline stay", async () => {
      const { record } = await offered();
      await current.store.permit(asking(record));
      await current.bench.advance(5_000);
      await current.store.renewPermit(asking(record));
      const { answer } = await acquired(current.store, record);
      expect(answer.permits).toEqual([{ ...permitOf1, until: epochMs + 5_000 + leaseMs }]);
    });

    test("is ABORT once the driver wants the call to stop, for ever", async () => {
      const { record } = await offered();
      await current.store.permit(asking(record));
      const { lease } = await acquired(current.store, record);
      const rows = [aRow(1, { state: "sent", attempt: 1, send: 1 }, { abandoned: true })];
      const next = await committed(current.store, lease, record, { rows, abortPermits: [1, 7] });
      expect(await current.store.renewPermit(asking(record))).toMatchObject({ answer: "ABORT" });
      await committed(current.store, lease, next, { abortPermits: [1] });
      expect(await current.store.renewPermit(asking(record))).toMatchObject({ answer: "ABORT" });
    });
  });

  describe("a run that rests while a call is made elsewhere", () => {
    const dueAfter = async (ms: number) => {
      await current.bench.advance(ms - 1);
      expect(await sweep(current.store)).toEqual([]);
      await current.bench.advance(1);
      return await sweep(current.store);
    };

    test("is due when the permit runs out", async () => {
      const { record } = await offered();
      await current.store.permit(asking(record));
      expect(await dueAfter(leaseMs)).toMatchObject([{ run: { id: record.id } }]);
    });

    test("is left alone as long as the permit is renewed", async () => {
      const { record } = await offered();
      await current.store.permit(asking(record));
      for (let n = 0; n < 10; n += 1) {
        await current.bench.advance(leaseMs / 2);
        await current.store.renewPermit(asking(record));
        expect(await sweep(current.store)).toEqual([]);
      }
      expect(await dueAfter(leaseMs)).toHaveLength(1);
    });

    test("is still due at the time it wanted itself, before and after the permit's end", async () => {
      const { record } = await offered(epochMs + 4_000);
      await current.store.permit(asking(record));
      expect(await dueAfter(4_000)).toMatchObject([{ run: { id: record.id } }]);
    });

    test("does not forget a later time of its own over the renewals", async () => {
      const { record } = await offered(epochMs + 12_000);
      await current.store.permit(asking(record));
      await current.bench.advance(9_000);
      await current.store.renewPermit(asking(record));
      await current.bench.advance(1_000);
      expect(await sweep(current.store)).toEqual([]);
      expect(await dueAfter(2_000)).toMatchObject([{ run: { id: record.id } }]);
    });

    test("is due by the permit too when it was permitted while the driver still held it", async () => {
      const { lease, record } = await held(current.store);
      const next = await committed(current.store, lease, record, { rows: [anOfferedRow(1)] });
      await current.store.permit(asking(record));
      await current.bench.advance(1_000);
      await committed(current.store, lease, next, { due: null, release: true });
      expect(await dueAfter(leaseMs - 1_000)).toMatchObject([{ run: { id: record.id } }]);
    });
  });
}
