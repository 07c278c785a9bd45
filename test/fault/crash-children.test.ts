/**
 * SIGKILL at every request between a parent and its child, and around the writes that belong to them: one child is started,
 * nothing it does is done twice, and it goes back with its parent.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Crashed, crashByPlan, prove, rescue, toldOf } from "../support/fault-crash.ts";
import { type Plan, tenant } from "../support/fault-plan.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** What the world saw of the child; it is one of the runs that were started. */
async function childOf({ room }: Crashed) {
  room.history.push({ op: "start", run: { tenant, id: "r1.1" }, outcome: "ok" });
  const [record, counts] = [await room.record("r1.1"), await room.counts("r1.1")];
  const { runs } = await room.store.list({ tenant, limit: 100 });
  expect(runs.map(({ id }) => id).sort()).toEqual(["r1", "r1.1"]);
  return { record, counts };
}

const once = { arrivals: 1, effects: 1 };
const made = { reserve: once, pick: once };
const nameOf = (words: string, { point, step = "", nth = 1 }: Plan) => `child-${words}-${point}-${step}-${nth}`;

describe.concurrent("killed while a child is on its way", () => {
  test.each<[string, Plan]>([
    ["its row says sent, nothing asked", { point: "granted", step: "errand" }],
    ["before it is started", { point: "H01" }],
    ["it is started, and nobody was told", { point: "H02" }],
    ["it is started and woken, and not looked at", { point: "H03" }],
    ["it has done the first thing, unrecorded", { point: "P09", step: "reserve" }],
    ["it has ended, and its parent was not told", { point: "H06" }],
    ["it has ended, its parent was told and not woken", { point: "H07" }],
    ["its parent looks at it again", { point: "H03", nth: 2 }],
    ["its result is recorded", { point: "P10", step: "errand" }],
  ])("%s: it is one run, and all it does is done once", async (_words, plan) => {
    const crashed = await crashByPlan(stage, { name: nameOf("on", plan), saga: "parenting" }, plan);
    const record = await rescue(crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    const child = await childOf(crashed);
    expect(child.record).toMatchObject({ status: "completed", parent: { run: "r1", seq: 1 } });
    // A call that is repeated after a crash is deduplicated by its class.
    for (const service of ["reserve", "pick"]) expect(child.counts[service]).toMatchObject({ effects: 1 });
    expect(child.counts["pick"]?.arrivals).toBe(1);
    await prove(["CHILD-crash", plan.point], crashed);
  });
});

describe.concurrent("killed while a child goes back with its parent", () => {
  test.each<[string, Plan]>([
    ["before the parent turns round", { point: "C01" }],
    ["before it is asked", { point: "H04" }],
    ["it was asked, and nobody was woken", { point: "H05" }],
    ["it has undone the first thing, unrecorded", { point: "C03", step: "pick" }],
    ["it has gone back, and its parent was not told", { point: "H06", nth: 2 }],
    ["it has gone back, its parent was told and not woken", { point: "H07", nth: 2 }],
    ["that is recorded", { point: "C04", step: "errand" }],
  ])("%s: all it did is undone once", async (_words, plan) => {
    const crashed = await crashByPlan(stage, { name: nameOf("back", plan), saga: "parenting", refuse: true }, plan);
    const record = await rescue(crashed);
    expect(record, await toldOf(crashed.room)).toMatchObject({ status: "failed", rollback: "complete" });
    const child = await childOf(crashed);
    expect(child.record).toMatchObject({ status: "cancelled", rollback: "complete" });
    for (const service of Object.keys(made)) {
      expect(child.counts[service], service).toMatchObject(once);
      expect(child.counts[`undo-${service}`], service).toMatchObject({ effects: 1 });
    }
    await prove(["CHILD-crash", plan.point], crashed, { endedByVictim: plan.point === "C04" });
  });
});

describe.concurrent("killed around the start of a child whose parent is cancelled before anybody takes over", () => {
  test.each<[string, Plan]>([
    ["its row says sent, nothing asked", { point: "granted", step: "errand" }],
    ["before it is started", { point: "H01" }],
    ["it is started, and nobody was told", { point: "H02" }],
  ])("%s: it is cancelled, and does nothing that is not undone", async (_words, plan) => {
    const crashed = await crashByPlan(stage, { name: nameOf("cancel", plan), saga: "parenting" }, plan);
    await crashed.room.client.run("r1", { tenant }).cancel({ reason: "not wanted", by: "ann" });
    const record = await rescue(crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("cancelled");
    const child = await childOf(crashed);
    expect(child.record.status).toBe("cancelled");
    for (const service of Object.keys(made)) {
      expect(child.counts[`undo-${service}`]?.effects ?? 0).toBe(child.counts[service]?.effects ?? 0);
    }
    await prove(["CHILD-crash", plan.point], crashed);
  });
});

describe("when all is over", () => {
  test("I3 I4 I5 I6 hold for every run", async () => {
    await expectAllSettled(stage, { ids: ["I3", "I4", "I5", "I6"], what: "around a child" });
  });
});
