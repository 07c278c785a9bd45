/**
 * Machines of every shape, each run three ways: by XState's own actor, through the port with the state serialised and
 * restored between every two events, and through the port with the state objects as they are. Nobody can tell them apart.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ManualRun, PortRun, XStateRun } from "../support/machine-runs.ts";
import { type Op, randomDraft, type Shape, shapeOf, shapes } from "../support/machines/index.ts";

const numRuns = { quick: 4, full: 300 }[process.env["REPRISE_SIZE"] ?? "short"] ?? 20;

interface Trio {
  readonly xstate: XStateRun;
  readonly restored: PortRun;
  readonly kept: PortRun;
}

function begin({ saga, input }: Shape): Trio {
  return {
    xstate: new XStateRun(saga, input),
    restored: new PortRun(saga, input, "restored"),
    kept: new PortRun(saga, input, "kept"),
  };
}

async function perform(run: ManualRun, op: Op): Promise<void> {
  switch (op.do) {
    case "succeed":
      return run.succeed(op.invoke, op.output);
    case "fail":
      return run.fail(op.invoke, { kind: "fail", code: op.code, message: "no", attempts: 1 });
    case "send":
      return run.send(op.event, op.payload);
    case "advance":
      return run.advance(op.ms);
  }
}

/** One clock reading at a time, so that what a timer sets counts from when it fired. */
function unfold(op: Op, { nextTimerInMs }: PortRun): readonly Op[] {
  if (op.do !== "advance" || nextTimerInMs === null || nextTimerInMs >= op.ms) return [op];
  return [{ do: "advance", ms: nextTimerInMs }];
}

/** Does the same to all three and compares what they tell; `false`: none of them can go on. */
async function together({ xstate, restored, kept }: Trio, op: Op): Promise<boolean> {
  const before = xstate.trace.length;
  for (const run of [xstate, restored, kept]) await perform(run, op);
  if (restored.defect !== null) {
    expect([kept.defect, String(xstate.error)]).toEqual([restored.defect, expect.stringContaining(restored.defect)]);
    return false;
  }
  expect(restored.trace.slice(before)).toEqual(xstate.trace.slice(before));
  expect(kept.trace.slice(before)).toEqual(xstate.trace.slice(before));
  expect(restored.open()).toEqual(xstate.open());
  expect(kept.state).toEqual(restored.state);
  return true;
}

describe.each(Object.entries(shapes))("%s", (_name, shape) => {
  test("its script leads all three ways to the same end", async () => {
    const trio = begin(shape);
    expect(trio.restored.trace).toEqual(trio.xstate.trace);
    for (const op of shape.script) expect(await together(trio, op)).toBe(true);
    expect(trio.restored.state).toMatchObject(shape.ends);
  });

  test("whatever happens to it, all three ways tell the same story", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(choices, { maxLength: 20 }), async (script) => {
        const trio = begin(shape);
        for (const choice of script) {
          const op = chosen(choice, shape, trio.restored);
          if (op === null) return;
          for (const part of unfold(op, trio.restored)) if (!(await together(trio, part))) return;
        }
      }),
      { seed: 20_260, numRuns },
    );
  });
});

test("machines made at random are not told apart either", async () => {
  await fc.assert(
    fc.asyncProperty(randomDraft, fc.array(choices, { maxLength: 12 }), async (draft, script) => {
      const shape = shapeOf(draft);
      const trio = begin(shape);
      for (const choice of script) {
        const op = chosen(choice, shape, trio.restored);
        if (op === null) return;
        for (const part of unfold(op, trio.restored)) if (!(await together(trio, part))) return;
      }
    }),
    { seed: 20_261, numRuns: 2 * numRuns, endOnFailure: true },
  );
});

/** What may happen next, without saying to whom: `pick` chooses among what is there when its turn comes. */
interface Choice {
  readonly kind: "succeed" | "fail" | "send" | "tick" | "wait";
  readonly pick: number;
  readonly value: unknown;
}

const choices: fc.Arbitrary<Choice> = fc.record({
  kind: fc.constantFrom("succeed", "succeed", "succeed", "fail", "send", "send", "tick", "wait"),
  pick: fc.nat({ max: 50 }),
  value: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.string({ maxLength: 3 }), fc.constant({ to: "me", n: 5 })),
});

function chosen({ kind, pick, value }: Choice, { saga }: Shape, run: PortRun): Op | null {
  if (run.state.status !== "active") return null;
  // The arbitrary makes nothing but JSON.
  const json = value as Extract<Op, { do: "succeed" }>["output"];
  const invoke = run.open()[pick % Math.max(1, run.open().length)];
  const event = Object.keys(saga.events)[pick % Math.max(1, Object.keys(saga.events).length)];
  if (kind === "succeed" && invoke !== undefined) return { do: "succeed", invoke, output: json };
  if (kind === "fail" && invoke !== undefined) return { do: "fail", invoke, code: pick % 2 === 0 ? "E" : "F" };
  if (kind === "send" && event !== undefined) return { do: "send", event, payload: json };
  return { do: "advance", ms: kind === "tick" ? (run.nextTimerInMs ?? 5) : 5 };
}
