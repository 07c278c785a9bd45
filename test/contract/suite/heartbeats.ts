/** What processes say of themselves, and how one of them is asked to leave. */
import { expect, test } from "vitest";
import { heartbeatKeptMs, staleAfterMs } from "../../../src/core/index.ts";
import { aHeartbeat } from "../../support/records.ts";
import { type Current, epochMs } from "./harness.ts";

export function heartbeatContract(current: Current): void {
  const ids = async () => (await current.store.heartbeats()).heartbeats.map(({ id }) => id);

  test("the last heartbeat of each incarnation is kept, with the store's time", async () => {
    await current.store.beat(aHeartbeat({ id: "w-1", rssBytes: 1 }));
    await current.bench.advance(5_000);
    const second = aHeartbeat({ id: "w-1", rssBytes: 2, runs: [{ tenant: "acme", id: "r-1" }] });
    expect(await current.store.beat(second)).toEqual({
      drain: null,
      supervisedAt: null,
      tells: false,
      now: epochMs + 5_000,
    });
    const other = aHeartbeat({ id: "w-0" });
    await current.store.beat(other);
    expect(await current.store.heartbeats()).toEqual({
      heartbeats: [
        { ...other, at: epochMs + 5_000 },
        { ...second, at: epochMs + 5_000 },
      ],
      drains: {},
      now: epochMs + 5_000,
    });
  });

  test("one that falls silent is forgotten after a while, with what was asked of it", async () => {
    await current.store.beat(aHeartbeat({ id: "w-1" }));
    await current.store.askToDrain({ worker: "w-1", by: "ann", reason: "deploy" });
    await current.bench.advance(heartbeatKeptMs - 1);
    expect(await ids()).toEqual(["w-1"]);
    await current.bench.advance(1);
    expect(await current.store.heartbeats()).toMatchObject({ heartbeats: [], drains: {} });
  });

  test("a goodbye takes it away at once", async () => {
    await current.store.hello({ owner: "w-1", serverId: null, pulse: null, compared: null }, []);
    await current.store.beat(aHeartbeat({ id: "w-1" }));
    await current.store.askToDrain({ worker: "w-1", by: "ann", reason: "deploy" });
    await current.store.goodbye("w-1");
    expect(await current.store.heartbeats()).toMatchObject({ heartbeats: [], drains: {} });
  });

  test("whoever is asked to leave hears it with its next heartbeat; of two who ask, the first counts", async () => {
    await current.store.beat(aHeartbeat({ id: "w-1" }));
    await current.store.beat(aHeartbeat({ id: "w-2" }));
    const drain = { by: "ann", reason: "deploy", at: epochMs };
    const asked = await current.store.askToDrain({ worker: "w-1", by: "ann", reason: "deploy" });
    expect(asked).toEqual({ answer: "OK", drain, now: epochMs });
    await current.bench.advance(1_000);
    const again = await current.store.askToDrain({ worker: "w-1", by: "bob", reason: "me too" });
    expect(again).toMatchObject({ answer: "OK", drain });
    expect(await current.store.beat(aHeartbeat({ id: "w-1" }))).toMatchObject({ drain });
    expect(await current.store.beat(aHeartbeat({ id: "w-2" }))).toMatchObject({ drain: null });
    expect((await current.store.heartbeats()).drains).toEqual({ "w-1": drain });
  });

  test("nobody can be asked that was not heard of", async () => {
    const asked = await current.store.askToDrain({ worker: "nobody", by: "ann", reason: "deploy" });
    expect(asked).toEqual({ answer: "ABSENT", drain: null, now: epochMs });
  });

  test("workers hear when a supervisor was last there, until that is long ago", async () => {
    await current.store.beat(aHeartbeat({ id: "s-1", role: "supervisor" }));
    await current.bench.advance(60_000);
    expect(await current.store.beat(aHeartbeat({ id: "w-1" }))).toMatchObject({ supervisedAt: epochMs });
  });

  test("of several supervisors the first tells, until it says goodbye or is stale; a worker never does", async () => {
    const tells = async (id: string, role: "supervisor" | "worker" = "supervisor") =>
      (await current.store.beat(aHeartbeat({ id, role }))).tells;
    expect([await tells("s-1"), await tells("s-2"), await tells("w-1", "worker")]).toEqual([true, false, false]);
    await current.bench.advance(staleAfterMs);
    expect([await tells("s-2"), await tells("s-1")]).toEqual([false, true]);
    await current.bench.advance(staleAfterMs + 1);
    expect([await tells("s-2"), await tells("s-1")]).toEqual([true, false]);
    await current.store.goodbye("s-1");
    expect(await tells("s-3")).toBe(false);
    await current.store.goodbye("s-2");
    expect([await tells("s-3"), await tells("s-1")]).toEqual([true, false]);
  });
}
