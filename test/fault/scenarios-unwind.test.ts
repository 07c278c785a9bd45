/**
 * Runs that go back, and answers that cannot be believed: a step that half happened is found out before anything is undone,
 * one compensation that fails hides no other, and what a step hands over is checked before it counts.
 */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  absent,
  fail,
  happened,
  notApplied,
  RunCancelled,
  RunFailed,
  RunNeedsReview,
  saga,
  stepsFor,
} from "../../src/index.ts";
import { FakeWorld, type ServiceProfile, WorldCallError, type WorldClient } from "../../src/testing/index.ts";
import { effectsOf, until } from "../support/top.ts";
import { Here } from "./scenarios-here.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterAll(() => here.close());

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });
const Ref = z.object({ ref: z.string() });
const toId = ({ input: { id } }: { readonly input: { readonly id: string } }) => ({ id });
const quick = { attempts: 2, backoff: "fixed", initial: "20ms", max: "20ms", jitter: false } as const;

const keyed: ServiceProfile = { effect: "keyed", query: true };
const undoing: ServiceProfile = { effect: "keyed", direction: "undo" };
const services = {
  ...Object.fromEntries(["reserve", "asked", "repeated", "ship", "vague"].map((name) => [name, keyed])),
  ...Object.fromEntries(["reserve", "asked", "repeated", "blind", "ship"].map((name) => [`undo-${name}`, undoing])),
  blind: { effect: "once" },
} satisfies Readonly<Record<string, ServiceProfile>>;

type Call = Parameters<ReturnType<WorldClient["op"]>["call"]>[2];

async function make(world: WorldClient, name: string, input: { readonly id: string }, call: Call) {
  const made = await world.op(name).call("do", input, call).catch(refusalsAreFinal);
  return { ref: String(made["ref"]) };
}

function refusalsAreFinal(error: unknown): never {
  if (error instanceof WorldCallError && error.status === 422) throw fail(error.message, { code: "refused" });
  throw error;
}

function made<const Name extends string>(name: Name) {
  return step(name, {
    input: Id,
    output: Ref,
    effect: "keyed",
    action: ({ input, services: world, ...call }) => make(world, name, input, call),
    compensate: {
      run: ({ output, services: world, ...call }) => world.op(`undo-${name}`).call("do", output, call),
      retry: quick,
    },
    retry: { ...quick, attempts: 1 },
    timeout: "500ms",
    lateness: "500ms",
  });
}

const asked = step("asked", {
  input: Id,
  output: Ref,
  effect: "keyed",
  action: ({ input, services: world, ...call }) => make(world, "asked", input, call),
  probe: async ({ services: world, operationId }) => {
    const found = await world.op("asked").find("do", operationId);
    return found === undefined ? absent() : happened({ ref: String(found["ref"]) });
  },
  compensate: ({ output, services: world, ...call }) => world.op("undo-asked").call("do", output, call),
  retry: { ...quick, attempts: 1 },
  timeout: "500ms",
});

const blind = step("blind", {
  input: Id,
  output: Ref,
  effect: "once",
  action: ({ input, services: world, ...call }) => make(world, "blind", input, call),
  compensate: ({ output, services: world, ...call }) => world.op("undo-blind").call("do", output, call),
  timeout: "500ms",
  lateness: "100ms",
});

const settings = { abortGraceMs: 100, quiesceMs: 500, shutdownMs: 3_000 };

describe("a charge that was applied and then timed out", () => {
  const withAsked = saga("with-asked", { version: 1, input: Id })
    .step(made("reserve"), toId)
    .step(asked, toId)
    .step(made("ship"), toId)
    .build();
  const withRepeated = saga("with-repeated", { version: 1, input: Id })
    .step(made("reserve"), toId)
    .step(made("repeated"), toId)
    .step(made("ship"), toId)
    .build();
  const withBlind = saga("with-blind", { version: 1, input: Id })
    .step(made("reserve"), toId)
    .step(blind, toId)
    .step(made("ship"), toId)
    .build();

  test("R107 is found out when the run fails, and refunded once; where nobody can be asked a person is", async () => {
    const sagas = [withAsked, withRepeated, withBlind];
    const top = here.top(sagas, new FakeWorld({ services }));
    const { client, world, worker } = top;
    world.fault({ service: "ship", kind: "refuse", code: "no", times: "always" });
    for (const service of ["asked", "repeated", "blind"]) world.fault({ service, kind: "apply-then-hang" });
    await worker({ settings });
    const runs = await Promise.all(sagas.map((one) => client.start(one, { id: one.name }, { id: one.name })));
    const [byProbe, byRepeat, byPerson] = await Promise.all(
      runs.map((run) => run.result({ timeout: "20s" }).catch((error: unknown) => error)),
    );
    expect([byProbe, byRepeat]).toMatchObject([{ rollback: "complete" }, { rollback: "complete" }]);
    expect([byProbe, byRepeat].every((error) => error instanceof RunFailed)).toBe(true);
    expect(byPerson).toBeInstanceOf(RunNeedsReview);
    const calls = (name: string) => [world.service(name).counts(), world.service(`undo-${name}`).counts()];
    expect(calls("asked")).toEqual([
      { arrivals: 1, effects: 1 },
      { arrivals: 1, effects: 1 },
    ]);
    expect(calls("repeated")).toEqual([
      { arrivals: 2, effects: 1 },
      { arrivals: 1, effects: 1 },
    ]);
    expect(calls("blind")).toEqual([
      { arrivals: 1, effects: 1 },
      { arrivals: 0, effects: 0 },
    ]);
    const parked = client.run("with-blind", { saga: withBlind });
    expect((await parked.explain()).text).toContain("may have happened");
    await parked.operator.resolve(
      { as: "happened", output: { ref: "b-1" }, evidence: "the bank's list" },
      { by: "ann" },
    );
    await expect(parked.result({ timeout: "20s", through: "review" })).rejects.toMatchObject({ rollback: "complete" });
    expect(world.service("undo-blind").counts()).toEqual({ arrivals: 1, effects: 1 });
    const ids = sagas.map(({ name }) => name);
    await here.prove(
      "R107",
      { top, sagas, runs: ids },
      { checks: ["refunded by probe, by repeat, by a person's word"] },
    );
  });
});

describe("an answer that is none", () => {
  const answers: Readonly<Record<string, unknown>> = { undefined, null: null, error: { error: "no such card" } };
  const vague = step("vague", {
    input: Id,
    output: Ref,
    effect: "keyed",
    action: async ({ input, services: world, ...call }) => {
      await world.op("vague").call("do", input, call);
      return answers[input.id] as z.output<typeof Ref>; // a bug in the step
    },
    noCompensation: "nothing is undone here",
  });
  const vaguely = saga("vaguely", { version: 1, input: Id }).step(vague, toId).step(made("ship"), toId).build();

  test.each(Object.keys(answers))(
    "R108 (%s) is not taken for success: the run is parked and goes no further",
    async (id) => {
      const top = here.top([vaguely], new FakeWorld({ services }));
      const { client, world, worker } = top;
      await worker();
      const run = await client.start(vaguely, { id }, { id });
      await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ review: { reason: "defect" } });
      const { attempted, verdict, text } = await run.explain();
      expect([attempted.map(({ known }) => known), verdict.verdict]).toEqual([["happened"], "HUMAN_REQUIRED"]);
      expect(text).toContain("does not fit its schema");
      expect(effectsOf(world)).toEqual(["vague.do"]);
      await here.prove("R108", { top, sagas: [vaguely], runs: [id] }, { checks: [`the answer ${id} parked the run`] });
    },
  );

  test("R092 is refused before it is written: what was written loads, and mended code goes on from it", async () => {
    const top = here.top([vaguely], new FakeWorld({ services }));
    const { client, world, worker } = top;
    const faulty = await worker();
    const run = await client.start(vaguely, { id: "error" }, { id: "r1" });
    await run.result({ timeout: "20s" }).catch(() => undefined);
    const [before, [row]] = await Promise.all([run.log(), run.ledger()]);
    expect(row).toMatchObject({ unusable: true, output: answers["error"] });
    await faulty.stop();
    const mended = step("vague", {
      input: Id,
      output: z.union([Ref, z.object({ error: z.string() })]),
      effect: "keyed",
      action: () => Promise.reject(new Error("it is not called again")),
      noCompensation: "nothing is undone here",
    });
    const mendedSaga = saga("vaguely", { version: 1, input: Id }).step(mended, toId).step(made("ship"), toId).build();
    await worker({ sagas: [mendedSaga] });
    await run.operator.retry({ by: "ann", reason: "the step reads it now" });
    await run.result({ timeout: "20s", through: "review" });
    expect(effectsOf(world)).toEqual(["vague.do", "ship.do"]);
    expect((await run.log()).slice(0, before.length)).toEqual(before);
    await here.prove(
      "R092",
      { top, sagas: [vaguely], runs: ["r1"] },
      { checks: ["parked, loaded, read by mended code"] },
    );
  });
});

describe("a run that goes back", () => {
  const trade = saga("trade", { version: 1, input: Id })
    .step(made("reserve"), toId)
    .step(made("repeated"), toId)
    .step(made("ship"), toId)
    .build();

  test("R110 whose refund is refused for good halts and names what is left: it is not called cancelled", async () => {
    const top = here.top([trade], new FakeWorld({ services }));
    const { client, world, worker } = top;
    world.fault({ service: "ship", kind: "refuse", code: "no" });
    world.fault({ service: "undo-repeated", kind: "refuse", code: "expired", times: "always" });
    await worker({ settings });
    const run = await client.start(trade, { id: "r1" }, { id: "r1" });
    const review = { reason: "halted", side: "undo", verbs: expect.arrayContaining(["retry", "resolve", "skip"]) };
    await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ review });
    expect(await run.get()).toMatchObject({ status: "needs_review", rollback: "halted" });
    const stands = (await run.ledger()).filter(
      ({ call, undo }) => call.state === "succeeded" && undo?.state !== "done",
    );
    expect(stands.map(({ step: name, undo }) => [name, undo?.state ?? "to come"])).toEqual([
      ["reserve", "to come"],
      ["repeated", "halted"],
    ]);
    expect(effectsOf(world)).toEqual(["reserve.do", "repeated.do"]);
    await run.operator.skip({ by: "ann", reason: "paid back in cash" });
    const error = await run.result({ timeout: "20s", through: "review" }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RunFailed);
    expect(error).toMatchObject({ rollback: "partial" });
    expect(effectsOf(world)).toEqual(["reserve.do", "repeated.do", "undo-reserve.do"]);
    await here.prove(
      "R110",
      { top, sagas: [trade], runs: ["r1"] },
      { checks: ["halted, skipped by a person, partial"] },
    );
  });

  const carrier = step("carrier", {
    input: Id,
    output: Ref,
    effect: "keyed",
    action: async ({ input, services: world, ...call }) => {
      if (input.id === "shipped") return await make(world, "asked", input, call);
      await world.op("looks", { effect: "none" }).call("do", input, call);
      await once(call.signal, "abort");
      throw notApplied("the parcel is still here");
    },
    probe: async ({ services: world, operationId }) => {
      const found = await world.op("asked").find("do", operationId);
      return found === undefined ? absent() : happened({ ref: String(found["ref"]) });
    },
    compensate: ({ output, services: world, ...call }) => world.op("undo-asked").call("do", output, call),
  });
  const shipped = saga("shipped", { version: 1, input: Id })
    .step(made("reserve"), toId)
    .step(made("repeated"), toId)
    .step(carrier, toId)
    .build();

  test("R071 because it is cancelled while it ships is undone to the end: recalled if shipped, refunded, released", async () => {
    const top = here.top([shipped], new FakeWorld({ services }));
    const { client, world, worker } = top;
    world.fault({ service: "asked", kind: "apply-then-hang" });
    await worker({ settings });
    const ids = ["shipped", "unshipped"];
    const runs = await Promise.all(ids.map((id) => client.start(shipped, { id }, { id })));
    await world.nextHeld({ service: "asked" });
    await until(() => world.service("looks").counts().arrivals === 1);
    await Promise.all(runs.map((run) => run.cancel({ reason: "changed my mind", by: "ann" })));
    const ends = await Promise.all(runs.map((run) => run.result({ timeout: "20s" }).catch((error: unknown) => error)));
    expect(ends.every((error) => error instanceof RunCancelled)).toBe(true);
    expect(ends).toMatchObject(ids.map(() => ({ rollback: "complete", reason: { kind: "cancelled" } })));
    const undone = (id: string) =>
      world.effects().flatMap(({ run, service }) => (run === id && service.startsWith("undo-") ? [service] : []));
    expect(undone("shipped")).toEqual(["undo-asked", "undo-repeated", "undo-reserve"]);
    expect(undone("unshipped")).toEqual(["undo-repeated", "undo-reserve"]);
    await here.prove("R071", { top, sagas: [shipped], runs: ids }, { checks: ["undone in reverse, each once"] });
  });
});
