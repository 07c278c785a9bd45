/** Machines whose point is the way through their states. */
import { and, not, stateIn } from "xstate";
import { base, type Context, count, fresh, hear, list, no, ok, over, type Shape, say, send, shape } from "./shape.ts";

const straight = shape(
  base.createMachine({
    id: "straight",
    context: ({ input }) => ({ n: input?.n ?? 0, list: [] }),
    initial: "reserving",
    states: {
      reserving: {
        invoke: {
          src: "one",
          input: ({ context }: { context: Context }) => ({ order: context.n }),
          onDone: { target: "charging", actions: hear("output") },
        },
      },
      charging: {
        invoke: {
          src: "two",
          input: ({ context }: { context: Context }) => context.list,
          onDone: { target: "shipping", actions: hear("output") },
        },
      },
      shipping: { invoke: { src: "three", onDone: "done" } },
      done: { type: "final" },
    },
    output: ({ context }) => ({ for: context.n, got: context.list }),
  }),
  {
    input: { n: 7 },
    script: [ok("0.straight.reserving", { r: 1 }), ok("0.straight.charging", [2]), ok("0.straight.shipping")],
    ends: { status: "done", value: "done", output: { for: 7, got: [{ r: 1 }, [2]] } },
  },
);

const branches = shape(
  base.createMachine({
    id: "branches",
    context: ({ input }) => ({ n: input?.n ?? 0, list: [] }),
    initial: "sorting",
    states: {
      sorting: {
        always: [{ guard: and([not(over(99)), not(stateIn("paying"))]), target: "paying" }, { target: "scoring" }],
      },
      scoring: {
        invoke: {
          src: "one",
          onDone: [
            { guard: { type: "gaveAtLeast", params: { points: 10 } }, target: "paying", actions: say("good") },
            { guard: { type: "gaveAtLeast", params: { points: 5 } }, target: "reviewing", actions: say("so-so") },
            { target: "refused" },
          ],
        },
      },
      reviewing: { invoke: { src: "two", onDone: "scoring" }, on: { ACCEPT: "paying", REFUSE: "refused" } },
      paying: { invoke: { src: "three", onDone: "done" } },
      refused: { type: "final", tags: "unwind" },
      done: { type: "final" },
    },
    output: list,
  }),
  {
    input: { n: 500 },
    events: ["ACCEPT", "REFUSE"],
    script: [
      ok("0.branches.scoring", 7),
      ok("0.branches.reviewing"),
      ok("0.branches.scoring", 6),
      send("ACCEPT"),
      ok("0.branches.paying"),
    ],
    ends: { status: "done", value: "done", output: ["so-so", "so-so"] },
  },
);

const nested = shape(
  base.createMachine({
    id: "nested",
    context: fresh,
    initial: "outer",
    states: {
      outer: {
        initial: "inner",
        entry: say("in"),
        exit: say("out"),
        states: {
          inner: {
            initial: "a",
            states: {
              a: { invoke: { src: "one", onDone: { target: "b", actions: hear("output") } } },
              b: { invoke: { src: "two", onDone: "end" }, on: { BACK: "a" } },
              end: { type: "final", output: { inner: true } },
            },
            onDone: { target: "ended", actions: hear("output") },
          },
          ended: { type: "final", output: ({ context }) => ({ outer: context.list.length }) },
        },
        onDone: { target: "done", actions: hear("output") },
        on: { RESTART: { target: "outer", reenter: true } },
      },
      done: { type: "final", output: ({ context }) => context.list },
    },
    output: ({ event }) => ({ all: event.output }),
  }),
  {
    events: ["BACK", "RESTART"],
    script: [
      send("RESTART"),
      ok("0.nested.outer.inner.a", 1),
      send("BACK"),
      ok("0.nested.outer.inner.a", 2),
      ok("0.nested.outer.inner.b", 3),
    ],
    ends: { status: "done", output: { all: ["in", "out", "in", 1, 2, { inner: true }, "out", { outer: 6 }] } },
  },
);

const eventless = shape(
  base.createMachine({
    id: "eventless",
    context: fresh,
    initial: "idle",
    states: {
      idle: { on: { ADD: { actions: count(3) } }, always: { guard: over(5), target: "passing" } },
      // Entered and left within one transition: its step is never started.
      passing: { invoke: { src: "one", onDone: "idle" }, entry: say("passing"), always: "choosing" },
      choosing: { always: [{ guard: ({ context }) => context.n % 2 === 0, target: "even" }, { target: "odd" }] },
      even: { invoke: { src: "two", onDone: "done" }, on: { ADD: { target: "idle", actions: count(-1) } } },
      odd: { entry: count(-4), always: "idle" },
      done: { type: "final" },
    },
    output: list,
  }),
  {
    events: ["ADD"],
    script: [send("ADD"), send("ADD"), send("ADD"), send("ADD"), ok("0.eventless.even")],
    ends: { status: "done", output: ["passing", "passing"], context: { n: 8, list: ["passing", "passing"] } },
  },
);

const looping = shape(
  base.createMachine({
    id: "looping",
    context: fresh,
    initial: "batch",
    states: {
      batch: {
        invoke: { id: "watch", src: "two", onDone: { actions: say("watched") } },
        initial: "item",
        states: {
          item: {
            entry: count(),
            invoke: {
              id: "item",
              src: "one",
              onDone: [
                { guard: over(2), target: "#over" },
                { target: "item", reenter: true },
              ],
            },
            on: {
              SAME: { target: "item" },
              AGAIN: { target: "item", reenter: true },
              MARK: { actions: say("m") },
            },
          },
        },
        on: { OUTER: { target: "batch", reenter: true }, INNER: { target: ".item" } },
      },
      over: { id: "over", type: "final" },
    },
    output: list,
  }),
  {
    events: ["SAME", "AGAIN", "MARK", "OUTER", "INNER"],
    script: [ok("watch"), send("SAME"), send("AGAIN"), send("MARK"), send("OUTER"), ok("watch"), ok("item")],
    ends: {
      status: "done",
      value: "over",
      output: ["watched", "m", "watched"],
      context: { n: 3, list: ["watched", "m", "watched"] },
    },
  },
);

const recovering = shape(
  base.createMachine({
    id: "recovering",
    context: fresh,
    initial: "charging",
    states: {
      charging: {
        invoke: {
          src: "one",
          input: ({ context }: { context: Context }) => context.n,
          onDone: "fragile",
          onError: [
            { guard: not(over(1)), target: "charging", reenter: true, actions: count() },
            {
              guard: ({ event }) => Reflect.get(Object(event.error), "code") === "E",
              target: "falling_back",
              actions: hear("error"),
            },
          ],
        },
      },
      falling_back: { invoke: { src: "two", onDone: "fragile", onError: { actions: say("stays") } } },
      fragile: { invoke: { src: "three", onDone: "done" }, on: { RESET: { target: "charging", actions: count(-2) } } },
      done: { type: "final" },
    },
    output: list,
  }),
  {
    events: ["RESET"],
    script: [
      no("0.recovering.charging"),
      no("0.recovering.charging"),
      no("0.recovering.charging"),
      ok("0.recovering.falling_back"),
      no("0.recovering.fragile", "F"),
    ],
    ends: {
      status: "error",
      value: "fragile",
      context: { n: 2, list: [{ kind: "fail", code: "E", message: "no", attempts: 1 }] },
    },
  },
);

const forbidding = shape(
  base.createMachine({
    id: "forbidding",
    context: fresh,
    initial: "quiet",
    on: { CALL: { actions: say("root") }, END: ".end" },
    states: {
      quiet: { invoke: { src: "one", onDone: "loud" }, on: { CALL: undefined as never, END: {} } },
      loud: {
        invoke: { src: "two", onDone: "quiet" },
        on: { CALL: { guard: ({ event }) => event["to"] === "me", actions: say("loud") } },
      },
      end: { type: "final" },
    },
    output: list,
  }),
  {
    events: ["CALL", "END"],
    script: [
      send("CALL"),
      send("END"),
      ok("0.forbidding.quiet"),
      send("CALL"),
      send("CALL", { to: "me" }),
      send("END"),
    ],
    ends: { status: "done", value: "end", output: ["root", "loud"] },
  },
);

export const flowShapes: Readonly<Record<string, Shape>> = {
  "a straight line": straight,
  "branches by guards": branches,
  "nested states with outputs": nested,
  "eventless transitions": eventless,
  "loops that enter a state again": looping,
  "recovery by onError": recovering,
  "forbidden transitions": forbidding,
};
