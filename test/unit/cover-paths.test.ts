/** A saga's paths are walked as its machine has them: what is reached, what is not, and what does not hold on the way. */
import { describe, expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { order } from "../../sagas/index.ts";
import { fail, type Saga, saga, stepsFor } from "../../src/index.ts";
import { coverPaths, type PathsReport, type WorldClient, worldClient } from "../../src/testing/index.ts";

const services = worldClient;
const { step } = stepsFor<WorldClient>();
const everything = { states: [], transitions: [] };
const email = "ada@example.org";

/** Nothing was lost, doubled or left, and no state or transition was passed by. */
function expectCovered(report: PathsReport): void {
  expect(report.failures, report.text).toEqual([]);
  expect(report.missed, report.text).toEqual(everything);
  expect([report.untried, report.leftOut], report.text).toEqual([[], 0]);
}

const keyed = { effect: "keyed", query: true } as const;
const charge = step("charge", {
  input: z.object({ cents: z.number() }),
  effect: "keyed",
  action: ({ input, services: { op }, ...call }) => op("bank", keyed).call("charge", input, call),
  compensate: ({ services: { op }, ...call }) => op("bank", keyed).call("refund", {}, call),
});
const note = step("note", { input: z.json(), effect: "none", action: () => null });

/** Charged, told what has come of it, and looked at again after a day. */
function shop(isLarge: (cents: number) => boolean): Saga {
  const machine = setup({
    types: {} as { context: { cents: number }; input: { cents: number }; events: { type: "GO"; cents: number } },
    actors: { charge, note },
  }).createMachine({
    id: "shop",
    context: ({ input }) => input,
    initial: "open",
    states: {
      open: {
        on: { GO: { target: "charging", actions: assign({ cents: ({ event }) => event.cents }) } },
        after: { 86400000: "forgotten" },
      },
      charging: {
        invoke: {
          src: "charge",
          input: ({ context: { cents } }) => ({ cents }),
          onDone: [{ guard: ({ context }) => isLarge(context.cents), target: "watched" }, { target: "done" }],
          onError: "refused",
        },
      },
      watched: { invoke: { src: "note", input: null, onDone: "done" } },
      refused: { type: "final" },
      forgotten: { type: "final" },
      done: { type: "final" },
    },
  });
  return saga("shop", {
    version: 1,
    input: z.object({ cents: z.number() }),
    events: { GO: z.object({ cents: z.number() }) },
  }).machine(machine) as unknown as Saga;
}

const input = { cents: 1 };
const payloads = { GO: [{ cents: 5 }] };

describe("what is not reached", () => {
  test("is named: the states, and the transitions with their guards", async () => {
    const report = await coverPaths(
      shop((cents) => cents > 100),
      { input, services, payloads },
    );
    expect(report.failures, report.text).toEqual([]);
    expect(report.missed.states).toEqual(["shop.watched"]);
    expect(report.missed.transitions.map(({ source, text }) => `${source}, ${text}`)).toEqual([
      "shop.charging, when charge is done: to shop.watched if inline",
      "shop.watched, when note is done: to shop.done",
    ]);
    expect(report.text).toContain("NOT REACHED: state shop.watched\n");
    expect(report.text).toContain("6 of 7 states and 4 of 6 transitions were reached");
  });

  test("is reached with a payload that leads there", async () => {
    const both = { GO: [{ cents: 5 }, { cents: 500 }] };
    expectCovered(
      await coverPaths(
        shop((cents) => cents > 100),
        { input, services, payloads: both },
      ),
    );
  });

  test("is reached with an output that leads there", async () => {
    const judge = step("judge", {
      input: z.json(),
      output: z.object({ isFine: z.boolean() }),
      effect: "none",
      action: () => ({ isFine: true }),
    });
    const judged = saga("judged", { version: 1, input: z.json() })
      .step(judge, () => null)
      .when(
        ({ results }) => !results.judge.isFine,
        (line) => line.step(note, () => null),
      )
      .build();
    expect((await coverPaths(judged, { input: null, services })).missed.states).not.toEqual([]);
    expectCovered(await coverPaths(judged, { input: null, services, outputs: { judge: [{ isFine: false }] } }));
  });

  test("for want of a payload is told, and what an event may carry is never made up", async () => {
    const report = await coverPaths(
      shop(() => false),
      { input, services },
    );
    expect(report.untried).toEqual(["GO is not sent: give payloads.GO"]);
    expect(report.missed.states).toEqual(["shop.charging", "shop.watched", "shop.refused", "shop.done"]);
  });

  test("for want of paths is told", async () => {
    const report = await coverPaths(
      shop(() => false),
      { input, services, payloads, maxPaths: 3 },
    );
    expect(report.paths).toBe(3);
    expect(report.leftOut).toBeGreaterThan(5);
    expect(report.text).toContain("paths were left out: raise maxPaths or maxMoves");
    expect(
      (
        await coverPaths(
          shop(() => false),
          { input, services, payloads, maxMoves: 0 },
        )
      ).leftOut,
    ).toBeGreaterThan(0);
  });
});

describe("what does not hold", () => {
  const forgetful = step("charge", {
    input: z.object({ cents: z.number() }),
    effect: "keyed",
    action: ({ input, services: { op }, ...call }) =>
      op("bank", keyed).call("charge", input, { ...call, operationId: `charge-${call.attempt}` }),
    compensate: () => undefined,
  });
  const forgets = saga("forgets", { version: 1, input: z.object({ cents: z.number() }) })
    .step(forgetful, ({ input: given }) => given)
    .build();

  test("is found on the path on which an answer is lost, and the declaration is named", async () => {
    const report = await coverPaths(forgets, { input, services });
    expect(report.failures.map(({ path, blame }) => [path, blame])).toEqual([
      [
        "charge 1: unknown",
        expect.stringMatching(/declared `keyed`, but asked for bank.charge as "charge-1": pass its operationId/),
      ],
    ]);
    const [failure] = report.failures;
    expect(failure?.timeline.filter((line) => line.includes("bank.charge happens"))).toHaveLength(2);
    expect(report.text).toContain('REPRISE_PATH="charge 1: unknown"');
    const again = await coverPaths(forgets, { input, services, only: "charge 1: unknown" });
    expect([again.paths, again.failures.length]).toEqual([1, 1]);
  });

  test("is found where a machine goes another way each time it is asked", async () => {
    let asked = 0;
    const fickle = shop(() => {
      asked += 1;
      return asked % 3 === 0;
    });
    const { failures } = await coverPaths(fickle, { input, services, payloads, only: "send GO" });
    expect(failures.map(({ blame }) => blame)).toEqual([expect.stringContaining("the machine of shop is not pure")]);
  });
});

test("an outcome that stands in for a step's is met on every path", async () => {
  const report = await coverPaths(order, {
    input: { id: "o-1", sku: "chair", cents: 4_200, email },
    services,
    outcomes: { ship: [fail("no parcels today")] },
  });
  expect(report.failures, report.text).toEqual([]);
  expect(report.missed.states).toContain("order.sendMail");
  expect(report.ended.completed).toBeUndefined();
}, 60_000);

test("a payload that the saga does not take, or an output of a step that it has not got, is refused", async () => {
  const run = (more: object) =>
    coverPaths(
      shop(() => false),
      { input, services, ...more },
    );
  await expect(run({ payloads: { GO: [{ cents: "5" }] } })).rejects.toMatchObject({ code: "EVENT_INVALID" });
  await expect(run({ payloads: { STOP: [{}] } })).rejects.toMatchObject({ code: "EVENT_UNKNOWN" });
  await expect(run({ outputs: { charges: [{}] } })).rejects.toThrow('shop has no step "charges"');
});
