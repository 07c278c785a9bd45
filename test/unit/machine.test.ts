/** What the machine port answers: effects in order, regions entered, endings. */
import { describe, expect, test } from "vitest";
import { cancel, emit, log } from "xstate";
import { machineOf } from "../../src/core/machine/machine.ts";
import type { MachineEvent, Turn } from "../../src/core/machine/port.ts";
import {
  type Config,
  external,
  failure,
  going,
  good,
  machine,
  outcome,
  port,
  raised,
  view,
} from "../support/machine-asking.ts";
import { specOf } from "../support/saga-spec.ts";

test("the same saga has the same machine", () => {
  const saga = specOf(machine({}));
  expect(machineOf(saga)).toBe(machineOf(saga));
  expect(machineOf(saga).saga).toBe(saga);
});

test("the user's own machine is not touched", () => {
  const mine = machine({
    initial: "a",
    entry: raised({ type: "x" }, { delay: "later" }),
    states: { a: { invoke: { src: "one", onDone: "b" } }, b: { type: "parallel", states: { c: {} } } },
  });
  const nodes = [mine.root, mine.states["a"], mine.states["b"], mine.states["b"]?.states["c"]];
  const seen = () =>
    nodes.map((node) => [node?.entry, node?.exit, node?.invoke, [...(node?.transitions.values() ?? [])]]);
  const before = seen();
  machineOf(specOf(mine)).initial(view());
  expect(seen()).toEqual(before);
  expect(mine.options.maxIterations).toBe(Infinity);
});

describe("effects", () => {
  test("come in the order in which XState gives them", () => {
    const asked = port(
      {
        initial: "a",
        states: {
          a: {
            invoke: { id: "first", src: "one" },
            exit: emit({ type: "leaving" }),
            on: {
              GO: {
                target: "b",
                actions: [log("going"), cancel("t"), raised({ type: "LATER", n: 1 }, { id: "t", delay: 20 })],
              },
            },
          },
          b: {
            entry: emit({ type: "entering" }),
            invoke: { id: "second", src: "two", input: { a: 1 } },
            after: { 50: "a" },
          },
        },
      },
      { events: ["GO"] },
    );
    const began = good(asked.initial(view()));
    expect(began.effects).toEqual([{ type: "start", invoke: "first", step: "one", input: undefined, region: [] }]);
    expect(began.ended).toBeNull();
    expect(good(asked.transition(began.state, external("GO"), view(["first"]))).effects).toEqual([
      { type: "emitted", event: { type: "leaving" } },
      { type: "stop", invoke: "first" },
      { type: "logged", message: "going" },
      { type: "timer_cancel", id: "t" },
      { type: "timer", id: "t", delayMs: 20, event: { type: "LATER", n: 1 } },
      { type: "emitted", event: { type: "entering" } },
      { type: "timer", id: "xstate.after.50.m.b", delayMs: 50, event: { type: "xstate.after.50.m.b" } },
      { type: "start", invoke: "second", step: "two", input: { a: 1 }, region: [] },
    ]);
  });

  test("a start that is stopped in the same transition is no invocation, nor is its timer", () => {
    const asked = port({
      initial: "a",
      states: { a: { invoke: { src: "one" }, after: { 10: "b" }, always: "b" }, b: { invoke: { src: "two" } } },
    });
    expect(good(asked.initial(view())).effects).toMatchObject([
      { type: "timer_cancel", id: "xstate.after.10.m.a" },
      { type: "start", step: "two" },
    ]);
  });

  test("an invocation that is entered again is stopped, then started", () => {
    const asked = port(
      { initial: "a", states: { a: { invoke: { id: "i", src: "one" }, on: { GO: { target: "a", reenter: true } } } } },
      { events: ["GO"] },
    );
    const { state } = good(asked.initial(view()));
    const kinds = (open: string[]) =>
      good(asked.transition(state, external("GO"), view(open))).effects.map(({ type }) => type);
    expect(kinds(["i"])).toEqual(["stop", "start"]);
    // One that has ended and whose state is still active: there is nothing to stop.
    expect(kinds([])).toEqual(["start"]);
  });

  test("an invocation whose outcome is told is not stopped", () => {
    const asked = port({ initial: "a", states: { a: { invoke: { id: "i", src: "one", onDone: "b" } }, b: {} } });
    const { state } = good(asked.initial(view()));
    expect(good(asked.transition(state, outcome("i"), view(["i"]))).effects).toEqual([]);
  });

  test("all that is open is stopped when the machine ends", () => {
    const asked = port({
      invoke: { id: "root", src: "two" },
      initial: "a",
      states: {
        a: {
          invoke: [
            { id: "i", src: "one", onDone: "z" },
            { id: "j", src: "one" },
          ],
        },
        z: { type: "final" },
      },
    });
    const { state } = good(asked.initial(view()));
    const open = view(["root", "i", "j", "stray"]);
    const stopped = (turn: Turn) => good(turn).effects.map((effect) => effect.type === "stop" && effect.invoke);
    expect(stopped(asked.transition(state, outcome("i"), open))).toEqual(["j", "root", "stray"]);
    expect(stopped(asked.transition(state, failure("j"), open))).toEqual(["root", "i", "stray"]);
  });

  test("regions are named by the states that invoke in them, outermost first, and when they are entered", () => {
    const inner = { type: "parallel", states: { x: { invoke: { src: "one" } }, y: {}, h: { type: "history" } } };
    const asked = port(
      {
        initial: "p",
        states: {
          p: {
            type: "parallel",
            states: {
              a: { initial: "q", states: { q: inner, r: {} }, on: { AGAIN: ".q" } },
              b: {},
            },
            on: { ALL: { target: "p", reenter: true } },
          },
        },
      },
      { events: ["AGAIN", "ALL"] },
    );
    const began = good(asked.initial(view()));
    expect(began.effects).toMatchObject([{ type: "start", region: ["m.p.a", "m.p.a.q.x"] }]);
    expect(began.entered).toEqual(["m.p.a", "m.p.a.q.x", "m.p.a.q.y", "m.p.b"]);
    const again = (event: string) =>
      good(asked.transition(began.state, external(event), view(["0.m.p.a.q.x"]))).entered;
    expect(again("AGAIN")).toEqual(["m.p.a.q.x", "m.p.a.q.y"]);
    expect(again("ALL")).toEqual(began.entered);
  });

  test("an event that is raised at once is XState's own business", () => {
    const { turn } = going(raised({ type: "NOW" }), { always: { guard: () => false, target: "a" } });
    expect(good(turn).effects).toEqual([]);
  });

  test("delayed raises without an id are all kept, those with one replace each other by it", () => {
    const asked = port(
      { initial: "a", states: { a: { on: { GO: { actions: raised({ type: "X" }, { delay: 1.2 }) } } } } },
      { events: ["GO"] },
    );
    let state = good(asked.initial(view())).state;
    const timers = [1, 2].map(() => {
      const turn = good(asked.transition(JSON.parse(JSON.stringify(state)), external("GO"), view()));
      state = turn.state;
      return turn.effects;
    });
    expect(timers).toEqual([
      [{ type: "timer", id: "reprise.raise.1", delayMs: 2, event: { type: "X" } }],
      [{ type: "timer", id: "reprise.raise.2", delayMs: 2, event: { type: "X" } }],
    ]);
  });

  test("a log line is told as it is, and never stands in the way", () => {
    const { turn } = going([log("plain"), log(() => ({ a: 1 }), "label"), log(() => undefined), log(() => new Map())]);
    expect(good(turn).effects).toEqual([
      { type: "logged", message: "plain" },
      { type: "logged", message: { label: "label", value: { a: 1 } } },
      { type: "logged", message: null },
      { type: "logged", message: expect.stringMatching(/not JSON.*Map/) },
    ]);
  });
});

describe("a machine ends", () => {
  const ends = (config: Config, ...events: MachineEvent[]) => {
    const asked = port(config, { events: ["GO"] });
    return events.reduce(
      (turn, event) => good(asked.transition(turn.state, event, view(["i", "j"]))),
      good(asked.initial(view())),
    );
  };
  const invoking = (more: Config) => ({ invoke: { id: "i", src: "one", ...more } });

  test("completed, in the final state it has reached, with its output", () => {
    const turn = ends({
      initial: "a",
      states: { a: { type: "final", output: 5 } },
      output: ({ event }: never) => event["output"],
    });
    expect(turn.ended).toEqual({ how: "completed", at: "m.a" });
    expect(turn.state).toStrictEqual({ value: "a", context: {}, status: "done", output: 5 });
  });

  test("completed, if it is nothing but a final state", () => {
    expect(ends({ type: "final" }).ended).toEqual({ how: "completed", at: "m" });
  });

  test("for an unwind, in a final state tagged so", () => {
    const states = {
      a: { initial: "x", states: { x: { type: "final", tags: "unwind" } }, onDone: "no" },
      no: { type: "final", tags: ["unwind"] },
    };
    expect(ends({ initial: "a", states }).ended).toEqual({ how: "unwind", at: "m.no" });
    expect(ends({ initial: "a", states: { ...states, no: { type: "final" } } }).ended).toEqual({
      how: "completed",
      at: "m.no",
    });
  });

  test("in a parallel root when all regions have, for an unwind if one of them says so", () => {
    const region = (tags: string[]) => ({ initial: "z", states: { z: { type: "final", tags } } });
    const root = (a: Config, b: Config) => ends({ type: "parallel", states: { a, b } }).ended;
    expect(root(region([]), region([]))).toEqual({ how: "completed", at: "m" });
    expect(root(region([]), region(["unwind"]))).toEqual({ how: "unwind", at: "m.b.z" });
    expect(root(region([]), { type: "final", tags: ["unwind"] })).toEqual({ how: "unwind", at: "m.b" });
  });

  test("by a failure that no onError takes, in the state that had invoked it", () => {
    const config = { initial: "a", states: { a: { ...invoking({ onDone: "b" }), after: { 10: "b" } }, b: {} } };
    const turn = ends(config, failure("i", { code: "E" }));
    expect(turn.ended).toEqual({ how: "error", at: "m.a" });
    expect(turn.state).toStrictEqual({ value: "a", context: {}, status: "error" });
  });

  test("not while a failure is taken, an outcome has nothing to say, or a region is still busy", () => {
    expect(ends({ initial: "a", states: { a: invoking({ onError: {} }) } }, failure("i")).ended).toBeNull();
    expect(ends({ initial: "a", states: { a: invoking({}) } }, outcome("i", 1)).ended).toBeNull();
    const busy = {
      type: "parallel",
      states: { a: { initial: "x", states: { x: invoking({ onDone: "z" }), z: { type: "final" } } }, b: {} },
    };
    expect(ends(busy, outcome("i")).state.status).toBe("active");
  });
});

describe("a trace", () => {
  const asked = port(
    {
      initial: "a",
      states: {
        a: {
          on: {
            GO: [
              { guard: () => false, target: "c" },
              { target: "b", actions: raised({ type: "ON" }) },
            ],
          },
        },
        b: { always: { target: "c" } },
        c: { on: { ON: "d", OFF: { actions: () => undefined } } },
        d: { initial: "inner", states: { inner: {} } },
      },
    },
    { events: ["GO", "OFF"] },
  );
  const { state } = good(asked.initial(view()));

  test("has the transitions in their order, told apart by state, event and place, and the states on the way", () => {
    expect(asked.trace({ state, event: external("GO") }, view())).toEqual({
      transitions: [
        { source: "m.a", event: "GO", nth: 1 },
        { source: "m.b", event: "", nth: 0 },
        { source: "m.c", event: "ON", nth: 0 },
      ],
      states: ["m.a", "m", "m.b", "m.c", "m.d", "m.d.inner"],
    });
  });

  test("of the start has the states that are entered, of a defect what came before it", () => {
    expect(asked.trace(null, view())).toEqual({ transitions: [], states: ["m", "m.a"] });
    const ended = { ...state, status: "done" } as const;
    expect(asked.trace({ state: ended, event: external("GO") }, view())).toEqual({ transitions: [], states: [] });
  });

  test("changes nothing of what follows", () => {
    const before = asked.transition(state, external("GO"), view());
    asked.trace({ state, event: external("GO") }, view());
    expect(asked.transition(state, external("GO"), view())).toEqual(before);
  });
});
