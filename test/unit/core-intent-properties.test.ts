/**
 * Whatever happens to several runs that want the same effects, and to the registry between them, in whatever order: what
 * `play-town.ts` says of intents holds, and all of them end. `REPRISE_PROPERTY_RUNS` and `REPRISE_PROPERTY_SEED` as in
 * `core-properties.test.ts`.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CallResult, hasEnded } from "../../src/core/index.ts";
import type { Saga } from "../../src/saga/index.ts";
import { close, ok } from "../support/play.ts";
import { answerOne, happenings, letItFinish, pick, results } from "../support/play-happenings.ts";
import { call, line, played } from "../support/play-sagas.ts";
import { Town } from "../support/play-town.ts";

const runs = Number(process.env["REPRISE_PROPERTY_RUNS"] ?? (process.env["REPRISE_SIZE"] === "quick" ? 15 : 60));
const seed = Number(process.env["REPRISE_PROPERTY_SEED"] ?? 20_260_101);

const bill = { intent: () => ["bill", 7] };

const sagas: Readonly<Record<string, () => Saga>> = {
  "one effect, then what may fail": () =>
    line([call("a", { ...bill, effect: "once", probe: true }), call("b", { effect: "idempotent" })]),
  "an effect that may be undone in doubt, and one asked for by a person": () =>
    line([
      call("a", { ...bill, compensateIfUnknown: true, onExhausted: "review" }),
      call("b", { intent: () => "second", effect: "once", compensate: { effect: "once", probe: true } }),
    ]),
  "effects that are left, and wanted again": () =>
    played(
      {
        initial: "one",
        states: {
          one: { invoke: { src: "a", onDone: "two", onError: "two" }, after: { 20000: "two" }, on: { GO: "two" } },
          two: { invoke: { src: "b", onDone: "end", onError: "one" }, on: { GO: "one" } },
          end: { type: "final" },
        },
      },
      [call("a", { ...bill, probe: true }), call("b", { effect: "once", onAbandon: "keep", intent: () => "second" })],
      { events: ["GO"] },
    ),
  "one effect in two regions, on a named queue": () =>
    played(
      {
        initial: "both",
        states: {
          both: {
            type: "parallel",
            states: {
              left: { initial: "x", states: { x: { invoke: { src: "a", onDone: "d" } }, d: { type: "final" } } },
              right: { initial: "x", states: { x: { invoke: { src: "b", onDone: "d" } }, d: { type: "final" } } },
            },
            onDone: "after",
          },
          after: { invoke: { src: "c", onDone: "end" } },
          end: { type: "final" },
        },
      },
      [call("a", bill), call("b", { ...bill, queue: "gpu", effect: "once" }), call("c", { pivot: true })],
    ),
  "an effect made again from a savepoint": () =>
    played(
      {
        initial: "one",
        states: {
          one: { invoke: { src: "a", onDone: "work" } },
          work: { tags: "savepoint", invoke: { src: "b", onDone: "more", onError: "more" } },
          more: { invoke: { src: "c", onDone: "end" }, on: { GO: "work" } },
          end: { type: "final" },
        },
      },
      [call("a"), call("b", bill), call("c", { onExhausted: "review" })],
      { events: ["GO"] },
    ),
};

type Happening = (town: Town, who: number, a: number, b: number) => void;

const inTown: readonly Happening[] = [
  ...happenings.map(
    (happening): Happening =>
      (town, who, a, b) =>
        happening(pick(town.plays, who), a, b),
  ),
  ...Array<Happening>(6).fill((town, who, a) => town.arrive(pick(town.plays, who), a)),
  ...Array<Happening>(6).fill((town, _who, a) => town.reply(a)),
  (town, who, a) => town.haunt(pick(town.plays, who), a),
];

/** The outside (at first with `first`) and the registry answer everything from now on, and a person closes what asks for one. */
function finish(town: Town, first: CallResult): void {
  for (let turn = 0; turn < 100; turn += 1) {
    const result = turn < 3 ? first : ok();
    for (const [at, play] of town.plays.entries()) {
      letItFinish(play, { elsewhere: () => settle(town, at), turns: 30, result });
    }
    settle(town);
    if (!town.isBusy && town.plays.every(({ status }) => hasEnded(status))) break;
    const stuck = town.plays.find(({ status }) => status === "needs_review");
    if (turn % 3 === 2 && stuck !== undefined) stuck.verb(close);
  }
  for (const play of town.plays) while (play.inFlight.size > 0) answerOne(play, 0, 0);
}

function settle(town: Town, only: number | null = null): boolean {
  const isBusy = town.isBusy;
  for (const [at, play] of town.plays.entries()) {
    if (only !== null && at !== only) continue;
    for (let n = play.registry.size; n > 0; n -= 1) town.arrive(play, n - 1);
    while (play.ghosts.length > 0) town.haunt(play, 0);
  }
  for (let n = 0; n < 50; n += 1) town.reply(0);
  return isBusy;
}

const script = fc.array(fc.tuple(fc.nat(inTown.length - 1), fc.nat(2), fc.nat(999), fc.nat(999)), {
  minLength: 1,
  maxLength: 60,
});

describe.each(Object.entries(sagas))("%s", (_name, sagaOf) => {
  const saga = sagaOf();
  test("is made once at a time, and its registry hears the truth", () => {
    fc.assert(
      fc.property(script, fc.boolean(), fc.constantFrom(...results), (happening, differs, first) => {
        const town = new Town(saga, [{ input: 1 }, { input: 1 }, { input: differs ? 2 : 1 }]);
        for (const [which, who, a, b] of happening) pick(inTown, which)(town, who, a, b);
        finish(town, first);
        expect(town.plays.map(({ status }) => hasEnded(status))).toEqual([true, true, true]);
        town.settled();
      }),
      { seed, numRuns: runs },
    );
  }, 600_000);
});
