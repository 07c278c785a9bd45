import { describe, expect, test } from "vitest";
import type { LeaseRef, RenewAnswer } from "../../../src/core/index.ts";
import { Leases } from "../../../src/engine/lease.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

const lease = (id: string): LeaseRef => ({ run: { tenant: "default", id }, owner: "w", fence: 1, token: `t-${id}` });

function setup(answer: (ref: LeaseRef) => RenewAnswer["answer"] | "lost" = () => "OK", delayMs = 0) {
  const clock = new VirtualClock();
  const batches: string[][] = [];
  const troubles: string[] = [];
  const store = {
    shardOf: (run: { id: string }) => (run.id.startsWith("b") ? 1 : 0),
    renew: async (leases: readonly LeaseRef[]) => {
      batches.push(leases.map(({ run }) => run.id));
      if (delayMs > 0) await new Promise<void>((resolve) => void clock.after(delayMs, resolve));
      if (leases.some((ref) => answer(ref) === "lost")) throw new Error("no answer");
      const answers = leases.map((ref) => ({ run: ref.run, answer: answer(ref) as "OK" | "FENCED", position: 7 }));
      return { answers, now: 0 };
    },
  };
  const onTrouble = (where: string) => void troubles.push(where);
  const leases = new Leases({ store, clock, leaseMs: 10_000, renewMs: 1_000, marginMs: 2_000, onTrouble });
  leases.start();
  const told: string[] = [];
  const holder = (id: string) => ({
    fenced: () => void told.push(`${id} fenced`),
    renewed: (position: number) => void told.push(`${id} at ${position}`),
  });
  const hold = (id: string, sentAt = clock.monotonicMs()) => leases.hold(lease(id), sentAt, holder(id));
  return { clock, leases, batches, troubles, told, hold };
}

describe("trust in a lease", () => {
  test("runs from when the request that won it was sent, to the lease's end less the margin", () => {
    const { clock, hold } = setup();
    const sentAt = clock.monotonicMs() - 500;
    const held = hold("a", sentAt);
    expect(held.isTrusted(sentAt + 7_999)).toBe(true);
    expect(held.isTrusted(sentAt + 8_000)).toBe(false);
  });

  test("is prolonged by a renewal from when that was sent, not from when it was answered", async () => {
    const { clock, hold } = setup(() => "OK", 400);
    const start = clock.monotonicMs();
    const held = hold("a");
    await clock.advance(1_500);
    expect(held.isTrusted(start + 8_999)).toBe(true);
    expect(held.isTrusted(start + 9_000)).toBe(false);
  });

  test("is prolonged by a commit, and never shortened by an older answer", () => {
    const { clock, leases, hold } = setup();
    const now = clock.monotonicMs();
    const held = hold("a");
    leases.confirm(held, now + 3_000);
    leases.confirm(held, now + 1_000);
    expect(held.isTrusted(now + 10_999)).toBe(true);
  });

  test("ends by itself while renewals are not answered", async () => {
    const { clock, hold, troubles } = setup(() => "lost");
    const held = hold("a");
    await clock.advance(7_500);
    expect(held.isTrusted(clock.monotonicMs())).toBe(true);
    await clock.advance(500);
    expect(held.isTrusted(clock.monotonicMs())).toBe(false);
    expect(troubles.length).toBeGreaterThan(5);
  });
});

describe("renewal", () => {
  test("asks once a second, once per shard, for all leases of it", async () => {
    const { clock, hold, batches, told } = setup();
    for (const id of ["a1", "a2", "b1"]) hold(id);
    await clock.advance(1_000);
    expect(batches).toEqual([["a1", "a2"], ["b1"]]);
    expect(told).toEqual(["a1 at 7", "a2 at 7", "b1 at 7"]);
    await clock.advance(1_000);
    expect(batches).toHaveLength(4);
  });

  test("tells the holder that somebody else has the run", async () => {
    const { clock, hold, told } = setup((ref) => (ref.run.id === "a2" ? "FENCED" : "OK"));
    hold("a1");
    hold("a2");
    await clock.advance(1_000);
    expect(told).toEqual(["a1 at 7", "a2 fenced"]);
  });

  test("says nothing to a holder that gave its lease back meanwhile", async () => {
    const { clock, leases, hold, told } = setup(() => "FENCED", 300);
    const held = hold("a");
    await clock.advance(1_100);
    leases.drop(held);
    await clock.advance(1_000);
    expect(told).toEqual([]);
  });

  test("does not begin a second request for a shard while one is under way, and stops when told", async () => {
    const { clock, leases, hold, batches } = setup(() => "OK", 3_500);
    hold("a");
    await clock.advance(4_000);
    expect(batches).toHaveLength(1);
    leases.stop();
    await clock.advance(10_000);
    expect(batches).toHaveLength(1);
  });
});
