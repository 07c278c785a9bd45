import { describe, expect, test } from "vitest";
import { type AnyStateMachine, and, assign, createMachine, not, or, raise } from "xstate";
import { z } from "zod";
import { type EffectClass, jsonProblem, type Saga, saga, step, structureOf } from "../../src/saga/index.ts";

const input = z.object({});
const action = () => 0;
const pay = (effect: Exclude<EffectClass, "none">, schema: z.ZodType = input) =>
  step("pay", { input: schema as typeof input, effect, action, compensate: action });

function sagaOf(config: object, given: { readonly actors?: object; readonly delays?: object } = {}): Saga {
  const guards = { yes: () => true, no: () => false };
  const implementations = {
    actors: { pay: pay("keyed") },
    guards,
    actions: { act: assign({}), bet: assign({}) },
    ...given,
  };
  const machine = createMachine({ id: "m", ...config } as never, implementations as never) as AnyStateMachine;
  return saga("m", { version: 1, input, events: { GO: input } }).machine(machine as never);
}

const end = { type: "final" };
const base = {
  initial: "a",
  states: {
    a: { invoke: { src: "pay", onDone: "b" }, tags: ["x", "y"] },
    b: { on: { GO: "end" }, after: { 50: "end" } },
    end,
  },
};
const on = (transition: object): object => ({
  ...base,
  states: { ...base.states, b: { on: { GO: { target: "end", ...transition } } } },
});
const same = (one: Saga, other: Saga): void => expect(structureOf(other)).toEqual(structureOf(one));
const differs = (one: Saga, other: Saga): void => expect(structureOf(other)).not.toEqual(structureOf(one));

describe("a saga's structure", () => {
  test("is JSON", () => {
    expect(jsonProblem(structureOf(sagaOf(base)))).toBeNull();
  });

  test("of a builder saga shows its context mode and its states", () => {
    const line = saga("line", { version: 1, input }).step(pay("keyed")).build();
    expect(structureOf(line)).toEqual({
      context: "results",
      events: [],
      steps: { pay: { effect: "keyed", undo: "keyed" } },
      delays: {},
      root: {
        id: "line",
        type: "compound",
        initial: ["line.pay"],
        states: [
          {
            id: "line.pay",
            type: "atomic",
            invoke: [{ id: "0.line.pay", step: "pay" }],
            transitions: [{ event: "xstate.done.actor.0.line.pay", targets: ["line.done"] }],
          },
          { id: "line.done", type: "final" },
        ],
      },
    });
  });

  test.each([
    [
      "a renamed or rewritten inline guard",
      on({
        guard: function one() {
          return true;
        },
      }),
      on({ guard: () => false }),
    ],
    ["what an inline action does", on({ actions: assign({ n: 1 }) }), on({ actions: assign({ m: 2 }) })],
    ["the order of tags", base, { ...base, states: { ...base.states, a: { ...base.states.a, tags: ["y", "x"] } } }],
    [
      "the order in which events are written",
      { ...base, on: { A: ".end", B: ".a" } },
      { ...base, on: { B: ".a", A: ".end" } },
    ],
    ["descriptions and meta data", base, { ...base, description: "x", meta: { a: 1 } }],
    ["one target in a list or alone", on({}), on({ target: ["end"] })],
  ])("is not changed by %s", (_what, one, other) => {
    same(sagaOf(one), sagaOf(other));
  });

  test("is not changed by schemas, nor by steps that are never invoked", () => {
    same(sagaOf(base), sagaOf(base, { actors: { pay: pay("keyed", z.object({ more: z.string() })) } }));
    const spare = step("spare", { input, effect: "none", action });
    same(sagaOf(base), sagaOf(base, { actors: { pay: pay("keyed"), spare } }));
  });

  test.each([
    [
      "a target",
      base,
      { ...base, states: { ...base.states, a: { ...base.states.a, invoke: { src: "pay", onDone: "end" } } } },
    ],
    ["a tag", base, { ...base, states: { ...base.states, a: { ...base.states.a, tags: "x" } } }],
    ["a delay", base, { ...base, states: { ...base.states, b: { on: { GO: "end" }, after: { 60: "end" } } } }],
    ["an event", base, { ...base, states: { ...base.states, b: { on: { STOP: "end" }, after: { 50: "end" } } } }],
    ["a guard's name", on({ guard: "yes" }), on({ guard: "no" })],
    ["a guard that is new", on({}), on({ guard: "yes" })],
    ["how guards are combined", on({ guard: and(["yes", "no"]) }), on({ guard: or(["yes", "no"]) })],
    ["a guard that is negated", on({ guard: "yes" }), on({ guard: not("yes") })],
    ["an action's name", on({ actions: "act" }), on({ actions: "bet" })],
    ["the order of actions", on({ actions: ["act", "bet"] }), on({ actions: ["bet", "act"] })],
    ["an event that is raised", on({ actions: raise({ type: "A" }) }), on({ actions: raise({ type: "B" }) })],
    ["re-entering", on({}), on({ reenter: true })],
    ["a state", base, { ...base, states: { ...base.states, more: end } }],
    [
      "the order of transitions",
      base,
      { ...base, states: { ...base.states, b: { on: { GO: [{ target: "end", guard: "yes" }, "a"] } } } },
    ],
  ])("is changed by %s", (_what, one, other) => {
    differs(sagaOf(one), sagaOf(other));
  });

  test("is changed by an effect class and by the value of a named delay", () => {
    differs(sagaOf(base), sagaOf(base, { actors: { pay: pay("once") } }));
    differs(sagaOf(base, { delays: { wait: 1 } }), sagaOf(base, { delays: { wait: 2 } }));
  });
});
