/** A branch that fails takes its siblings with it: the join is left at once, and nothing is parked without a word. */
import { expect, test } from "vitest";
import { z } from "zod";
import { absent, child, fail, happened, RunFailed, saga, stepsFor } from "../../src/index.ts";
import { FakeWorld, type ServiceProfile, WorldCallError, type WorldClient } from "../../src/testing/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { agreed } from "./scenarios-witness.ts";
import { effectsOf, top } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });
const keyed: ServiceProfile = { effect: "keyed", query: true };
const undoing: ServiceProfile = { effect: "keyed", direction: "undo" };
const services = { x: keyed, y: keyed, z: keyed, "undo-x": undoing, "undo-y": undoing, "undo-z": undoing };

function branch<const Name extends string>(name: Name) {
  return step(name, {
    input: Id,
    output: z.object({ ref: z.string() }),
    effect: "keyed",
    action: async ({ input, services: world, ...call }) => {
      const made = await world.op(name).call("do", input, call).catch(refusalsAreFinal);
      return { ref: String(made["ref"]) };
    },
    probe: async ({ services: world, operationId }) => {
      const found = await world.op(name).find("do", operationId);
      return found === undefined ? absent() : happened({ ref: String(found["ref"]) });
    },
    compensate: ({ output, services: world, ...call }) => world.op(`undo-${name}`).call("do", output, call),
    timeout: "10s",
  });
}

function refusalsAreFinal(error: unknown): never {
  if (error instanceof WorldCallError && error.status === 422) throw fail(error.message, { code: "refused" });
  throw error;
}

const toId = ({ input: { id } }: { readonly input: { readonly id: string } }) => ({ id });
const fanout = saga("fanout", { version: 1, input: Id })
  .parallel({
    x: (line) => line.step(branch("x"), toId),
    y: (line) => line.step(branch("y"), toId),
    z: (line) => line.step(branch("z"), toId),
  })
  .build();

test("R014 a branch that fails for good ends the join within 5 s: what the others did is undone, nothing is parked", async () => {
  const { namespace, client, worker, world } = top([fanout], new FakeWorld({ services }));
  const hanging = world.fault({ service: "z", kind: "apply-then-hang" });
  world.fault({ service: "y", kind: "refuse", code: "no" });
  await worker({ settings: { quiesceMs: 500, abortGraceMs: 200, shutdownMs: 3_000 } });
  const run = await client.start(fanout, { id: "f-1" }, { id: "r1" });
  const error = await run.result({ timeout: "25s" }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RunFailed);
  expect(error).toMatchObject({ rollback: "complete", reason: { step: "y" } });
  expect([...effectsOf(world)].sort()).toEqual(["undo-x.do", "undo-z.do", "x.do", "z.do"]);
  expect(hanging.hits).toBe(1);
  expect((await client.reviews()).runs).toEqual([]);
  const log = await run.log();
  const unwinding = log.find(({ to }) => to === "unwinding");
  expect((unwinding?.at ?? Number.POSITIVE_INFINITY) - (log[0]?.at ?? 0)).toBeLessThan(5_000);
  const { arrivals, effects, checks } = await agreed({ namespace, world }, [fanout], ["r1"]);
  leaveEvidence("R014", { arrivals, effects, checks: ["failed by y; x and z undone; no review open", ...checks] });
});

test("R018 a child that fails makes its parent's failure heard once, by those who listen and those who wait, with its name", async () => {
  const x = saga("x", { version: 1, input: Id }).step(branch("x"), toId).build();
  const y = saga("y", { version: 1, input: Id }).step(branch("y"), toId).build();
  const z = saga("z", { version: 1, input: Id }).step(branch("z"), toId).build();
  const family = saga("family", { version: 1, input: Id })
    .parallel({
      x: (line) => line.step(child(x, { name: "left" }), toId),
      y: (line) => line.step(child(y, { name: "middle" }), toId),
      z: (line) => line.step(child(z, { name: "right" }), toId),
    })
    .build();
  const { namespace, client, worker, world, facts } = top([family], new FakeWorld({ services }));
  world.fault({ service: "y", kind: "refuse", code: "no" });
  await worker();
  await worker();
  const run = await client.start(family, { id: "f-1" }, { id: "p1" });
  const watched: string[] = [];
  const watching = (async () => {
    for await (const { status } of run.watch()) watched.push(status);
  })();
  const error = await run.result({ timeout: "25s" }).catch((reason: unknown) => reason);
  await watching;
  const message = expect.stringMatching(/run p1\.\d ended failed \(.*refused.*\): nothing of it is left/);
  expect(error).toMatchObject({ code: "RUN_FAILED", rollback: "complete", reason: { step: "middle", message } });
  expect(watched.filter((status) => status === "failed")).toEqual(["failed"]);
  const ends = (id: string) =>
    facts.flatMap((fact) =>
      fact.fact === "committed" && fact.run.id === id && fact.entry.taken.some(({ what }) => what === "ended")
        ? [fact.record.cause]
        : [],
    );
  expect(ends("p1")).toMatchObject([{ step: "middle", message }]);
  const failed = facts.flatMap((fact) =>
    fact.fact === "committed" && fact.entry.to === "failed" ? [fact.run.id] : [],
  );
  expect(failed.filter((id) => id !== "p1")).toHaveLength(1);
  expect((await client.reviews()).runs).toEqual([]);
  expect([...effectsOf(world)].sort()).toEqual(["undo-x.do", "undo-z.do", "x.do", "z.do"]);
  const sagas = [family, x, y, z];
  const { arrivals, effects, checks } = await agreed({ namespace, world }, sagas, ["p1", "p1.1", "p1.2", "p1.3"]);
  leaveEvidence("R018", { arrivals, effects, checks: ["failed once, by middle; its own failure once", ...checks] });
});
