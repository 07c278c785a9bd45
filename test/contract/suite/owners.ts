import { describe, expect, test } from "vitest";
import type { OwnerRef } from "../../../src/core/ports.ts";
import { fresh } from "../../support/records.ts";
import { acquired, type Current, committed, epochMs, held, leaseMs, sweep } from "./harness.ts";

export function ownerContract(current: Current): void {
  const registered = async (name = fresh("worker")): Promise<OwnerRef> => {
    const owner = { owner: name, ...(await current.bench.pulses.open()), compared: null };
    await current.store.hello(owner, []);
    return owner;
  };

  test("a dead owner's leases end at once: its runs are due and can be taken, and its death is told", async () => {
    const owner = await registered();
    const runs = [await held(current.store, {}, owner.owner), await held(current.store, {}, owner.owner)];
    const other = await held(current.store, {}, "worker-2");
    expect(await current.store.expire(owner)).toEqual({ expired: 2, more: false });
    expect(await sweep(current.store)).toHaveLength(2);
    for (const { record } of runs) {
      const { answer } = await acquired(current.store, record);
      expect(answer).toMatchObject({ takenFrom: { owner: owner.owner, died: true }, suspect: true });
    }
    const again = await current.store.acquire({ run: other.record, owner: "w", token: "t", leaseMs });
    expect(again).toMatchObject({ answer: "HELD" });
  });

  test("leases given back or taken over before are not ended", async () => {
    const owner = await registered();
    const [given, lost] = [await held(current.store, {}, owner.owner), await held(current.store, {}, owner.owner)];
    await current.store.release(given.lease, 0, null);
    await current.bench.advance(leaseMs);
    await acquired(current.store, lost.record, "worker-2");
    expect(await current.store.expire(owner)).toEqual({ expired: 0, more: false });
    const next = await current.store.acquire({ run: lost.record, owner: "w", token: "t", leaseMs });
    expect(next).toMatchObject({ answer: "HELD" });
  });

  test("all that are registered are told, each with the world that it has compared", async () => {
    const world = await current.store.world();
    expect(world).toBe(await current.store.world());
    const [mine, other] = [await registered(), await registered()];
    await current.store.hello({ ...mine, compared: world }, []);
    const owners = await current.store.owners();
    expect(owners.find(({ owner }) => owner === mine.owner)).toEqual({ ...mine, compared: world });
    expect(owners.find(({ owner }) => owner === other.owner)).toEqual(other);
    await current.store.goodbye(mine.owner);
    expect((await current.store.owners()).map(({ owner }) => owner)).not.toContain(mine.owner);
  });

  test("more than a hundred are ended in several calls", async () => {
    const owner = await registered();
    await Promise.all(Array.from({ length: 250 * current.store.shards }, () => held(current.store, {}, owner.owner)));
    let expired = 0;
    for (let more = true; more; ) {
      const answer = await current.store.expire(owner);
      expect(answer.expired).toBeLessThanOrEqual(100 * current.store.shards);
      expired += answer.expired;
      more = answer.more;
    }
    expect(expired).toBe(250 * current.store.shards);
  });

  test("an owner that registered again meanwhile keeps its leases", async () => {
    const owner = await registered();
    const { record } = await held(current.store, {}, owner.owner);
    await registered(owner.owner);
    expect(await current.store.expire(owner)).toEqual({ expired: 0, more: false });
    const next = await current.store.acquire({ run: record, owner: "w", token: "t", leaseMs });
    expect(next).toMatchObject({ answer: "HELD" });
  });

  test("an owner that was thought dead and is not goes on where nobody has taken over", async () => {
    const owner = await registered();
    const { lease, record } = await held(current.store, {}, owner.owner);
    await current.store.expire(owner);
    const next = await committed(current.store, lease, record);
    expect(await current.store.acquire({ run: record, owner: "w", token: "t", leaseMs })).toMatchObject({
      answer: "HELD",
    });
    await current.store.hello(owner, []);
    expect(await current.store.expire(owner)).toEqual({ expired: 1, more: false });
    await acquired(current.store, record);
    expect(await current.store.read(record)).toEqual(next);
  });

  test("a lease that lapsed while its owner lives tells of no death", async () => {
    const owner = await registered();
    const { record } = await held(current.store, {}, owner.owner);
    await current.bench.advance(leaseMs);
    const { answer } = await acquired(current.store, record);
    expect(answer).toMatchObject({ takenFrom: { owner: owner.owner, died: false }, suspect: false });
  });

  test("a lease that lapsed and whose owner is registered nowhere tells of a death", async () => {
    const { record } = await held(current.store, {}, "never-registered");
    await current.bench.advance(leaseMs);
    const { answer } = await acquired(current.store, record);
    expect(answer).toMatchObject({ takenFrom: { owner: "never-registered", died: true }, suspect: true });
  });

  test("an owner that says goodbye leaves what it still held free at once, and that is no death", async () => {
    const owner = await registered();
    const { record } = await held(current.store, {}, owner.owner);
    await current.store.goodbye(owner.owner);
    expect(await sweep(current.store)).toMatchObject([{ run: { id: record.id } }]);
    const { answer } = await acquired(current.store, record);
    expect(answer).toMatchObject({ takenFrom: { owner: owner.owner, died: false }, suspect: false });
    await current.store.goodbye(owner.owner);
    await current.store.goodbye("nobody");
  });

  describe("poison", () => {
    const dead = async (owner: OwnerRef) => {
      await current.store.expire(owner);
    };

    test("a run stays suspect until a commit records an outcome", async () => {
      const owner = await registered();
      const { record } = await held(current.store, {}, owner.owner);
      await dead(owner);
      const second = await acquired(current.store, record);
      const sent = await committed(current.store, second.lease, record, { taken: [{ what: "sent", seq: 1 }] });
      await current.store.release(second.lease, 0, null);
      const third = await acquired(current.store, record);
      expect(third.answer.suspect).toBe(true);
      const outcome = { what: "outcome", seq: 1, send: 1, outcome: "succeeded", proof: "answer" } as const;
      await committed(current.store, third.lease, sent, { taken: [outcome], release: true });
      expect((await acquired(current.store, record)).answer.suspect).toBe(false);
    });

    test("when an owner dies while it drives a suspect, only the suspect's takeover tells of the death", async () => {
      const owner = await registered();
      const innocent = await held(current.store, {}, owner.owner);
      const guilty = await held(current.store, {}, owner.owner);
      await current.store.suspect(owner.owner, guilty.record);
      await dead(owner);
      const taken = async (run: typeof guilty) => (await acquired(current.store, run.record)).answer.takenFrom;
      expect(await taken(innocent)).toEqual({ owner: owner.owner, died: false });
      expect(await taken(guilty)).toEqual({ owner: owner.owner, died: true });
    });

    test("an owner that has put its suspect down counts on all its runs again", async () => {
      const owner = await registered();
      const one = await held(current.store, {}, owner.owner);
      await current.store.suspect(owner.owner, one.record);
      await current.store.suspect(owner.owner, null);
      const other = await held(current.store, {}, owner.owner);
      await dead(owner);
      expect((await acquired(current.store, other.record)).answer.takenFrom).toMatchObject({ died: true });
    });
  });

  describe("pulses", () => {
    test("an owner whose pulse is gone is lost, one whose pulse beats is not", async () => {
      const [alive, dying] = [await registered(), await registered()];
      await current.bench.pulses.kill(dying.pulse ?? "");
      await expect.poll(() => lostByAnother()).toEqual([dying]);
      await current.store.expire(dying);
      expect(await lostByAnother()).toEqual([]);
      await current.bench.pulses.kill(alive.pulse ?? "");
      await expect.poll(() => lostByAnother()).toEqual([alive]);
    });

    test("an owner without a pulse is never lost by it", async () => {
      await current.store.hello({ owner: "no-pulse", serverId: null, pulse: null, compared: null }, []);
      expect(await lostByAnother()).toEqual([]);
    });

    test("an owner lives until it is forgotten, whether its pulse beats or not; without a pulse nobody can say so", async () => {
      const [mine, dying] = [await registered(), await registered()];
      await current.store.hello({ owner: "blind", serverId: null, pulse: null, compared: null }, []);
      const names = [mine.owner, dying.owner, "blind", "nobody"];
      await current.bench.pulses.kill(dying.pulse ?? "");
      expect(new Set(await current.store.living(names))).toEqual(new Set([mine.owner, dying.owner]));
      await current.store.expire(dying);
      expect(await current.store.living(names)).toEqual([mine.owner]);
      expect(await current.store.living([])).toEqual([]);
      await current.store.goodbye(mine.owner);
      expect(await current.store.living(names)).toEqual([]);
    });

    const lostByAnother = () => current.bench.lostByAnother();
  });

  test("nothing of an owner is left after its end", async () => {
    const owner = await registered();
    await held(current.store, {}, owner.owner);
    await current.store.suspect(owner.owner, { tenant: "default", id: "x" });
    await current.store.expire(owner);
    await current.bench.pulses.kill(owner.pulse ?? "");
    expect(await current.bench.lostByAnother()).toEqual([]);
    expect(await current.store.expire(owner)).toEqual({ expired: 0, more: false });
    expect(await current.store.now()).toBeGreaterThanOrEqual(epochMs);
  });
}
