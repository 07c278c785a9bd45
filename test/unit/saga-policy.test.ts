import { describe, expect, test } from "vitest";
import { RepriseError } from "../../src/errors.ts";
import { durationMs } from "../../src/saga/duration.ts";
import { actionDefaults, compensationRetry, retryPolicy, timeoutMs } from "../../src/saga/policy.ts";

describe("durations", () => {
  test.each([
    ["200ms", 200],
    ["10s", 10_000],
    ["5m", 300_000],
    ["24h", 86_400_000],
    ["7d", 604_800_000],
    ["1.5s", 1_500],
    ["0.1s", 100],
    [0, 0],
    [250, 250],
  ] as const)("%s is %i ms", (duration, ms) => {
    expect(durationMs(duration, "wait")).toBe(ms);
  });

  test.each([
    "10",
    "s",
    "",
    "10 s",
    "-1s",
    "1w",
    "1e3ms",
    "0.5ms",
    "400d",
    -1,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ])("%s is refused, naming what it was for and what may be written", (duration) => {
    const parse = () => durationMs(duration as never, 'step "charge", timeout');
    expect(parse).toThrow(RepriseError);
    expect(parse).toThrow(/step "charge", timeout: .*"200ms", "10s", "5m", "24h", "7d"/);
  });

  test("a time-out is longer than nothing and shorter than a timer of Node can wait", () => {
    expect(timeoutMs("24d", "timeout")).toBe(24 * 86_400_000);
    expect(() => timeoutMs(0, "timeout")).toThrow(/between 1 ms and 24 days/);
    expect(() => timeoutMs("25d", "timeout")).toThrow(/between 1 ms and 24 days/);
  });
});

describe("retry policies", () => {
  test("what is not stated keeps its default", () => {
    expect(retryPolicy(undefined, actionDefaults.retry, "retry")).toEqual({
      attempts: 5,
      backoff: "exponential",
      initialMs: 200,
      maxMs: 30_000,
      jitter: true,
    });
    expect(retryPolicy({ attempts: 2, jitter: false }, compensationRetry, "retry")).toEqual({
      attempts: 2,
      backoff: "exponential",
      initialMs: 10_000,
      maxMs: 600_000,
      jitter: false,
    });
  });

  test("a stated end of the range makes the other end's default give way", () => {
    expect(retryPolicy({ initial: "1m" }, actionDefaults.retry, "retry")).toMatchObject({
      initialMs: 60_000,
      maxMs: 60_000,
    });
    expect(retryPolicy({ max: "50ms" }, actionDefaults.retry, "retry")).toMatchObject({ initialMs: 50, maxMs: 50 });
  });

  test("a longest delay below the first one is refused", () => {
    expect(() => retryPolicy({ initial: "2s", max: "1s" }, actionDefaults.retry, "retry")).toThrow(
      "retry: max (1000 ms) is shorter than initial (2000 ms).",
    );
  });

  test.each([0, -1, 1.5, 1_001, Number.NaN])("%d attempts are refused", (attempts) => {
    expect(() => retryPolicy({ attempts }, actionDefaults.retry, "retry")).toThrow(/attempts must be a whole number/);
  });

  test("an unknown backoff is refused", () => {
    expect(() => retryPolicy({ backoff: "random" as never }, actionDefaults.retry, "retry")).toThrow(/"random"/);
  });
});
