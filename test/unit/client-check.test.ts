/** A check of the code about to be deployed: of every open run it says what would become of it, and it writes nothing. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type CheckedRun, checkRuns, connectedClient } from "../../src/client/index.ts";
import type { Store } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import { type MigratedRun, type Saga, saga, step } from "../../src/saga/index.ts";
import { benchTop, wrapped } from "./engine/bench-top.ts";

const input = z.object({ sku: z.string() });
const events = { PAID: z.object({}) };
const ship = step("ship", { input: z.json(), effect: "keyed", action: () => undefined, noCompensation: "a test" });
const pack = step("pack", { input: z.json(), effect: "keyed", action: () => undefined, noCompensation: "a test" });

const picky = (run: MigratedRun): MigratedRun => {
  const { sku } = Object(run.input) as { sku: string };
  if (sku.startsWith("odd")) throw new Error(`${sku} is odd`);
  return run;
};
const v1 = saga("order", { version: 1, input, events })
  .waitFor("PAID")
  .step(ship, ({ input }) => input)
  .build();
const v2 = saga("order", { version: 2, input, events, migrate: { 1: picky } })
  .waitFor("PAID")
  .step(pack, ({ input }) => input)
  .step(ship, ({ input }) => input)
  .build();
const changed = saga("order", { version: 1, input, events })
  .waitFor("PAID")
  .step(pack, ({ input }) => input)
  .build();
const trip = saga("trip", { version: 1, input, events })
  .waitFor("PAID")
  .step(ship, ({ input }) => input)
  .build();

const reads: readonly (keyof Store)[] = [
  "open",
  "now",
  "read",
  "ledger",
  "listShared",
  "serving",
  "lostOwners",
  "registered",
];

/** A store that only tells. */
const readOnly = wrapped((store) => {
  const refused = Object.getOwnPropertyNames(Object.getPrototypeOf(store)).filter(
    (name) => !reads.includes(name as keyof Store),
  );
  const refuse = (name: string) => () => {
    throw new Error(`a check does not ask for ${name}`);
  };
  return Object.fromEntries(refused.map((name) => [name, refuse(name)]));
});

async function top(live: readonly Saga[], skus: readonly string[]) {
  const bench = benchTop(live);
  const options = { namespace: "test", maxPayloadBytes: 1_000, maxReplays: 10 };
  const client = connectedClient(bench.ports, { ...options, sagas: live });
  const worker = bench.worker();
  await worker.start();
  for (const each of live) {
    for (const sku of skus) await client.start(each, { sku }, { id: `${each.name}-${sku}` });
  }
  await bench.clock.advance(2_000);
  const ports = { ...bench.ports, store: readOnly(bench.ports.store) };
  const check = (code: readonly Saga[], onRun?: (run: CheckedRun) => void, store = ports.store) =>
    checkRuns({ ...ports, store }, { ...options, sagas: code }, { onRun });
  return { ...bench, ports, client, running: worker, check };
}

const none = { goes_on: 0, moves: 0, breaks: 0, unread: 0, unserved: 0, elsewhere: 0 };

describe("a check", () => {
  test("of the same code says that all go on", async () => {
    const { check } = await top([v1, trip], ["a", "b"]);
    const report = await check([v1, v2, trip]);
    expect(report).toMatchObject({ ok: true, runs: 4, fates: { ...none, goes_on: 4 } });
    expect(report.versions).toMatchObject([
      { saga: "order", version: 1, runs: 2, changes: [], findings: [], untold: 0 },
      { saga: "trip", version: 1, runs: 2 },
    ]);
  });

  test("says which move, which do not and why, and which are nobody's", async () => {
    const { check, running } = await top([v1, trip], ["a", "odd", "b"]);
    const heard: CheckedRun[] = [];
    const report = await check([v2], (run) => heard.push(run));
    expect(report).toMatchObject({ ok: false, runs: 6, fates: { ...none, moves: 2, breaks: 1, elsewhere: 3 } });
    expect(report.versions[0]?.findings).toEqual([
      {
        fate: "moves",
        state: "await_PAID",
        at: null,
        problem: null,
        runs: 2,
        examples: [
          { tenant: "default", id: "order-b" },
          { tenant: "default", id: "order-a" },
        ],
      },
      {
        fate: "breaks",
        state: "await_PAID",
        at: "migration",
        problem: "the migration from version 1 to 2 threw: odd is odd",
        runs: 1,
        examples: [{ tenant: "default", id: "order-odd" }],
      },
    ]);
    expect(heard.map(({ id, fate }) => `${id} ${fate}`).sort()).toEqual([
      "order-a moves",
      "order-b moves",
      "order-odd breaks",
      "trip-a elsewhere",
      "trip-b elsewhere",
      "trip-odd elsewhere",
    ]);
    await running.stop();
    expect((await check([v2])).fates).toMatchObject({ unserved: 3, elsewhere: 0 });
  });

  test("says what changed under the same version, and that its runs would be stranded", async () => {
    const { check } = await top([v1], ["a"]);
    const [version] = (await check([changed])).versions;
    expect(version?.changes).toEqual([
      "step ship is gone",
      "state order.ship is gone",
      "state order.await_PAID, on PAID: to order.ship doing assign -> to order.pack doing assign",
      "step pack is new",
      "state order.pack is new",
    ]);
    expect(version?.findings).toMatchObject([{ fate: "breaks", at: "structure", state: "await_PAID", runs: 1 }]);
  });

  test("reads every run of many pages, and keeps of them no more than a few words", async () => {
    const skus = Array.from({ length: 230 }, (_, at) => (at % 2 === 0 ? `odd${at}` : `even${at}`));
    const { check } = await top([v1], skus);
    let heard = 0;
    const report = await check([v2], () => {
      heard += 1;
    });
    expect([heard, report.runs]).toEqual([230, 230]);
    const [version] = report.versions;
    expect(version?.fates).toEqual({ ...none, moves: 115, breaks: 115 });
    expect(version?.findings).toHaveLength(21);
    expect(version?.findings[0]).toMatchObject({ fate: "moves", runs: 115 });
    expect(version?.findings[0]?.examples).toHaveLength(5);
    expect(version?.untold).toBe(95);
  });

  test("names runs that cannot be read, and leaves out those that are open no more", async () => {
    const { store, ports, check } = await top([v1], ["a", "b", "c", "d", "e"]);
    const record = async (id: string) => await store.read({ tenant: "default", id });
    const over: Partial<Store> = {
      listShared: async (query) => {
        const page = await store.listShared(query);
        const [first, ...rest] = page.runs;
        const unreadable = first === undefined ? [] : [{ tenant: first.tenant, id: first.id, message: "set aside" }];
        return { ...page, runs: rest, unreadable };
      },
      read: async ({ id }) => {
        const found = await record(id);
        if (id === "order-b") throw new RepriseError("RECORD_CORRUPT", "the record cannot be read");
        if (id === "order-c") return null;
        return found === null || id !== "order-d" ? found : { ...found, status: "completed" };
      },
    };
    const report = await check([v1], undefined, wrapped(() => over)(ports.store));
    expect(report).toMatchObject({ ok: false, runs: 3, fates: { ...none, goes_on: 1, unread: 2 } });
    expect(report.versions[0]?.findings.map(({ problem, examples }) => [problem, examples[0]?.id])).toEqual([
      ["the record cannot be read", "order-b"],
      ["set aside", "order-e"],
    ]);
  });

  test("fails where the store fails", async () => {
    const { check, ports } = await top([v1], ["a"]);
    const read = () => Promise.reject(new RepriseError("STORE_UNAVAILABLE", "gone"));
    await expect(check([v1], undefined, wrapped(() => ({ read }))(ports.store))).rejects.toThrow("gone");
  });

  test("finds nothing where no run is open", async () => {
    const { check, client, clock } = await top([v1], ["a"]);
    await client.run("order-a", { saga: v1 }).signal("PAID", {});
    await clock.advance(2_000);
    expect(await check([v1])).toEqual({ ok: true, runs: 0, fates: none, versions: [] });
  });
});
