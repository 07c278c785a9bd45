/**
 * SIGKILL around a run rather than around a call: of the client that starts it (P00 to P02), of the worker that takes it
 * (P03 to P05), at the wake-up of a wait (P11), and where a worker is through with it (P12 to P14).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { begin, crashByPlan, crashOfClient, diesByPlan, prove, rescue, toldOf } from "../support/fault-crash.ts";
import { type Plan, tenant } from "../support/fault-plan.ts";
import type { Room } from "../support/fault-room.ts";
import { done, sagas, timedWaitMs } from "../support/fault-sagas.ts";
import { expectAllSettled } from "../support/fault-settled.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

/** What the world sees of a run that waits between a charge and a letter. */
const charged = { charge: { arrivals: 1, effects: 1 } };
const charging = { ...charged, letter: { arrivals: 1, effects: 1 } };

async function signal(room: Room): Promise<void> {
  await room.client.run("r1", { tenant, saga: sagas.signalled }).signal("GO", {});
}

async function isWaiting(room: Room): Promise<void> {
  await room.rest("r1", ({ status }) => status === "waiting");
}

describe.concurrent("a client killed while it starts a run", () => {
  test("P00 before it is sent: nothing is written, and starting again starts one run", async () => {
    const crashed = await crashOfClient(stage, { name: "p00" }, { point: "P00" });
    expect(await crashed.room.store.read({ tenant, id: "r1" })).toBe(null);
    await crashed.room.start("whole");
    const { status } = await rescue(crashed);
    const { counts } = await prove("P00", crashed);
    expect({ status, ...counts }).toMatchObject({ status: "completed", ...done });
  });

  test("P01 R031 before its wake-up is added: the run is found, and starting again finds it", async () => {
    const crashed = await crashOfClient(stage, { name: "p01" }, { point: "P01" });
    const { room } = crashed;
    expect([(await room.record()).revision, await room.queuedInAll()]).toEqual([1, 0]);
    const { status } = await rescue(crashed);
    await room.start("whole");
    const { counts } = await prove(["P01", "R031"], crashed);
    expect({ status, ...counts }).toMatchObject({ status: "completed", ...done });
  });

  test("P02 before it is answered: starting again gives the same run", async () => {
    const crashed = await crashOfClient(stage, { name: "p02" }, { point: "P02" });
    const { room } = crashed;
    expect([(await room.record()).revision, await room.queuedInAll()]).toEqual([1, 1]);
    await room.start("whole");
    const { status } = await rescue(crashed);
    const { counts } = await prove("P02", crashed);
    expect({ status, ...counts }).toMatchObject({ status: "completed", ...done });
  });
});

describe.concurrent("a worker killed while it takes a run", () => {
  async function completes(name: string, plan: Plan): Promise<Room> {
    const crashed = await crashByPlan(stage, { name }, plan);
    await rescue(crashed);
    const { record, counts } = await prove(plan.point, crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    expect(counts).toMatchObject(done);
    return crashed.room;
  }

  test("P03 handler entered: the job comes back, and no death is counted against the run", async () => {
    const room = await completes("p03", { point: "P03" });
    expect((await room.log())[1]).toMatchObject({ revision: 2, fence: 1 });
    expect((await room.record()).interruptions).toBe(0);
  });

  test("P04 lease taken: it lapses, and the next holder has a higher fence", async () => {
    const room = await completes("p04", { point: "P04" });
    expect((await room.log())[1]).toMatchObject({ revision: 2, fence: 2 });
  });

  test("P05 before the first commit: decided again", async () => {
    const room = await completes("p05-first", { point: "P05" });
    expect((await room.log())[1]).toMatchObject({ revision: 2, fence: 2 });
  });

  test("P05 before a commit in the middle: decided again", async () => {
    const crashed = await crashByPlan(stage, { name: "p05-middle" }, { point: "P05", nth: 3 });
    await rescue(crashed);
    const { record, counts } = await prove("P05", crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    // The reservation had been made: `idempotent` is called again.
    expect(counts).toMatchObject({ ...done, reserve: { arrivals: 2, effects: 1 } });
  });
});

describe.concurrent("a process killed at the wake-up of a wait", () => {
  test("P11 the worker, when the time has come: the timer fires, once and not early", async () => {
    const crashed = await crashByPlan(stage, { name: "p11-timer", saga: "timed" }, { point: "P11" });
    await rescue(crashed);
    const { record, counts } = await prove("P11", crashed);
    expect(record.status, await toldOf(crashed.room)).toBe("completed");
    expect(counts).toMatchObject(charging);
    const began = (await crashed.room.log()).find(({ to }) => to === "waiting")?.at ?? Number.NaN;
    const letter = (await crashed.room.entries()).find(({ service }) => service === "letter");
    expect(Date.parse(letter?.at ?? "") - began).toBeGreaterThanOrEqual(timedWaitMs);
  });

  test("P11 R031 the client, after its signal was accepted: the signal is taken", async () => {
    const room = await stage.room("p11-signal");
    await (await stage.rescuer()).serve(room.namespace);
    await room.start("signalled");
    await isWaiting(room);
    const victim = await stage.client({ point: "P11" });
    victim.ask({ namespace: room.namespace, saga: "signalled", id: "r1", refuse: false, signal: "GO" });
    const crashed = await diesByPlan({ stage, room, victim }, { point: "P11" });
    const { status } = await room.rest();
    const { counts } = await prove(["P11", "R031"], crashed);
    expect({ status, ...counts }).toMatchObject({ status: "completed", ...charging });
  });
});

describe.concurrent("a worker killed where it is through with a run", () => {
  test("P12 before the job is acknowledged: delivered again it changes nothing", async () => {
    const crashed = await crashByPlan(stage, { name: "p12", saga: "signalled" }, { point: "P12" });
    const { room } = crashed;
    const { revision } = await room.record();
    await (await stage.rescuer()).serve(room.namespace);
    await waitFor(async () => (await room.queuedInAll()) === 0, { timeoutMs: 30_000, what: "the job to be taken" });
    expect(await room.record()).toMatchObject({ status: "waiting", revision });
    expect(await room.counts()).toMatchObject(charged);
    await signal(room);
    const { status } = await room.rest();
    const { counts } = await prove("P12", crashed);
    expect({ status, ...counts }).toMatchObject({ status: "completed", ...charging });
  });

  test("P13 after the last commit, its publish unheard: result() returns", async () => {
    const plan: Plan = { point: "P13" };
    const { room, victim, start } = await begin(stage, { name: "p13" }, plan);
    room.isDeaf = true;
    await start();
    const result = room.client.run("r1", { tenant }).result({ timeout: "60s" });
    const crashed = await diesByPlan({ stage, room, victim }, plan);
    expect(await result).toMatchObject({ charge: { ref: expect.any(String) } });
    await (await stage.rescuer()).serve(room.namespace);
    const { record, counts } = await prove("P13", crashed, { endedByVictim: true });
    expect({ status: record.status, ...counts }).toMatchObject({ status: "completed", ...done });
  });

  test("P14 before it gives a waiting run back: the lease lapses, the run goes on", async () => {
    const crashed = await crashByPlan(stage, { name: "p14-wait", saga: "signalled" }, { point: "P14" });
    const { room } = crashed;
    await (await stage.rescuer()).serve(room.namespace);
    await isWaiting(room);
    await signal(room);
    const { status } = await room.rest();
    const { counts } = await prove("P14", crashed);
    expect({ status, ...counts }).toMatchObject({ status: "completed", ...charging });
  });

  test("P14 before it hands a run back because it stops: the lease lapses, the run goes on", async () => {
    const plan: Plan = { point: "P14" };
    const { room, victim, start } = await begin(stage, { name: "p14-stop" }, plan);
    const operationId = room.operationOf("charge");
    stage.world.fault({ service: "charge", operationId, kind: "apply-then-hang" });
    await start();
    const held = await stage.world.nextHeld({ operationId });
    victim.stopServing(room.namespace);
    held.release();
    const crashed = await diesByPlan({ stage, room, victim }, plan);
    await rescue(crashed);
    const { record, counts } = await prove("P14", crashed);
    expect(record.status, await toldOf(room)).toBe("completed");
    expect(counts).toMatchObject(done);
  });
});

describe("when all is over", () => {
  test("I1 I2 I3 I4 I5 I6 I9 hold for every run, and no queue holds a job", async () => {
    await expectAllSettled(stage, {
      ids: ["I1", "I2", "I3", "I4", "I5", "I6", "I9"],
      what: "whose clients and workers were killed",
    });
  });
});
