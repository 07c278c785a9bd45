import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { CallOrder } from "../../../src/core/index.ts";
import { actionResult, leftBehind, probeFact, thrownResult } from "../../../src/engine/outcome.ts";
import {
  absent,
  cannotTell,
  fail,
  happened,
  notApplied,
  type ProbeAnswer,
  type StepSpec,
  step,
  transient,
} from "../../../src/saga/index.ts";

const charge = step("charge", {
  input: z.object({ cents: z.number() }),
  output: z.object({ chargeId: z.string() }),
  effect: "once",
  action: () => ({ chargeId: "c" }),
  noCompensation: "a test",
}).spec as StepSpec;
const order: CallOrder = {
  kind: "action",
  seq: 2,
  side: "action",
  send: 3,
  attempt: 1,
  operationId: "op",
  forwardOperationId: "op",
  timeoutMs: 100,
  barrier: false,
};
const limit = 1_000;

function thrown(make: () => unknown): unknown {
  try {
    return make();
  } catch (error) {
    return error;
  }
}

describe("an action that resolves", () => {
  test("with an output that fits has succeeded", () => {
    expect(actionResult(charge, { chargeId: "c1" }, limit)).toEqual({ kind: "succeeded", output: { chargeId: "c1" } });
  });

  test("with one that does not fit has happened all the same, and the output is kept as evidence", () => {
    const result = actionResult(charge, { id: "c1" }, limit);
    expect(result).toMatchObject({ kind: "unusable", output: { id: "c1" } });
    expect((result as { problem: string }).problem).toContain("chargeId");
  });

  test("with one that is too large or is not JSON has happened, and nothing is kept", () => {
    expect(actionResult(charge, { chargeId: "x".repeat(2_000) }, limit)).toMatchObject({
      kind: "unusable",
      output: null,
    });
    expect(actionResult(charge, new Map(), limit)).toMatchObject({ kind: "unusable", output: null });
  });
});

describe("an action that throws", () => {
  test("one of our errors says what it knows", () => {
    expect(
      thrownResult(
        thrown(() => notApplied("sold out", { code: "sold_out" })),
        null,
      ),
    ).toEqual({
      kind: "not_applied",
      code: "sold_out",
      message: "sold out",
      final: false,
      reason: "error",
      retryAfterMs: null,
    });
    expect(
      thrownResult(
        thrown(() => fail("no")),
        null,
      ),
    ).toMatchObject({ kind: "not_applied", final: true, reason: "fail" });
    expect(
      thrownResult(
        thrown(() => fail("no", { mayHaveHappened: true })),
        null,
      ),
    ).toMatchObject({
      kind: "unknown",
      final: true,
      reason: "fail",
    });
  });

  test("says how long to wait", () => {
    const error = thrown(() => transient(new Error("busy"), { retryAfter: "3s" }));
    expect(thrownResult(error, null)).toMatchObject({ retryAfterMs: 3_000, final: false });
  });

  test.each([
    [Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } }), "not_applied", "ECONNREFUSED"],
    [Object.assign(new TypeError("fetch failed"), { cause: { code: "UND_ERR_SOCKET" } }), "unknown", "UND_ERR_SOCKET"],
    [new TypeError("x is not a function"), "unknown", null],
    [Object.assign(new Error("bad"), { status: 422 }), "not_applied", "http_422"],
    [Object.assign(new Error("oops"), { status: 500 }), "unknown", "http_500"],
    ["just a string", "unknown", null],
    [undefined, "unknown", null],
  ])("anything else says what can be read from it, never what its class suggests: %s", (error, kind, code) => {
    expect(thrownResult(error, null)).toMatchObject({ kind, code, final: false, reason: "error" });
  });

  test("after its time was over, what nobody knows is a time-out, what is known stays known", () => {
    expect(thrownResult(new Error("aborted"), "timeout")).toMatchObject({ kind: "unknown", reason: "timeout" });
    expect(
      thrownResult(
        thrown(() => notApplied("no")),
        "timeout",
      ),
    ).toMatchObject({ kind: "not_applied", reason: "error" });
  });

  test("with a message of any length leaves a bounded one", () => {
    expect(thrownResult(new Error("x".repeat(100_000)), null)).toMatchObject({ message: expect.any(String) });
    expect((thrownResult(new Error("x".repeat(100_000)), null) as { message: string }).message.length).toBeLessThan(
      3_000,
    );
  });
});

describe("what looks like a credential is masked in", () => {
  const masked = "no: Bearer [redacted]";
  const text = "no: Bearer abc123";

  test.each<[string, () => unknown]>([
    ["the message and code of a word of ours", () => thrown(() => fail(text, { code: "sk_live_abc" }))],
    ["those of any error", () => Object.assign(new Error(text), { code: "sk_live_abc" })],
    ["those of what is no error", () => ({ message: text, code: "sk_live_abc" })],
    [
      "those of a word of ours whose code is no text",
      () => thrown(() => fail(text, { code: ["sk_live_abc"] as never })),
    ],
  ])("%s", (_what, error) => {
    expect(thrownResult(error(), null)).toMatchObject({ message: masked, code: "[redacted]" });
  });

  test("a text that is thrown, and one whose secret lies where it is cut", () => {
    expect(thrownResult(text, null)).toMatchObject({ message: masked });
    const cut = thrownResult(new Error(`${"x".repeat(1_990)} Bearer ${"Q".repeat(20)}`), null);
    expect(JSON.stringify(cut)).not.toContain("QQ");
  });

  test("the reason of a probe, whatever it is", () => {
    const probe: CallOrder = { ...order, kind: "probe" };
    expect(probeFact(probe, charge, cannotTell(text), limit)).toMatchObject({ note: masked });
    expect(probeFact(probe, charge, cannotTell(7 as never), limit)).toMatchObject({ note: "7" });
  });

  test("what a schema throws, but not in the output itself", () => {
    const output = z.string().refine(() => {
      throw new Error(text);
    });
    const strict = { ...charge, output } as StepSpec;
    const result = { kind: "unusable", output: text, problem: masked };
    expect(actionResult(strict, text, limit)).toEqual(result);
  });
});

test("a function that ignores its signal leaves an unknown outcome", () => {
  expect(leftBehind(order, "timeout")).toMatchObject({ kind: "unknown", reason: "timeout", final: false });
  expect(leftBehind(order, "aborted")).toMatchObject({ kind: "unknown", reason: "error", code: "aborted" });
});

describe("a probe", () => {
  const probe: CallOrder = { ...order, kind: "probe" };
  test.each<[ProbeAnswer, object]>([
    [absent(), { answer: "absent", output: null }],
    [cannotTell("down"), { answer: "cannot_tell", note: "down" }],
    [happened({ chargeId: "c9" }), { answer: "happened", output: { chargeId: "c9" }, unusable: false }],
    [happened({ id: 1 }), { answer: "happened", output: { id: 1 }, unusable: true }],
    [undefined as unknown as ProbeAnswer, { answer: "cannot_tell" }],
    [true as unknown as ProbeAnswer, { answer: "cannot_tell" }],
  ])("that answers %j is told as %j", (answer, fact) => {
    expect(probeFact(probe, charge, answer, limit)).toMatchObject({ type: "probed", seq: 2, side: "action", ...fact });
  });

  test("of a compensation does not give the step's output", () => {
    expect(probeFact({ ...probe, side: "undo" }, charge, happened("gone"), limit)).toMatchObject({
      answer: "happened",
      output: null,
      unusable: false,
    });
  });
});
