/** What the machine port calls a defect, and that a defect leaves everything as it was. */
import { describe, expect, test } from "vitest";
import { assign, cancel, emit, enqueueActions, sendTo, spawnChild, stopChild } from "xstate";
import type { MachineEvent } from "../../src/core/machine/port.ts";
import {
  type Config,
  defectOf,
  external,
  failure,
  going,
  good,
  outcome,
  port,
  raised,
  thrown,
  view,
} from "../support/machine-asking.ts";
import { type SpecParts, steps } from "../support/saga-spec.ts";

describe("a defect leaves everything as it was:", () => {
  const kept = (config: Config, event: MachineEvent, parts: SpecParts = {}, open: readonly string[] = []) => {
    const asked = port(config, parts);
    const { state } = good(asked.initial(view()));
    const before = structuredClone(state);
    const turn = asked.transition(state, event, view(open));
    expect(state).toStrictEqual(before);
    return turn;
  };
  const one = (onDone: unknown) => ({
    initial: "a",
    states: { a: { invoke: { id: "i", src: "one", onDone } }, b: {} },
  });

  test.each<[string, unknown]>([
    ["a guard that throws", { target: "b", guard: thrown }],
    ["an assign that throws", { target: "b", actions: assign(thrown) }],
    ["an emit that throws", { target: "b", actions: emit(thrown) }],
    ["a delay that throws", { actions: raised({ type: "X" }, { delay: thrown }) }],
    ["a cancel that throws", { actions: cancel(thrown) }],
  ])("%s", (_name, onDone) => {
    expect(kept(one(onDone), outcome("i"), {}, ["i"])).toMatchObject({
      ok: false,
      defect: expect.stringContaining("boom"),
      where: '"a" on the outcome of i',
    });
  });

  test.each<[string, Config]>([
    ["an input mapper that throws", { b: { invoke: { src: "two", input: thrown } } }],
    ["the output of a final state that throws", { b: { type: "final", output: thrown } }],
    ["a loop without an end", { b: { always: "c" }, c: { always: "b" } }],
  ])("%s", (_name, states) => {
    const config = {
      initial: "a",
      states: { a: { on: { GO: "w.b" } }, w: { initial: "b", states } },
      output: ({ event }: never) => event,
    };
    const turn = kept(config, external("GO"), { events: ["GO"] });
    expect(turn).toMatchObject({ ok: false, defect: expect.stringMatching(/boom|Infinite loop/), where: '"a" on GO' });
  });

  test("an output that throws or is not JSON", () => {
    const ending = (output: unknown) => ({
      initial: "a",
      states: { a: { on: { GO: "z" } }, z: { type: "final" } },
      output,
    });
    expect(defectOf(kept(ending(thrown), external("GO"), { events: ["GO"] }))).toBe("boom");
    const map = kept(
      ending(() => ({ made: new Map() })),
      external("GO"),
      { events: ["GO"] },
    );
    expect(defectOf(map)).toMatch(/the output is not JSON: at \.made: .*Map/);
  });

  test("whatever throws at the start", () => {
    const context = { context: thrown };
    expect(port(context).initial(view())).toEqual({ ok: false, defect: "boom", where: "the start" });
    expect(port({ entry: assign(thrown) }).initial(view())).toMatchObject({ ok: false });
  });

  test("something thrown that is no error", () => {
    const throws = () => {
      const words: unknown = "words";
      throw words;
    };
    expect(defectOf(going(assign(throws)).turn)).toBe("words");
  });

  test.each<[string, unknown, RegExp]>([
    ["a Map", new Map(), /\.bad: .*Map/],
    ["a Date", new Date(), /\.bad: .*Date/],
    ["NaN", Number.NaN, /\.bad: NaN/],
    ["an undefined element", [undefined], /\.bad\[0\]: undefined/],
    ["a function", () => 1, /\.bad: a function/],
  ])("context that holds %s, and it names the path", (_name, bad, path) => {
    const { turn } = going(assign({ fine: 1, bad: () => bad }));
    expect(defectOf(turn)).toMatch(/the context is not JSON/);
    expect(defectOf(turn)).toMatch(path);
  });

  test("context that holds itself, or the actor", () => {
    const cycle: Record<string, unknown> = {};
    cycle["again"] = cycle;
    expect(defectOf(going(assign({ bad: () => cycle })).turn)).toMatch(/cycle/);
    expect(defectOf(going(assign({ bad: ({ self }) => self })).turn)).toMatch(/\.bad: an instance of/);
  });

  test("a property of the context that is undefined is left out, that is no defect", () => {
    const { turn } = going(assign({ gone: undefined, here: 1 }));
    expect(good(turn).state.context).toStrictEqual({ here: 1 });
  });

  test.each<[string, unknown, RegExp]>([
    ["a plain function", function mine() {}, /the action (mine|named) is none/],
    ["a function without a name", () => {}, /the action \S+ is none/],
    ["an action that is not provided", "typo", /the action typo is none/],
    ["sendTo", sendTo(({ self }) => self, { type: "X" }), /xstate\.sendTo is none/],
    ["spawnChild", spawnChild("one"), /xstate\.spawnChild is none/],
    ["stopChild", stopChild("0.m.a"), /xstate\.stopChild is none/],
    ["what enqueueActions collects", enqueueActions(({ enqueue }) => enqueue.sendTo("one", {} as never)), /one/],
    ["a spawn by enqueueActions", enqueueActions(({ enqueue }) => enqueue.spawnChild("one")), /spawnChild is none/],
    ["a stop by enqueueActions", enqueueActions(({ enqueue }) => enqueue.stopChild("x")), /stopChild is none/],
    ["a spawn in an assign", assign({ ref: ({ spawn }) => void spawn("one") }), /spawned in an assign/],
    ["an event sent to itself", assign(({ self }) => self.send({ type: "X" })), /sent to the machine itself/],
    ["an emitted event that is not JSON", emit({ type: "X", at: new Date() }), /emitted event is not JSON: at \.at/],
    [
      "a raised event that is not JSON",
      raised({ type: "X", at: new Date() }, { delay: 1 }),
      /raised event is not JSON/,
    ],
    [
      "a raise of a reserved name",
      raised({ type: "xstate.done.actor.i" }),
      /xstate\.done\.actor\.i of a raise is reserved/,
    ],
    ["a delayed raise of one", raised({ type: "error.x" }, { delay: 1 }), /error\.x of a delayed raise is reserved/],
  ])("an action that is %s", (_name, action, words) => {
    expect(defectOf(going(action).turn)).toMatch(words);
    // A name cannot stand for another name.
    if (typeof action === "string") return;
    expect(defectOf(going("named", {}, { actions: { named: action } }).turn)).toMatch(words);
  });

  test("what user code kept and uses after the transition is heard by nobody", () => {
    let kept: { send(event: object): void } | undefined;
    const { turn } = going(
      assign(({ self }) => {
        kept = self;
        return {};
      }),
    );
    kept?.send({ type: "X" });
    expect(turn.ok).toBe(true);
  });

  test.each<[string, unknown]>([
    ["a name that nobody provided", "typo"],
    ["a name that gives nothing", "nothing"],
    ["a function that gives nothing", () => undefined],
    ["a function that gives a text", () => "soon"],
    ["NaN", Number.NaN],
    ["Infinity", () => Number.POSITIVE_INFINITY],
    ["a number below 0", -1],
  ])("a delay that is %s", (_name, delay) => {
    const delays = { nothing: () => undefined };
    const later = raised({ type: "X" }, { delay: delay as number });
    const words = /not a (finite )?number of ms/;
    expect(defectOf(going(later, {}, { delays }).turn)).toMatch(words);
    expect(defectOf(going("named", {}, { delays, actions: { named: later } }).turn)).toMatch(words);
    const collected = enqueueActions(({ enqueue }) => enqueue.raise({ type: "X" } as never, { delay: delay as never }));
    expect(defectOf(going(collected, {}, { delays }).turn)).toMatch(words);
    expect(
      defectOf(
        going(
          enqueueActions(({ enqueue }) => enqueue(later as never)),
          {},
          { delays },
        ).turn,
      ),
    ).toMatch(words);
  });

  test("an `after` whose delay is mistyped does not fire at once", () => {
    const mistyped = { initial: "a", states: { a: { after: { typo: "b" } }, b: {} } };
    expect(defectOf(port(mistyped).initial(view()))).toMatch(/"typo" is undefined/);
  });

  test.each<[string, Config, RegExp]>([
    ["is no step", { src: "other" }, /"other" is not a step/],
    ["is written in place", { src: steps("x").x }, /is not a step/],
    ["has a systemId", { src: "one", systemId: "s" }, /"one" has a systemId/],
  ])("an invoke that %s", (_name, invoke, words) => {
    expect(defectOf(port({ invoke }, { steps: ["one"] }).initial(view()))).toMatch(words);
  });

  test("an invocation that is entered again without having been left", () => {
    const config = {
      initial: "a",
      states: {
        a: { invoke: { id: "i", src: "one", onDone: "back" }, on: { BACK: "back" } },
        back: { type: "history" },
      },
    };
    expect(defectOf(kept(config, external("BACK"), { events: ["BACK"] }, ["i"]))).toBe(
      "i is invoked again while it is still under way",
    );
    expect(good(kept(config, outcome("i"), {}, ["i"])).effects).toMatchObject([{ type: "start", invoke: "i" }]);
    const twice = {
      type: "parallel",
      states: { a: { invoke: { id: "i", src: "one" } }, b: { invoke: { id: "i", src: "one" } } },
    };
    expect(defectOf(port(twice).initial(view()))).toMatch(/i is invoked again/);
  });

  test("an outcome that no state has asked for, or whose state was left", () => {
    const config = { initial: "a", states: { a: { on: { GO: "b" } }, b: {}, c: { invoke: { id: "i", src: "one" } } } };
    expect(defectOf(kept(config, outcome("nobody")))).toBe("no state of this machine invokes nobody");
    expect(defectOf(kept(config, failure("i")))).toBe("m.c, which invoked i, was left");
  });

  test("nothing is fed to a machine that has ended", () => {
    const asked = port({ initial: "a", states: { a: { type: "final" } }, on: { GO: {} } }, { events: ["GO"] });
    const { state } = good(asked.initial(view()));
    expect(asked.transition(state, external("GO"), view())).toMatchObject({ ok: false, defect: /has ended \(done\)/ });
    expect(asked.accepts(state, external("GO"), view())).toBe("ignored");
    expect(asked.awaited(state, view())).toEqual([]);
  });
});
