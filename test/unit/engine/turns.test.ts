import { describe, expect, test } from "vitest";
import type { Decision, DriverFact, GiveTurnCommand, RunRecord, Store, TurnOrder } from "../../../src/core/index.ts";
import { turnOf } from "../../../src/core/index.ts";
import type { EngineContext } from "../../../src/engine/context.ts";
import { StoreTime } from "../../../src/engine/store-time.ts";
import { giveLeftTurn, Turns } from "../../../src/engine/turns.ts";
import { RepriseError } from "../../../src/errors.ts";
import { memoryStore } from "../../../src/store/index.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { aRecord } from "../../support/records.ts";

const mine = { key: "k", limit: 1, state: "mine", askAt: null } as const;

/** The store loses its power while a turn is given, and comes back: what it has forgotten is known later than it answers. */
function scene(record: RunRecord = aRecord({ status: "completed", endedAt: 1 })) {
  const clock = new VirtualClock();
  const given: GiveTurnCommand[] = [];
  const learnt: DriverFact[] = [];
  const state = { isAway: true, isSettled: false, isLost: false, record };
  const run = { tenant: record.tenant, id: record.id };
  // What turns use of a context.
  const context = {
    clock,
    owner: "me",
    store: {
      read: async () => state.record,
      giveTurn: async (command: GiveTurnCommand) => {
        if (state.isAway) throw new RepriseError("STORE_UNAVAILABLE", "away");
        given.push(command);
        return { next: [], now: 0 };
      },
    },
    facts: { emit: () => undefined },
    isSettled: () => state.isSettled,
    isOver: () => false,
    background: (work: Promise<unknown>) => void work,
  } as unknown as EngineContext;
  const parts = { learn: (fact: DriverFact) => void learnt.push(fact), isLost: () => state.isLost };
  const turns = new Turns(context, run, new StoreTime(clock, 0), parts);
  const turn = turnOf(run.tenant, record.saga, "k");
  const order = { turn: { kind: "give", turn, limit: 1, startedAt: 0, asked: 1 } } as unknown as Decision;
  return { clock, context, given, learnt, run, state, turns, order };
}

describe("a turn that was being given when the store was lost", () => {
  test("is given when it is known that the store has not forgotten the end of its run", async () => {
    const { clock, given, learnt, state, turns, order } = scene();
    turns.begin(order);
    await clock.advance(500);
    state.isAway = false;
    await clock.advance(5_000);
    expect(given).toEqual([]);
    state.isSettled = true;
    await clock.advance(1_000);
    expect([given.length, learnt]).toEqual([1, [{ type: "turn_given" }]]);
    expect(turns.inFlight.size).toBe(0);
  });

  test("is not given where its run was brought back meanwhile: it stands in line again", async () => {
    const { clock, given, learnt, state, turns, order } = scene();
    turns.begin(order);
    await clock.advance(500);
    Object.assign(state, { isAway: false, isLost: true });
    await clock.advance(1_000);
    state.isSettled = true;
    await clock.advance(60_000);
    expect([given, learnt]).toEqual([[], []]);
  });

  test("by somebody else for a run that had ended, is not given where that was forgotten", async () => {
    const ended = aRecord({
      ...{ status: "completed", endedAt: 1, limit: mine },
    });
    const { clock, context, given, run, state } = scene(ended);
    void giveLeftTurn(context, run);
    await clock.advance(500);
    Object.assign(state, { isAway: false, record: aRecord({ ...ended, status: "needs_review", endedAt: null }) });
    await clock.advance(1_000);
    state.isSettled = true;
    await clock.advance(60_000);
    expect(given).toEqual([]);
  });
});

/** Two runs of one key; the first has had its turn, and the line has heard it ask under 1. What is given waits until it is let through. */
async function lateScene(first: Partial<RunRecord>) {
  const clock = new VirtualClock();
  const lines = memoryStore({ clock, epochMs: 0 });
  const records = new Map([["r1", aRecord({ id: "r1", ...first })]]);
  const learnt: DriverFact[] = [];
  const held: (() => void)[] = [];
  const state = { holds: true };
  const context = {
    clock,
    owner: "me",
    store: {
      read: async ({ id }: { id: string }) => records.get(id) ?? null,
      askTurn: (command: Parameters<Store["askTurn"]>[0]) => lines.askTurn(command),
      giveTurn: async (command: GiveTurnCommand) => {
        if (state.holds) await new Promise<void>((resolve) => held.push(resolve));
        return await lines.giveTurn(command);
      },
      send: async () => ({ answer: "GONE", now: 0 }),
    },
    facts: { emit: () => undefined },
    isSettled: () => true,
    isOver: () => false,
    background: (work: Promise<unknown>) => void work,
  } as unknown as EngineContext;
  const parts = { learn: (fact: DriverFact) => void learnt.push(fact), isLost: () => false };
  const turn = turnOf("default", "order", "k");
  const say = async (id: string, kind: TurnOrder["kind"], asked: number) => {
    const turns = new Turns(context, { tenant: "default", id }, new StoreTime(clock, 0), parts);
    turns.begin({ turn: { kind, turn, limit: 1, startedAt: 0, asked } } as unknown as Decision);
    await clock.advance(1_000);
  };
  const answers = () => learnt.flatMap((fact) => (fact.type === "turn" ? [fact.answer.answer] : []));
  const letThrough = async () => {
    state.holds = false;
    for (const go of held) go();
    await clock.advance(1_000);
  };
  await say("r1", "ask", 1);
  expect(answers()).toEqual(["MINE"]);
  return { clock, context, learnt, answers, records, say, letThrough, state };
}

const ended = { status: "completed", endedAt: 1, limit: { ...mine, asked: 1 } } as const;
const broughtBack = aRecord({ id: "r1", status: "needs_review", revision: 9, limit: { ...mine, state: "asking" } });

describe("a turn whose giving comes late, when its run was brought back in another world and has asked again", () => {
  const givers = {
    "by its driver": (scene: Awaited<ReturnType<typeof lateScene>>) => scene.say("r1", "give", 1),
    "by whoever found that it has ended": async ({ context, clock }: Awaited<ReturnType<typeof lateScene>>) => {
      void giveLeftTurn(context, { tenant: "default", id: "r1" });
      await clock.advance(1_000);
    },
    "by who waits behind it": (scene: Awaited<ReturnType<typeof lateScene>>) => scene.say("r2", "ask", 1),
  };

  test.each(Object.entries(givers))("is its own, given %s", async (_words, give) => {
    const scene = await lateScene(ended);
    await give(scene);
    scene.records.set("r1", broughtBack);
    await scene.say("r1", "ask", 9);
    await scene.letThrough();
    await scene.say("r2", "ask", 2);
    expect(scene.answers()).not.toContain("GONE");
    expect(scene.answers().filter((answer) => answer === "MINE")).toHaveLength(2);
    await scene.say("r1", "give", 9);
    await scene.say("r2", "ask", 3);
    expect(scene.answers().at(-1)).toBe("MINE");
  });

  test.each(Object.entries(givers))(
    "is the next one's where it was not brought back, given %s",
    async (_words, give) => {
      const scene = await lateScene(ended);
      await give(scene);
      await scene.letThrough();
      await scene.say("r2", "ask", 2);
      expect(scene.answers().at(-1)).toBe("MINE");
    },
  );

  test("of a run that the store knows nothing of any more, it is given by who waits, and not once it has asked again", async () => {
    const scene = await lateScene(ended);
    scene.records.clear();
    await scene.say("r2", "ask", 1);
    await scene.say("r1", "ask", 9);
    scene.records.set("r1", broughtBack);
    await scene.letThrough();
    expect(scene.answers()).toEqual(["MINE", "MINE", "WAIT"]);
    scene.records.clear();
    await scene.say("r2", "ask", 2);
    expect(scene.answers().at(-1)).toBe("MINE");
  });

  test("is given by who waits, whatever is on record of it", async () => {
    const scene = await lateScene({ ...ended, limit: { ...mine, asked: 1 } });
    scene.state.holds = false;
    await scene.say("r1", "ask", 9);
    await scene.say("r1", "give", 1);
    await scene.say("r2", "ask", 1);
    expect(scene.answers()).toEqual(["MINE", "MINE", "MINE"]);
  });
});
