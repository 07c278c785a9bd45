/**
 * Pauses of a run, of a saga and of a named queue, with real workers over Redis and BullMQ: what is out ends and is recorded, nothing
 * more is begun, also by workers that start meanwhile, and all goes on when it is over.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { saga, stepsFor } from "../../src/index.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { effectsOf, type Top, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });
const bounds = { timeout: "20s", lateness: "1s" } as const;
const why = { by: "ann", reason: "the bank is down" };

const charge = (queue?: string) =>
  step("charge", {
    input: Id,
    output: z.object({ chargeId: z.string() }),
    effect: "keyed",
    action: ({ input, operationId, services }) =>
      services.payments.charge({ orderId: input.id, cents: 7 }, { operationId }),
    compensate: ({ output, operationId, services }) => services.payments.refund(output, { operationId }),
    ...(queue === undefined ? {} : { queue }),
    ...bounds,
  });
const tell = step("tell", {
  input: Id,
  effect: "keyed",
  action: ({ input, operationId, services }) =>
    services.mail.send({ to: input.id, subject: "charged" }, { operationId }),
  noCompensation: "it is read",
  ...bounds,
});
const toId = ({ input }: { readonly input: { readonly id: string } }) => ({ id: input.id });
const order = saga("order", { version: 1, input: Id, events: { GO: z.object({}) } })
  .step(charge(), toId)
  .step(tell, toId)
  .build();
const trip = saga("trip", { version: 1, input: Id }).step(charge(), toId).build();
const routed = saga("routed", { version: 1, input: Id }).step(charge("bank"), toId).step(tell, toId).build();

/** A run of `order` whose charge is out, with the worker that makes it. */
async function charging({ world, worker, client }: Top) {
  world.fault({ service: "payments", kind: "apply-then-hang", times: 1 });
  const first = await worker();
  const run = await client.start(order, { id: "o-1" }, { id: "r1" });
  const held = await world.nextHeld({ service: "payments" });
  return { run, held, first };
}
const isRecorded = async (run: { ledger(): Promise<readonly { readonly call: { readonly state: string } }[]> }) =>
  (await run.ledger())[0]?.call.state === "succeeded";

describe("a run that is paused", () => {
  test("records what is out, begins nothing more on any worker, and goes on when it is resumed", async () => {
    const scene = top([order, trip]);
    const { client, world, worker } = scene;
    const { run, held, first } = await charging(scene);
    await run.pause(why);
    held.release();
    await until(() => isRecorded(run));
    await until(async () => (await run.get()).status === "paused");
    await first.stop();
    await worker();
    // Another run comes to its end on the new worker: so that has looked at what there is to do.
    await (await client.start(trip, { id: "o-2" }, { id: "r2" })).result({ timeout: "20s" });
    expect(effectsOf(world)).toEqual(["payments.charge", "payments.charge"]);
    await run.resume({ by: "bob", reason: "it is up again" });
    await run.result({ timeout: "20s" });
    expect(effectsOf(world)).toEqual(["payments.charge", "payments.charge", "mail.send"]);
    const controls = (await run.log()).flatMap(({ taken }) => taken.filter((each) => each.what === "control"));
    expect(controls).toMatchObject([
      { control: "pause", ...why },
      { control: "resume", by: "bob" },
    ]);
    await expect(run.pause(why)).rejects.toMatchObject({ code: "RUN_ENDED" });
    await expect(client.run("none").pause(why)).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });

  test("is cancelled all the same, and goes back through the pause", async () => {
    const scene = top([order]);
    const { run, held } = await charging(scene);
    await run.pause(why);
    held.release();
    await until(async () => (await run.get()).status === "paused");
    await run.cancel({ reason: "not wanted", by: "ann" });
    await until(async () => (await run.get()).status === "cancelled");
    expect(effectsOf(scene.world)).toEqual(["payments.charge", "payments.refund"]);
  });
});

describe("a saga that is paused", () => {
  test("has all its runs wait, those that are started meanwhile too, over a restart; others go on", async () => {
    const scene = top([order, trip]);
    const { client, world, worker } = scene;
    const { run, held, first } = await charging(scene);
    await client.pauseSaga("order", why);
    // It may not have heard of the pause yet, but begins nothing when it is told to stop.
    const stopped = first.stop();
    held.release();
    await stopped;
    expect(await isRecorded(run)).toBe(true);
    await worker();
    const late = await client.start(order, { id: "o-2" }, { id: "r2" });
    await (await client.start(trip, { id: "o-3" }, { id: "t1" })).result({ timeout: "20s" });
    expect(effectsOf(world)).toEqual(["payments.charge", "payments.charge"]);
    expect((await client.paused()).sagas).toMatchObject([{ saga: "order", ...why }]);
    expect((await late.ledger()).length).toBe(0);
    await client.resumeSaga("order", { by: "bob", reason: "it is up again" });
    await Promise.all([run.result({ timeout: "20s" }), late.result({ timeout: "20s" })]);
    expect(effectsOf(world).filter((effect) => effect === "payments.charge")).toHaveLength(3);
  });
});

describe("a queue that is paused", () => {
  test("has its calls wait, over a restart of its workers; what is out there ends and is recorded", async () => {
    const { client, world, worker } = top([routed]);
    const bank = { queues: [{ name: "bank", concurrency: 2 }], pools: ["bank"] };
    world.fault({ service: "payments", kind: "apply-then-hang", times: 1 });
    await worker();
    const first = await worker(bank);
    const run = await client.start(routed, { id: "o-1" }, { id: "r1" });
    const held = await world.nextHeld({ service: "payments" });
    await client.pauseQueue("bank", { by: "ann", reason: "it is down" });
    held.release();
    await run.result({ timeout: "20s" });
    await first.stop();
    await worker(bank);
    const waiting = await client.start(routed, { id: "o-2" }, { id: "r2" });
    await until(async () => (await waiting.ledger())[0]?.call.state === "offered");
    await (await client.start(routed, { id: "o-3" }, { id: "r3" })).get();
    expect((await client.paused()).queues).toEqual(["bank"]);
    expect(effectsOf(world)).toEqual(["payments.charge", "mail.send"]);
    await client.resumeQueue("bank", { by: "ann", reason: "it is up" });
    const { acts } = await client.audit({ by: "ann" });
    expect(acts.map(({ act, about, reason }) => [act, about, reason])).toEqual([
      ["resume_queue", "queue bank", "it is up"],
      ["pause_queue", "queue bank", "it is down"],
    ]);
    await expect(client.pauseQueue("bank", { by: "ann", reason: "" })).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await waiting.result({ timeout: "20s" });
    await client.run("r3").result({ timeout: "20s" });
    expect(effectsOf(world).filter((effect) => effect === "payments.charge")).toHaveLength(3);
  });
});
