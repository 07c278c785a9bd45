/** The times of a schedule follow from its definition alone: across the days on which clocks are put forward and back, too. */
import { describe, expect, test } from "vitest";
import { dueTicks, nextTick, type Timing, timingProblem } from "../../src/core/company/calendar.ts";

const at = (text: string) => Date.parse(text);
const told = (ticks: readonly number[]) => ticks.map((tick) => new Date(tick).toISOString().replace(":00.000Z", "Z"));
const berlin = (cron: string): Timing => ({ cron, timeZone: "Europe/Berlin" });
const between = (timing: Timing, after: string, until: string) => told(dueTicks(timing, at(after), at(until)));

describe("every", () => {
  test("is at whole multiples since 1970, after one time and until another", () => {
    const timing = { everyMs: 900_000 };
    expect(between(timing, "2026-11-30T09:00:00Z", "2026-11-30T09:45:00Z")).toEqual([
      "2026-11-30T09:15Z",
      "2026-11-30T09:30Z",
      "2026-11-30T09:45Z",
    ]);
    expect(nextTick(timing, at("2026-11-30T09:15:00Z"))).toBe(at("2026-11-30T09:30:00Z"));
    expect(nextTick(timing, at("2026-11-30T09:15:01Z"))).toBe(at("2026-11-30T09:30:00Z"));
    expect(dueTicks(timing, at("2026-11-30T09:15:00Z"), at("2026-11-30T09:29:59Z"))).toEqual([]);
  });

  test("of very many it is the newest hundred", () => {
    const ticks = dueTicks({ everyMs: 1_000 }, 0, 86_400_000);
    expect([ticks.length, ticks[0], ticks.at(-1)]).toEqual([100, 86_400_000 - 99_000, 86_400_000]);
  });
});

describe("cron", () => {
  test("is read on the wall clock of its zone", () => {
    expect(between(berlin("0 9 * * 1"), "2026-07-01T00:00:00Z", "2026-07-14T00:00:00Z")).toEqual([
      "2026-07-06T07:00Z",
      "2026-07-13T07:00Z",
    ]);
    expect(
      between({ cron: "30 9 * * *", timeZone: "Asia/Kolkata" }, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
    ).toEqual(["2026-01-01T04:00Z"]);
    expect(told([nextTick(berlin("15 30 8 * * *"), at("2026-01-01T00:00:00Z")) ?? 0])).toEqual([
      "2026-01-01T07:30:15.000Z",
    ]);
  });

  test("a time that the clock skips ticks as much later as was skipped, once", () => {
    expect(between(berlin("30 2 * * *"), "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z")).toEqual([
      "2026-03-28T01:30Z",
      "2026-03-29T01:30Z",
      "2026-03-30T00:30Z",
    ]);
    // 02:00 is moved to 03:00, where 03:00 is: one tick.
    expect(between(berlin("0 2,3 * * *"), "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z")).toEqual([
      "2026-03-29T01:00Z",
    ]);
  });

  test("a time that the clock shows twice ticks the first time, wherever one begins to look", () => {
    expect(between(berlin("30 2 * * *"), "2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z")).toEqual([
      "2026-10-24T00:30Z",
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z",
    ]);
    for (const minute of ["00:30", "00:45", "01:00", "01:20"]) {
      expect(nextTick(berlin("30 2 * * *"), at(`2026-10-25T${minute}:00Z`))).toBe(at("2026-10-26T01:30:00Z"));
    }
  });

  test("where all hours are meant none is left out and none doubled", () => {
    expect(between(berlin("0 * * * *"), "2026-10-24T23:30:00Z", "2026-10-25T03:00:00Z")).toHaveLength(4);
    expect(between(berlin("0 * * * *"), "2026-03-29T00:00:00Z", "2026-03-29T03:00:00Z")).toHaveLength(3);
    // Of one day alone its hours are those of that day: 25, and 23.
    expect(between(berlin("0 * 25 10 *"), "2026-10-20T00:00:00Z", "2026-10-30T00:00:00Z")).toHaveLength(25);
    expect(between(berlin("0 * 29 3 *"), "2026-03-20T00:00:00Z", "2026-04-01T00:00:00Z")).toHaveLength(23);
  });

  test("a zone that puts its clock by half an hour keeps its minutes", () => {
    const timing = { cron: "0 * * * *", timeZone: "Australia/Lord_Howe" };
    // At 15:00Z the clock goes from 02:00 back to 01:30.
    expect(between(timing, "2026-04-04T13:30:00Z", "2026-04-04T16:45:00Z")).toEqual([
      "2026-04-04T14:00Z",
      "2026-04-04T15:30Z",
      "2026-04-04T16:30Z",
    ]);
  });

  test("looked at piece by piece or all at once it is the same", () => {
    for (const cron of ["*/7 * * * *", "*/30 2 * * *", "0 1-4 * * 0", "20,40 */2 * * *", "30 2 29 3 *"]) {
      for (const day of ["2026-03-29", "2026-10-25"]) {
        const [from, until] = [at(`${day}T00:00:00Z`) - 7_200_000, at(`${day}T05:00:00Z`)];
        const whole = dueTicks(berlin(cron), from, until);
        const pieces: number[] = [];
        for (let now = from; now <= until; now += 420_000) pieces.push(...dueTicks(berlin(cron), now - 420_000, now));
        const steps: number[] = [];
        for (
          let next = nextTick(berlin(cron), from) ?? 0;
          next <= until;
          next = nextTick(berlin(cron), next) ?? Infinity
        )
          steps.push(next);
        expect(
          pieces.filter((tick) => tick > from),
          cron,
        ).toEqual(whole);
        expect(steps, cron).toEqual(whole);
      }
    }
  });

  test("of very many it is the newest hundred, and what was due more than five years ago is forgotten", () => {
    const now = at("2026-11-30T00:00:00Z");
    for (const cron of ["* * * * * *", "*/5 * * * *", "0 * * * *", "0 0 * * *"]) {
      const ticks = dueTicks(berlin(cron), 0, now);
      expect([cron, ticks.length]).toEqual([cron, 100]);
      expect(now - (ticks.at(-1) ?? 0)).toBeLessThan(86_400_000);
    }
    expect(dueTicks(berlin("0 0 1 1 *"), 0, now)).toEqual([]);
    expect(dueTicks(berlin("0 0 1 1 *"), at("2024-01-15T00:00:00Z"), now)).toHaveLength(2);
    expect(dueTicks(berlin("* * * * *"), now, now)).toEqual([]);
  });
});

describe("what is no timing is told", () => {
  const now = at("2026-01-01T00:00:00Z");
  const problem = (cron: string, timeZone = "UTC") => timingProblem({ cron, timeZone }, now);

  test.each([
    ["", "is no cron expression"],
    ["x", "is no cron expression"],
    ["61 * * * *", "expected range 0-59"],
    ["* * * * * * *", "too many fields"],
    ["H * * * *", "is no cron expression"],
    ["0 0 30 2 *", "is no cron expression"],
    ["0 0 31 4,6 *", "never comes"],
  ])("%s", (cron, words) => {
    expect(problem(cron)).toContain(words);
  });

  test("a zone that does not exist", () => {
    expect(problem("0 3 * * *", "Mars/Olympus")).toContain("no time zone");
    expect(problem("0 3 * * *", "Europe/Berlin")).toBeNull();
    expect(problem("0 0 29 2 *")).toBeNull();
  });

  test("an interval that is none", () => {
    for (const everyMs of [0, 999, 1_500.5, Number.NaN])
      expect(timingProblem({ everyMs }, now)).toContain("at least 1000 ms");
    expect(timingProblem({ everyMs: 1_000 }, now)).toBeNull();
  });
});
