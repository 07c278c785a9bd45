/**
 * SIGKILL while a run is unwound: C01 to C05. C02 (before the request) and C03 (during the call, by the world, and after its
 * answer) once for each class that a compensation can have, and each way to find out.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Crashed, crashByPlan, crashByWorld, prove, rescue, toldOf } from "../support/fault-crash.ts";
import type { Plan } from "../support/fault-plan.ts";
import { type Seen, undone } from "../support/fault-sagas.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

interface Kind {
  readonly step: string;
  /** Whether the compensation is asked about instead of being repeated blindly. */
  readonly isAsked: boolean;
}

/** The steps by the class of their compensation. */
const kinds: readonly (readonly [string, Kind])[] = [
  ["none", { step: "tag", isAsked: false }],
  ["idempotent", { step: "reserve", isAsked: false }],
  ["keyed, with a probe", { step: "charge", isAsked: true }],
  ["keyed, without a probe", { step: "fee", isAsked: false }],
  ["once, with a probe", { step: "pick", isAsked: true }],
];

const failing = (name: string) => ({ name, refuse: true }) as const;

/** Everything was undone, each once, and the run has failed. */
async function unwound(id: string, crashed: Crashed, changed: Readonly<Record<string, Seen>> = {}): Promise<void> {
  await rescue(crashed);
  const { record, counts } = await prove(id, crashed);
  expect(record, await toldOf(crashed.room)).toMatchObject({ status: "failed", rollback: "complete" });
  expect(counts).toMatchObject({ ...undone, ...changed });
}

describe.concurrent.each(kinds)("killed around a compensation that is %s", (_words, { step, isAsked }) => {
  const service = `undo-${step}`;
  const twice = { [service]: { arrivals: isAsked ? 1 : 2, effects: 1 } };

  test("C02 before the request: made once, by another process", async () => {
    await unwound("C02", await crashByPlan(stage, failing(`c02-${step}`), { point: "C02", step }));
  });

  test("C03 applied and not answered: one effect", async () => {
    const crashed = await crashByWorld(stage, failing(`c03-during-${step}`), { service, applied: true });
    await unwound("C03", crashed, twice);
  });

  test("C03 answered and not recorded: one effect", async () => {
    const crashed = await crashByPlan(stage, failing(`c03-after-${step}`), { point: "C03", step });
    await unwound("C03", crashed, twice);
  });
});

describe.concurrent("killed around a compensation that is once, without a probe", () => {
  const service = "undo-letter";

  /** It is not made again, nothing earlier is undone past it, and a person is asked. */
  async function halted(id: string, crashed: Crashed, seen: Seen): Promise<void> {
    await rescue(crashed);
    const { record, counts } = await prove(id, crashed);
    const { seq } = await crashed.room.rowOf("letter");
    expect(record, await toldOf(crashed.room)).toMatchObject({
      status: "needs_review",
      rollback: "halted",
      review: { seq, side: "undo" },
    });
    expect(counts[service] ?? { arrivals: 0, effects: 0 }).toMatchObject(seen);
    expect(Object.keys(counts).filter((name) => name.startsWith("undo-") && name !== service)).toEqual([]);
  }

  test("C02 before the request: not made, halted", async () => {
    const crashed = await crashByPlan(stage, failing("c02-letter"), { point: "C02", step: "letter" });
    await halted("C02", crashed, { arrivals: 0, effects: 0 });
  });

  test("C03 applied and not answered: not made again, halted", async () => {
    const crashed = await crashByWorld(stage, failing("c03-during-letter"), { service, applied: true });
    await halted("C03", crashed, { arrivals: 1, effects: 1 });
  });

  test("C03 answered and not recorded: not made again, halted", async () => {
    const crashed = await crashByPlan(stage, failing("c03-after-letter"), { point: "C03", step: "letter" });
    await halted("C03", crashed, { arrivals: 1, effects: 1 });
  });
});

describe.concurrent("killed while it unwinds", () => {
  test("C01 before the turn is recorded: it turns again, and undoes everything once", async () => {
    const crashed = await crashByPlan(stage, failing("c01"), { point: "C01" });
    // That it was refused was not recorded, so it is asked once more.
    await unwound("C01", crashed, { approve: { arrivals: 2, effects: 0 } });
  });

  test("C04 between two compensations: goes on with the earlier one, in order", async () => {
    await unwound("C04", await crashByPlan(stage, failing("c04"), { point: "C04", step: "fee" }));
    const undoings = (await stage.entries("c04")).filter(
      ({ kind, direction }) => kind === "effect" && direction === "undo",
    );
    const order = ["letter", "tag", "pick", "fee", "charge", "reserve"];
    expect(undoings.map(({ service }) => service)).toEqual(order.map((step) => `undo-${step}`));
  });

  test("C05 a compensation is refused for good: halted with what remains, and said so", async () => {
    const plan: Plan = { point: "C05", step: "fee" };
    stage.world.fault({
      service: "undo-fee",
      operationId: "c05/t/r1/fee/1/undo",
      kind: "refuse",
      code: "no",
      times: "always",
    });
    const crashed = await crashByPlan(stage, failing("c05"), plan);
    await rescue(crashed);
    const { record, counts } = await prove("C05", crashed);
    const { seq } = await crashed.room.rowOf("fee");
    const halted = { status: "needs_review", rollback: "halted", review: { seq, side: "undo" } };
    expect(record, await toldOf(crashed.room)).toMatchObject(halted);
    expect(counts["undo-fee"]).toMatchObject({ effects: 0 });
    expect(counts["undo-pick"]).toMatchObject({ arrivals: 1, effects: 1 });
    expect([counts["undo-charge"], counts["undo-reserve"]]).toEqual([undefined, undefined]);
  });
});

describe("when all is over", () => {
  test("I1 I2 I3 I4 I5 I6 I7 I8 I9 hold for every run, and no queue holds a job", async () => {
    const ids = ["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9"];
    await expectAllSettled(stage, { ids, what: "killed while they were unwound" });
  });
});
