/**
 * SIGKILL around every write of a tool call, for a tool of each class: the action is made again and meets what it has done,
 * no tool has a second effect, and what was done is undone where the run fails later.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { crashByPlan, prove, rescue, toldOf } from "../support/fault-crash.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const tools = ["reserve", "charge", "pick"] as const;
const points = [
  ["granted", "its row says sent, the call not begun"],
  ["P06", "the call begun, nothing sent"],
  ["P09", "it is answered, that not recorded"],
  ["P10", "it is recorded, the action not told"],
] as const;
const cases = tools.flatMap((tool) => points.map(([point, words]) => ({ tool, point, words })));

describe.concurrent.each(cases)("$tool: killed where $words", ({ tool, point }) => {
  test("every tool has one row and one effect, and the action has the same answers", async () => {
    const crashed = await crashByPlan(
      stage,
      { name: `tool-${tool}-${point}`, saga: "assisted" },
      { point, step: tool },
    );
    const record = await rescue(crashed);
    const { room } = crashed;
    expect(record.status, await toldOf(room)).toBe("completed");
    const { counts } = await prove(["TOOL-crash", point], crashed);
    for (const each of tools) expect(counts[each], each).toMatchObject({ effects: 1 });
    // Nothing protects a repeat of this one: it is asked about instead.
    expect(counts["pick"]?.arrivals).toBe(1);
    const [action, ...asked] = await room.rows();
    expect(asked.map(({ step }) => step)).toEqual([...tools, "approve"]);
    const refs = asked.slice(0, tools.length).map(({ output }) => (output as { readonly ref: string }).ref);
    expect(action?.output).toEqual({ refs: [...refs, refs.at(-1)] });
  });
});

describe.concurrent("killed after its tools have acted, and refused at the end", () => {
  test.each([
    ["the last one answered, that not recorded", { point: "P09", step: "pick" }],
    ["all of them and the action itself recorded", { point: "P06", step: "approve" }],
    ["one of them undone, that not recorded", { point: "C03", step: "charge" }],
  ] as const)("%s: each is undone once", async (_words, plan) => {
    const name = `tool-refused-${plan.point}-${plan.step}`;
    const crashed = await crashByPlan(stage, { name, saga: "assisted", refuse: true }, plan);
    const record = await rescue(crashed);
    expect(record, await toldOf(crashed.room)).toMatchObject({ status: "failed", rollback: "complete" });
    const { counts } = await prove(["TOOL-crash", plan.point], crashed);
    for (const each of tools) {
      expect(counts[each], each).toMatchObject({ effects: 1 });
      expect(counts[`undo-${each}`], each).toMatchObject({ effects: 1 });
    }
  });
});

describe("when all is over", () => {
  test("I3 I4 I5 I6 hold for every run", async () => {
    await expectAllSettled(stage, { ids: ["I3", "I4", "I5", "I6"], what: "around a tool call" });
  });
});
