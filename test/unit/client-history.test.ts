/** What a client tells of a run's past: its time, and what differs between two of its revisions. */
import { expect, test } from "vitest";
import { z } from "zod";
import { connectedClient } from "../../src/client/index.ts";
import { saga, step } from "../../src/saga/index.ts";
import { benchTop } from "./engine/bench-top.ts";

const input = z.object({ n: z.number() });
const read = step("read", { input, effect: "none", action: () => null });
const reading = saga("reading", { version: 1, input, events: { GO: z.object({}) } })
  .step(read, ({ input }) => input)
  .waitFor("GO")
  .build();

/** A run that waits, and how clients with and without its saga see it. */
async function scene() {
  const top = benchTop([reading]);
  const clientWith = (sagas: readonly (typeof reading)[]) =>
    connectedClient(top.ports, { namespace: "test", sagas, maxPayloadBytes: 1_000, maxReplays: 10 });
  await top.worker().start();
  const run = await clientWith([reading]).start(reading, { n: 1 }, { id: "r1" });
  await top.clock.advance(1_000);
  return { run, stranger: clientWith([]).run("r1"), nobody: clientWith([]).run("r2") };
}

test("two revisions are compared by what the log leads to, and what happened in between is told", async () => {
  const { run } = await scene();
  const last = (await run.log()).length;
  const difference = await run.difference({ from: 1, to: last });
  expect(difference).toMatchObject({ problem: null, from: { revision: 1, state: null }, to: { status: "waiting" } });
  expect(difference.changes.map(({ path }) => path)).toEqual(["context", "state", "status"]);
  expect(difference.entries.map(({ revision }) => revision)).toEqual(
    Array.from({ length: last - 1 }, (_, at) => at + 2),
  );
});

test("what cannot be compared is refused, naming what there is", async () => {
  const { run, stranger, nobody } = await scene();
  await expect(run.difference({ from: 2, to: 1 })).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(run.difference({ from: 1, to: 99 })).rejects.toThrow(/there is none 99; the log has 1 to \d/);
  await expect(stranger.difference({ from: 1, to: 2 })).rejects.toMatchObject({ code: "SAGA_UNKNOWN" });
  await expect(nobody.timeline()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
});

test("its time is told without its saga, too", async () => {
  const { stranger } = await scene();
  expect(await stranger.timeline()).toMatchObject({
    isWhole: true,
    isOver: false,
    waitingFor: "event",
    rows: [{ step: "read", spans: [{ kind: "call", end: "succeeded" }] }],
    stretches: [{ status: "running" }, { status: "waiting", to: null }],
  });
});
