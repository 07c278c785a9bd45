import { describe, expect, test } from "vitest";
import {
  type AnyStateMachine,
  and,
  assign,
  cancel,
  createMachine,
  emit,
  enqueueActions,
  forwardTo,
  fromCallback,
  fromObservable,
  fromPromise,
  fromTransition,
  log,
  not,
  or,
  raise,
  sendParent,
  sendTo,
  spawnChild,
  stateIn,
  stopChild,
} from "xstate";
import { z } from "zod";
import { RepriseError } from "../../src/errors.ts";
import {
  absent,
  type Finding,
  formatFinding,
  lintExports,
  lintSaga,
  type Saga,
  saga,
  step,
} from "../../src/saga/index.ts";

const input = z.object({});
const action = () => 0;
const pay = step("pay", { input, effect: "idempotent", action, compensate: action });
const look = step("look", { input, effect: "none", action });
const mail = step("mail", { input, effect: "idempotent", action, noCompensation: "sent is sent" });
const final = { type: "final" } as const;

interface Given {
  readonly actors?: object;
  readonly actions?: object;
  readonly guards?: object;
  readonly delays?: object;
  readonly events?: Readonly<Record<string, typeof input>>;
}

/** A machine written as JavaScript writes it: what types forbid is here, too. */
function sagaOf(config: object, given: Given = {}): Saga {
  const { events = {}, ...implementations } = given;
  const provided = { actors: { pay, look, mail }, ...implementations };
  const machine = createMachine({ id: "m", ...config } as never, provided as never) as AnyStateMachine;
  return saga("m", { version: 1, input, events }).machine(machine as never);
}

function errorsOf(config: object, given?: Given): readonly Finding[] {
  try {
    sagaOf(config, given);
  } catch (error) {
    expect(error).toBeInstanceOf(RepriseError);
    expect(error).toHaveProperty("code", "DEFINITION_INVALID");
    return (error as RepriseError).details["findings"] as readonly Finding[];
  }
  return [];
}

/** `CODE@state`, sorted. */
const told = (findings: readonly Finding[]): readonly string[] =>
  findings.map((finding) => `${finding.code}@${finding.state ?? ""}`).sort();

/** A sound machine whose first state is `state`. */
const around = (state: object, more: object = {}): object => ({
  initial: "work",
  states: { work: { invoke: { src: "look", onDone: "end" }, ...state }, end: final },
  ...more,
});

describe("a machine that can be made durable passes", () => {
  test("with every allowed action, guard and delay", () => {
    const config = around({
      entry: [assign({ n: 1 }), "named", { type: "named", params: { a: 1 } }, enqueueActions(() => {})],
      exit: [log("bye"), emit({ type: "left" }), cancel("later")],
      after: { 1000: "end", patience: "end" },
      on: {
        GO: [
          { guard: "named", target: "end" },
          { guard: { type: "named", params: 1 }, target: "end" },
          { guard: and(["named", not("named"), or([() => true, stateIn("work")])]), target: "end" },
          { actions: [raise({ type: "NEXT" }), raise({ type: "NEXT" }, { delay: "patience" as never })] },
        ],
        NEXT: { target: "end", guard: "compound" },
        FORBIDDEN: undefined,
      },
    });
    const given = {
      actions: { named: assign({ n: 2 }) },
      guards: { named: () => true, compound: not("named") },
      delays: { patience: 5_000, other: () => 1 },
    };
    expect(errorsOf(config, given)).toEqual([]);
  });

  test("and gets an output and a bound", () => {
    const { machine } = sagaOf({ initial: "end", states: { end: { type: "final", output: { n: 1 } } } });
    expect(machine.options).toEqual({ maxIterations: 1_000 });
    const output = machine.root.output as (args: { readonly event: { readonly output: unknown } }) => unknown;
    expect(output({ event: { output: 7 } })).toBe(7);
    const own = sagaOf({
      initial: "end",
      states: { end: final },
      output: { own: true },
      options: { maxIterations: 5 },
    });
    expect(own.machine.root.output).toEqual({ own: true });
    expect(own.machine.options).toEqual({ maxIterations: 1_000 });
  });
});

describe("actors", () => {
  const machineActor = createMachine({ initial: "end", states: { end: final } });
  test.each([
    ["an inline step", { src: look }],
    ["an inline promise", { src: fromPromise(async () => 1) }],
    ["an inline machine", { src: machineActor }],
  ])("%s is refused", (_what, invoke) => {
    expect(told(errorsOf(around({ invoke: { ...invoke, onDone: "end" } })))).toEqual(["INLINE_ACTOR@work"]);
  });

  test.each([
    ["a promise", fromPromise(async () => 1)],
    ["a callback", fromCallback(() => {})],
    ["an observable", fromObservable(() => ({ subscribe: () => ({ unsubscribe: () => {} }) }) as never)],
    ["a transition", fromTransition((state) => state, {})],
    ["a machine", machineActor],
  ])("%s that is provided is refused, invoked or not", (_what, actor) => {
    expect(told(errorsOf(around({}), { actors: { look, other: actor } }))).toEqual(["NOT_A_STEP@"]);
  });

  test("an actor that is not provided is refused, naming it", () => {
    const [finding] = errorsOf(around({ invoke: { src: "lok", onDone: "end" } }));
    expect(finding).toMatchObject({ code: "ACTOR_NOT_PROVIDED", saga: "m", state: "work" });
    expect(finding?.message).toContain('"lok"');
    expect(finding?.fix).toContain("setup({ actors: { lok } })");
  });

  test("a step under another name is refused, and two steps of one name are", () => {
    const twin = step("look", { input, effect: "none", action });
    expect(told(errorsOf(around({}), { actors: { look, other: twin } }))).toEqual(["STEP_KEY@", "STEP_NAME_TWICE@"]);
  });

  test("systemId and onSnapshot are refused", () => {
    expect(told(errorsOf(around({ invoke: { src: "look", systemId: "x", onSnapshot: {}, onDone: "end" } })))).toEqual([
      "ON_SNAPSHOT@work",
      "SYSTEM_ID@work",
    ]);
  });

  test("two states with the same invoke id are refused; without id they may invoke the same step", () => {
    const two = (invoke: object): object => ({
      initial: "a",
      states: { a: { invoke: { ...invoke, onDone: "b" } }, b: { invoke: { ...invoke, onDone: "end" } }, end: final },
    });
    expect(told(errorsOf(two({ src: "look", id: "x" })))).toEqual(["INVOKE_ID_TWICE@b"]);
    expect(errorsOf(two({ src: "look" }))).toEqual([]);
  });

  test("a pivot in a parallel region is refused, elsewhere it is not", () => {
    const ship = step("ship", { input, effect: "keyed", action, noCompensation: "gone", pivot: true });
    const region = { initial: "go", states: { go: { invoke: { src: "ship", onDone: "ok" } }, ok: final } };
    const parallel = {
      initial: "p",
      states: { p: { type: "parallel", states: { one: region }, onDone: "end" }, end: final },
    };
    expect(told(errorsOf(parallel, { actors: { ship } }))).toEqual(["PIVOT_IN_PARALLEL@p.one.go"]);
    expect(errorsOf(region, { actors: { ship } })).toEqual([]);
  });
});

describe("actions", () => {
  test.each([
    ["sendTo", sendTo("a", { type: "X" })],
    ["sendParent", sendParent({ type: "X" })],
    ["forwardTo", forwardTo("a")],
    ["spawnChild", spawnChild("look")],
    ["stopChild", stopChild("look")],
  ])("%s is refused, wherever it stands", (_what, effect) => {
    expect(told(errorsOf(around({ entry: effect })))).toEqual(["ACTION_KIND@work"]);
    expect(told(errorsOf(around({ exit: [effect] })))).toEqual(["ACTION_KIND@work"]);
    expect(told(errorsOf(around({ on: { X: { actions: effect } } })))).toEqual(["ACTION_KIND@work"]);
    expect(told(errorsOf(around({ always: { guard: () => false, actions: effect } })))).toEqual(["ACTION_KIND@work"]);
    expect(told(errorsOf(around({ after: { 5: { target: "end", actions: effect } } })))).toEqual(["ACTION_KIND@work"]);
    expect(told(errorsOf(around({ invoke: { src: "look", onDone: { target: "end", actions: effect } } })))).toEqual([
      "ACTION_KIND@work",
    ]);
    expect(told(errorsOf(around({}, { initial: { target: "work", actions: effect } })))).toEqual(["ACTION_KIND@"]);
    expect(told(errorsOf(around({ entry: "named" }), { actions: { named: effect } }))).toEqual(["ACTION_KIND@work"]);
  });

  test("a plain function is refused, in place or provided", () => {
    expect(told(errorsOf(around({ entry: () => {} })))).toEqual(["ACTION_FUNCTION@work"]);
    expect(told(errorsOf(around({ entry: "named" }), { actions: { named: () => {} } }))).toEqual([
      "ACTION_FUNCTION@work",
    ]);
  });

  test("a name that is not provided is refused", () => {
    expect(told(errorsOf(around({ entry: ["asign", { type: "toString" }] })))).toEqual([
      "ACTION_NOT_PROVIDED@work",
      "ACTION_NOT_PROVIDED@work",
    ]);
  });
});

describe("guards and delays", () => {
  test.each([
    ["a name", "gard"],
    ["a name with params", { type: "gard" }],
    ["a name inside combinators", and([not(or(["gard"]))])],
    ["a name behind a provided guard", "outer"],
  ])("%s that is not provided is refused", (_what, guard) => {
    const given = { guards: { outer: not("gard") } };
    expect(told(errorsOf(around({ on: { X: { guard, target: "end" } } }), given))).toEqual(["GUARD_NOT_PROVIDED@work"]);
  });

  test("a mistyped delay is refused, in after and in raise", () => {
    expect(told(errorsOf(around({ after: { pacience: "end" } }), { delays: { patience: 1 } }))).toEqual([
      "DELAY_NOT_PROVIDED@work",
    ]);
    expect(told(errorsOf(around({ entry: raise({ type: "X" }, { delay: "pacience" as never }) })))).toEqual([
      "DELAY_NOT_PROVIDED@work",
    ]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])("a delay of %d is refused", (delay) => {
    expect(told(errorsOf(around({}), { delays: { patience: delay } }))).toEqual(["DELAY@"]);
    expect(told(errorsOf(around({ entry: raise({ type: "X" }, { delay }) })))).toEqual(["DELAY@work"]);
  });
});

describe("events", () => {
  test.each(["*", "order.*", "xstate.*"])("the wildcard %s is refused", (event) => {
    expect(told(errorsOf(around({ on: { [event]: "end" } })))).toEqual(["WILDCARD_EVENT@work"]);
    expect(told(errorsOf(around({}, { on: { [event]: ".end" } })))).toEqual(["WILDCARD_EVENT@"]);
  });

  test.each(["xstate.done.actor.x", "xstate.error.actor.x", "done.invoke.x", "error.platform.x", "xstate.route"])(
    "the reserved name %s is refused, taken or raised",
    (event) => {
      expect(told(errorsOf(around({ on: { [event]: "end" } })))).toEqual(["RESERVED_EVENT@work"]);
      expect(told(errorsOf(around({ entry: raise({ type: event }) })))).toEqual(["RESERVED_EVENT@work"]);
    },
  );

  test("a route is refused", () => {
    expect(told(errorsOf(around({ id: "w", route: {} })))).toEqual(["ROUTE@work"]);
  });
});

describe("ways out", () => {
  const region = (state: object): object => ({ initial: "a", states: { a: state, ok: final } });
  test.each([
    ["a state without transitions", { initial: "a", states: { a: {}, end: final } }, ["NO_WAY_OUT@a"]],
    ["a machine without states", {}, ["NO_WAY_OUT@"]],
    ["a state that only acts", around({ invoke: [], on: { X: { actions: assign({}) } } }), ["NO_WAY_OUT@work"]],
    [
      "a state that only returns to itself",
      around({ invoke: [], on: { X: { target: "work", reenter: true } } }),
      ["NO_WAY_OUT@work"],
    ],
    ["a state that forbids what would leave it", around({ invoke: [], on: { X: undefined } }), ["NO_WAY_OUT@work"]],
    ["a step whose success is not taken", around({ invoke: { src: "look", onError: "end" } }), ["NO_WAY_OUT@work"]],
    [
      "a state inside another whose onDone never comes",
      { initial: "p", states: { p: { ...region({}), onDone: "end" }, end: final } },
      ["NO_WAY_OUT@p.a"],
    ],
    [
      "a final state inside another without onDone",
      { initial: "p", states: { p: region({ on: { X: "ok" } }), end: final } },
      ["NO_WAY_OUT@p.ok"],
    ],
    [
      "a region that cannot end, beside one that can",
      { type: "parallel", states: { one: region({}), two: region({ on: { X: "ok" } }) } },
      ["NO_WAY_OUT@one.a"],
    ],
  ])("%s is refused", (_what, config, expected) => {
    expect(told(errorsOf(config))).toEqual(expected);
  });

  test.each([
    ["an ancestor's event", { initial: "p", states: { p: { ...region({}), on: { X: "end" } }, end: final } }],
    ["the root's event", { initial: "a", states: { a: {}, end: final }, on: { X: ".end" } }],
    ["an ancestor's timer", { initial: "p", states: { p: { ...region({}), after: { 5: "end" } }, end: final } }],
    [
      "its parent's onDone, for a final state",
      { initial: "p", states: { p: { ...region({ on: { X: "ok" } }), onDone: "end" }, end: final } },
    ],
    [
      "the end of all regions",
      { type: "parallel", states: { one: region({ on: { X: "ok" } }), two: region({ on: { Y: "ok" } }) } },
    ],
    [
      "a sibling region that leaves both",
      {
        initial: "p",
        states: {
          p: {
            type: "parallel",
            states: { one: region({}), two: { initial: "a", states: { a: { on: { X: "#m.end" } } } } },
          },
          end: final,
        },
      },
    ],
    [
      "the way back through a history state",
      {
        initial: "p",
        states: {
          p: {
            ...region({ on: { PAUSE: "#m.paused", X: "ok" } }),
            onDone: "end",
            states: { a: { on: { PAUSE: "#m.paused", X: "ok" } }, ok: final, back: { type: "history" } },
          },
          paused: { on: { RESUME: "p.back" } },
          end: final,
        },
      },
    ],
  ])("%s is a way out", (_what, config) => {
    expect(errorsOf(config)).toEqual([]);
  });
});

describe("always", () => {
  test("a circle without guards is refused once, naming it", () => {
    const config = {
      initial: "a",
      states: { a: { always: "b" }, b: { always: "c" }, c: { always: "b" }, end: final },
      on: { X: ".end" },
    };
    const findings = errorsOf(config);
    expect(told(findings)).toEqual(["ALWAYS_CYCLE@b"]);
    expect(findings[0]?.message).toContain("b -> c -> b");
  });

  test("a circle through a parent's initial state is refused", () => {
    const config = {
      initial: "a",
      states: { a: { always: "p" }, p: { initial: "q", states: { q: { always: "#m.a" } } }, end: final },
      on: { X: ".end" },
    };
    expect(told(errorsOf(config))).toEqual(["ALWAYS_CYCLE@a"]);
  });

  test("one without target is refused", () => {
    expect(told(errorsOf(around({ always: { actions: assign({}) } })))).toEqual(["ALWAYS_CYCLE@work"]);
  });

  test("a guard breaks the circle", () => {
    const config = {
      initial: "a",
      states: {
        a: { always: [{ guard: () => false, target: "end" }, { target: "b" }] },
        b: { always: { guard: () => true, target: "a" } },
        end: final,
      },
    };
    expect(errorsOf({ ...config, on: { X: ".end" } })).toEqual([]);
  });
});

describe("the tag unwind", () => {
  const ends = (tags: string): object => ({
    initial: "a",
    states: { a: { on: { X: "no", Y: "ok" } }, no: { type: "final", tags }, ok: final },
  });
  test("may stand on a final child of the root, or of a region of a parallel root", () => {
    expect(errorsOf(ends("unwind"))).toEqual([]);
    expect(errorsOf({ type: "parallel", states: { one: ends("unwind"), two: ends("other") } })).toEqual([]);
  });

  test.each([
    ["a state that is not final", around({ tags: ["unwind"] }), "UNWIND_TAG@work"],
    ["the root", around({}, { tags: "unwind" }), "UNWIND_TAG@"],
    ["a region itself", { type: "parallel", states: { one: { ...ends(""), tags: "unwind" } } }, "UNWIND_TAG@one"],
    [
      "a final state deeper down",
      { initial: "p", states: { p: { ...ends("unwind"), onDone: "end" }, end: final } },
      "UNWIND_TAG@p.no",
    ],
  ])("is refused on %s", (_what, config, expected) => {
    expect(told(errorsOf(config))).toEqual([expected]);
  });
});

test("an initial context that is not JSON is refused", () => {
  expect(told(errorsOf(around({}, { context: { since: new Date(0) } })))).toEqual(["CONTEXT_NOT_JSON@"]);
});

test("all errors are thrown as one that lists them, each with saga, state and fix", () => {
  const declare = () => sagaOf(around({ entry: "nope", on: { "*": "end" } }));
  expect(declare).toThrow(/2 problems:/);
  expect(declare).toThrow(
    /saga "m", state "work": the action "nope" is not provided\. Add it to setup\(\{ actions \}\)/,
  );
  expect(declare).toThrow(/saga "m", state "work": it takes "\*", which swallows failures\. Name each event/);
});

describe("warnings", () => {
  const once = step("once", { input, effect: "once", action, noCompensation: "x" });
  const keyed = step("keyed", {
    input,
    effect: "keyed",
    action,
    compensate: action,
    keyTtl: "1s",
    probe: () => absent(),
  });
  const line = (...names: readonly string[]): object => ({
    initial: names[0],
    states: {
      ...Object.fromEntries(
        names.map((name, index) => [name, { invoke: { src: name, onDone: names[index + 1] ?? "end" } }]),
      ),
      end: final,
    },
  });
  const warningsOf = (config: object, given: Given = {}): readonly Finding[] => {
    const findings = lintSaga(sagaOf(config, given));
    expect(findings.every((finding) => finding.level === "warning")).toBe(true);
    return findings;
  };

  test("a step with an effect that can be left before it ends", () => {
    const actors = { pay };
    const state = { invoke: { src: "pay", onDone: "end" } };
    for (const more of [
      { after: { 5: "end" } },
      { on: { X: "end" } },
      { always: { guard: () => true, target: "end" } },
    ]) {
      const given = { actors, events: { X: input } };
      expect(told(warningsOf({ initial: "w", states: { w: { ...state, ...more }, end: final } }, given))).toContain(
        "STEP_CAN_BE_LEFT@w",
      );
    }
    expect(told(warningsOf({ initial: "w", states: { w: state, end: final } }, { actors }))).toEqual([]);
  });

  test("not where the author has said keep, nor for a step without effect, nor by the end of its own region", () => {
    const kept = step("pay", { input, effect: "idempotent", action, compensate: action, onAbandon: "keep" });
    const state = (src: string): object => ({
      initial: "w",
      states: { w: { invoke: { src, onDone: "end" }, after: { 5: "end" } }, end: final },
    });
    expect(warningsOf(state("pay"), { actors: { pay: kept } })).toEqual([]);
    expect(warningsOf(state("look"), { actors: { look } })).toEqual([]);
    const region = { initial: "w", states: { w: { invoke: { src: "pay", onDone: "ok" } }, ok: final } };
    const parallel = {
      initial: "p",
      states: { p: { type: "parallel", states: { region }, onDone: "end" }, end: final },
    };
    expect(warningsOf(parallel, { actors: { pay } })).toEqual([]);
  });

  test("an effect that stays, before something that can fail and after something that is undone then", () => {
    expect(told(warningsOf(line("pay", "mail", "look")))).toEqual(["PERMANENT_BEFORE_RISK@mail"]);
    expect(warningsOf(line("pay", "look", "mail"))).toEqual([]);
    expect(told(warningsOf(line("mail", "pay")))).toEqual(["STEP_UNUSED@"]);
  });

  test("not behind a pivot, and not if it is one", () => {
    const pivot = step("look", {
      input,
      effect: "once",
      action,
      noCompensation: "x",
      pivot: true,
      probe: () => absent(),
    });
    expect(warningsOf(line("pay", "look", "mail"), { actors: { pay, mail, look: pivot } })).toEqual([]);
    expect(told(warningsOf(line("pay", "look"), { actors: { pay, look: pivot } }))).toEqual([]);
  });

  test("effects that nobody can ask about, and keys that lapse too soon", () => {
    const findings = warningsOf(line("once", "keyed"), { actors: { once, keyed } });
    expect(told(findings)).toEqual(["KEY_TTL_SHORT@keyed", "ONCE_WITHOUT_PROBE@once"]);
    const silent = step("keyed", { input, effect: "keyed", action, compensate: action });
    expect(told(warningsOf(line("keyed"), { actors: { keyed: silent } }))).toEqual(["KEYED_WITHOUT_PROBE@keyed"]);
  });

  test("a step's tools are looked at like the step: what they cannot tell, and what is left when it is", () => {
    const agent = step("agent", { input, effect: "none", action, uses: { mail: once } });
    const config = {
      initial: "w",
      states: { w: { invoke: { src: "agent", onDone: "end" }, on: { STOP: "end" } }, end: final },
    };
    const given = { actors: { agent }, events: { STOP: input } };
    expect(told(warningsOf(config, given))).toEqual(["ONCE_WITHOUT_PROBE@w", "STEP_CAN_BE_LEFT@w"]);
  });

  test("events that never come, and events that nobody takes", () => {
    const config = { initial: "w", states: { w: { on: { X: "end", Y: "end" } }, end: final } };
    const given = { actors: {}, events: { X: input, Z: input } };
    expect(told(warningsOf(config, given))).toEqual(["EVENT_NEVER_COMES@w", "EVENT_NEVER_TAKEN@"]);
    expect(told(warningsOf({ ...config, entry: raise({ type: "Y" }) }, given))).toEqual(["EVENT_NEVER_TAKEN@"]);
    expect(told(warningsOf({ ...config, entry: enqueueActions(() => {}) }, given))).toEqual(["EVENT_NEVER_TAKEN@"]);
  });

  test("a module's exports are read: sagas alone or in lists, each once", () => {
    const one = sagaOf(line("once"), { actors: { once } });
    expect(told(lintExports({ one, again: one, list: [one], other: 7, none: null, step: once }))).toEqual([
      "ONCE_WITHOUT_PROBE@once",
    ]);
  });

  test("a finding is one line for people", () => {
    const [finding] = warningsOf(line("once"), { actors: { once } });
    expect(finding && formatFinding(finding)).toBe(
      'saga "m", state "once": "once" is sent once and cannot be asked: whenever its outcome is unknown, ' +
        "a person must decide. Give it a probe. [ONCE_WITHOUT_PROBE]",
    );
  });
});
