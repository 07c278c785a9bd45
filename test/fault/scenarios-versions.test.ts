/** What becomes of a run that waits while its saga changes: by a migration that would leave it stuck. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { type MigratedRun, RepriseError, type Saga, saga } from "../../src/index.ts";
import { FakeWorld } from "../../src/testing/index.ts";
import { until } from "../support/top.ts";
import { Here } from "./scenarios-here.ts";
import { Id, isWaiting, keyed, services } from "./scenarios-parcel.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterAll(() => here.close());

interface Seen {
  readonly context: { readonly id: string; readonly isReady: boolean };
}

/** Packs, waits for GO, sends. The second version leaves the wait by itself for who is ready, which its migration makes everybody. */
function paced(version: 1 | 2): Saga {
  const id = ({ context }: Seen) => ({ id: context.id });
  const always = { guard: ({ context }: Seen) => context.isReady, target: "sending" };
  const machine = setup({ actors: { pack: keyed("pack"), send: keyed("send") } }).createMachine({
    id: "paced",
    context: ({ input }: { input: unknown }) => ({ id: Object(input).id, isReady: false }),
    initial: "packing",
    states: {
      packing: { invoke: { src: "pack", input: id, onDone: "resting" } },
      resting: { on: { GO: "sending" }, ...(version === 1 ? {} : { always }) },
      sending: { invoke: { src: "send", input: id, onDone: "done" } },
      done: { type: "final" },
    },
  } as never);
  const ready = (run: MigratedRun): MigratedRun => ({ ...run, context: { ...Object(run.context), isReady: true } });
  const options = {
    version,
    input: Id,
    events: { GO: z.object({}) },
    ...(version === 1 ? {} : { migrate: { 1: ready } }),
  };
  // The machine is put together at run time; `saga` judges it.
  return saga("paced", options as never).machine(machine as never);
}

test("R060 a migration that turns an `always` true is refused: no run stands where its machine would have left at once", async () => {
  const sagas = [paced(1), paced(2)];
  const [first] = sagas as [Saga, Saga];
  const top = here.top(sagas, new FakeWorld({ services }));
  await top.worker();
  const run = await top.client.start(first, { id: "r1" }, { id: "r1" });
  await until(async () => isWaiting(await run.get()));
  const refused = await top.client
    .migrate("r1", { by: "ann", reason: "all are ready" })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RepriseError);
  const { code, message } = refused as RepriseError;
  expect([code, message]).toEqual([
    "MIGRATION_REFUSED",
    expect.stringContaining("an `always` leads out of paced.resting at once"),
  ]);
  await run.signal("GO", {});
  await run.result({ timeout: "20s" });
  expect(await run.get()).toMatchObject({ version: 1, status: "completed" });
  expect(top.world.service("send").counts()).toEqual({ arrivals: 1, effects: 1 });
  const checks = ["refused, naming the state, and the run went on by its own version"];
  await here.prove("R060", { top, sagas, runs: ["r1"] }, { checks, refusal: { code, message } });
});
