/**
 * Whatever happens, in whatever order: every decision keeps the invariants of `play-invariants.ts` and `play-witness.ts`, and
 * once the outside answers every run ends or asks a person, and a person can always end it. `REPRISE_PROPERTY_RUNS` and
 * `REPRISE_PROPERTY_SEED` make it longer or other; a failure prints its script.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foldLog, hasEnded } from "../../src/core/index.ts";
import type { Saga } from "../../src/saga/index.ts";
import { close, Play } from "../support/play.ts";
import { answerOne, happenings, letItFinish, pick } from "../support/play-happenings.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

const runs = Number(process.env["REPRISE_PROPERTY_RUNS"] ?? (process.env["REPRISE_SIZE"] === "quick" ? 15 : 60));
const seed = Number(process.env["REPRISE_PROPERTY_SEED"] ?? 20_260_101);

const leaf = (src: string, more: object = {}) => ({
  initial: "x",
  states: { x: { invoke: { src, onDone: "d", ...more } }, d: { type: "final" } },
});

const tools = {
  look: call("look", { effect: "none" }),
  mail: call("mail", { effect: "once", probe: true, onExhausted: "review" }),
  pay: call("pay", { compensateIfUnknown: true }),
  file: call("file", { effect: "idempotent", onAbandon: "keep" }),
};

const sagas: Readonly<Record<string, () => Saga>> = {
  "an action with tools of every class": () =>
    line([
      call("a", { effect: "once" }),
      call("agent", { effect: "none", uses: tools }),
      call("b", { effect: "idempotent" }),
    ]),
  "actions with tools, side by side, left and begun again": () =>
    played(
      {
        initial: "work",
        states: {
          work: {
            type: "parallel",
            states: { left: leaf("agent", { onError: "d" }), right: leaf("other") },
            onDone: "after",
            on: { GO: { target: "work", reenter: true } },
            after: { 90000: "after" },
          },
          after: { tags: "savepoint", invoke: { src: "a", onDone: "end" }, on: { GO: "work" } },
          end: { type: "final" },
        },
      },
      [
        call("agent", { effect: "none", uses: tools }),
        call("other", { effect: "none", uses: { again: tools.mail, pay: tools.pay } }),
        call("a", { onExhausted: "review" }),
      ],
      { events: ["GO"] },
    ),
  "bounded in every way": () =>
    played(
      {
        initial: "one",
        states: {
          one: { invoke: { src: "a", onDone: "two", onError: "two" }, on: { GO: "one" } },
          two: { invoke: { src: "agent", onDone: "three" }, on: { GO: "one" } },
          three: { invoke: { src: "b", onDone: "end" }, on: { GO: "one" } },
          end: { type: "final" },
        },
      },
      [
        call("a", { probe: true, deadline: "45s", retry: { attempts: 9 }, onDeadline: "review" }),
        call("agent", { effect: "none", uses: tools, deadline: "20s" }),
        call("b", { effect: "once", queue: "gpu", deadline: "50s" }),
      ],
      {
        events: ["GO"],
        loopLimit: 2,
        deadline: { after: "200s" },
        budget: {
          steps: { soft: 3, hard: 4 },
          toolCalls: { hard: 2 },
          money: { hard: 20 },
          time: { soft: "60s", hard: "150s" },
        },
      },
    ),
  "a line of every class": () =>
    line([
      call("a", { effect: "idempotent" }),
      call("b", { effect: "once", probe: true }),
      call("c", { effect: "none" }),
      call("d", { keyTtl: "90s", probe: true }),
      call("e", { effect: "once", compensateIfUnknown: true }),
    ]),
  "probes and fresh keys": () =>
    line([
      call("a", {
        effect: "once",
        probe: true,
        freshKeyAfterAbsent: true,
        compensate: { effect: "once", probe: true },
      }),
      call("b", { probe: true, freshKeyAfterAbsent: true, onExhausted: "review" }),
      call("c", { effect: "idempotent", probe: true, settle: false }),
    ]),
  "regions side by side": () =>
    played(
      {
        initial: "before",
        states: {
          before: { invoke: { src: "a", onDone: "both" } },
          both: { type: "parallel", states: { left: leaf("b"), right: leaf("c") }, onDone: "after" },
          after: { invoke: { src: "d", onDone: "end" } },
          end: { type: "final" },
        },
      },
      [call("a"), call("b", { effect: "once" }), call("c", { probe: true }), call("d", { effect: "idempotent" })],
      { unwind: "parallel-regions" },
    ),
  "steps that are left": () =>
    played(
      {
        initial: "one",
        states: {
          one: { invoke: { src: "a", onDone: "two", onError: "two" }, after: { 20000: "two" }, on: { GO: "two" } },
          two: { invoke: { src: "b", onDone: "three", onError: "one" }, on: { GO: { target: "two", reenter: true } } },
          three: { invoke: { src: "c", onDone: "end" }, after: { 60000: "no" } },
          no: { type: "final", tags: "unwind" },
          end: { type: "final" },
        },
      },
      [
        call("a", { probe: true }),
        call("b", { effect: "once", onAbandon: "keep" }),
        call("c", { effect: "idempotent" }),
      ],
      { events: ["GO"] },
    ),
  "a pivot in the middle": () =>
    line([
      call("a"),
      call("b", { effect: "once", probe: true, pivot: true, compensate: false }),
      call("c", { compensate: false }),
      call("d"),
    ]),
  "named queues": () =>
    played(
      {
        initial: "both",
        states: {
          both: {
            type: "parallel",
            states: { left: leaf("a"), right: leaf("b") },
            onDone: "after",
            on: { GO: "after" },
          },
          after: { invoke: { src: "c", onDone: "end" } },
          end: { type: "final" },
        },
      },
      [call("a", { queue: "gpu", probe: true }), call("b", { queue: "gpu", effect: "once" }), call("c")],
      { events: ["GO"] },
    ),
  "savepoints before and behind a pivot, and among regions": () =>
    played(
      {
        initial: "one",
        states: {
          one: { invoke: { src: "a", onDone: "work" } },
          work: { tags: "savepoint", invoke: { src: "b", onDone: "more", onError: "more" }, after: { 90000: "more" } },
          more: { tags: "savepoint", invoke: { src: "c", onDone: "side" }, on: { GO: "work" } },
          side: {
            type: "parallel",
            states: {
              left: {
                ...leaf("d"),
                states: { x: { tags: "savepoint", invoke: { src: "d", onDone: "d" } }, d: { type: "final" } },
              },
              right: leaf("e"),
            },
            onDone: "end",
          },
          end: { type: "final" },
        },
      },
      [
        call("a", { pivot: true }),
        call("b", { effect: "once", probe: true }),
        call("c", { onExhausted: "review" }),
        call("d", { effect: "once", compensate: false }),
        call("e", { effect: "idempotent", onExhausted: "review" }),
      ],
      { events: ["GO"] },
    ),
  "a wait with a timer": () =>
    played(
      {
        initial: "one",
        states: {
          one: { invoke: { src: "a", onDone: "ask" } },
          ask: { on: { GO: "two" }, after: { 120000: "no" } },
          two: { invoke: { src: "b", onDone: "end", onError: "ask" } },
          no: { type: "final", tags: "unwind" },
          end: { type: "final" },
        },
      },
      [
        call("a", { effect: "once", compensate: { effect: "idempotent" } }),
        call("b", { effect: "none" } satisfies CallOptions),
      ],
      { events: ["GO"] },
    ),
};

const script = fc.array(fc.tuple(fc.nat(happenings.length - 1), fc.nat(999), fc.nat(999)), {
  minLength: 1,
  maxLength: 40,
});

describe.each(Object.entries(sagas))("%s", (_name, sagaOf) => {
  const saga = sagaOf();
  test("keeps every invariant, and ends or asks", () => {
    fc.assert(
      fc.property(script, (happening) => {
        const play = new Play(saga);
        for (const [which, a, b] of happening) pick(happenings, which)(play, a, b);
        letItFinish(play);
        expect(hasEnded(play.status) || play.status === "needs_review").toBe(true);
        if (play.status === "needs_review") play.verb(close);
        while (play.inFlight.size > 0) answerOne(play, 0, 0);
        // An undo that was asked for early begins only now.
        for (let turn = 0; turn < 50 && !hasEnded(play.status); turn += 1) {
          letItFinish(play);
          if (play.status === "needs_review") play.verb(close);
        }
        expect(hasEnded(play.status)).toBe(true);
        expect(play.run.record.open).toMatchObject([]);
        const folded = foldLog(play.machine, play.run, play.log).at(-1);
        expect(folded).toEqual({ revision: play.log.length, snapshot: play.run.record.snapshot, problem: null });
      }),
      { seed, numRuns: runs },
    );
  }, 600_000);
});
