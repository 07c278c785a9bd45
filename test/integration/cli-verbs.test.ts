/** `reprise runs skip`, `raise`, `rewind`, `discard-event`: what a review takes, said on the command line, and what comes of it. */
import { resolve } from "node:path";
import { afterEach, beforeEach, expect, inject, test, vi } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { fail, saga, step } from "../../src/index.ts";
import { cli } from "../support/cli.ts";
import { type Top, top, until } from "./top.ts";

beforeEach(() => void vi.stubEnv("REPRISE_SHARDS", String(inject("shards"))));
afterEach(() => void vi.unstubAllEnvs());

const input = z.object({});
/** What the outside was asked to do. */
const world: string[] = [];
const pack = step("pack", {
  input,
  effect: "keyed",
  action: ({ run }) => void world.push(`${run.id} packed`),
  compensate: ({ run }) => void world.push(`${run.id} unpacked`),
});
/** It packs, and waits for an event; one of them it cannot take. */
const events = { BAD: z.object({}), GO: z.object({}) };
const desk = saga("desk", { version: 1, input, events }).machine(
  setup({
    types: { input: {} as z.infer<typeof input>, events: {} as { type: "BAD" } | { type: "GO" } },
    actors: { pack },
    guards: {
      faulty: () => {
        throw new Error("what is this");
      },
    },
  }).createMachine({
    id: "desk",
    initial: "packing",
    states: {
      packing: { tags: "savepoint", invoke: { src: "pack", input: () => ({}), onDone: "packed" } },
      packed: { on: { BAD: { target: "gone", guard: "faulty" }, GO: "gone" } },
      gone: { type: "final" },
    },
  }),
);
const broken = step("broken", {
  input,
  effect: "keyed",
  action: () => undefined,
  compensate: () => {
    throw fail("the till is closed");
  },
});
const refused = step("refused", {
  input,
  effect: "keyed",
  action: () => {
    throw fail("no");
  },
  noCompensation: "nothing to undo",
});
const till = saga("till", { version: 1, input })
  .step(broken, () => ({}))
  .step(refused, () => ({}))
  .build();
const bounded = saga("bounded", { version: 1, input, budget: { steps: { hard: 1 } } })
  .step(broken, () => ({}))
  .step(pack, () => ({}))
  .build();

function commandLine({ namespace, client }: Top) {
  const where = ["--redis", inject("redisUrl"), "--namespace", namespace, "--by", "ann", "--reason", "INC-7"];
  return {
    // From a folder without a reprise.config: a verb needs no saga.
    run: (...argv: readonly string[]) => cli(["runs", ...argv, ...where], { cwd: resolve(import.meta.dirname) }),
    statusOf: async (id: string) => (await client.run(id).get()).status,
  };
}

test("an event that cannot be taken is thrown away, and a parked run goes back to a savepoint", async () => {
  const scene = top([desk]);
  const { run, statusOf } = commandLine(scene);
  await scene.worker();
  const handle = await scene.client.start(desk, {}, { id: "d1" });
  const parked = async () => {
    await until(async () => (await handle.get()).waitingFor === "event");
    await handle.signal("BAD", {});
    await until(async () => (await statusOf("d1")) === "needs_review");
  };
  await parked();
  const dry = await run("discard-event", "d1", "--dry-run");
  expect([dry.code, await statusOf("d1")]).toEqual([0, "needs_review"]);
  expect((await run("discard-event", "d1")).code).toBe(0);
  await parked();
  expect((await run("skip", "d1")).code).toBe(7);
  const nowhere = await run("rewind", "d1", "desk.nowhere");
  expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringContaining("desk.packing")]);
  expect((await run("rewind", "d1", "desk.packing")).code).toBe(0);
  const seen = () => world.filter((what) => what.startsWith("d1"));
  // The event is still there, and cannot be taken there either.
  await until(async () => seen().length === 3 && (await statusOf("d1")) === "needs_review");
  expect(seen()).toEqual(["d1 packed", "d1 unpacked", "d1 packed"]);
  const { acts } = await scene.client.audit({ run: "d1" });
  expect(acts.map(({ act, by, reason }) => [act, by, reason])).toEqual([
    ["rewind", "ann", "INC-7"],
    ["discard", "ann", "INC-7"],
  ]);
});

test("a compensation that will not do is left as it is, and the unwind goes on", async () => {
  const scene = top([till]);
  const { run, statusOf } = commandLine(scene);
  await scene.worker();
  await scene.client.start(till, {}, { id: "t1" });
  await until(async () => (await statusOf("t1")) === "needs_review");
  expect((await run("skip", "t1")).code).toBe(0);
  await until(async () => (await statusOf("t1")) === "failed");
  expect((await run("skip", "t1")).code).toBe(5);
});

test("a budget is raised, and the run goes on; not to less than is used", async () => {
  const scene = top([bounded]);
  const { run, statusOf } = commandLine(scene);
  await scene.worker();
  await scene.client.start(bounded, {}, { id: "b1" });
  await until(async () => (await statusOf("b1")) === "needs_review");
  expect((await run("raise", "b1", "steps", "none")).code).toBe(2);
  expect((await run("raise", "b1", "steps", "1")).code).toBe(2);
  const raised = await run("raise", "b1", "steps", "9", "--json");
  expect([raised.code, JSON.parse(raised.stdout).data]).toMatchObject([
    0,
    [{ run: "b1", act: "raise", result: "done" }],
  ]);
  await until(async () => (await statusOf("b1")) === "completed");
  expect(world.filter((what) => what.startsWith("b1"))).toEqual(["b1 packed"]);
});
