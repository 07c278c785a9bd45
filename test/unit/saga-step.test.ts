import { describe, expect, test } from "vitest";
import { createActor, toPromise } from "xstate";
import { z } from "zod";
import { RepriseError } from "../../src/errors.ts";
import { absent, type Finding, isStep, saga, step, stepsFor } from "../../src/saga/index.ts";

const instant = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});
const input = z.object({ at: instant });
const action = async () => undefined;
const compensate = async () => undefined;

/** The findings with which a declaration is refused. */
function refusal(declare: () => unknown): readonly Finding[] {
  try {
    declare();
  } catch (error) {
    expect(error).toBeInstanceOf(RepriseError);
    expect(error).toHaveProperty("code", "DEFINITION_INVALID");
    return (error as RepriseError).details["findings"] as readonly Finding[];
  }
  return expect.unreachable("the declaration should have been refused");
}
const codesOf = (declare: () => unknown): readonly string[] => refusal(declare).map((finding) => finding.code);
/** What a caller without a compiler can write. */
const untyped = (name: unknown, options: object) => () => step(name as string, options as never);

describe("a step's declaration", () => {
  test("fills in every default", () => {
    const { spec } = step("charge", { input, action, effect: "keyed", compensate });
    expect(spec).toMatchObject({
      name: "charge",
      output: null,
      effect: "keyed",
      timeoutMs: 60_000,
      latenessMs: 30_000,
      keyTtlMs: 86_400_000,
      retry: { attempts: 5, backoff: "exponential", initialMs: 200, maxMs: 30_000, jitter: true },
      hasProbe: false,
      probe: null,
      noCompensation: null,
      compensateIfUnknown: false,
      settle: true,
      pivot: false,
      onAbandon: "compensate",
      onExhausted: "fail",
      freshKeyAfterAbsent: false,
      queue: null,
    });
  });

  test("a compensation inherits the action's class, time-out, lateness and key life, not its retries", () => {
    const { spec } = step("charge", {
      input,
      action,
      effect: "keyed",
      compensate,
      timeout: "5s",
      lateness: "1s",
      keyTtl: "1h",
      retry: { attempts: 1 },
    });
    expect(spec.compensation).toEqual({
      run: compensate,
      probe: null,
      hasProbe: false,
      effect: "keyed",
      timeoutMs: 5_000,
      latenessMs: 1_000,
      keyTtlMs: 3_600_000,
      retry: { attempts: 8, backoff: "exponential", initialMs: 10_000, maxMs: 600_000, jitter: true },
    });
  });

  test("a compensation may have rules of its own", () => {
    const { spec } = step("charge", {
      input,
      action,
      effect: "once",
      compensate: {
        run: compensate,
        effect: "idempotent",
        probe: () => absent(),
        timeout: "2s",
        lateness: 0,
        keyTtl: "1m",
        retry: { attempts: 3, backoff: "fixed", initial: 10, max: 10 },
      },
    });
    expect(spec.compensation).toMatchObject({
      effect: "idempotent",
      hasProbe: true,
      timeoutMs: 2_000,
      latenessMs: 0,
      keyTtlMs: 60_000,
      retry: { attempts: 3, backoff: "fixed", initialMs: 10, maxMs: 10, jitter: true },
    });
  });

  test("is recognised as a step, and nothing else is", () => {
    expect(isStep(step("a", { input, action, effect: "none" }))).toBe(true);
    expect(isStep({ spec: {} })).toBe(false);
    expect(isStep(null)).toBe(false);
  });

  test("stepsFor declares the same step, with services typed", () => {
    const { step: mine } = stepsFor<{ readonly n: number }>();
    expect(mine("a", { input, action: ({ services }) => services.n, effect: "none" }).spec.name).toBe("a");
  });
});

describe("a step that cannot be made durable is refused at definition", () => {
  test.each([
    ["no effect", { input, action }, "EFFECT_MISSING"],
    ["an unknown effect", { input, action, effect: "twice" }, "EFFECT_MISSING"],
    ["no action", { input, effect: "none" }, "ACTION_MISSING"],
    ["an effect with neither way", { input, action, effect: "keyed" }, "COMPENSATION_MISSING"],
    [
      "an effect with both ways",
      { input, action, effect: "once", compensate, noCompensation: "x" },
      "COMPENSATION_MISSING",
    ],
    ["a compensation without run", { input, action, effect: "once", compensate: {} }, "COMPENSATION_MISSING"],
    [
      "a compensation of an unknown class",
      { input, action, effect: "once", compensate: { run: compensate, effect: "x" } },
      "EFFECT_MISSING",
    ],
    ["an empty reason", { input, action, effect: "once", noCompensation: " " }, "REASON_MISSING"],
    ["an undo without effect", { input, action, effect: "none", compensate }, "UNDO_OF_NOTHING"],
    ["a pivot without effect", { input, action, effect: "none", pivot: true }, "UNDO_OF_NOTHING"],
    ["a malformed time-out", { input, action, effect: "none", timeout: "soon" }, "POLICY"],
    ["a malformed queue", { input, action, effect: "none", queue: "a b" }, "QUEUE_NAME"],
    ["no input schema", { action, effect: "none" }, "SCHEMA"],
    ["an input that is no zod schema", { input: {}, action, effect: "none" }, "SCHEMA"],
  ])("%s", (_what, options, code) => {
    expect(codesOf(untyped("charge", options))).toEqual([code]);
  });

  test.each(["", "1st", "a.b", "a b", "a:b", "a".repeat(65), "constructor", "toString", "__proto__", 7, undefined])(
    "the name %o",
    (name) => {
      expect(codesOf(untyped(name, { input, action, effect: "none" }))).toEqual(["STEP_NAME"]);
    },
  );

  test("everything that is wrong is said at once, with the step and the way to mend it", () => {
    const declare = untyped("charge", { input: z.date(), effect: "once", timeout: "x" });
    expect(refusal(declare).map((finding) => finding.code)).toEqual([
      "SCHEMA",
      "ACTION_MISSING",
      "COMPENSATION_MISSING",
      "POLICY",
    ]);
    expect(declare).toThrow(/step "charge": it has an effect and no compensation\. Give it either compensate or/);
  });
});

describe("tools and intents", () => {
  const tool = step("tool", { input, effect: "keyed", action, compensate: action });
  const asking = { input, action, effect: "none" } as const;

  test.each([
    ["an effect of its own", { ...asking, effect: "keyed", compensate: action, uses: { tool } }, ["TOOLS_EFFECT"]],
    ["a named queue", { ...asking, queue: "gpu", uses: { tool } }, ["TOOLS_QUEUE"]],
    ["a tool that is none", { ...asking, uses: { tool: 7 } }, ["NOT_A_STEP"]],
    ["a tool under a name that is none", { ...asking, uses: { "a b": tool } }, ["TOOL_NAME"]],
    ["a tool with tools", { ...asking, uses: { a: step("a", { ...asking, uses: { tool } }) } }, ["TOOLS_NESTED"]],
    ["a tool on a named queue", { ...asking, uses: { q: step("q", { ...asking, queue: "gpu" }) } }, ["TOOLS_QUEUE"]],
    [
      "a pivot as a tool",
      { ...asking, uses: { p: step("p", { input, action, effect: "once", pivot: true, noCompensation: "it is" }) } },
      ["TOOLS_PIVOT"],
    ],
    ["an intent without an effect", { ...asking, intent: () => 1 }, ["INTENT"]],
    ["an intent that is no function", { ...asking, effect: "keyed", compensate: action, intent: "x" }, ["INTENT"]],
  ])("%s is refused", (_what, options, codes) => {
    expect(codesOf(untyped("agent", options))).toEqual(codes);
  });

  test("two steps of one name in one saga are refused, one used twice is not", () => {
    const other = step("tool", { input, effect: "keyed", action, compensate: action });
    const one = step("one", { ...asking, uses: { tool } });
    const two = (used: typeof tool) => step("two", { ...asking, uses: { tool: used } });
    const build = (used: typeof tool) => () => saga("both", { version: 1, input }).step(one).step(two(used)).build();
    expect(build(tool)).not.toThrow();
    expect(codesOf(build(other))).toEqual(["STEP_NAME_TWICE"]);
  });

  test("unguarded, the action's tools are called directly", async () => {
    const double = step("double", {
      input: z.object({ n: z.int() }),
      output: z.object({ n: z.int() }),
      effect: "none",
      action: ({ input: { n } }) => ({ n: 2 * n }),
    });
    const agent = step("agent", {
      input: z.object({ n: z.int() }),
      output: z.object({ n: z.int() }),
      effect: "none",
      uses: { double },
      action: async ({ input: { n }, tools }) => await tools.double(await tools.double({ n })),
    });
    const actor = createActor(agent.unguarded, { input: { n: 1 } }).start();
    await expect(toPromise(actor)).resolves.toEqual({ n: 4 });
  });
});

describe("a step as XState logic", () => {
  const charge = step("charge", {
    input,
    output: z.object({ at: instant, attempt: z.int() }),
    effect: "none",
    action: ({ input, attempt }) => ({ at: new Date(input.at.getTime() + 1_000), attempt }),
  });

  test("started outside the engine it refuses", async () => {
    const actor = createActor(charge, { input: { at: "2026-01-01T00:00:00Z" } });
    actor.subscribe({ error: () => {} });
    const result = toPromise(actor);
    actor.start();
    await expect(result).rejects.toMatchObject({
      code: "STEP_UNGUARDED",
      message: expect.stringContaining("run it with simulate() or a worker"),
    });
  });

  test("its unguarded logic calls the action with decoded input and gives encoded output", async () => {
    const actor = createActor(charge.unguarded, { input: { at: "2026-01-01T00:00:00Z" } }).start();
    await expect(toPromise(actor)).resolves.toEqual({ at: "2026-01-01T00:00:01.000Z", attempt: 1 });
  });

  test("its unguarded logic refuses an input or an output that does not fit, naming the field", async () => {
    const wrongInput = createActor(charge.unguarded, { input: { at: "yesterday" } });
    wrongInput.subscribe({ error: () => {} });
    await expect(toPromise(wrongInput.start())).rejects.toMatchObject({
      code: "INPUT_INVALID",
      message: expect.stringContaining("at: "),
    });
    const liar = step("liar", { input, output: z.object({ n: z.int() }), effect: "none", action: () => ({ n: 1.5 }) });
    const wrongOutput = createActor(liar.unguarded, { input: { at: "2026-01-01T00:00:00Z" } });
    wrongOutput.subscribe({ error: () => {} });
    await expect(toPromise(wrongOutput.start())).rejects.toThrow(/Output of step "liar": n: /);
  });
});
