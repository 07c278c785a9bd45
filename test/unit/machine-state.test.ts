/** What the machine port stores, and what it will not restore. */
import { describe, expect, test } from "vitest";
import { assign } from "xstate";
import type { MachineState } from "../../src/core/machine/port.ts";
import type { Json } from "../../src/saga/index.ts";
import {
  type Config,
  defectOf,
  external,
  going,
  good,
  outcome,
  port,
  thrown,
  view,
} from "../support/machine-asking.ts";

const visiting: Config = {
  context: { kept: [1, { a: "b" }] },
  initial: "a",
  states: {
    a: { initial: "b", states: { b: { on: { NEXT: "c" } }, c: {}, back: { type: "history" } }, on: { AWAY: "away" } },
    away: { on: { BACK: "a.back" } },
  },
};

describe("a state", () => {
  test("is small, deep JSON", () => {
    const asked = port(visiting, { events: ["NEXT", "AWAY", "BACK"] });
    const first = good(asked.initial(view())).state;
    expect(first).toStrictEqual({ value: { a: "b" }, context: { kept: [1, { a: "b" }] }, status: "active" });
    const away = ["NEXT", "AWAY"].reduce(
      (state, event) => good(asked.transition(state, external(event), view())).state,
      first,
    );
    expect(away).toStrictEqual({ ...first, value: "away", history: { "m.a.back": ["m.a.c"] } });
    expect(JSON.parse(JSON.stringify(away))).toStrictEqual(away);
  });

  test("that nothing happened to is the same object", () => {
    const asked = port(visiting, { events: ["BACK"] });
    const { state } = good(asked.initial(view()));
    expect(good(asked.transition(state, external("BACK"), view())).state).toBe(state);
  });

  test("is not written into by an assign that does so", () => {
    const { before, turn } = going(
      assign(({ context }) => {
        context["list"].push(1);
        return {};
      }),
      {},
    );
    expect(defectOf(turn)).toContain("push");
    const asked = port(
      {
        context: { list: [] },
        initial: "a",
        states: { a: { on: { GO: { actions: assign(({ context }) => void context["list"].push(1)) } } } },
      },
      { events: ["GO"] },
    );
    const { state } = good(asked.initial(view()));
    expect(good(asked.transition(state, external("GO"), view())).state.context).toEqual({ list: [1] });
    expect(good(asked.transition(state, external("GO"), view())).state.context).toEqual({ list: [1] });
    expect([before.context, state.context]).toEqual([{}, { list: [] }]);
  });

  test("keeps neither input nor outputs by reference", () => {
    const input = { tags: ["a"] };
    const output = { tags: ["b"] };
    const asked = port({
      context: ({ input: given }: { input: Json }) => ({ given }),
      initial: "a",
      entry: assign(({ context }) => void context["given"].tags.push("x")),
      states: {
        a: {
          invoke: {
            src: "one",
            onDone: {
              target: "b",
              actions: assign({ out: ({ event }) => Object.assign(event["output"], { tags: [] }) }),
            },
          },
        },
        b: {},
      },
    });
    const { state } = good(asked.initial(view([], input)));
    good(asked.transition(state, outcome("0.m.a", output), view(["0.m.a"])));
    expect([input, output]).toEqual([{ tags: ["a"] }, { tags: ["b"] }]);
  });

  test("of a builder saga has no context: input and results are what the view says", () => {
    const asked = port(
      {
        context: thrown,
        initial: "a",
        states: {
          a: { invoke: { src: "one", input: ({ context }: never) => context, onDone: "b" } },
          b: { invoke: { src: "two", input: ({ context }: never) => context } },
        },
      },
      { context: "results" },
    );
    const began = good(asked.initial(view([], { id: 1 })));
    expect(began.state.context).toBeNull();
    expect(began.effects).toMatchObject([{ type: "start", step: "one", input: { input: { id: 1 }, results: {} } }]);
    const next = good(asked.transition(began.state, outcome("0.m.a", 5), view(["0.m.a"], { id: 2 }, { one: 5 })));
    expect(next.state).toStrictEqual({ value: "b", context: null, status: "active" });
    expect(next.effects).toMatchObject([{ step: "two", input: { input: { id: 2 }, results: { one: 5 } } }]);
  });
});

describe("a stored state is blocked, in words,", () => {
  const asked = port(visiting, { events: ["NEXT"] });
  const stored: MachineState = { value: { a: "b" }, context: {}, status: "active" };
  const why = (parts: Partial<MachineState>) => asked.blocked({ ...stored, ...parts });

  test("only if today's machine cannot hold it", () => {
    expect(why({})).toBeNull();
    expect(why({ value: "away", history: { "m.a.back": ["m.a.c"] } })).toBeNull();
    expect(why({ value: "gone", status: "done" })).toBeNull();
  });

  test.each<[string, Partial<MachineState>, RegExp]>([
    ["if its state is gone", { value: "gone" }, /"gone" is none of this machine today: .*does not exist/],
    ["if it is no state value", { value: 7 }, /7 would today be read as/],
    ["if there is none", { value: null }, /null is none of this machine/],
    ["if it names what every object has", { value: "constructor" }, /constructor/],
    ["if its state has states now", { value: "a" }, /"a" would today be read as {"a":"b"}/],
    ["if its context is no object", { context: [] }, /context is not an object/],
    ["if its context is missing", { context: null }, /context is not an object/],
    ["if a history state is gone", { history: { "m.gone": ["m.a.b"] } }, /m\.gone is no longer/],
    ["if what was a history state is another", { history: { "m.a.c": ["m.a.b"] } }, /m\.a\.c is no longer/],
    [
      "if a remembered state is gone",
      { history: { "m.a.back": ["m.a.gone"] } },
      /m\.a\.gone, remembered by m\.a\.back/,
    ],
    ["if a remembered state has moved", { history: { "m.a.back": ["m.away"] } }, /m\.away, remembered/],
    ["if its order names others", { order: ["m", "m.a", "m.a.c"] }, /order of states/],
    ["if its order names one twice", { order: ["m", "m.a", "m.a.b", "m.a.b"] }, /order of states/],
  ])("%s", (_name, parts, reason) => {
    expect(why(parts)).toMatch(reason);
    expect(asked.transition({ ...stored, ...parts }, external("NEXT"), view())).toMatchObject({ ok: false });
    expect(asked.accepts({ ...stored, ...parts }, external("NEXT"), view())).toBe("taken");
  });

  test("if a parallel region came into the machine meanwhile", () => {
    const parallel = { initial: "p", states: { p: { type: "parallel", states: { a: {}, b: {} } } } };
    expect(port(parallel).blocked({ ...stored, value: { p: { a: {} } } })).toMatch(/would today be read as/);
    expect(port(parallel).awaited({ ...stored, value: { p: { a: {} } } }, view())).toEqual([]);
  });

  test("if its state has become final", () => {
    expect(port({ initial: "a", states: { a: { type: "final" } } }).blocked({ ...stored, value: "a" })).toMatch(
      /final today/,
    );
  });

  test("a thousand different values are restored one after the other without being kept for ever", () => {
    const names = Array.from({ length: 1100 }, (_, index) => `s${index}`);
    const many = port({ initial: "s0", states: Object.fromEntries(names.map((name) => [name, {}])) });
    for (const value of [...names, ...names.slice(0, 3)]) expect(many.blocked({ ...stored, value })).toBeNull();
  });
});
