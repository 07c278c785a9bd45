/** Which events reach a machine, as what, and what would be made of them. */
import { describe, expect, test } from "vitest";
import { assign, log } from "xstate";
import type { MachineEvent } from "../../src/core/machine/port.ts";
import type { Json } from "../../src/saga/index.ts";
import {
  defectOf,
  external,
  failure,
  good,
  outcome,
  port,
  raised,
  thrown,
  timer,
  view,
} from "../support/machine-asking.ts";

describe("an event", () => {
  const hearing = (event: string) =>
    port(
      { initial: "a", states: { a: { on: { [event]: { actions: assign({ heard: ({ event: heard }) => heard }) } } } } },
      { events: [event] },
    );
  const heard = (payload: Json) => {
    const asked = hearing("GO");
    return good(asked.transition(good(asked.initial(view())).state, external("GO", payload), view())).state.context;
  };

  test("from outside carries the fields of its payload, or the payload", () => {
    expect(heard({ a: 1, b: [2] })).toEqual({ heard: { type: "GO", a: 1, b: [2] } });
    expect(heard(["x"])).toEqual({ heard: { type: "GO", payload: ["x"] } });
    expect(heard(null)).toEqual({ heard: { type: "GO", payload: null } });
  });

  test("from outside keeps its own name, whatever its payload calls itself", () => {
    expect(heard({ type: "xstate.done.actor.i" })).toEqual({ heard: { type: "GO" } });
  });

  test.each(["xstate.done.actor.i", "xstate", "xstate.stop", "done.invoke.i", "done", "error.platform", "*", "a.*"])(
    "from outside cannot be called %j",
    (name) => {
      const asked = hearing(name);
      const { state } = good(asked.initial(view()));
      expect(asked.accepts(state, external(name), view())).toBe("ignored");
      expect(asked.transition(state, external(name), view())).toMatchObject({ ok: false, defect: /reserved/ });
    },
  );

  test("from outside must be declared", () => {
    const asked = port({ on: { GO: { actions: raised({ type: "X" }) } } });
    const { state } = good(asked.initial(view()));
    expect(asked.accepts(state, external("GO"), view())).toBe("ignored");
    expect(defectOf(asked.transition(state, external("GO"), view()))).toBe('the saga declares no event "GO"');
    expect(asked.accepts(state, external("toString"), view())).toBe("ignored");
    expect(asked.accepts(state, external(""), view())).toBe("ignored");
  });

  test.each(["xstate.done.actor.i", "xstate.error.actor.i", "xstate.stop", "xstate.init", "*"])(
    "of a timer cannot be called %s",
    (name) => {
      const asked = port({});
      expect(asked.transition(good(asked.initial(view())).state, timer(name), view())).toMatchObject({
        ok: false,
        defect: expect.stringContaining("a timer cannot carry"),
        where: `{} on ${name}`,
      });
    },
  );

  test.each(['{"__proto__":{"isAdmin":true}}', '{"a":[{"__proto__":{"isAdmin":true}}]}'])(
    "cannot give the context another prototype: %s",
    (text) => {
      const payload: Json = JSON.parse(text);
      const admits = ({ context }: { context: Record<string, unknown> }) => context["isAdmin"] === true;
      const asked = port(
        {
          invoke: { id: "i", src: "one", onDone: { actions: assign(({ event }) => event["output"]) } },
          initial: "a",
          states: {
            a: { on: { GO: { actions: assign(({ event }) => event) } }, always: { guard: admits, target: "admin" } },
            admin: {},
          },
        },
        { events: ["GO"] },
      );
      const { state } = good(asked.initial(view()));
      expect(asked.accepts(state, external("GO", payload), view())).toBe("ignored");
      expect(defectOf(asked.transition(state, external("GO", payload), view()))).toMatch(/__proto__/);
      expect(defectOf(asked.transition(state, outcome("i", payload), view(["i"])))).toMatch(/__proto__/);
      expect(defectOf(asked.initial(view([], payload)))).toMatch(/__proto__/);
      expect(Reflect.get({}, "isAdmin")).toBeUndefined();
    },
  );

  test("of a failure carries the error as it was told", () => {
    const asked = port({
      initial: "a",
      states: {
        a: {
          invoke: {
            id: "i",
            src: "one",
            onError: { target: "b", actions: assign({ why: ({ event }) => event["error"] }) },
          },
        },
        b: {},
      },
    });
    const error = { kind: "fail", code: "E", message: "no", attempts: 2 };
    const turn = good(asked.transition(good(asked.initial(view())).state, failure("i", error), view(["i"])));
    expect(turn.state).toStrictEqual({ value: "b", context: { why: error }, status: "active" });
  });
});

describe("whether an event would be taken", () => {
  const isGood = ({ event }: { event: { good?: boolean } }) => event.good === true;
  const asked = port(
    {
      initial: "a",
      on: { ROOT: { actions: log("x") }, CALL: { actions: log("x") }, BARE: { actions: log("x") } },
      states: {
        a: {
          on: {
            MAYBE: { guard: isGood, target: "b" },
            EITHER: [{ guard: isGood }, { target: "b" }],
            CALL: undefined,
            BARE: {},
            THROWS: { guard: thrown, target: "b" },
            HELD: { guard: isGood },
            EMPTY: [],
          },
          invoke: {
            id: "i",
            src: "one",
            onDone: "b",
            onError: [{ guard: ({ event }: never) => event["error"]["ok"], target: "b" }],
          },
          after: { 10: "b" },
        },
        b: { invoke: { id: "j", src: "one", onError: {} } },
      },
    },
    { events: ["ROOT", "CALL", "BARE", "MAYBE", "EITHER", "THROWS", "HELD", "EMPTY"] },
  );
  const { state } = good(asked.initial(view()));
  const accepts = (event: MachineEvent, at = state) => asked.accepts(at, event, view(["i"]));

  test("follows the guards", () => {
    expect(accepts(external("MAYBE", { good: true }))).toBe("taken");
    expect(accepts(external("MAYBE", { good: false }))).toBe("ignored");
    expect(accepts(external("ROOT"))).toBe("taken");
    expect(accepts(external("EMPTY"))).toBe("ignored");
  });

  test("tells a forbidden event from an ignored one", () => {
    expect(accepts(external("CALL"))).toBe("forbidden");
    expect(accepts(external("BARE"))).toBe("forbidden");
    expect(accepts(external("HELD", { good: true }))).toBe("forbidden");
    expect(accepts(external("HELD"))).toBe("ignored");
    expect(accepts(external("EITHER", { good: true }))).toBe("forbidden");
    expect(accepts(external("EITHER"))).toBe("taken");
  });

  test("of a failure is whether an onError takes it", () => {
    expect(accepts(failure("i", { ok: true }))).toBe("taken");
    expect(accepts(failure("i", { ok: false }))).toBe("ignored");
    // XState lets an onError without anything in it take the failure.
    expect(accepts(failure("j"), { ...state, value: "b" })).toBe("taken");
    expect(accepts(outcome("i"))).toBe("taken");
    expect(accepts(timer("xstate.after.10.m.a"))).toBe("taken");
  });

  test("is left to the transition where a guard throws, which then says why", () => {
    expect(accepts(external("THROWS"))).toBe("taken");
    expect(defectOf(asked.transition(state, external("THROWS"), view()))).toMatch(/boom/);
  });

  test("changes nothing", () => {
    const before = structuredClone(state);
    accepts(external("EITHER"));
    expect(state).toStrictEqual(before);
  });

  test("by some state now is known without asking guards: these are awaited", () => {
    expect(asked.awaited(state, view())).toEqual(["ROOT", "MAYBE", "EITHER", "THROWS"]);
    expect(asked.awaited({ ...state, value: "b" }, view())).toEqual(["ROOT", "CALL", "BARE"]);
  });

  test("in parallel regions is yes if one takes it, and no if one holds it back from the states around", () => {
    const parallel = port(
      {
        on: { A: { actions: log("x") }, B: { actions: log("x") } },
        initial: "p",
        states: {
          p: {
            type: "parallel",
            states: { x: { on: { A: undefined, B: undefined } }, y: { on: { B: { actions: log("y") } } } },
          },
        },
      },
      { events: ["A", "B"] },
    );
    const at = good(parallel.initial(view())).state;
    expect(parallel.awaited(at, view())).toEqual(["B"]);
    expect([parallel.accepts(at, external("A"), view()), parallel.accepts(at, external("B"), view())]).toEqual([
      "forbidden",
      "taken",
    ]);
  });
});
