import { describe, expect, test } from "vitest";
import type { Decision, DriverFact, GiveTurnCommand, RunRecord } from "../../../src/core/index.ts";
import { turnOf } from "../../../src/core/index.ts";
import type { EngineContext } from "../../../src/engine/context.ts";
import { StoreTime } from "../../../src/engine/store-time.ts";
import { giveLeftTurn, Turns } from "../../../src/engine/turns.ts";
import { RepriseError } from "../../../src/errors.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { aRecord } from "../../support/records.ts";

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
  const order = { turn: { kind: "give", turn, limit: 1, startedAt: 0 } } as unknown as Decision;
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
      ...{ status: "completed", endedAt: 1, limit: { key: "k", limit: 1, state: "mine", askAt: null } },
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
