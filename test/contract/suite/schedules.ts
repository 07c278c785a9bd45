import { expect, test } from "vitest";
import type { Schedule } from "../../../src/core/index.ts";
import { fresh } from "../../support/records.ts";
import { type Current, epochMs } from "./harness.ts";

export function scheduleContract(current: Current): void {
  const aSchedule = (patch: Partial<Schedule> = {}): Schedule => ({
    id: fresh("schedule"),
    tenant: "default",
    saga: "order",
    version: 1,
    input: { text: "it says „yes“\n" },
    priority: 0,
    timing: { cron: "0 3 * * *", timeZone: "Europe/Berlin" },
    overlap: "skip",
    missed: "skip",
    revision: 1,
    createdAt: epochMs,
    paused: null,
    doneUntil: epochMs,
    pending: [],
    current: null,
    skipped: 0,
    problem: null,
    ...patch,
  });
  const put = (schedule: Schedule, expects: number | null) =>
    current.store.putSchedule({ id: schedule.id, schedule, expects });
  const ok = { answer: "OK", now: epochMs };
  const stale = { answer: "STALE", now: epochMs };

  test("a schedule lies there as it was put", async () => {
    const schedule = aSchedule();
    expect(await current.store.getSchedule(schedule.id)).toEqual({ schedule: null, now: epochMs });
    expect(await put(schedule, null)).toEqual(ok);
    expect(await current.store.getSchedule(schedule.id)).toEqual({ schedule, now: epochMs });
  });

  test("it is written on the revision it was decided on, and on no other", async () => {
    const schedule = aSchedule();
    await put(schedule, null);
    expect(await put({ ...schedule, skipped: 9 }, null)).toEqual(stale);
    expect(await put({ ...schedule, revision: 2, pending: [epochMs] }, 1)).toEqual(ok);
    expect(await put({ ...schedule, revision: 2, pending: [1] }, 1)).toEqual(stale);
    expect((await current.store.getSchedule(schedule.id)).schedule).toEqual({
      ...schedule,
      revision: 2,
      pending: [epochMs],
    });
    expect(await put(aSchedule(), 1)).toEqual(stale);
  });

  test("of twenty who decide on one revision at once one writes", async () => {
    const schedule = aSchedule();
    await put(schedule, null);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => put({ ...schedule, revision: 2, skipped: n }, 1)),
    );
    expect(answers.filter(({ answer }) => answer === "OK")).toHaveLength(1);
    const won = answers.findIndex(({ answer }) => answer === "OK");
    expect((await current.store.getSchedule(schedule.id)).schedule?.skipped).toBe(won);
  });

  test("it is removed on its revision, and is gone", async () => {
    const schedule = aSchedule({ revision: 4 });
    await put(schedule, null);
    const remove = (expects: number) => current.store.putSchedule({ id: schedule.id, schedule: null, expects });
    expect(await remove(3)).toEqual(stale);
    expect(await remove(4)).toEqual(ok);
    expect(await remove(4)).toEqual(stale);
    expect((await current.store.getSchedule(schedule.id)).schedule).toBeNull();
  });

  test("all are listed, by id", async () => {
    const schedules = [aSchedule({ id: "b" }), aSchedule({ id: "a" }), aSchedule({ id: "c" })];
    expect((await current.store.listSchedules()).schedules).toEqual([]);
    for (const schedule of schedules) await put(schedule, null);
    expect((await current.store.listSchedules()).schedules.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  test("there is room for a thousand, and those there are can still be changed", async () => {
    const many = Array.from({ length: 1_000 }, (_, n) => aSchedule({ id: `s${n}` }));
    await Promise.all(many.map((schedule) => put(schedule, null)));
    expect((await put(aSchedule({ id: "one-more" }), null)).answer).toBe("FULL");
    expect((await put(aSchedule({ id: "s7", revision: 2 }), 1)).answer).toBe("OK");
    await current.store.putSchedule({ id: "s0", schedule: null, expects: 1 });
    expect((await put(aSchedule({ id: "one-more" }), null)).answer).toBe("OK");
  });
}
