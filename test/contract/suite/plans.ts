import { describe, expect, test } from "vitest";
import { fresh } from "../../support/records.ts";
import { type Current, epochMs } from "./harness.ts";

const hourMs = 3_600_000;

export function planContract(current: Current): void {
  const body = { mode: "resume", calls: [{ step: "charge", reason: "it says „yes“\n" }], none: null };
  const put = async (id = fresh("plan"), expiresAt = epochMs + hourMs) => {
    expect(await current.store.putPlan({ id, body, expiresAt })).toEqual({ answer: "OK", now: epochMs });
    return id;
  };
  const take = (id: string, by: string, commandId: string) => current.store.takePlan({ id, by, commandId });
  const say = (id: string, by: string, act: string, suspended: { by: string; reason: string } | null) =>
    current.store.setSuspension({ id, suspended, act: { act, by, reason: null, run: null, about: `batch ${id}` } });
  const suspend = (id: string, by: string) => say(id, by, "suspend_batch", { by, reason: `${by} says „no“\n` });
  const resume = (id: string, by: string) => say(id, by, "resume_batch", null);

  test("a plan lies there as it was put, taken by nobody", async () => {
    const id = await put();
    const kept = { body, expiresAt: epochMs + hourMs, taken: null, results: {}, suspended: null };
    expect(await current.store.getPlan(id)).toEqual({ answer: "OK", ...kept, now: epochMs });
    expect(await current.store.getPlan(fresh("plan"))).toEqual({ answer: "ABSENT", now: epochMs });
  });

  test("batches are listed until they expire, the last to expire first; plans of one run are not", async () => {
    await put();
    const ids = ["b", "c", "a"].map((name) => fresh(name));
    const [first = "", second = "", third = ""] = ids;
    const times = [1, 3, 2].map((hours) => epochMs + hours * hourMs);
    for (const [at, id] of ids.entries()) {
      const command = { id, body, expiresAt: times[at] as number, isBatch: true };
      await current.store.putPlan(command);
      expect((await current.store.putPlan({ ...command, expiresAt: epochMs + 9 * hourMs })).answer).toBe("EXISTS");
    }
    const listed = async (limit: number) => (await current.store.listBatches(limit)).batches.map(({ id }) => id);
    expect(await listed(10)).toEqual([second, third, first]);
    expect(await listed(2)).toEqual([second, third]);
    expect((await current.store.listBatches(1)).batches).toEqual([{ id: second, expiresAt: epochMs + 3 * hourMs }]);
    await current.bench.advance(hourMs);
    expect(await listed(10)).toEqual([second, third]);
  });

  test("another one under its id is refused, and it stands as it was", async () => {
    const id = await put();
    await take(id, "ann", "c1");
    const other = await current.store.putPlan({ id, body: { mode: "fork" }, expiresAt: epochMs + 9 * hourMs });
    expect(other.answer).toBe("EXISTS");
    expect(await current.store.getPlan(id)).toMatchObject({ body, expiresAt: epochMs + hourMs, taken: { by: "ann" } });
  });

  test("of twenty commands that take it at once one does, the others are told whose", async () => {
    const id = await put();
    const commands = Array.from({ length: 20 }, (_, n) => `c${n}`);
    const answers = await Promise.all(commands.map((command) => take(id, `by ${command}`, command)));
    const won = commands[answers.findIndex(({ answer }) => answer === "OK")];
    const others = answers.filter(({ answer }) => answer !== "OK");
    expect(others).toHaveLength(19);
    for (const other of others) {
      expect(other).toEqual({ answer: "TAKEN", by: `by ${won}`, commandId: won, now: epochMs });
    }
    expect(await current.store.getPlan(id)).toMatchObject({ taken: { by: `by ${won}`, commandId: won } });
  });

  test("the same command takes it again and again", async () => {
    const id = await put();
    expect(await take(id, "ann", "c1")).toEqual({ answer: "OK", now: epochMs });
    expect(await take(id, "ann", "c1")).toEqual({ answer: "DUP", now: epochMs });
    expect(await take(id, "bob", "c1")).toEqual({ answer: "DUP", now: epochMs });
  });

  test("at its time it is gone for everybody, and not before", async () => {
    const id = await put();
    await current.bench.advance(hourMs - 1);
    expect(await current.store.getPlan(id)).toMatchObject({ answer: "OK" });
    await current.bench.advance(1);
    const absent = { answer: "ABSENT", now: epochMs + hourMs };
    expect(await current.store.getPlan(id)).toEqual(absent);
    expect(await take(id, "ann", "c1")).toEqual(absent);
    expect(await current.store.noteResult(id, 0, "done")).toEqual(absent);
    expect(await suspend(id, "ann")).toEqual(absent);
    expect(await resume(id, "ann")).toEqual(absent);
    expect(await current.store.getSuspension(id)).toEqual(absent);
    const again = { id, body: { mode: "fork" }, expiresAt: epochMs + 9 * hourMs };
    expect(await current.store.putPlan(again)).toMatchObject({ answer: "OK" });
    expect(await current.store.getPlan(id)).toMatchObject({ body: { mode: "fork" }, taken: null, results: {} });
  });

  test("the first word on an item of a batch stands", async () => {
    const id = await put();
    expect(await current.store.noteResult(id, 0, { result: "done" })).toEqual({ answer: "OK", now: epochMs });
    expect(await current.store.noteResult(id, 12, { result: "failed" })).toMatchObject({ answer: "OK" });
    expect(await current.store.noteResult(id, 0, { result: "failed" })).toMatchObject({ answer: "KNOWN" });
    expect(await current.store.getPlan(id)).toMatchObject({
      results: { 0: { result: "done" }, 12: { result: "failed" } },
    });
    expect(await current.store.noteResult(fresh("plan"), 0, "done")).toMatchObject({ answer: "ABSENT" });
  });

  describe("a batch that is suspended", () => {
    const annsWord = { by: "ann", reason: "ann says „no“\n" };

    test("says so to everybody who asks, until it is resumed", async () => {
      const id = await put();
      const free = { answer: "OK", suspended: null };
      expect(await current.store.getSuspension(id)).toEqual({ ...free, now: epochMs });
      await current.bench.advance(1_000);
      const suspended = { ...annsWord, at: epochMs + 1_000 };
      const now = epochMs + 1_000;
      expect(await suspend(id, "ann")).toEqual({ answer: "OK", was: null, suspended, now });
      expect(await current.store.getSuspension(id)).toEqual({ answer: "OK", suspended, now });
      expect(await current.store.getPlan(id)).toMatchObject({ body, taken: null, results: {}, suspended });
      await current.bench.advance(1_000);
      const later = epochMs + 2_000;
      expect(await resume(id, "bob")).toEqual({ answer: "OK", was: suspended, suspended: null, now: later });
      expect(await current.store.getSuspension(id)).toEqual({ ...free, now: later });
      expect(await current.store.getPlan(id)).toMatchObject({ body, suspended: null });
      expect(await suspend(id, "bob")).toMatchObject({ was: null, suspended: { by: "bob", at: later } });
    });

    test("is so by the first word of twenty, which the others are told", async () => {
      const id = await put();
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => suspend(id, `by ${n}`)));
      const told = answers.flatMap((each) => (each.answer === "OK" ? [each] : []));
      expect(told).toHaveLength(20);
      const [first, ...others] = told.sort((a) => (a.was === null ? -1 : 1));
      expect(first).toMatchObject({ was: null, suspended: { at: epochMs } });
      for (const { was, suspended } of others) expect([was, suspended]).toEqual([first?.suspended, first?.suspended]);
      expect(await current.store.getSuspension(id)).toMatchObject({ suspended: first?.suspended });
    });

    test("keeps what came of its items, and takes what comes of one that was under way", async () => {
      const id = await put();
      await current.store.noteResult(id, 0, { result: "done" });
      await suspend(id, "ann");
      expect(await current.store.noteResult(id, 1, { result: "done" })).toMatchObject({ answer: "OK" });
      expect(await current.store.noteResult(id, 1, { result: "failed" })).toMatchObject({ answer: "KNOWN" });
      await resume(id, "ann");
      expect(await current.store.getPlan(id)).toMatchObject({
        results: { 0: { result: "done" }, 1: { result: "done" } },
      });
    });

    test("is no other one: neither the one beside it, nor the next one under its id", async () => {
      const [id, other] = [await put(), await put()];
      await suspend(id, "ann");
      expect(await current.store.getSuspension(other)).toMatchObject({ suspended: null });
      await current.bench.advance(hourMs);
      await current.store.putPlan({ id, body, expiresAt: epochMs + 9 * hourMs });
      expect(await current.store.getSuspension(id)).toMatchObject({ answer: "OK", suspended: null });
    });

    test("was somebody's act, and so is the end of it; a word that changes nothing is nobody's", async () => {
      const id = await put();
      await resume(id, "eve");
      await suspend(id, "ann");
      await suspend(id, "bob");
      await resume(id, "bob");
      await resume(id, "ann");
      await suspend(fresh("plan"), "ann");
      const { acts } = await current.store.acts({ limit: 100 });
      expect(acts.map(({ act, by, about }) => [act, by, about])).toEqual([
        ["resume_batch", "bob", `batch ${id}`],
        ["suspend_batch", "ann", `batch ${id}`],
      ]);
    });

    test("that is not there: there is nothing to suspend, to resume or to ask", async () => {
      const id = fresh("plan");
      const absent = { answer: "ABSENT", now: epochMs };
      expect([await suspend(id, "ann"), await resume(id, "ann")]).toEqual([absent, absent]);
      expect(await current.store.getSuspension(id)).toEqual(absent);
    });
  });

  test("an id that could not stand in a key is refused: ID_INVALID", async () => {
    const refused = { code: "ID_INVALID" };
    await expect(current.store.getPlan("a:b")).rejects.toMatchObject(refused);
    await expect(current.store.putPlan({ id: "", body, expiresAt: epochMs + 1 })).rejects.toMatchObject(refused);
    await expect(take("{x}", "ann", "c1")).rejects.toMatchObject(refused);
    await expect(suspend("a:b", "ann")).rejects.toMatchObject(refused);
    await expect(current.store.getSuspension("a:b")).rejects.toMatchObject(refused);
  });
}
