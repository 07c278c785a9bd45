/**
 * A worker that is lost in the middle of a charge, by death or by standing still: what the next one does is decided by the
 * ledger, and what the lost one learns later changes nothing. Played on the stage of the crash points.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { begin, type Crashed, crashByPlan, crashByWorld, prove, rescue } from "../support/fault-crash.ts";
import type { Plan } from "../support/fault-plan.ts";
import { Stage } from "../support/fault-stage.ts";

const isFull = process.env["REPRISE_SIZE"] === "full";

interface Moment {
  readonly name: string;
  readonly plan: Plan;
  /** Whether the ledger leaves open what became of the charge, so that it has to be asked for. */
  readonly inDoubt: boolean;
}

/** Around the charge, each a death of its own; that between its arrival and its answer is made by the world. */
const allMoments: readonly Moment[] = [
  { name: "r065-unsent", plan: { point: "P05", nth: 3 }, inDoubt: false },
  { name: "r065-recorded", plan: { point: "P10", step: "charge" }, inDoubt: false },
  { name: "r065-granted", plan: { point: "granted", step: "charge" }, inDoubt: true },
  { name: "r065-answered", plan: { point: "P09", step: "charge" }, inDoubt: true },
];
const moments = isFull ? allMoments : allMoments.slice(0, 2);
let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

describe("a worker that is lost during a charge", () => {
  test("R001 killed when it was applied and nothing recorded: charged once, completed by another", async () => {
    const crashed = await crashByPlan(stage, { name: "r001" }, { point: "P09", step: "charge" });
    await rescue(crashed);
    const { record, counts } = await prove("R001", crashed);
    expect(record.status).toBe("completed");
    expect(counts["charge"]).toMatchObject({ arrivals: 1, effects: 1 });
  });

  test("R007 stopped, replaced, and failing when it comes back: attempt, error and history are the new fence's alone", async () => {
    const { room, victim, start } = await begin(stage, { name: "r007" }, null);
    const operationId = room.operationOf("fee");
    stage.world.fault({ service: "fee", operationId, kind: "hang-before-apply" });
    await start();
    const held = await stage.world.nextHeld({ service: "fee", operationId });
    victim.child.freeze();
    const rescuer = await stage.rescuer();
    const owner = await rescuer.serve(room.namespace);
    await room.rest();
    const before = await Promise.all([room.record(), room.rowOf("fee"), room.log()]);
    victim.child.thaw();
    held.drop(); // its call fails now
    await victim.leave(room.namespace); // and it has dealt with that
    expect(await Promise.all([room.record(), room.rowOf("fee"), room.log()])).toEqual(before);
    const [{ status }, { call }, log] = before;
    expect([status, call.state, call.attempt, call.send]).toEqual(["completed", "succeeded", 1, 2]);
    const taken = log.findIndex(({ actor }) => actor === owner);
    expect(log.slice(taken).every(({ actor, fence }) => actor === owner && fence === 2)).toBe(true);
    expect((await room.counts())["fee"]).toMatchObject({ arrivals: 2, effects: 1 });
    await room.prove("R007", { checks: [`pid ${victim.pid} stopped, then told of a reset connection, wrote nothing`] });
  });

  test("R065 killed at each moment around it: the ledger says whether it is called again, not the restored machine", async () => {
    const during = { service: "charge", applied: true } as const;
    const all: Crashed[] = [await crashByWorld(stage, { name: "r065-during" }, during)];
    for (const { name, plan } of moments) all.push(await crashByPlan(stage, { name }, plan));
    for (const crashed of all) {
      await rescue(crashed);
      const { record, counts } = await prove("R065", crashed);
      expect([crashed.where, record.status]).toEqual([crashed.where, "completed"]);
      expect(counts["charge"]).toMatchObject({ arrivals: 1, effects: 1 });
    }
    const asked = await Promise.all(all.map(async ({ room }) => ((await room.counts())["charge"]?.queries ?? 0) > 0));
    expect(asked).toEqual([true, ...moments.map(({ inDoubt }) => inDoubt)]);
  });
});
