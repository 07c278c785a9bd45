/**
 * SIGKILL around the call of a step: P06 to P10, once for each effect class and each way to find out. P06 and P09 are in the
 * wrapped service, P07 and P08 are made by the world, at P10 the answer of the commit is lost with its process.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asked, crashByPlan, crashByWorld, prove, rescue, toldOf } from "../support/fault-crash.ts";
import { done, type Seen } from "../support/fault-sagas.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";

interface Kind {
  readonly step: string;
  readonly words: string;
  /** Whether its effect shows in the world. */
  readonly shows: boolean;
  /** Whether it is asked instead of being repeated blindly. */
  readonly isAsked: boolean;
}

const kinds: readonly Kind[] = [
  { step: "look", words: "none", shows: false, isAsked: false },
  { step: "reserve", words: "idempotent", shows: true, isAsked: false },
  { step: "charge", words: "keyed, with a probe", shows: true, isAsked: true },
  { step: "fee", words: "keyed, without a probe", shows: true, isAsked: false },
  { step: "pick", words: "once, with a probe", shows: true, isAsked: true },
];
/** The last call before a run is parked, since nobody can tell what became of it. */
const blind: Kind = { step: "letter", words: "once, without a probe", shows: true, isAsked: false };

const named = (some: readonly Kind[]) => some.map((kind) => [kind.words, kind] as const);
let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** What the world saw of a run that was completed: each step once, but for the one that was struck. */
function completed(struck: Kind, arrivals: number): Record<string, Seen> {
  return { ...done, [struck.step]: { arrivals, effects: struck.shows ? 1 : 0 } };
}

describe.concurrent.each(named(kinds))("killed around a call of a step that is %s", (_words, kind) => {
  test("P06 before the request: made once, by another process", async () => {
    const crashed = await crashByPlan(stage, { name: `p06-${kind.step}` }, { point: "P06", step: kind.step });
    await rescue(crashed);
    const { record, counts } = await prove("P06", crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    expect(counts).toMatchObject(completed(kind, 1));
    expect((counts[kind.step]?.queries ?? 0) > 0).toBe(kind.isAsked);
  });

  test("P07 on its way, applied late: one effect", async () => {
    const crashed = await crashByWorld(stage, { name: `p07-${kind.step}` }, { service: kind.step, applied: false });
    const rescued = rescue(crashed);
    // Where a repeat is not safe the twin lands between the first question and the deadline, else after the end.
    const isSafe = kind.step !== "pick";
    if (!isSafe) await asked(crashed.room, kind.step).then(crashed.release);
    await rescued;
    if (isSafe) await crashed.release();
    const { record, counts } = await prove("P07", crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    expect(counts).toMatchObject(completed(kind, isSafe ? 2 : 1));
  });

  test("P08 applied and not answered: one effect", async () => {
    const crashed = await crashByWorld(stage, { name: `p08-${kind.step}` }, { service: kind.step, applied: true });
    await rescue(crashed);
    const { record, counts } = await prove("P08", crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    expect(counts).toMatchObject(completed(kind, kind.isAsked ? 1 : 2));
  });

  test("P09 answered and not recorded: one effect", async () => {
    const crashed = await crashByPlan(stage, { name: `p09-${kind.step}` }, { point: "P09", step: kind.step });
    await rescue(crashed);
    const { record, counts } = await prove("P09", crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    expect(counts).toMatchObject(completed(kind, kind.isAsked ? 1 : 2));
  });

  test("P10 the answer of the commit lost: not made again", async () => {
    const crashed = await crashByPlan(stage, { name: `p10-${kind.step}` }, { point: "P10", step: kind.step });
    await rescue(crashed);
    const { record, counts } = await prove("P10", crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    expect(counts).toMatchObject(completed(kind, 1));
    expect(counts[kind.step]?.queries).toBe(0);
  });
});

describe.concurrent("killed around a call of a step that is once, without a probe", () => {
  /** It is not made again, and a person is asked. */
  async function parked(id: string, crashed: Parameters<typeof prove>[1], seen: Seen) {
    await rescue(crashed);
    const { record, counts } = await prove(id, crashed);
    const { seq } = await crashed.room.rowOf(blind.step);
    expect(record).toMatchObject({ status: "needs_review", review: { reason: "unknown_outcome", seq } });
    expect(counts[blind.step] ?? { arrivals: 0, effects: 0 }).toMatchObject(seen);
    expect(counts["approve"]).toBe(undefined);
  }

  test("P06 before the request: not made, parked", async () => {
    const crashed = await crashByPlan(stage, { name: "p06-letter" }, { point: "P06", step: blind.step });
    await parked("P06", crashed, { arrivals: 0, effects: 0 });
  });

  test("P07 on its way: not made again, parked, and it may land late", async () => {
    const crashed = await crashByWorld(stage, { name: "p07-letter" }, { service: blind.step, applied: false });
    await parked("P07", crashed, { arrivals: 1, effects: 0 });
    await crashed.release();
    expect((await crashed.room.counts())[blind.step]).toMatchObject({ arrivals: 1, effects: 1 });
  });

  test("P08 applied and not answered: not made again, parked", async () => {
    const crashed = await crashByWorld(stage, { name: "p08-letter" }, { service: blind.step, applied: true });
    await parked("P08", crashed, { arrivals: 1, effects: 1 });
  });

  test("P09 answered and not recorded: not made again, parked", async () => {
    const crashed = await crashByPlan(stage, { name: "p09-letter" }, { point: "P09", step: blind.step });
    await parked("P09", crashed, { arrivals: 1, effects: 1 });
  });

  test("P10 the answer of the commit lost: not made again, completed", async () => {
    const crashed = await crashByPlan(stage, { name: "p10-letter" }, { point: "P10", step: blind.step });
    await rescue(crashed);
    const { record, counts } = await prove("P10", crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    expect(counts).toMatchObject(completed(blind, 1));
  });
});

describe("when all is over", () => {
  test("I1 I2 I3 I4 I5 I6 I9 hold for every run, and no queue holds a job", async () => {
    await expectAllSettled(stage, { ids: ["I1", "I2", "I3", "I4", "I5", "I6", "I9"], what: "around a killed call" });
  });
});
