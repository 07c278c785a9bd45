/**
 * Redis comes back with an older world: it has forgotten commits that it had acknowledged, as after a power cut, a fail-over
 * to a replica that lagged, a restored backup. A worker that remembers them lives (I12): the run is parked with what is
 * known of it, and nothing that was sent then is sent again.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { leaveEvidence } from "../support/evidence.ts";
import { toldOf } from "../support/fault-crash.ts";
import { tenant } from "../support/fault-plan.ts";
import type { FaultWorker } from "../support/fault-processes.ts";
import type { Room } from "../support/fault-room.ts";
import { done, type SagaName, undone } from "../support/fault-sagas.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";
import type { RedisFiles } from "../support/redis-server.ts";

let stage: Stage;
beforeAll(async () => {
  // The world cannot look into a store that is away.
  stage = await Stage.open({ witness: false });
});
afterEach(() => stage.world.clearFaults());
afterAll(() => stage.close());

interface Remembered {
  readonly room: Room;
  readonly files: RedisFiles;
  readonly workers: readonly FaultWorker[];
}

/** Two workers; the files are copied while the call of `copiedAt` is under way, or before the run is started. */
async function begun(name: string, copiedAt: string | null, saga: SagaName = "whole"): Promise<Remembered> {
  const [room, first, second] = await Promise.all([stage.room(name), stage.worker(), stage.rescuer()]);
  await Promise.all([first.serve(name), second.serve(name)]);
  if (copiedAt === null) {
    const files = await stage.redis.copyFiles();
    await room.start(saga);
    return { room, files, workers: [first, second] };
  }
  const operationId = room.operationOf(copiedAt);
  stage.world.fault({ service: copiedAt, operationId, kind: "apply-then-hang" });
  await room.start(saga);
  const held = await stage.world.nextHeld({ service: copiedAt, operationId });
  const files = await stage.redis.copyFiles();
  held.release();
  return { room, files, workers: [first, second] };
}

async function parked(room: Room): Promise<void> {
  const record = await waitFor(
    async () => {
      const now = await room.store.read({ tenant, id: "r1" }).catch(() => null);
      return now?.review?.reason === "store_rollback" && now;
    },
    { what: "the run to be parked", timeoutMs: 30_000, everyMs: 50 },
  );
  expect(record.review?.message).toContain("the store had forgotten what it acknowledged");
  expect(record.status).toBe("needs_review");
}

/** What the world saw is left for I12. */
async function expectSeen(room: Room, expected: object, ...checks: readonly string[]): Promise<void> {
  const counts = await room.counts();
  expect(counts).toMatchObject(expected);
  const total = (of: "arrivals" | "effects") => Object.values(counts).reduce((sum, each) => sum + (each?.[of] ?? 0), 0);
  leaveEvidence("I12", { arrivals: total("arrivals"), effects: total("effects"), checks });
}

async function goOn(room: Room): Promise<void> {
  await room.client.run("r1", { tenant }).operator.retry({ by: "ann", reason: "looked: nothing else happened" });
  const { status } = await room.rest("r1", ({ status: is }) => is === "completed" || is === "failed");
  expect(status, await toldOf(room)).toBe("completed");
}

test("I12 a run in the middle: parked as it is remembered, and after a person's word each effect is there once", async () => {
  const { room, files } = await begun("middle", "charge");
  const operationId = room.operationOf("approve");
  stage.world.fault({ service: "approve", operationId, kind: "hang-before-apply" });
  const held = await stage.world.nextHeld({ service: "approve", operationId });
  const known = (await room.record()).revision;
  await stage.redis.rollBack(files);
  await parked(room);
  const { review } = await room.record();
  expect(review?.evidence).toMatchObject({ remembered: known, restored: true });
  expect((await room.rowOf("letter")).call.state).toBe("succeeded");
  expect((await room.counts())["letter"]).toMatchObject({ arrivals: 1, effects: 1 });
  held.drop();
  stage.world.clearFaults();
  await goOn(room);
  const { approve: _approve, ...rest } = done;
  await expectSeen(room, rest, "parked as it is remembered", "each effect once");
});

test("I12 a run that had ended: it is not carried out again, and ends as it had", async () => {
  const { room, files } = await begun("ended", "charge");
  expect((await room.rest()).status).toBe("completed");
  await stage.redis.rollBack(files);
  await parked(room);
  await goOn(room);
  await expectSeen(room, done, "known again", "each effect once");
});

test("I12 a run that was undone after it had ended, and the undoing is forgotten: it is known as undone, once", async () => {
  const room = await stage.room("undone");
  const [first, second] = await Promise.all([stage.worker(), stage.rescuer()]);
  await Promise.all([first.serve("undone"), second.serve("undone")]);
  await room.start("whole");
  expect((await room.rest()).status).toBe("completed");
  const files = await stage.redis.copyFiles();
  await room.client.run("r1", { tenant }).undo({ by: "ann", reason: "changed my mind" });
  expect((await room.rest("r1", ({ status }) => status === "cancelled")).rollback).toBe("complete");
  await stage.redis.rollBack(files);
  await parked(room);
  const { operator } = room.client.run("r1", { tenant });
  await operator.retry({ by: "ann", reason: "looked: all was undone" });
  const { rollback } = await room.rest("r1", ({ status }) => status === "cancelled");
  expect(rollback).toBe("complete");
  await expectSeen(room, undone, "known as undone", "each effect and each undoing once");
});

test("I12 a run the store knows nothing of any more: it is there again, and starting it again does not start another", async () => {
  const { room, files } = await begun("vanished", null);
  const { revision, status } = await room.rest();
  expect(status).toBe("completed");
  await stage.redis.rollBack(files);
  const back = await waitFor(async () => (await room.store.read({ tenant, id: "r1" }).catch(() => null)) ?? false, {
    what: "the run to be there again",
    timeoutMs: 30_000,
    everyMs: 50,
  });
  expect(back).toMatchObject({ status: "completed", revision: revision + 1 });
  await room.start("whole");
  expect((await room.rest()).status).toBe("completed");
  await expectSeen(room, done, "known again", "each effect once");
  expect((await room.log()).flatMap(({ taken }) => taken)).toContainEqual(
    expect.objectContaining({ what: "restored", note: `revision ${revision}` }),
  );
});

test("I12 a run that its client starts again before anybody has said that it was there: no effect comes twice", async () => {
  const { room, files, workers } = await begun("again", null);
  expect((await room.rest()).status).toBe("completed");
  for (const { child } of workers) child.freeze();
  await stage.redis.rollBack(files);
  await waitFor(() => room.start("whole").catch(() => false), { what: "the run to be started again", everyMs: 20 });
  for (const { child } of workers) child.thaw();
  await parked(room);
  await goOn(room);
  await expectSeen(room, done, "started again", "known again", "each effect once");
});

test("I12 a run in the middle that the store knows nothing of any more: parked, and each effect is there once", async () => {
  const { room, files } = await begun("gone", null);
  const operationId = room.operationOf("approve");
  stage.world.fault({ service: "approve", operationId, kind: "hang-before-apply" });
  const held = await stage.world.nextHeld({ service: "approve", operationId });
  await stage.redis.rollBack(files);
  await parked(room);
  expect((await room.rowOf("letter")).call.state).toBe("succeeded");
  held.drop();
  stage.world.clearFaults();
  await goOn(room);
  const { approve: _approve, ...rest } = done;
  await expectSeen(room, rest, "parked as it is remembered", "each effect once");
});
