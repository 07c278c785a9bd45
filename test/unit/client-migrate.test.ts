/** Moving runs between versions of a saga, as an operator does: workers of both versions, a dry run first, and what the outside saw. */
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { connectedClient } from "../../src/client/index.ts";
import { type MigratedRun, type Saga, saga, step } from "../../src/saga/index.ts";
import { benchTop } from "./engine/bench-top.ts";

const input = z.object({ sku: z.string() });

/** What the outside was asked to do, by operation id. */
const world: string[] = [];

const reserve = step("reserve", {
  input: z.json(),
  effect: "keyed",
  action: ({ operationId }) => void world.push(operationId),
  compensate: ({ operationId }) => void world.push(operationId),
});
const ship = step("ship", {
  input: z.json(),
  effect: "keyed",
  action: ({ operationId }) => void world.push(operationId),
  noCompensation: "a test",
});

interface Seen {
  readonly context: { readonly sku: string };
}

const events = { PAID: z.object({}) };

function order(version: 1 | 2 | 3, migrate?: Readonly<Record<number, (run: MigratedRun) => MigratedRun>>): Saga {
  const machine = setup({ actors: { reserve, ship } }).createMachine({
    context: ({ input }: { input: unknown }) => ({ sku: Object(input).sku, gift: version > 1 }),
    initial: "reserving",
    states: {
      reserving: {
        invoke: {
          src: "reserve",
          input: ({ context }: Seen) => context.sku,
          onDone: version === 1 ? "waiting" : "unpaid",
        },
      },
      ...(version === 1 ? { waiting: { on: { PAID: "shipping" } } } : { unpaid: { on: { PAID: "shipping" } } }),
      shipping: { invoke: { src: "ship", input: ({ context }: Seen) => context, onDone: "done" } },
      done: { type: "final" },
    },
  } as never);
  // The machine is put together at run time; `saga` judges it.
  return saga("order", { version, input, events, ...(migrate === undefined ? {} : { migrate }) } as never).machine(
    machine as never,
  );
}

const renamed = (run: MigratedRun): MigratedRun => ({
  ...run,
  value: run.value === "waiting" ? "unpaid" : run.value,
  context: { ...Object(run.context), gift: true },
});

const v1 = order(1);
const v2 = order(2, { 1: renamed });

function top(sagas: readonly Saga[] = [v1, v2]) {
  world.length = 0;
  const bench = benchTop(sagas);
  const client = connectedClient(bench.ports, { namespace: "test", sagas, maxPayloadBytes: 1_000, maxReplays: 10 });
  const started = async (id: string) => {
    const run = await client.start(v1, { sku: id }, { id });
    await bench.clock.advance(1_000);
    return run;
  };
  return { ...bench, client, started };
}

const asked = { by: "ann", reason: "version 1 goes" } as const;

describe("a dry run", () => {
  test("says what would change, and changes nothing", async () => {
    const { client, worker, started } = top();
    await worker({ serve: [v1] }).start();
    const run = await started("r1");
    const before = await run.get();
    expect(await client.migrate("r1", { ...asked, dryRun: true })).toEqual({
      tenant: "default",
      run: "r1",
      from: 1,
      to: 2,
      fate: "moves",
      problem: null,
      differences: ['value: "waiting" -> "unpaid"', "context.gift: false -> true"],
      by: null,
    });
    expect(await run.get()).toEqual(before);
  });

  test("of many says of each what would become of it", async () => {
    const picky = order(2, {
      1: (run) => {
        if (Object(run.context).sku === "r2") throw new Error("r2 is special");
        return renamed(run);
      },
    });
    const { client, worker, started } = top([v1, picky]);
    await worker({ serve: [v1] }).start();
    for (const id of ["r1", "r2", "r3"]) await started(id);
    const all = { ...asked, saga: "order", from: 1, dryRun: true };
    const { runs, cursor } = await client.migrateAll(all);
    expect(runs.map(({ run, fate }) => [run, fate])).toEqual([
      ["r3", "moves"],
      ["r2", "refused"],
      ["r1", "moves"],
    ]);
    expect(runs[1]?.problem).toBe("the migration from version 1 to 2 threw: r2 is special");
    expect(cursor).toBeNull();
    const first = await client.migrateAll({ ...all, limit: 2 });
    expect(first.runs.map(({ run }) => run)).toEqual(["r3", "r2"]);
    const rest = await client.migrateAll({ ...all, ...(first.cursor === null ? {} : { cursor: first.cursor }) });
    expect(rest.runs.map(({ run }) => run)).toEqual(["r1"]);
    expect(await client.migrateAll({ ...all, from: 9 })).toEqual({ runs: [], unreadable: [], cursor: null });
  });
});

describe("a run that is asked to move", () => {
  test("is moved by the worker that has the version, and ends by that; the outside sees each effect once", async () => {
    const { client, clock, worker, started } = top();
    const old = worker({ serve: [v1] });
    await old.start();
    const run = await started("r1");
    await worker({ serve: [v2] }).start();
    expect(await client.migrate({ id: "r1" }, asked)).toMatchObject({ fate: "moves", by: "ann" });
    await clock.advance(20_000);
    // The queue of these tests always asks the same worker first: it has left the request to others.
    expect(await run.get()).toMatchObject({ version: 1, status: "waiting" });
    await old.stop();
    await clock.advance(20_000);
    expect(await run.get()).toMatchObject({ version: 2, state: "unpaid", migratedFrom: { version: 1 } });
    await run.signal("PAID", {});
    await clock.advance(1_000);
    expect(await run.get()).toMatchObject({ status: "completed", version: 2 });
    expect(world).toEqual(["test/default/r1/reserve/1", "test/default/r1/ship/1"]);
  });

  test("while a call is under way moves after it, without its next step", async () => {
    let answer: () => void = () => undefined;
    const slow = step("slow", {
      input: z.json(),
      effect: "keyed",
      noCompensation: "a test",
      action: () =>
        new Promise<void>((resolve) => {
          answer = resolve;
        }),
    });
    const line = (version: number) =>
      saga("line", { version, input, ...(version === 2 ? { migrate: { 1: (given: MigratedRun) => given } } : {}) })
        .step(slow, ({ input }) => input)
        .step(ship, ({ input }) => input)
        .build();
    const { client, clock, worker } = top([line(1), line(2)]);
    await worker().start();
    const run = await client.start(line(1), { sku: "a" }, { id: "r1" });
    await clock.advance(1_000);
    expect(await client.migrate("r1", asked)).toMatchObject({
      fate: "later",
      problem: "slow (row 1) is under way",
      by: "ann",
    });
    await clock.advance(3_000);
    expect(await run.get()).toMatchObject({ version: 1, status: "running" });
    answer();
    await clock.advance(10_000);
    expect(await run.get()).toMatchObject({ version: 2, status: "completed" });
    expect(world).toEqual(["test/default/r1/ship/1"]);
    const log = await run.log();
    const moved = log.find(({ taken }) => taken.some(({ what }) => what === "migrated"));
    expect(moved?.taken[0]).toMatchObject({ what: "migrated", from: 1, to: 2, by: "ann", reason: "version 1 goes" });
  });

  test("twice at once has one winner, who is named to the other", async () => {
    const { client, worker, started } = top();
    await worker({ serve: [v1] }).start();
    await started("r1");
    await worker({ serve: [v2], pools: ["default"] }).start();
    const [mine, theirs] = await Promise.all([
      client.migrate("r1", asked),
      client.migrate("r1", { ...asked, by: "bob" }),
    ]);
    expect([mine.by, theirs.by]).toEqual(["ann", "ann"]);
  });

  test("in a crowd moves with all others, except those that do not fit, which say why", async () => {
    const { client, clock, worker, started } = top();
    await worker().start();
    for (const id of ["r1", "r2", "r3"]) await started(id);
    const { runs } = await client.migrateAll({ ...asked, saga: "order", from: 1, tenant: "default" });
    expect(runs.map(({ fate, by }) => [fate, by])).toEqual(Array(3).fill(["moves", "ann"]));
    await clock.advance(10_000);
    for (const id of ["r1", "r2", "r3"])
      expect(await client.run(id).get()).toMatchObject({ version: 2, status: "waiting" });
    expect((await client.migrateAll({ ...asked, saga: "order", from: 1 })).runs).toEqual([]);
  });

  test("is not asked where it does not fit, where nobody has the version, or where it has ended", async () => {
    const v3 = order(3);
    const { client, clock, worker, started } = top([v1, v2, v3]);
    await worker({ serve: [v1] }).start();
    const run = await started("r1");
    await expect(client.migrate("r1", asked)).rejects.toMatchObject({
      code: "MIGRATION_REFUSED",
      message: "run r1 does not move to version 3: order has no migration from version 1 to 2",
    });
    await expect(client.migrate("r1", { ...asked, to: 2 })).rejects.toMatchObject({
      code: "MIGRATION_REFUSED",
      message: expect.stringContaining("no living worker serves order version 2"),
    });
    await expect(client.migrate("r1", { ...asked, to: 7 })).rejects.toMatchObject({ code: "SAGA_UNKNOWN" });
    await expect(client.migrate("r1", { ...asked, reason: " " })).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await expect(client.migrateAll({ ...asked, saga: "order", from: 1, limit: 0 })).rejects.toMatchObject({
      code: "INPUT_INVALID",
    });
    await expect(client.migrate("nobody", asked)).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await run.signal("PAID", {});
    await clock.advance(1_000);
    await expect(client.migrate("r1", { ...asked, to: 2 })).rejects.toMatchObject({
      message: "run r1 does not move to version 2: it has ended (completed)",
    });
    expect(await run.get()).toMatchObject({ version: 1 });
  });

  test("that no longer fits when it is taken goes on as it was", async () => {
    const { client, clock, worker, started } = top();
    const old = worker({ serve: [v1] });
    await old.start();
    const run = await started("r1");
    const other = order(2, {
      1: () => {
        throw new Error("it has changed its mind");
      },
    });
    const newer = worker({ serve: [other] });
    await newer.start();
    await client.migrate("r1", asked);
    await old.stop();
    await clock.advance(20_000);
    await newer.stop();
    await worker({ serve: [v1] }).start();
    await clock.advance(60_000);
    expect(await run.get()).toMatchObject({ version: 1, status: "waiting", state: "waiting" });
    const notes = (await run.log()).flatMap(({ taken }) => taken).filter(({ what }) => what === "refused");
    expect(notes).toEqual([
      { what: "refused", note: "the migration from version 1 to 2 threw: it has changed its mind" },
    ]);
    await run.signal("PAID", {});
    await clock.advance(60_000);
    expect(await run.get()).toMatchObject({ version: 1, status: "completed" });
  });
});

test("what is given as migrations is judged when the saga is declared", () => {
  expect(() => order(2, { 2: renamed })).toThrow(/migrate\[2\] takes runs from no version before 2/);
  expect(() => order(2, { 1: 7 as never })).toThrow(/migrate\[1\] is not a function/);
});
