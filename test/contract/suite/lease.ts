import { describe, expect, test } from "vitest";
import { leaveEvidence } from "../../support/evidence.ts";
import { aCommit, aLease, aSend, refOf } from "../../support/records.ts";
import { acquired, type Current, committed, created, ended, epochMs, held, leaseMs, sweep } from "./harness.ts";

export function leaseContract(current: Current): void {
  const acquire = (run: { tenant: string; id: string }, token: string, owner = "worker-1") =>
    current.store.acquire({ run: refOf(run), owner, token, leaseMs });

  describe("acquire", () => {
    test("hands over the whole run and a first fence", async () => {
      const record = await created(current.store);
      const answer = await acquire(record, "t-1");
      expect(answer).toEqual({
        answer: "OK",
        fence: 1,
        record,
        rows: [],
        inbox: [],
        takenFrom: null,
        suspect: false,
        permits: [],
        now: epochMs,
      });
    });

    test("a run that never existed is ABSENT", async () => {
      expect(await acquire({ tenant: "default", id: "nobody" }, "t")).toEqual({ answer: "ABSENT", now: epochMs });
    });

    test("while a lease is live another token is answered HELD with its end", async () => {
      const record = await created(current.store);
      await acquire(record, "t-1");
      await current.bench.advance(leaseMs - 1);
      expect(await acquire(record, "t-2", "worker-2")).toMatchObject({ answer: "HELD", until: epochMs + leaseMs });
    });

    test("the same token again is answered the same: the fence does not grow, the lease runs on", async () => {
      const record = await created(current.store);
      const first = await acquire(record, "t-1");
      await current.bench.advance(1_000);
      expect(await acquire(record, "t-1")).toEqual({ ...first, now: epochMs + 1_000 });
      await current.bench.advance(leaseMs - 1);
      expect(await acquire(record, "t-2")).toMatchObject({ answer: "HELD" });
    });

    test("of two workers at once one gets the run and the other is told HELD", async () => {
      const record = await created(current.store);
      const answers = await Promise.all([acquire(record, "t-1"), acquire(record, "t-2", "worker-2")]);
      expect(answers.map(({ answer }) => answer).sort()).toEqual(["HELD", "OK"]);
    });

    test("a lapsed lease can be taken, by a higher fence, and the answer says from whom", async () => {
      const { record, lease } = await held(current.store);
      await current.bench.advance(leaseMs);
      const taken = await acquired(current.store, record, "worker-2");
      expect(taken.lease.fence).toBe(lease.fence + 1);
      expect(taken.answer.takenFrom).toMatchObject({ owner: "worker-1" });
    });

    test("a lease that was given back was not taken from anybody", async () => {
      const { record, lease } = await held(current.store);
      await current.store.release(lease, 0, null);
      const next = await acquired(current.store, record, "worker-2");
      expect(next.answer).toMatchObject({ fence: 2, takenFrom: null });
    });

    test("who was taken over is told again until the new holder has committed", async () => {
      const { record } = await held(current.store, {}, "worker-1");
      await current.bench.advance(leaseMs);
      const second = await acquired(current.store, record, "worker-2");
      await current.store.release(second.lease, 0, null);
      const third = await acquired(current.store, record, "worker-3");
      expect(third.answer.takenFrom).toMatchObject({ owner: "worker-1" });
      await committed(current.store, third.lease, record, { release: true });
      expect((await acquired(current.store, record)).answer.takenFrom).toBeNull();
    });

    test("a run that has ended is had by whoever remembers more of it, and can be given back as it was", async () => {
      const record = await ended(current.store);
      const command = { run: refOf(record), owner: "worker-2", token: "t-9", leaseMs };
      expect(await current.store.acquire(command)).toMatchObject({ answer: "ENDED" });
      const answer = await current.store.acquire({ ...command, evenEnded: true });
      expect(answer).toMatchObject({ answer: "OK", fence: 2, record: { status: "completed" } });
      await current.store.release({ run: command.run, owner: "worker-2", token: "t-9", fence: 2 }, 0, null);
      await current.bench.advance(leaseMs);
      expect(await sweep(current.store)).toEqual([]);
      expect(await current.store.acquire({ ...command, token: "t-10" })).toMatchObject({ answer: "ENDED" });
    });

    test("a run that has ended is ENDED, unless a late result or an undo waits in its inbox", async () => {
      for (const slot of ["late:1:1", "undo", "undo:despite_pivot"]) {
        const record = await ended(current.store);
        expect(await acquire(record, "t-9")).toMatchObject({ answer: "ENDED" });
        expect(await current.store.send(aSend(record, slot))).toMatchObject({ answer: "OK" });
        expect(await acquire(record, "t-9")).toMatchObject({ answer: "OK", inbox: [{ slot }] });
      }
    });
  });

  describe("renew", () => {
    test("every lease of the batch lives on, and its driver hears the inbox position", async () => {
      const runs = await Promise.all(Array.from({ length: 300 }, () => held(current.store)));
      await current.store.send(aSend(runs[7]!.record, "cancel"));
      await current.bench.advance(leaseMs - 1);
      const { answers, now } = await current.store.renew(
        runs.map(({ lease }) => lease),
        leaseMs,
      );
      expect(now).toBe(epochMs + leaseMs - 1);
      expect(answers.map(({ run }) => run.id)).toEqual(runs.map(({ record }) => record.id));
      expect(answers.every(({ answer }) => answer === "OK")).toBe(true);
      expect(answers.map(({ position }) => position)).toEqual(runs.map((_, n) => (n === 7 ? 1 : 0)));
      await current.bench.advance(leaseMs - 1);
      expect(await acquire(runs[0]!.record, "t-x")).toMatchObject({ answer: "HELD" });
    });

    test("a lease that was taken over, given back or never was is FENCED, and the others are not", async () => {
      const [mine, lost, gone] = [await held(current.store), await held(current.store), await held(current.store)];
      await current.store.release(gone.lease, 0, null);
      await current.bench.advance(leaseMs);
      await acquired(current.store, lost.record, "worker-2");
      const never = aLease({ tenant: "default", id: "nobody" }, 1, "t");
      const { answers } = await current.store.renew([lost.lease, mine.lease, gone.lease, never], leaseMs);
      expect(answers.map(({ answer }) => answer)).toEqual(["FENCED", "OK", "FENCED", "FENCED"]);
    });

    test("a lapsed lease that nobody took is whole again", async () => {
      const { record, lease } = await held(current.store);
      await current.bench.advance(2 * leaseMs);
      expect(await sweep(current.store)).toHaveLength(1);
      await current.store.renew([lease], leaseMs);
      expect(await acquire(record, "t-x")).toMatchObject({ answer: "HELD" });
      await current.bench.advance(leaseMs - 1);
      expect(await sweep(current.store)).toEqual([]);
      await current.bench.advance(1);
      expect(await sweep(current.store)).toHaveLength(1);
    });

    test("no lease at all still tells the time", async () => {
      const { answers, now } = await current.store.renew([], leaseMs);
      expect(answers).toEqual([]);
      expect(Math.abs(now - epochMs)).toBeLessThan(1_000);
    });
  });

  describe("release", () => {
    test("frees the run, due when it wants to be", async () => {
      const { record, lease } = await held(current.store);
      expect(await current.store.release(lease, 0, epochMs + 30_000)).toEqual({
        answer: "OK",
        wake: null,
        now: epochMs,
      });
      await current.bench.advance(29_999);
      expect(await sweep(current.store)).toEqual([]);
      await current.bench.advance(1);
      expect(await sweep(current.store)).toMatchObject([{ run: { id: record.id }, wake: 2 }]);
    });

    test("a run due now comes with its wake-up", async () => {
      const { record, lease } = await held(current.store);
      const answer = await current.store.release(lease, 0, epochMs);
      expect(answer).toMatchObject({ answer: "OK", wake: { run: { id: record.id }, wake: 2 } });
    });

    test("a run that wants nothing by itself is never due", async () => {
      const { lease } = await held(current.store);
      await current.store.release(lease, 0, null);
      await current.bench.advance(1_000_000);
      expect(await sweep(current.store)).toEqual([]);
    });

    test("an entry newer than was looked at keeps the lease: INBOX", async () => {
      const { record, lease } = await held(current.store);
      await current.store.send(aSend(record, "event:1"));
      expect(await current.store.release(lease, 0, null)).toMatchObject({ answer: "INBOX", wake: null });
      expect(await acquire(record, "t-x")).toMatchObject({ answer: "HELD" });
      expect(await current.store.release(lease, 1, null)).toMatchObject({ answer: "OK" });
    });

    test("a lease that is not held any more is FENCED and changes nothing", async () => {
      const { record, lease } = await held(current.store);
      await current.bench.advance(leaseMs);
      const other = await acquired(current.store, record, "worker-2");
      expect(await current.store.release(lease, 0, null)).toMatchObject({ answer: "FENCED" });
      expect(await current.store.commit({ lease: other.lease, commit: aCommit(record), leaseMs })).toMatchObject({
        answer: "OK",
      });
    });
  });

  test("R112 whoever lost the run is refused under the very name that has it now: renewing, releasing, finishing", async () => {
    const { record, lease } = await held(current.store, {}, "worker-1");
    await current.bench.advance(leaseMs);
    const { lease: again } = await acquired(current.store, record, "worker-1");
    expect([again.owner, again.token === lease.token]).toEqual([lease.owner, false]);
    const renewed = await current.store.renew([lease], leaseMs);
    const released = await current.store.release(lease, 0, null);
    const finished = await current.store.commit({ lease, commit: aCommit(record, { release: true }), leaseMs });
    const answers = [renewed.answers[0]?.answer, released.answer, finished.answer];
    expect(answers).toEqual(["FENCED", "FENCED", "FENCED"]);
    expect(await current.store.read(refOf(record))).toEqual(record);
    expect(await acquire(record, "t-x")).toMatchObject({ answer: "HELD" });
    const message = "the attempt before, under the same name, could not renew, release or finish";
    leaveEvidence("R112", { checks: [`answered ${answers.join(", ")}`], refusal: { code: "FENCED", message } });
  });
}
