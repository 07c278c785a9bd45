/**
 * A worker that is lost in the middle of a charge, by death or by standing still: what the next one does is decided by the
 * ledger, and what the lost one learns later changes nothing. Played on the stage of the crash points.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { leaveEvidence } from "../support/evidence.ts";
import { begin, type Crashed, crashByPlan, crashByWorld, prove, rescue } from "../support/fault-crash.ts";
import { type Plan, tenant } from "../support/fault-plan.ts";
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
/** Deaths before the charge. One that leaves it in doubt is decided by a question past its deadline, 13 s later. */
const unmadeAll: readonly Moment[] = [
  { name: "r072-unsent", plan: { point: "P05" }, inDoubt: false },
  { name: "r072-granted", plan: { point: "P06", step: "charge" }, inDoubt: true },
];
const unmade = isFull ? unmadeAll : unmadeAll.slice(0, 1);
/** Clients that are killed when some of their starts were answered, and starts of each. */
const clients = isFull ? 10 : 3;
const starts = isFull ? 40 : 20;
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

describe.concurrent("a run that is cancelled while nobody has it", () => {
  /** Cancelled after the death of its worker, and taken over. */
  async function cancelled({ room, stage: where, ...rest }: Crashed): Promise<Crashed> {
    await room.client.run("r1", { tenant }).cancel({ reason: "changed my mind", by: "ann" });
    const crashed = { room, stage: where, ...rest };
    expect((await rescue(crashed)).status).toBe("cancelled");
    return crashed;
  }

  test("R072 with a charge that was applied and not recorded: refunded, as the bank's list says", async () => {
    const crashed = await cancelled(
      await crashByPlan(stage, { name: "r072-applied" }, { point: "P09", step: "charge" }),
    );
    const { record, counts } = await prove("R072", crashed);
    expect(record.rollback).toBe("complete");
    expect([counts["charge"], counts["undo-charge"]]).toMatchObject([{ effects: 1 }, { arrivals: 1, effects: 1 }]);
  });

  test.each(unmade)(
    "R072 with a charge that was never made ($name): not refunded, as the bank's list says",
    async (made) => {
      const crashed = await cancelled(await crashByPlan(stage, { name: made.name, saga: "timed" }, made.plan));
      const { record, counts } = await prove("R072", crashed);
      expect(record.rollback).toBe("not_applicable");
      expect([counts["charge"]?.effects ?? 0, counts["undo-charge"]]).toEqual([0, undefined]);
      expect((counts["charge"]?.queries ?? 0) > 0).toBe(made.inDoubt);
    },
  );
});

test.concurrent(`R094 of ${clients} clients killed as soon as starts are answered, every run that was answered exists`, async () => {
  const room = await stage.room("r094");
  const killed: { readonly pid: number; readonly signal: string }[] = [];
  const answered: string[] = [];
  for (let at = 1; at <= clients; at += 1) {
    const client = await stage.client(null);
    for (let start = 1; start <= starts; start += 1) {
      client.ask({ namespace: room.namespace, saga: "timed", id: `r${at}-${start}`, refuse: false });
    }
    while (client.child.isRunning && answered.length < (at * starts) / 2) answered.push(await client.answered());
    const { signal } = await client.child.kill("SIGKILL");
    killed.push({ pid: client.pid, signal: String(signal) });
  }
  const runs = await Promise.all(answered.map((id) => room.store.read({ tenant, id })));
  expect(runs.map((run) => run?.id)).toEqual(answered);
  expect(answered).toHaveLength((clients * starts) / 2);
  leaveEvidence("R094", { killed, checks: [`${answered.length} starts answered just before a kill, all there`] });
});
