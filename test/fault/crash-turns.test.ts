/**
 * SIGKILL between every two writes of a turn, while other runs stand in line: each effect is made once, never two runs at a time,
 * in order of start, and no turn is lost with a process.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { crashByPlan, toldOf } from "../support/fault-crash.ts";
import type { Plan } from "../support/fault-plan.ts";
import type { Room } from "../support/fault-room.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** The runs that the world heard of, in order; one that comes back after another one stands there twice. */
async function heard(room: Room): Promise<readonly string[]> {
  const runs = (await room.entries()).map(({ operationId }) => operationId.split("/")[2] ?? "");
  return runs.filter((run, at) => run !== runs[at - 1]);
}

const points: readonly (readonly [words: string, plan: Plan])[] = [
  ["it is to ask, nothing was asked", { point: "T01" }],
  ["the line has answered, that is not committed", { point: "T02" }],
  ["its turn is committed, its first call not made", { point: "P06", step: "charge" }],
  ["its last outcome is known, its end not committed", { point: "P09", step: "approve" }],
  ["it has ended, its turn is not given", { point: "T03" }],
  ["its turn is given, nobody was told", { point: "T04" }],
  ["the next was told, that the turn is free not committed", { point: "T05" }],
  ["all is committed", { point: "T06" }],
];

describe.concurrent.each(points)("killed where %s", (_words, plan) => {
  test("the others have their turns all the same, one after the other", async () => {
    const name = `turns-${plan.point}`;
    const crashed = await crashByPlan(stage, { name, saga: "turns" }, plan);
    const { room } = crashed;
    for (const id of ["r2", "r3"]) await room.start("turns", { id });
    const rescuer = await stage.rescuer();
    await rescuer.serve(name);
    for (const id of ["r1", "r2", "r3"]) expect((await room.rest(id)).status, await toldOf(room)).toBe("completed");
    expect(await heard(room)).toEqual(["r1", "r2", "r3"]);
    for (const id of ["r1", "r2", "r3"]) expect((await room.counts(id))["charge"]?.effects).toBe(1);
    await room.prove(["turns-crash", plan.point], {
      killed: [{ pid: crashed.victim.pid, signal: "SIGKILL" }],
      checks: [name],
    });
    stage.leaveWhenDrained(room);
  });
});

describe("when all is over", () => {
  test("I3 I4 I5 I6 hold for every run", async () => {
    await expectAllSettled(stage, { ids: ["I3", "I4", "I5", "I6"], what: "around a turn" });
  });
});
