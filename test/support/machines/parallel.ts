/** Machines with parallel regions, and machines that remember. */
import type { AnyStateMachine } from "xstate";
import { base, type Context, count, fresh, hear, list, no, ok, type Shape, say, send, shape } from "./shape.ts";

const joined = shape(
  base.createMachine({
    id: "joined",
    context: fresh,
    initial: "booking",
    states: {
      booking: {
        type: "parallel",
        states: {
          flight: {
            initial: "asking",
            states: {
              asking: { invoke: { src: "one", onDone: { target: "booked", actions: hear("output") } } },
              booked: { type: "final" },
            },
          },
          hotel: {
            initial: "asking",
            states: {
              asking: {
                invoke: { src: "two", onDone: { target: "booked", actions: hear("output") } },
                on: { OTHER: { target: "asking", reenter: true } },
              },
              booked: { type: "final" },
            },
          },
        },
        onDone: "confirming",
        on: { ABORT: "given_up" },
      },
      confirming: {
        invoke: { src: "three", input: ({ context }: { context: Context }) => context.list, onDone: "done" },
      },
      given_up: { type: "final", tags: ["unwind"] },
      done: { type: "final", output: "both" },
    },
    output: ({ event }) => event.output,
  }),
  {
    events: ["OTHER", "ABORT"],
    script: [
      send("OTHER"),
      ok("0.joined.booking.hotel.asking", "h"),
      ok("0.joined.booking.flight.asking", "f"),
      ok("0.joined.confirming"),
    ],
    ends: { status: "done", output: "both", context: { n: 0, list: ["h", "f"] } },
  },
);

const fork = (name: string) =>
  ({
    initial: "asking",
    states: {
      asking: { invoke: { src: "one", onDone: "answered", onError: "failed" } },
      failed: { on: { RETRY: "asking" } },
      answered: { type: "final", output: name },
    },
  }) as const;

const parallels = shape(
  base.createMachine({
    id: "forks",
    context: fresh,
    initial: "all",
    states: {
      all: {
        type: "parallel",
        states: {
          east: {
            initial: "running",
            states: {
              running: {
                type: "parallel",
                states: { a: fork("a"), b: fork("b") },
                onDone: { target: "closing", actions: say("east") },
              },
              closing: { invoke: { src: "two", onDone: "closed" } },
              closed: { type: "final" },
            },
            on: { REDO: ".running" },
          },
          west: { type: "parallel", states: { c: fork("c"), d: fork("d") }, onDone: { actions: say("west") } },
        },
        onDone: { target: "end", actions: say("all") },
      },
      end: { type: "final", output: ({ context }) => context.list },
    },
    output: ({ event }) => event.output,
  }),
  {
    events: ["RETRY", "REDO"],
    script: [
      ok("0.forks.all.west.d.asking"),
      no("0.forks.all.west.c.asking"),
      ok("0.forks.all.east.running.a.asking"),
      send("REDO"),
      ok("0.forks.all.east.running.b.asking"),
      ok("0.forks.all.east.running.a.asking"),
      send("RETRY"),
      ok("0.forks.all.west.c.asking"),
      ok("0.forks.all.east.closing"),
    ],
    ends: { status: "done", value: "end", output: ["east", "west", "all"] },
  },
);

const rootParallel = shape(
  base.createMachine({
    id: "twins",
    type: "parallel",
    context: fresh,
    states: {
      left: {
        initial: "busy",
        states: {
          busy: { invoke: { src: "one", onDone: "over", onError: "bad" } },
          over: { type: "final" },
          bad: { type: "final", tags: "unwind" },
        },
      },
      right: { initial: "busy", states: { busy: { invoke: { src: "two", onDone: "over" } }, over: { type: "final" } } },
    },
    on: { COUNT: { actions: count() } },
    output: ({ context }) => context.n,
  }),
  {
    events: ["COUNT"],
    script: [send("COUNT"), ok("0.twins.right.busy"), send("COUNT"), no("0.twins.left.busy")],
    ends: { status: "done", output: 2 },
  },
);

const isGo = ({ context }: { context: Context }) => context.n > 0;
const racer = (name: string) =>
  ({
    initial: "wait",
    states: {
      wait: { on: { [name]: "ready" }, always: { guard: isGo, target: "gone", actions: say(`${name} waiting`) } },
      ready: { on: { [name]: "wait" }, always: { guard: isGo, target: "gone", actions: say(`${name} ready`) } },
      gone: { invoke: { src: "one" } },
    },
  }) as const;

/** Regions leave by `always` at the same moment. In which order, XState decides by how long each has stood where it is. */
const racing = shape(
  base.createMachine({
    id: "racing",
    context: fresh,
    initial: "race",
    states: {
      race: {
        type: "parallel",
        states: { a: racer("a"), b: racer("b"), c: racer("c") },
        on: { GO: { actions: count() }, OUT: "out" },
      },
      out: { on: { IN: { target: "race", actions: count(-1) } } },
    },
  }),
  {
    events: ["a", "b", "c", "GO", "OUT", "IN"],
    script: [send("a"), send("b"), send("a"), send("GO")],
    ends: {
      status: "active",
      value: { race: { a: "gone", b: "gone", c: "gone" } },
      context: { n: 1, list: ["c waiting", "b ready", "a waiting"] },
    },
  },
);

/** Two levels of states, with a pause that comes back by `history`. */
function pausing(id: string, history: "shallow" | "deep"): AnyStateMachine {
  return base.createMachine({
    id,
    context: fresh,
    initial: "active",
    states: {
      active: {
        initial: "one",
        states: {
          one: { on: { NEXT: "two" } },
          two: {
            initial: "early",
            states: {
              early: { invoke: { src: "one", onDone: "late" } },
              late: { invoke: { src: "two", onDone: "#end" }, entry: count() },
            },
          },
          back: { type: "history", history, target: "one" },
        },
        on: { PAUSE: "paused" },
      },
      paused: { on: { RESUME: "active.back", RESTART: "active" } },
      end: { id: "end", type: "final", output: ({ context }) => context.n },
    },
    output: ({ event }) => event.output,
  });
}

const events = ["NEXT", "PAUSE", "RESUME", "RESTART"];
const shallow = shape(pausing("shallow", "shallow"), {
  events,
  script: [
    send("PAUSE"),
    send("RESUME"),
    send("NEXT"),
    ok("0.shallow.active.two.early"),
    send("PAUSE"),
    send("RESUME"),
  ],
  ends: { status: "active", value: { active: { two: "early" } }, context: { n: 1, list: [] } },
});
const deep = shape(pausing("deep", "deep"), {
  events,
  script: [send("NEXT"), ok("0.deep.active.two.early"), send("PAUSE"), send("RESUME"), ok("0.deep.active.two.late")],
  ends: { status: "done", value: "end", output: 2 },
});

const remembering = shape(
  base.createMachine({
    id: "memory",
    context: fresh,
    initial: "both",
    states: {
      both: {
        type: "parallel",
        states: {
          l: { initial: "l1", states: { l1: { invoke: { src: "one", onDone: "l2" } }, l2: { on: { L: "l1" } } } },
          r: { initial: "r1", states: { r1: { invoke: { src: "two", onDone: "r2" } }, r2: {} } },
          again: { type: "history", history: "deep" },
        },
        on: { AWAY: "away" },
      },
      away: { on: { BACK: "both.again", FRESH: "both" } },
    },
    output: list,
  }),
  {
    events: ["AWAY", "BACK", "FRESH", "L"],
    script: [
      ok("0.memory.both.r.r1"),
      send("AWAY"),
      send("BACK"),
      ok("0.memory.both.l.l1"),
      send("AWAY"),
      send("BACK"),
      send("L"),
    ],
    ends: { status: "active", value: { both: { l: "l1", r: "r2" } } },
  },
);

export const parallelShapes: Readonly<Record<string, Shape>> = {
  "parallel regions that join": joined,
  "parallel regions in parallel regions": parallels,
  "a parallel root": rootParallel,
  "regions that race by always": racing,
  "shallow history": shallow,
  "deep history": deep,
  "deep history over parallel regions": remembering,
};
