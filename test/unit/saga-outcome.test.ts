import { describe, expect, test } from "vitest";
import {
  absent,
  alreadyUndone,
  cannotTell,
  fail,
  happened,
  isStepError,
  notApplied,
  StepError,
  transient,
} from "../../src/saga/index.ts";

describe("the words of user code", () => {
  test("notApplied says that nothing happened and that trying again is worthwhile", () => {
    const cause = new Error("refused");
    const error = notApplied("no such warehouse", { code: "no_warehouse", cause });
    expect(error).toBeInstanceOf(StepError);
    expect(error).toMatchObject({
      message: "no such warehouse",
      knowledge: "not_applied",
      final: false,
      code: "no_warehouse",
      cause,
    });
  });

  test("fail says that trying again is pointless and that nothing is left", () => {
    expect(fail("card declined")).toMatchObject({
      knowledge: "not_applied",
      final: true,
      code: null,
      retryAfterMs: null,
    });
  });

  test("fail with mayHaveHappened says that something may be left", () => {
    expect(fail("odd answer", { mayHaveHappened: true, code: "odd" })).toMatchObject({
      knowledge: "unknown",
      final: true,
      code: "odd",
    });
  });

  test("transient says that nothing is known, and when to try again", () => {
    const cause = new TypeError("fetch failed");
    expect(transient(cause, { retryAfter: "30s", code: "busy" })).toMatchObject({
      message: "fetch failed",
      cause,
      knowledge: "unknown",
      final: false,
      code: "busy",
      retryAfterMs: 30_000,
    });
    expect(transient("try later")).toMatchObject({ message: "try later", retryAfterMs: null });
    expect(transient("try later").cause).toBeUndefined();
  });

  test("a StepError of another copy of the package is recognised", () => {
    const foreign = Object.assign(new Error("x"), { [Symbol.for("reprise.step-error")]: true });
    expect(isStepError(foreign)).toBe(true);
    expect(isStepError(new Error("x"))).toBe(false);
    expect(isStepError(null)).toBe(false);
    expect(isStepError("x")).toBe(false);
  });

  test("a probe answers in three ways, and happened() without output means null", () => {
    expect(happened({ id: "1" })).toEqual({ answer: "happened", output: { id: "1" } });
    expect(happened()).toEqual({ answer: "happened", output: null });
    expect(absent()).toEqual({ answer: "absent" });
    expect(cannotTell()).toEqual({ answer: "cannot_tell", reason: null });
    expect(cannotTell("search index lags")).toEqual({ answer: "cannot_tell", reason: "search index lags" });
    expect(alreadyUndone()).toEqual({ alreadyUndone: true });
  });
});
