import { expect, test } from "vitest";
import { hasEnded } from "../../../src/core/run/index.ts";
import { aCreate, aRecord, aRow } from "../../support/records.ts";
import { acquired, type Current, committed, created, ended, epochMs, sweep } from "./harness.ts";

export function createContract(current: Current): void {
  test("a run that was created is there, with its first log entry and nothing else", async () => {
    const command = aCreate({ createdAt: epochMs, attributes: { customer: "c-1" }, priority: 5, pool: "gpu" });
    expect(await current.store.create(command)).toMatchObject({ answer: "OK", now: epochMs });
    expect(await current.store.read(command.record)).toEqual(command.record);
    expect(await current.store.log(command.record)).toEqual([command.log]);
    expect(await current.store.ledger(command.record)).toEqual([]);
    expect(await current.store.inbox(command.record)).toEqual([]);
  });

  test("a new run is to be woken at once: wake number, pool, lane and priority come with the answer", async () => {
    const { record } = aCreate({ createdAt: epochMs, pool: "gpu", priority: 7 });
    const answer = await current.store.create(aCreate(record));
    const lane = current.store.shardOf(record) % 2;
    const run = { tenant: record.tenant, id: record.id };
    expect(answer).toMatchObject({ wake: { run, wake: 1, pool: "gpu", lane, priority: 7 } });
  });

  test("the same command again is answered OK with the same wake-up and changes nothing", async () => {
    const command = aCreate({ createdAt: epochMs });
    const first = await current.store.create(command);
    expect(await current.store.create(command)).toEqual(first);
    expect(await current.store.log(command.record)).toHaveLength(1);
  });

  test("the same command again asks for no wake-up once somebody has acquired the run", async () => {
    const command = aCreate({ createdAt: epochMs });
    await current.store.create(command);
    await acquired(current.store, command.record);
    expect(await current.store.create(command)).toMatchObject({ answer: "OK", wake: null });
  });

  test("another command with the same id, saga and input is answered EXISTS with where the run is", async () => {
    const record = await ended(current.store);
    const again = await current.store.create(aCreate({ id: record.id, createdAt: epochMs + 5, version: 2 }));
    expect(again).toEqual({ answer: "EXISTS", revision: 2, status: "completed", now: epochMs });
    expect(hasEnded((await current.store.read(record))?.status ?? "running")).toBe(true);
  });

  test("another input or another saga under the same id is a CONFLICT and changes nothing", async () => {
    const record = await created(current.store);
    const conflict = { answer: "CONFLICT", saga: "order", inputHash: "hash-of-input" };
    const otherInput = aCreate({ id: record.id, inputHash: "other", input: 2 });
    expect(await current.store.create(otherInput)).toMatchObject(conflict);
    expect(await current.store.create(aCreate({ id: record.id, saga: "trip" }))).toMatchObject(conflict);
    expect(await current.store.read(record)).toEqual(record);
  });

  test("of two who create the same id at once, one creates it and the other finds it", async () => {
    const record = aRecord({ createdAt: epochMs });
    const answers = await Promise.all([current.store.create(aCreate(record)), current.store.create(aCreate(record))]);
    expect(answers.map(({ answer }) => answer).sort()).toEqual(["EXISTS", "OK"]);
  });

  test("the same id in two tenants is two runs", async () => {
    const [mine, theirs] = [aRecord({ tenant: "mine", input: 1 }), aRecord({ tenant: "theirs", input: 2 })];
    await current.store.create(aCreate({ ...mine, id: "same" }));
    expect(await current.store.create(aCreate({ ...theirs, id: "same" }))).toMatchObject({ answer: "OK" });
    expect(await current.store.read({ tenant: "mine", id: "same" })).toMatchObject({ input: 1 });
  });

  test("a run to start later is not woken before, and is due then", async () => {
    const command = aCreate({ createdAt: epochMs, startAt: epochMs + 60_000 });
    expect(await current.store.create(command)).toMatchObject({ answer: "OK", wake: null });
    await current.bench.advance(59_999);
    expect(await sweep(current.store)).toEqual([]);
    await current.bench.advance(1);
    expect(await sweep(current.store)).toMatchObject([{ run: { id: command.record.id }, wake: 1 }]);
  });

  test("many are created in one go, answers in order, each as if alone", async () => {
    const taken = await created(current.store);
    const commands = [
      // Of so many tenants that none has more than its share of the queue.
      ...Array.from({ length: 450 }, (_, n) => aCreate({ createdAt: epochMs, tenant: `t${n % 5}` })),
      aCreate({ id: taken.id, inputHash: "other" }),
    ];
    const answers = await current.store.createMany(commands);
    expect(answers).toHaveLength(451);
    expect(answers.slice(0, 450).every(({ answer }) => answer === "OK")).toBe(true);
    expect(answers.map((answer) => (answer.answer === "OK" ? answer.wake?.run.id : answer.answer))).toEqual([
      ...commands.slice(0, 450).map(({ record }) => record.id),
      "CONFLICT",
    ]);
    expect(await current.store.createMany([])).toEqual([]);
  });

  test("a run may begin with a ledger, and its rows are there with it", async () => {
    const rows = [aRow(1, { state: "succeeded" }, { output: { id: "x" }, told: "outcome" }), aRow(2)];
    const command = { ...aCreate({ createdAt: epochMs, rows: 2, open: [2], pool: "gpu", priority: 3 }), rows };
    const first = await current.store.create(command);
    expect(first).toMatchObject({ answer: "OK", wake: { pool: "gpu", priority: 3 } });
    expect(await current.store.create(command)).toEqual(first);
    expect(await current.store.ledger(command.record)).toEqual(rows);
    const listed = await current.store.list({ limit: 10, status: "running" });
    expect(listed.runs.map(({ id }) => id)).toEqual([command.record.id]);
    const { lease, record, answer } = await acquired(current.store, command.record);
    expect(answer.rows).toEqual(rows);
    await committed(current.store, lease, record, { rows: [aRow(3)], record: { rows: 3, open: [2, 3] } });
    expect(await current.store.ledger(command.record)).toEqual([...rows, aRow(3)]);
  });

  test("an id or tenant that could not stand in a key is refused and nothing is written", async () => {
    for (const id of ["", "a:b", "{x}", "a b", "ä", "x".repeat(65), "new\nline", "*"]) {
      await expect(current.store.create(aCreate({ id }))).rejects.toMatchObject({ code: "ID_INVALID" });
      await expect(current.store.create(aCreate({ tenant: id }))).rejects.toMatchObject({ code: "ID_INVALID" });
      await expect(current.store.read({ tenant: "default", id })).rejects.toMatchObject({ code: "ID_INVALID" });
    }
    expect(await current.store.list({ limit: 10 })).toEqual({ runs: [], unreadable: [], cursor: null });
  });

  test("ids that mean something to JavaScript are ordinary ids", async () => {
    for (const id of ["__proto__", "constructor", "..", "0"]) {
      await created(current.store, { id, tenant: id });
      expect(await current.store.read({ tenant: id, id })).toMatchObject({ id, tenant: id });
    }
  });
}
