/**
 * Whatever happens, in whatever order: every decision keeps the invariants of `play-invariants.ts` and `play-witness.ts`, and
 * once the outside answers every run ends or asks a person, and a person can always end it. `REPRISE_PROPERTY_RUNS` and
 * `REPRISE_PROPERTY_SEED` make it longer or other; a failure prints its script.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CallResult, foldLog, hasEnded, type Verb, type VerbCommand } from "../../src/core/index.ts";
import type { Json, Saga } from "../../src/saga/index.ts";
import {
  close,
  compensate,
  defect,
  discard,
  notApplied,
  notCalled,
  ok,
  Play,
  probeNow,
  refused,
  refusedMaybe,
  resolveAbsent,
  resolveHappened,
  retry,
  rewind,
  skip,
  timedOut,
  unusable,
} from "../support/play.ts";
import { type CallOptions, call, line, played } from "../support/play-sagas.ts";

const runs = Number(process.env["REPRISE_PROPERTY_RUNS"] ?? (process.env["REPRISE_SIZE"] === "quick" ? 15 : 60));
const seed = Number(process.env["REPRISE_PROPERTY_SEED"] ?? 20_260_101);

const leaf = (src: string, more: object = {}) => ({
  initial: "x",
  states: { x: { invoke: { src, onDone: "d", ...more } }, d: { type: "final" } },
});

const sagas: Readonly<Record<string, () => Saga>> = {
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

const results: readonly CallResult[] = [
  ok(),
  ok(),
  ok(),
  timedOut(),
  timedOut({ retryAfterMs: 40_000 }),
  notApplied(),
  notApplied({ retryAfterMs: 0 }),
  refused(),
  refusedMaybe,
  unusable,
  notCalled(),
  notCalled("store_not_durable"),
  defect,
];
const lateResults: readonly CallResult[] = [ok("late"), unusable, notApplied(), refused(), notCalled(), timedOut()];
const answers = ["happened", "absent", "cannot_tell"] as const;
const waits = [0, 1, 999, 1_000, 5_000, 21_500, 43_000, 100_000, 3_600_000] as const;
const commands: Readonly<Record<Verb, readonly VerbCommand[]>> = {
  probe: [probeNow],
  resolve: [resolveHappened(), resolveAbsent, resolveHappened({ id: 7 } as Json)],
  retry: [retry(), retry({ n: 1 })],
  skip: [skip],
  discard: [discard],
  rewind: [rewind("played.work"), rewind("played.more", true), rewind("nowhere"), rewind("played.side.left.x")],
  compensate: [compensate],
  close: [close],
};

const pick = <Value>(from: readonly Value[], n: number): Value => from[n % from.length] as Value;

/** One thing that happens; where it cannot happen now, nothing does. */
type Happening = (play: Play, a: number, b: number) => void;

const happenings: readonly Happening[] = [
  answerOne,
  answerOne,
  answerOne,
  answerOne,
  (play, a) => play.advance(pick(waits, a)),
  (play, a) => play.advance(pick(waits, a)),
  (play, a) => {
    if (play.held || play.due !== null) play.takeOver({ died: a % 2 === 0 });
  },
  (play) => {
    if (play.held) play.stop();
  },
  (play, a) => {
    if (!hasEnded(play.status) && a % 3 === 0) play.cancel();
  },
  (play) => {
    if (!hasEnded(play.status)) play.run.record.paused ? play.resume() : play.pause();
  },
  (play) => {
    if (!hasEnded(play.status)) play.event("GO");
  },
  undo,
  late,
  decideAsked,
  decideAsked,
  remote,
  (play) => {
    if (play.held) play.tick();
    else play.acquire();
  },
];

function answerOne(play: Play, a: number, b: number): void {
  const orders = [...play.inFlight.values()];
  if (orders.length === 0) return;
  const order = pick(orders, a);
  const name = play.nameOf(order);
  if (order.kind === "probe") play.probe(name.slice("probe ".length), pick(answers, b));
  else play.answer(name, pick(results, b));
}

function late(play: Play, a: number, b: number): void {
  if (play.run.rows.length === 0) return;
  const row = pick(play.run.rows, a);
  const side = row.undo?.call != null && b % 2 === 0 ? "undo" : "action";
  const call = side === "undo" ? row.undo?.call : row.call;
  const send = 1 + (b % Math.max(1, call?.send ?? 1));
  // Who still has the call says nothing through the inbox.
  if (play.inFlight.get(`${side}:${row.seq}`)?.send === send || play.permits.has(row.seq)) return;
  const body = { type: "late", seq: row.seq, send, side, result: pick(lateResults, a + b) } as const;
  play.send(`late:${row.seq}:${send}:${side}`, body);
}

/** An ended run is undone; sometimes it is asked for before. */
function undo(play: Play, a: number, b: number): void {
  const despitePivot = b % 3 === 0;
  const isWaiting = play.run.inbox.some(({ body }) => body.type === "undo");
  if (!isWaiting && (hasEnded(play.status) || a % 20 === 0)) play.undo("regretted", despitePivot);
}

function decideAsked(play: Play, a: number, b: number): void {
  const { review } = play;
  if (review === null) return;
  const verb = pick(review.verbs, a);
  // Closing ends what there is to see; it is tried at the end of every script.
  if (verb !== "close") play.verb(pick(commands[verb], b));
}

function remote(play: Play, a: number, b: number): void {
  const offered = play.run.rows.filter((row) => row.call.state === "offered" && !play.permits.has(row.seq));
  if (offered.length > 0 && b % 2 === 0) play.permitRow(pick(offered, a));
  const permitted = play.run.rows.filter((row) => play.permits.get(row.seq)?.send === row.call.send);
  if (permitted.length > 0 && b % 3 > 0) play.settleRow(pick(permitted, a), pick(results, b));
}

/** The outside answers everything from now on. */
function letItFinish(play: Play): void {
  for (let turn = 0; turn < 300; turn += 1) {
    if (hasEnded(play.status) || play.status === "needs_review") return;
    const [order] = play.inFlight.values();
    const offered = play.run.rows.find((row) => row.call.state === "offered");
    if (order?.kind === "probe") play.probe(play.nameOf(order).slice("probe ".length), "happened");
    else if (order !== undefined) play.answer(play.nameOf(order), ok());
    else if (play.status === "paused") play.resume();
    else if (offered !== undefined && !play.permits.has(offered.seq)) play.permitRow(offered);
    else if (offered !== undefined) play.settleRow(offered, ok());
    else if (play.status === "waiting") play.event("GO");
    else play.advance(60_000);
  }
}

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
