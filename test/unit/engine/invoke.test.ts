import { expect, test } from "vitest";
import { z } from "zod";
import type { CallOrder, Row } from "../../../src/core/index.ts";
import { invoke } from "../../../src/engine/invoke.ts";
import type { OutcomeFact } from "../../../src/engine/outcome.ts";
import { type ActionContext, absent, type CompensateContext, type StepSpec, step } from "../../../src/saga/index.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

const input = z.object({
  at: z.codec(z.iso.datetime(), z.date(), { decode: (s) => new Date(s), encode: (d) => d.toISOString() }),
});
const output = z.object({ id: z.string() });
const when = "2026-01-02T03:04:05.000Z";

interface Acts {
  readonly action?: (context: ActionContext<{ at: Date }>) => unknown;
  readonly undo?: (context: CompensateContext) => unknown;
}

function setup(
  { action = () => ({ id: "x" }), undo = () => undefined }: Acts,
  over: Partial<CallOrder> = {},
  rowOver = {},
) {
  const clock = new VirtualClock();
  const spec = step("act", {
    input,
    output,
    effect: "keyed",
    action: action as () => { id: string },
    probe: () => absent(),
    compensate: undo as () => void,
  }).spec as StepSpec;
  const order: CallOrder = {
    kind: "action",
    seq: 1,
    side: "action",
    send: 4,
    attempt: 2,
    operationId: "op",
    forwardOperationId: "op-forward",
    timeoutMs: 1_000,
    barrier: false,
    ...over,
  };
  const row = {
    seq: 1,
    step: "act",
    input: { at: when },
    output: { id: "out" },
    unusable: false,
    call: { state: "succeeded" },
    ...rowOver,
  };
  const outcomes: OutcomeFact[] = [];
  const late: OutcomeFact[] = [];
  const lines: string[] = [];
  const begin = () =>
    invoke(
      {
        clock,
        services: { name: "services" },
        sink: ({ message, facts }) => {
          if (message.startsWith("no room")) throw new Error("full disk");
          lines.push(message.startsWith("paid") ? `${message} ${JSON.stringify(facts)}` : message);
        },
        abortGraceMs: 200,
        maxPayloadBytes: 1_000,
      },
      {
        order,
        run: { id: "r", tenant: "t", saga: "s", version: 1 },
        row: row as unknown as Row,
        step: spec,
        onOutcome: (fact) => void outcomes.push(fact),
        onLate: (fact) => void late.push(fact),
        onProgress: null,
        onSpend: null,
        budgets: () => ({}),
        onTool: null,
      },
    );
  return { clock, begin, outcomes, late, lines };
}

const resultOf = (fact: OutcomeFact | undefined) => (fact?.type === "result" ? fact.result : fact);

test("a log that fails, and facts that are none, fail no call whose effect may be there", async () => {
  const { begin, outcomes, lines, clock } = setup({
    action: ({ log }) => {
      log.info("no room for this line");
      log.info("paid", null as never);
      log.info("paid", "cents" as never);
      return { id: "x" };
    },
  });
  begin();
  await clock.advance(1);
  expect(lines).toEqual(["paid {}", "paid {}"]);
  expect(outcomes).toMatchObject([{ result: { kind: "succeeded" } }]);
});

test("a line of its log holds no credential, and a line that is no text harms nobody", async () => {
  const { begin, outcomes, lines, clock } = setup({
    action: ({ log }) => {
      log.warn("refused: Bearer abc");
      log.error(new Error("token=abc") as never);
      return { id: "x" };
    },
  });
  begin();
  await clock.advance(1);
  expect(lines).toEqual(["refused: Bearer [redacted]", "Error: token=[redacted]"]);
  expect(outcomes).toMatchObject([{ result: { kind: "succeeded" } }]);
});

test("user code sees decoded input, its operation id, attempt, run, services, a signal and a log", async () => {
  const seen: ActionContext<{ at: Date }>[] = [];
  const action = (context: ActionContext<{ at: Date }>) => {
    seen.push({ ...context });
    context.log.info("hello");
    return { id: "x" };
  };
  const { clock, begin, outcomes, lines } = setup({ action });
  begin();
  expect(outcomes).toEqual([]);
  await clock.advance(0);
  expect(seen[0]).toMatchObject({
    input: { at: new Date(when) },
    operationId: "op",
    attempt: 2,
    services: { name: "services" },
  });
  expect(seen[0]?.run).toEqual({ id: "r", tenant: "t", saga: "s", version: 1 });
  expect(seen[0]?.signal.aborted).toBe(false);
  expect(lines).toEqual(["hello"]);
  expect(outcomes).toEqual([
    { type: "result", seq: 1, send: 4, side: "action", result: { kind: "succeeded", output: { id: "x" } } },
  ]);
});

const declined = new Error("declined");
const unreadable = Object.defineProperty({}, "id", {
  enumerable: true,
  get: () => {
    throw declined;
  },
});

/** No promise, but it can be waited for. */
// biome-ignore lint/suspicious/noThenProperty: that is what it is for
const like = (then: (take: (value: unknown) => void) => void) => Object.fromEntries([["then", then]]);

test.each<[string, () => unknown, string]>([
  ["answers at once", () => ({ id: "x" }), "succeeded"],
  ["promises", () => Promise.resolve({ id: "x" }), "succeeded"],
  ["gives what is like a promise", () => like((take) => take({ id: "x" })), "succeeded"],
  ["throws at once", () => raise(declined), "unknown"],
  ["breaks its promise", () => Promise.reject(declined), "unknown"],
  ["gives what is like a promise, and that breaks", () => like(() => raise(declined)), "unknown"],
  ["gives what throws at being looked at", () => unreadable, "unknown"],
])("an action that %s has one outcome, and never while it is begun", async (_, action, kind) => {
  const { clock, begin, outcomes, late } = setup({ action });
  begin();
  expect(outcomes).toEqual([]);
  await clock.advance(2_000);
  expect(outcomes.map(resultOf)).toMatchObject([{ kind }]);
  expect(late).toEqual([]);
});

test("an input that does not fit has its outcome never while it is begun", async () => {
  const { clock, begin, outcomes } = setup({}, {}, { input: { at: "yesterday" } });
  begin();
  expect(outcomes).toEqual([]);
  await clock.advance(0);
  expect(outcomes.map(resultOf)).toMatchObject([{ kind: "defect" }]);
});

function raise(error: Error): never {
  throw error;
}

test("a compensation sees the decoded output and both operation ids", async () => {
  const seen: CompensateContext[] = [];
  const undo = (context: CompensateContext) => void seen.push({ ...context });
  const { clock, begin, outcomes } = setup({ undo }, { kind: "undo", side: "undo" });
  begin();
  await clock.advance(0);
  expect(seen[0]).toMatchObject({ output: { id: "out" }, operationId: "op", forwardOperationId: "op-forward" });
  expect(resultOf(outcomes[0])).toEqual({ kind: "succeeded", output: null });
});

test("a compensation of what nobody knows to have happened sees no output", async () => {
  const seen: unknown[] = [];
  const undo = (context: CompensateContext) => void seen.push(context.output);
  const { clock, begin } = setup({ undo }, { kind: "undo", side: "undo" }, { call: { state: "unknown" } });
  begin();
  await clock.advance(0);
  expect(seen).toEqual([undefined]);
});

test("an input that does not fit never reaches user code", async () => {
  let called = false;
  const action = () => {
    called = true;
  };
  const { clock, begin, outcomes } = setup({ action }, {}, { input: { at: "yesterday" } });
  begin();
  await clock.advance(0);
  expect(called).toBe(false);
  expect(resultOf(outcomes[0])).toMatchObject({ kind: "defect" });
});

test("a time-out aborts the signal; what the function then knows counts", async () => {
  const action = ({ signal }: ActionContext) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const { clock, begin, outcomes } = setup({ action });
  begin();
  await clock.advance(999);
  expect(outcomes).toEqual([]);
  await clock.advance(1);
  expect(resultOf(outcomes[0])).toMatchObject({ kind: "unknown", reason: "timeout" });
});

test("a function that ends in spite of the abort has said what happened", async () => {
  const { clock, begin, outcomes } = setup({
    action: () => new Promise((resolve) => void clock.after(1_100, () => resolve({ id: "late" }))),
  });
  begin();
  await clock.advance(1_100);
  expect(resultOf(outcomes[0])).toEqual({ kind: "succeeded", output: { id: "late" } });
});

test("one that ignores its signal is left behind after the grace, and heard later", async () => {
  const { clock, begin, outcomes, late } = setup({
    action: () => new Promise((resolve) => void clock.after(5_000, () => resolve({ id: "very late" }))),
  });
  begin();
  await clock.advance(1_199);
  expect(outcomes).toEqual([]);
  await clock.advance(1);
  expect(resultOf(outcomes[0])).toMatchObject({ kind: "unknown", reason: "timeout" });
  await clock.advance(5_000);
  expect(outcomes).toHaveLength(1);
  expect(resultOf(late[0])).toEqual({ kind: "succeeded", output: { id: "very late" } });
});

test("an abort from outside is no time-out, and its reason is an AbortError", async () => {
  const reasons: unknown[] = [];
  const action = ({ signal }: ActionContext) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        reasons.push((signal.reason as Error).name);
        reject(signal.reason);
      });
    });
  const { clock, begin, outcomes } = setup({ action });
  const call = begin();
  await clock.advance(10);
  call.abort();
  call.abort();
  await clock.advance(1);
  expect(reasons).toEqual(["AbortError"]);
  expect(resultOf(outcomes[0])).toMatchObject({ kind: "unknown", reason: "error" });
  expect(clock.nextAt()).toBeNull();
});

test("a signal that is first looked at after the abort is aborted", async () => {
  const seen: boolean[] = [];
  const { clock, begin } = setup({
    action: async (context) => {
      await new Promise<void>((resolve) => void clock.after(1_050, resolve));
      seen.push(context.signal.aborted);
      return { id: "x" };
    },
  });
  begin();
  await clock.advance(1_050);
  expect(seen).toEqual([true]);
});

test("a probe that throws or does not answer cannot tell", async () => {
  const { clock, begin, outcomes } = setup({}, { kind: "probe" });
  begin();
  await clock.advance(0);
  expect(outcomes[0]).toMatchObject({ type: "probed", answer: "absent" });
});
