/**
 * A worker that stands still (SIGSTOP), or cannot reach Redis, for longer than its lease, and comes back after another one
 * has taken over: it commits nothing, makes at most the one call it had issued, and no `once` effect is doubled.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asked, toldOf } from "../support/fault-crash.ts";
import type { Plan } from "../support/fault-plan.ts";
import type { FaultWorker } from "../support/fault-processes.ts";
import type { Room } from "../support/fault-room.ts";
import { done } from "../support/fault-sagas.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

let stage: Stage;
let proxy: TcpProxy;
beforeAll(async () => {
  stage = await Stage.open();
  proxy = await stage.proxy();
});
afterAll(() => stage.close());

interface Zombie {
  readonly room: Room;
  readonly worker: FaultWorker;
  /** The incarnation that lost the run. */
  readonly owner: string;
}

async function zombie(name: string, plan: Plan | null, url?: string): Promise<Zombie> {
  const [room, worker] = await Promise.all([stage.room(name), stage.worker(plan, url)]);
  const owner = await worker.serve(name);
  return { room, worker, owner };
}

/** It has stopped itself where its plan says. */
async function stops({ worker }: Zombie, plan: Plan): Promise<void> {
  await waitFor(() => worker.hits().length > 0, { timeoutMs: 30_000, what: "the worker to stop itself" });
  expect(worker.hits()).toMatchObject([{ pid: worker.pid, point: plan.point, step: plan.step, signal: "SIGSTOP" }]);
}

async function takeOver({ room }: Zombie): Promise<void> {
  await (await stage.rescuer()).serve(room.namespace);
}

/** It wakes up, does all that it still wants to do, and leaves in good order. */
async function comesBack({ room, worker }: Zombie, wake: () => void): Promise<void> {
  wake();
  await worker.leave(room.namespace);
}

/** The zombie wrote nothing more under the lease that it had lost, and the three witnesses agree. Gives the status at rest. */
async function prove({ room, worker, owner }: Zombie, how: "SIGSTOP" | "cut off"): Promise<string> {
  await waitFor(async () => (await room.queuedInAll()) === 0, { timeoutMs: 30_000, what: "late words to be taken" });
  const { status } = await room.rest();
  const log = await room.log();
  const rescuer = await stage.rescuer();
  const takenOver = log.findIndex(({ actor }) => stage.pidOf.get(actor) === rescuer.pid);
  expect(takenOver).toBeGreaterThan(0);
  const lost = log[takenOver - 1]?.fence ?? 0;
  expect(log.slice(takenOver).filter(({ actor, fence }) => actor === owner && fence <= lost)).toEqual([]);
  expect(log[takenOver]?.fence ?? 0).toBeGreaterThan(lost);
  await room.prove(["I3", "I5"], {
    killed: how === "SIGSTOP" ? [{ pid: worker.pid, signal: how }] : [],
    checks: [`${how}, taken over at revision ${takenOver + 1}, nothing by the zombie after it`],
  });
  return status;
}

describe.concurrent("stopped for longer than its lease", () => {
  test("I3 I5 with a once call under way: the call is found out, the zombie is fenced", async () => {
    const mine = await zombie("stopped-in-flight", null);
    const { room, worker } = mine;
    const operationId = room.operationOf("pick");
    stage.world.fault({ service: "pick", operationId, kind: "hang-before-apply" });
    await room.start("whole");
    const held = await stage.world.nextHeld({ operationId });
    worker.child.freeze();
    await takeOver(mine);
    await asked(room, "pick");
    held.release();
    await room.rest();
    await comesBack(mine, () => worker.child.thaw());
    expect(await prove(mine, "SIGSTOP"), await toldOf(room)).toBe("completed");
    expect(await room.counts()).toMatchObject(done);
  });

  test("I3 I5 between grant and call: the call is not begun, and made by the other", async () => {
    const plan: Plan = { point: "granted", step: "letter", signal: "SIGSTOP" };
    const mine = await zombie("stopped-before-call", plan);
    const { room, worker } = mine;
    await room.start("whole");
    await stops(mine, plan);
    await takeOver(mine);
    expect(await room.rest()).toMatchObject({ status: "needs_review", review: { reason: "unknown_outcome" } });
    await comesBack(mine, () => worker.child.thaw());
    await room.rest("r1", ({ status }) => status === "completed");
    expect(await prove(mine, "SIGSTOP"), await toldOf(room)).toBe("completed");
    expect(await room.counts()).toMatchObject(done);
    const letter = (await room.entries()).find(({ service }) => service === "letter");
    expect(letter?.pid).toBe((await stage.rescuer()).pid);
  });

  test("I3 I5 with a keyed call under way: repeated by the other, and the twin changes nothing", async () => {
    const mine = await zombie("stopped-keyed", null);
    const { room, worker } = mine;
    const operationId = room.operationOf("fee");
    stage.world.fault({ service: "fee", operationId, kind: "hang-before-apply" });
    await room.start("whole");
    const held = await stage.world.nextHeld({ operationId });
    worker.child.freeze();
    await takeOver(mine);
    await room.rest();
    held.release();
    await comesBack(mine, () => worker.child.thaw());
    expect(await prove(mine, "SIGSTOP"), await toldOf(room)).toBe("completed");
    expect(await room.counts()).toMatchObject({ ...done, fee: { arrivals: 2, effects: 1 } });
  });

  test("I3 I5 with a request about to leave: at most this one still arrives", async () => {
    const plan: Plan = { point: "P06", step: "letter", signal: "SIGSTOP" };
    const mine = await zombie("stopped-about-to-call", plan);
    const { room, worker } = mine;
    await room.start("whole");
    await stops(mine, plan);
    await takeOver(mine);
    expect(await room.rest()).toMatchObject({ status: "needs_review", review: { reason: "unknown_outcome" } });
    await comesBack(mine, () => worker.child.thaw());
    const status = await prove(mine, "SIGSTOP");
    // It hears that it is fenced while it sends: either the request is not made, or its answer is handed in late.
    const { letter = { arrivals: 0, effects: 0 } } = await room.counts();
    expect(letter.arrivals).toBe(letter.effects);
    expect(letter.arrivals).toBeLessThanOrEqual(1);
    expect(status === "needs_review" || letter.effects === 1).toBe(true);
  });
});

/** The other side was asked past the deadline and knew of nothing; resolves sooner where the call was made again. */
async function absentPastDeadline({ room }: Zombie, operationId: string): Promise<void> {
  const isAbsent = async () => {
    if ((await room.entries()).filter((each) => each.kind === "arrival" && each.operationId === operationId).length > 1)
      return true;
    const { call } = await room.rowOf("pick");
    const last = (await room.log()).findLast(({ taken }) => taken.some(({ what }) => what === "probed"));
    return last !== undefined && call.state === "unknown" && call.deadline !== null && last.at > call.deadline + 100;
  };
  await waitFor(isAbsent, { timeoutMs: 30_000, what: "an absence to be told past the deadline" });
}

describe.concurrent("stopped past the deadline of its call", () => {
  test("I3 I5 with the request of a once call on its way: an absence is not believed while it lives, and it is made once", async () => {
    const mine = await zombie("stopped-past-deadline", null);
    const { room, worker, owner } = mine;
    const operationId = room.operationOf("pick");
    stage.world.fault({ service: "pick", operationId, kind: "hang-before-apply" });
    await room.start("whole");
    const held = await stage.world.nextHeld({ operationId });
    worker.child.freeze();
    await takeOver(mine);
    await absentPastDeadline(mine, operationId);
    expect((await room.rowOf("pick")).call).toMatchObject({ state: "unknown", senders: [{ send: 1, owner }] });
    held.release();
    worker.child.thaw();
    await room.rest();
    await comesBack(mine, () => undefined);
    expect(await prove(mine, "SIGSTOP"), await toldOf(room)).toBe("completed");
    expect(await room.counts()).toMatchObject(done);
  });

  test("I3 I5 with the request about to leave: made by it or by the other, once", async () => {
    const plan: Plan = { point: "P06", step: "pick", signal: "SIGSTOP" };
    const mine = await zombie("stopped-about-to-pick", plan);
    const { room, worker } = mine;
    await room.start("whole");
    await stops(mine, plan);
    await takeOver(mine);
    await absentPastDeadline(mine, room.operationOf("pick"));
    worker.child.thaw();
    await room.rest(); // it lets go of the call, and may win the run again
    await comesBack(mine, () => undefined);
    expect(await prove(mine, "SIGSTOP"), await toldOf(room)).toBe("completed");
    expect((await room.counts())["pick"]).toMatchObject({ effects: 1 });
  });

  test("I3 I5 and killed there: the call is made by the other, once", async () => {
    const plan: Plan = { point: "P06", step: "pick", signal: "SIGSTOP" };
    const mine = await zombie("stopped-and-killed", plan);
    const { room, worker } = mine;
    await room.start("whole");
    await stops(mine, plan);
    await takeOver(mine);
    await absentPastDeadline(mine, room.operationOf("pick"));
    await worker.child.kill("SIGKILL");
    await room.rest();
    expect(await prove(mine, "SIGSTOP"), await toldOf(room)).toBe("completed");
    expect((await room.counts())["pick"]).toMatchObject({ arrivals: 1, effects: 1 });
  });
});

describe("cut off from Redis for longer than its lease", () => {
  test("I3 I5 two workers at once on one run: the one that was cut off commits nothing", async () => {
    const mine = await zombie("cut-off", null, proxy.url);
    const { room } = mine;
    const operationId = room.operationOf("pick");
    stage.world.fault({ service: "pick", operationId, kind: "hang-before-apply" });
    await room.start("whole");
    const held = await stage.world.nextHeld({ operationId });
    proxy.halfOpen();
    await takeOver(mine);
    await asked(room, "pick");
    held.release(); // both learn of it now: one by its answer, the other by asking
    await room.rest();
    await comesBack(mine, () => proxy.heal());
    expect(await prove(mine, "cut off"), await toldOf(room)).toBe("completed");
    expect(await room.counts()).toMatchObject(done);
  });
});
