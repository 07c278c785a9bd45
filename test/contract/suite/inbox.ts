import { describe, expect, test } from "vitest";
import type { InboxBody } from "../../../src/core/run/index.ts";
import { maxEntriesWaiting, maxSlotsTaken, slotsKept } from "../../../src/store/limits.ts";
import { aSend, fresh, refOf } from "../../support/records.ts";
import { acquired, type Current, committed, created, ended, epochMs, held, leaseMs, sweep } from "./harness.ts";

export function inboxContract(current: Current): void {
  test("what was sent is kept as it was sent, in order of position", async () => {
    const record = await created(current.store);
    const body: InboxBody = { type: "cancel", mode: "compensate", reason: "line\nbreak" };
    const odd = aSend(record, 'event:"odd"\n:slot ☃', { commandId: 'c"\n1', by: "Ann\nB.", body });
    expect(await current.store.send(odd)).toMatchObject({ answer: "OK", position: 1, now: epochMs });
    await current.bench.advance(5);
    const second = aSend(record, "event:2");
    await current.store.send(second);
    const { run: _, ...entry } = odd;
    const { run: __, ...after } = second;
    const expected = [
      { ...entry, position: 1, at: epochMs },
      { ...after, position: 2, at: epochMs + 5 },
    ];
    expect(await current.store.inbox(record)).toEqual(expected);
    expect((await acquired(current.store, record)).answer.inbox).toEqual(expected);
  });

  test("the same command again is DUP, another one in the same slot is TAKEN with the winner", async () => {
    const record = await created(current.store);
    const first = aSend(record, "event:1", { by: "Ann" });
    await current.store.send(first);
    expect(await current.store.send(first)).toEqual({ answer: "DUP", now: epochMs });
    const taken = { answer: "TAKEN", by: "Ann", commandId: first.commandId };
    expect(await current.store.send(aSend(record, "event:1", { by: "Bob" }))).toMatchObject(taken);
    expect(await current.store.inbox(record)).toHaveLength(1);
  });

  test("of two senders at once to one slot one wins and the other is told who", async () => {
    const record = await created(current.store);
    const [ann, bob] = [aSend(record, "cancel", { by: "Ann" }), aSend(record, "cancel", { by: "Bob" })];
    const answers = await Promise.all([current.store.send(ann), current.store.send(bob)]);
    expect(answers.map(({ answer }) => answer).sort()).toEqual(["OK", "TAKEN"]);
  });

  test("a cancel that is no harder than the one that is there is TAKEN, and told by whose; a harder one gets in", async () => {
    const { lease, record } = await held(current.store);
    const stop = aSend(record, "cancel:stop", { by: "Ann" });
    await current.store.send(stop);
    const winner = { answer: "TAKEN", by: "Ann", commandId: stop.commandId, slot: "cancel:stop", now: epochMs };
    expect(await current.store.send(aSend(record, "cancel", { by: "Bob" }))).toEqual(winner);
    expect(await current.store.send(aSend(record, "cancel:stop", { by: "Bob" }))).toEqual(winner);
    expect(await current.store.send(stop)).toMatchObject({ answer: "DUP" });
    await committed(current.store, lease, record, { consumed: ["cancel:stop"], seen: 1 });
    expect(await current.store.send(aSend(record, "cancel", { by: "Bob" }))).toEqual(winner);
    expect(await current.store.send(aSend(record, "cancel:kill"))).toMatchObject({ answer: "OK", position: 2 });
    expect(await current.store.send(aSend(record, "cancel:stop"))).toMatchObject(winner);
  });

  test("a consumed slot stays taken, its entry is gone, and no position is used twice", async () => {
    const { lease, record } = await held(current.store);
    const first = aSend(record, "event:1", { by: "Ann" });
    await current.store.send(first);
    await committed(current.store, lease, record, { consumed: ["event:1", "event:never"], seen: 1 });
    expect(await current.store.inbox(record)).toEqual([]);
    expect(await current.store.send(first)).toMatchObject({ answer: "DUP" });
    expect(await current.store.send(aSend(record, "event:1"))).toMatchObject({ answer: "TAKEN", by: "Ann" });
    expect(await current.store.send(aSend(record, "event:never"))).toMatchObject({ answer: "OK", position: 2 });
  });

  test("a run that never existed is ABSENT", async () => {
    expect(await current.store.send(aSend({ tenant: "default", id: "nobody" }, "cancel"))).toEqual({
      answer: "ABSENT",
      now: epochMs,
    });
  });

  test("an ended run takes late results and an undo; everything else is ENDED with its status", async () => {
    const record = await ended(current.store);
    for (const slot of ["event:1", "cancel", "control:1", "review:1", "settle:1:1"]) {
      expect(await current.store.send(aSend(record, slot))).toMatchObject({ answer: "ENDED", status: "completed" });
    }
    expect(await current.store.send(aSend(record, "late:1:1"))).toMatchObject({ answer: "OK" });
    expect(await current.store.send(aSend(record, "undo"))).toMatchObject({ answer: "OK" });
    expect(await current.store.send(aSend(record, "undo:despite_pivot"))).toMatchObject({ answer: "OK" });
    expect(await current.store.send(aSend(record, "undone"))).toMatchObject({ answer: "ENDED" });
  });

  test("who resends after the end is told what became of the first: DUP, not ENDED", async () => {
    const { lease, record } = await held(current.store);
    const cancel = aSend(record, "cancel");
    await current.store.send(cancel);
    const end = { record: { status: "cancelled" as const }, consumed: ["cancel"], seen: 1, release: true };
    await committed(current.store, lease, record, end);
    expect(await current.store.send(cancel)).toMatchObject({ answer: "DUP" });
    expect(await current.store.send(aSend(record, "cancel"))).toMatchObject({ answer: "TAKEN" });
  });

  describe("slots of reviews and of what people are asked", () => {
    test("are open only while the run says so", async () => {
      const { lease, record } = await held(current.store);
      const sent = async (slot: string) => (await current.store.send(aSend(record, slot))).answer;
      expect(await sent("review:1")).toBe("GONE");
      const parked = await committed(current.store, lease, record, { openSlots: ["review:1", "approval:2.1"] });
      expect(await sent("review:2")).toBe("GONE");
      expect(await sent("approval:2.2:ann")).toBe("GONE");
      expect(await sent("approval:2:ann")).toBe("GONE");
      expect(await sent("approval:2.1:ann")).toBe("OK");
      expect(await sent("approval:2.1:bob")).toBe("OK");
      expect(await sent("approval:2.1:ann")).toBe("TAKEN");
      expect(await sent("review:1")).toBe("OK");
      await committed(current.store, lease, parked, { openSlots: [] });
      expect(await sent("approval:2.1:eve")).toBe("GONE");
      expect(await sent("review:1")).toBe("TAKEN");
    });

    test("of two decisions one wins, whatever else is said about what is asked", async () => {
      const { lease, record } = await held(current.store);
      const send = (slot: string, by: string) => current.store.send(aSend(record, slot, { by }));
      await committed(current.store, lease, record, { openSlots: ["approval:2.1"] });
      expect(await send("approval:2.1:say:q1", "cfo")).toMatchObject({ answer: "OK" });
      const answers = await Promise.all([send("approval:2.1", "ann"), send("approval:2.1", "bob")]);
      expect(answers.map(({ answer }) => answer).sort()).toEqual(["OK", "TAKEN"]);
      expect(await send("approval:2.1:say:q2", "cfo")).toMatchObject({ answer: "OK" });
      expect(await send("approval:2.10", "eve")).toMatchObject({ answer: "GONE" });
      expect(await current.store.inbox(record)).toHaveLength(3);
    });

    test("what is said without deciding is bounded", async () => {
      const { lease, record } = await held(current.store);
      await committed(current.store, lease, record, { openSlots: ["approval:2.1"] });
      for (let n = 1; n <= maxEntriesWaiting; n += 1) await current.store.send(aSend(record, `event:${n}`));
      const say = current.store.send(aSend(record, "approval:2.1:say:q"));
      await expect(say).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
      expect(await current.store.send(aSend(record, "approval:2.1"))).toMatchObject({ answer: "OK" });
    });

    test("a verb on a review that is over is told who was there first, or GONE", async () => {
      const { lease, record } = await held(current.store);
      const parked = await committed(current.store, lease, record, { openSlots: ["review:1"] });
      const verb = aSend(record, "review:1", { by: "Ann" });
      await current.store.send(verb);
      await committed(current.store, lease, parked, { openSlots: ["review:2"], consumed: ["review:1"], seen: 1 });
      expect(await current.store.send(verb)).toMatchObject({ answer: "DUP" });
      expect(await current.store.send(aSend(record, "review:1"))).toMatchObject({ answer: "TAKEN", by: "Ann" });
      expect(await current.store.send(aSend(record, "review:2"))).toMatchObject({ answer: "OK" });
      expect(await current.store.send(aSend(record, "review:3"))).toMatchObject({ answer: "GONE" });
    });
  });

  describe("and the run becomes due", () => {
    test("at rest, with a wake-up", async () => {
      const { lease, record } = await held(current.store);
      await current.store.release(lease, 0, epochMs + 1_000_000);
      const answer = await current.store.send(aSend(record, "event:1"));
      expect(answer).toMatchObject({ answer: "OK", wake: { run: refOf(record), wake: 2 } });
      await current.bench.advance(5_000);
      expect(await sweep(current.store)).toMatchObject([{ run: refOf(record), wake: 2 }]);
    });

    test("not while it is held: its driver hears of it, and its time stays", async () => {
      const { record } = await held(current.store);
      expect(await current.store.send(aSend(record, "event:1"))).toMatchObject({ answer: "OK", wake: null });
      await current.bench.advance(leaseMs - 1);
      expect(await sweep(current.store)).toEqual([]);
      await current.bench.advance(1);
      expect(await sweep(current.store)).toHaveLength(1);
    });

    test("when its lease has lapsed", async () => {
      const { record } = await held(current.store);
      await current.bench.advance(leaseMs);
      expect(await current.store.send(aSend(record, "event:1"))).toMatchObject({ wake: { run: refOf(record) } });
    });

    test("again and again without pushing its next look into the future", async () => {
      const record = await created(current.store);
      for (let n = 0; n < 20; n += 1) {
        await current.bench.advance(200);
        expect(await current.store.send(aSend(record, `event:${n}`))).toMatchObject({ wake: { wake: 1 } });
      }
      await current.bench.advance(1_000);
      expect(await sweep(current.store)).toHaveLength(1);
    });

    test("by a late result after its end, and rests again once it was taken", async () => {
      const record = await ended(current.store);
      expect(await current.store.send(aSend(record, "late:1:1"))).toMatchObject({ wake: { run: refOf(record) } });
      const { lease } = await acquired(current.store, record);
      const parked = await committed(current.store, lease, record, {
        record: { status: "needs_review", endedAt: null },
        consumed: ["late:1:1"],
        seen: 1,
        release: true,
        openSlots: ["review:1"],
      });
      expect(await current.store.read(record)).toEqual(parked);
      expect(await current.store.send(aSend(record, "review:1"))).toMatchObject({ answer: "OK" });
      expect(await current.store.list({ status: "needs_review", limit: 5 })).toMatchObject({
        runs: [{ id: record.id }],
      });
    });
  });

  describe("is bounded", () => {
    test("events pile up to a limit, verbs and cancels still get in", async () => {
      const record = await created(current.store);
      const event = (n: number) => current.store.send(aSend(record, `event:${n}`));
      await Promise.all(Array.from({ length: maxEntriesWaiting }, (_, n) => event(n)));
      await expect(event(maxEntriesWaiting)).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
      expect(await current.store.send(aSend(record, "cancel"))).toMatchObject({ answer: "OK" });
      expect(await event(0)).toMatchObject({ answer: "TAKEN" });
    });

    test("of very many slots taken the oldest are forgotten", async () => {
      const { lease, record } = await held(current.store);
      let at = record;
      for (let sent = 0; sent <= maxSlotsTaken; ) {
        const count = Math.min(1_000, maxSlotsTaken + 1 - sent);
        const slots = Array.from({ length: count }, (_, n) => `event:${sent + n}`);
        await Promise.all(slots.map((slot) => current.store.send(aSend(record, slot, { commandId: fresh("c") }))));
        sent += count;
        at = await committed(current.store, lease, at, { consumed: slots, seen: sent });
      }
      expect(await current.store.send(aSend(record, "event:0"))).toMatchObject({ answer: "OK" });
      expect(await current.store.send(aSend(record, `event:${maxSlotsTaken}`))).toMatchObject({ answer: "TAKEN" });
      const oldestKept = maxSlotsTaken + 1 - slotsKept;
      expect(await current.store.send(aSend(record, `event:${oldestKept}`))).toMatchObject({ answer: "TAKEN" });
    });
  });
}
