/** Machines whose point is what they do beside moving: timers, raises, messages. */
import { cancel, emit, enqueueActions, log, raise } from "xstate";
import { base, count, fresh, hear, list, ok, over, type Shape, say, send, shape, wait } from "./shape.ts";

const timers = shape(
  base.createMachine({
    id: "timers",
    context: fresh,
    initial: "asking",
    states: {
      asking: {
        initial: "calm",
        invoke: { src: "one", onDone: "answered" },
        after: { patience: { target: "given_up", actions: say("patience") } },
        states: {
          calm: { after: { brief: { target: "urging", actions: say("brief") } } },
          urging: {
            after: {
              900: { actions: say("900") },
              1100: [
                { guard: ({ context }) => context.list.length > 3, target: "calm" },
                { target: "calm", actions: say("1100") },
              ],
            },
          },
        },
        on: { HURRY: { actions: count(), target: "asking", reenter: true } },
      },
      given_up: { type: "final", tags: "unwind" },
      answered: { after: { 0: "done" } },
      done: { type: "final" },
    },
    output: list,
  }),
  {
    events: ["HURRY"],
    script: [
      wait(700),
      wait(900),
      wait(200),
      send("HURRY"),
      wait(700),
      wait(900),
      wait(200),
      wait(700),
      wait(900),
      wait(600),
    ],
    ends: {
      status: "done",
      value: "given_up",
      output: ["brief", "900", "1100", "brief", "900", "brief", "900", "patience"],
    },
  },
);

const talkative = shape(
  base.createMachine({
    id: "talkative",
    context: fresh,
    entry: [log("begun"), emit({ type: "begun" })],
    initial: "speaking",
    states: {
      speaking: {
        entry: [emit({ type: "entering" }), log(({ context }) => ({ n: context.n }), "speaking")],
        invoke: {
          src: "one",
          onDone: { target: "heard", actions: [raise({ type: "ECHO", of: "speaking" }), emit({ type: "raised" })] },
        },
        exit: emit({ type: "leaving" }),
      },
      heard: {
        on: {
          ECHO: {
            actions: [count(), emit(({ event, context }) => ({ type: "echo", of: event["of"] ?? null, n: context.n }))],
          },
          AGAIN: { target: "speaking", actions: log(({ event }) => event, "again") },
          STOP: "done",
        },
      },
      done: { type: "final", entry: [emit({ type: "over" }), log(({ context }) => context.n)] },
    },
  }),
  {
    events: ["ECHO", "AGAIN", "STOP"],
    script: [
      ok("0.talkative.speaking"),
      send("ECHO", { of: "world" }),
      send("AGAIN"),
      ok("0.talkative.speaking"),
      send("STOP"),
    ],
    ends: { status: "done", value: "done", context: { n: 3, list: [] } },
  },
);

const delayed = shape(
  base.createMachine({
    id: "delayed",
    context: fresh,
    initial: "waiting",
    states: {
      waiting: {
        entry: raise({ type: "REMIND", how: "named" }, { id: "reminder", delay: "patience" }),
        invoke: { src: "one", onDone: "done" },
        on: {
          // No ids: all of them stay.
          PLAN: { actions: raise(({ event }) => ({ type: "DUE", n: event["n"] ?? null }), { delay: 2100 }) },
          DUE: { actions: hear("n") },
          REMIND: { actions: hear("how") },
          QUIET: { actions: cancel("reminder") },
          LATER: {
            actions: [
              cancel("reminder"),
              count(),
              raise({ type: "REMIND", how: "later" }, { id: "reminder", delay: "patience" }),
            ],
          },
        },
      },
      done: { type: "final" },
    },
    output: list,
  }),
  {
    events: ["PLAN", "QUIET", "LATER"],
    script: [
      send("PLAN", { n: 1 }),
      wait(10),
      send("PLAN", { n: 2 }),
      send("LATER"),
      wait(2090),
      wait(10),
      wait(1900),
      ok("0.delayed.waiting"),
    ],
    ends: { status: "done", output: [1, 2, "later"] },
  },
);

const enqueueing = shape(
  base.createMachine({
    id: "enqueueing",
    context: fresh,
    initial: "on",
    states: {
      on: {
        invoke: {
          src: "one",
          onDone: {
            target: "off",
            actions: enqueueActions(({ enqueue, event }) => {
              enqueue.assign({ list: ({ context }) => [...context.list, event.output ?? null] });
            }),
          },
        },
        on: {
          PUSH: {
            actions: enqueueActions(({ enqueue, check, context, event }) => {
              enqueue.assign({ n: context.n + 1 });
              enqueue(say(`push ${String(event["by"] ?? "")}`));
              if (check(over(1))) enqueue.raise({ type: "BIG" });
              else enqueue.emit({ type: "small", n: context.n });
              enqueue.cancel("soon");
              enqueue.raise({ type: "SOON" }, { id: "soon", delay: "brief" });
              // Set again without a cancel, XState would let both fire.
              enqueue.cancel("far");
              enqueue(raise({ type: "FAR" }, { id: "far", delay: ({ context: now }) => 3000 + now.n }));
            }),
          },
          BIG: { actions: enqueueActions(({ enqueue }) => enqueue(log("big"))) },
          SOON: { actions: say("soon") },
          FAR: { actions: say("far") },
        },
        exit: cancel("far"),
      },
      off: { type: "final" },
    },
    output: list,
  }),
  {
    events: ["PUSH"],
    script: [send("PUSH", { by: "x" }), send("PUSH"), send("PUSH"), wait(700), ok("0.enqueueing.on", "end")],
    ends: { status: "done", value: "off", output: ["push x", "push ", "push ", "soon", "end"] },
  },
);

export const actionShapes: Readonly<Record<string, Shape>> = {
  "timers, several and named": timers,
  "raise, emit and log": talkative,
  "delayed raises and cancel": delayed,
  "enqueued actions": enqueueing,
};
