/** Who did what: kept by the write that it is, the newest of each shard. */
import { expect, test } from "vitest";
import { type Act, maxActsKept } from "../../../src/core/index.ts";
import { aCreate, aHeartbeat, aSend, fresh, refOf } from "../../support/records.ts";
import { type Current, epochMs } from "./harness.ts";

export function actContract(current: Current): void {
  const anAct = (patch: Partial<Act> = {}): Act => ({
    ...{ act: "kill", by: "ann", reason: "it says „yes“\n", run: null, about: null },
    ...patch,
  });
  const kept = async (limit = 100) => (await current.store.acts({ limit })).acts;
  const started = async (id = fresh("run")) => {
    const create = aCreate({ id });
    expect((await current.store.create(create)).answer).toBe("OK");
    return refOf(create.record);
  };
  const words = async () => (await kept()).map(({ act }) => act);

  test("an act is kept as it was noted, with the store's time; the newest comes first", async () => {
    const first = anAct({ run: { tenant: "acme", id: "r-1" } });
    await current.store.note(first);
    await current.bench.advance(1_000);
    await current.store.note(anAct({ act: "gc", reason: null, about: "all" }));
    await current.store.note(anAct({ act: "reveal" }));
    expect(await words()).toEqual(["reveal", "gc", "kill"]);
    expect((await kept())[2]).toEqual({ id: expect.any(String), at: epochMs, ...first });
    const later = await current.store.acts({ limit: 100, since: epochMs + 1_000 });
    expect(later.acts.map(({ act }) => act)).toEqual(["reveal", "gc"]);
  });

  test("pages name each act once, also of one ms in many shards", async () => {
    const runs = Array.from({ length: 12 }, () => fresh("run"));
    for (const id of runs) {
      const run = await started(id);
      await current.store.send(aSend(run, "event:1", { act: anAct({ run }) }));
    }
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await current.store.acts({ limit: 5, ...(cursor === null ? {} : { cursor }) });
      seen.push(...page.acts.map(({ run }) => run?.id ?? ""));
      cursor = page.cursor;
    } while (cursor !== null);
    expect([...seen].sort()).toEqual([...runs].sort());
    await expect(current.store.acts({ limit: 5, cursor: "nonsense" })).rejects.toMatchObject({
      code: "CURSOR_INVALID",
    });
  });

  test("a request is kept with its act where it is taken, and not where it is refused or sent again", async () => {
    const run = await started();
    const command = aSend(run, "cancel", { act: anAct({ run }) });
    expect((await current.store.send(command)).answer).toBe("OK");
    expect((await current.store.send(command)).answer).toBe("DUP");
    expect((await current.store.send({ ...command, commandId: "other" })).answer).toBe("TAKEN");
    const nobody = aSend({ tenant: "default", id: "nobody" }, "event:1", { act: anAct() });
    expect((await current.store.send(nobody)).answer).toBe("ABSENT");
    await current.store.send(aSend(run, "event:2"));
    expect(await words()).toEqual(["kill"]);
  });

  test("a plan that is taken, a schedule that is written and a worker that is asked to leave are kept once", async () => {
    const id = fresh("plan");
    await current.store.putPlan({ id, body: {}, expiresAt: epochMs + 1_000 });
    const take = (commandId: string) =>
      current.store.takePlan({ id, by: "ann", commandId, act: anAct({ act: "replay" }) });
    for (const commandId of ["c1", "c1", "c2"]) await take(commandId);
    expect(await words()).toEqual(["replay"]);
    const remove = { id: "none", schedule: null, act: anAct({ act: "remove_schedule" }) };
    expect((await current.store.putSchedule({ ...remove, expects: 3 })).answer).toBe("STALE");
    expect((await current.store.putSchedule({ ...remove, expects: null })).answer).toBe("OK");
    await current.store.beat(aHeartbeat({ id: "w-1" }));
    await current.store.askToDrain({ worker: "w-1", by: "bob", reason: "deploy" });
    await current.store.askToDrain({ worker: "w-1", by: "ann", reason: "me too" });
    await current.store.askToDrain({ worker: "nobody", by: "ann", reason: "x" });
    const drain = { act: "drain", by: "bob", reason: "deploy", run: null, about: "worker w-1" };
    expect((await kept()).find(({ act }) => act === "drain")).toMatchObject(drain);
    expect([...(await words())].sort()).toEqual(["drain", "remove_schedule", "replay"]);
  });

  test("of more than there is room for the newest are kept", async () => {
    for (let n = 0; n < maxActsKept + 3; n += 500) {
      const some = Array.from({ length: Math.min(500, maxActsKept + 3 - n) }, (_, at) =>
        anAct({ about: String(n + at) }),
      );
      await Promise.all(some.map((act) => current.store.note(act)));
    }
    const all = await kept(2 * maxActsKept);
    expect([all.length, all[0]?.about, all.at(-1)?.about]).toEqual([maxActsKept, String(maxActsKept + 2), "3"]);
  });
}
