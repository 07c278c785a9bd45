/**
 * What becomes of a run whose saga changes under it: a migration that would leave it stuck, one that makes a snapshot by hand, a
 * snapshot that was made by hand in the store.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { createClient, type MigratedRun, RepriseError, type Saga, saga } from "../../src/index.ts";
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

const events = { GO: z.object({}) };
const parcelOf = (version: number, migrate?: (run: MigratedRun) => unknown): Saga => {
  const options = {
    version,
    input: Id,
    events,
    ...(migrate === undefined ? {} : { migrate: { [version - 1]: migrate } }),
  };
  // A migration that gives what it should not is what is tried here.
  return saga("parcel", options as never)
    .step(keyed("pack"), ({ input }) => Object(input))
    .waitFor("GO" as never)
    .step(keyed("send"), ({ input }) => Object(input))
    .build() as never;
};

const handMade: readonly (readonly [what: string, made: (run: MigratedRun) => unknown, why: RegExp])[] = [
  ["nothing", () => undefined, /gave no \{ value, context, input \}/],
  ["no value", ({ context, input }) => ({ context, input }), /gave no value/],
  ["no context", ({ value, input }) => ({ value, input }), /gave no context/],
  ["a value that is none", (run) => ({ ...run, value: null }), /cannot stand there: the state null is none/],
  ["a state that is nowhere", (run) => ({ ...run, value: { work: "x" } }), /cannot stand there: the state .* is none/],
  ["XState's own snapshot", (run) => ({ ...run, value: new Map() }), /gave a value that is not JSON/],
  ["an input that does not fit", (run) => ({ ...run, input: {} }), /the input does not fit version 2: id: /],
];

test("R066 a snapshot that was made by hand is refused in words, and nothing is stored", async () => {
  const first = parcelOf(1);
  const top = here.top([first], new FakeWorld({ services }));
  await top.worker();
  const run = await top.client.start(first, { id: "r1" }, { id: "r1" });
  await until(async () => isWaiting(await run.get()));
  const key = (of: string) => `{reprise:${top.namespace}:0}:${of}:default:r1`;
  const stored = async () => [
    await here.redis.ask("GET", key("rec")),
    await here.redis.ask("LRANGE", key("log"), 0, -1),
  ];
  const before = await stored();
  let message = "";
  for (const [what, made, why] of handMade) {
    const client = createClient({ ...here.place, namespace: top.namespace, sagas: [first, parcelOf(2, made)] });
    const ask = client.migrate("r1", { by: "ann", reason: what }).catch((error: unknown) => error);
    const refused = (await ask) as RepriseError;
    await client.close();
    expect([what, refused.code, refused.message]).toEqual([what, "MIGRATION_REFUSED", expect.stringMatching(why)]);
    message = refused.message;
  }
  expect(await stored()).toEqual(before);

  const text = String(before[0]);
  const headless = JSON.stringify({ ...JSON.parse(text), s: { c: null } });
  await here.redis.ask("SET", key("rec"), headless);
  const corrupt = await run.get().catch((error: unknown) => error);
  expect(corrupt).toMatchObject({ code: "RECORD_CORRUPT", message: expect.stringContaining("it has no value") });
  const elsewhere = JSON.stringify({ ...JSON.parse(text), s: { v: "nowhere", c: null } });
  await here.redis.ask("SET", key("rec"), elsewhere);
  expect(await run.verdict()).toMatchObject({ verdict: "BLOCKED", reasons: [expect.stringContaining("nowhere")] });
  expect(await here.redis.ask("GET", key("rec"))).toBe(elsewhere);

  await here.redis.ask("SET", key("rec"), text);
  await run.signal("GO", {});
  await run.result({ timeout: "20s" });
  expect(top.world.service("send").counts()).toEqual({ arrivals: 1, effects: 1 });
  const checks = [`${handMade.length} hand-made snapshots refused, two in the store named; nothing was stored`];
  const refusal = { code: "MIGRATION_REFUSED", message };
  await here.prove("R066", { top, sagas: [first], runs: ["r1"] }, { checks, refusal });
});
