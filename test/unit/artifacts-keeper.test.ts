/** Large values go out of what is written and come back in what is read; whoever asks the store sees no difference. */
import { beforeEach, describe, expect, test } from "vitest";
import { withArtifacts } from "../../src/artifacts/index.ts";
import { contentHashOf, MissingArtifact, type Store } from "../../src/core/index.ts";
import type { Json } from "../../src/saga/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { MemoryArtifacts } from "../support/artifacts.ts";
import { aCommit, aCreate, aLease, anOfferedRow, aRow } from "../support/records.ts";

const thresholdBytes = 300;
const large = { text: "x".repeat(500) };
const hash = contentHashOf(JSON.stringify(large));
const reference = { $artifact: hash, bytes: 511 };

let raw: Store;
let artifacts: MemoryArtifacts;
let store: Store;
beforeEach(() => {
  raw = memoryStore();
  artifacts = new MemoryArtifacts();
  store = withArtifacts(raw, { artifacts, namespace: "ns", thresholdBytes });
});

/** A run with this input, held. */
async function held(input: Json, tenant = "default") {
  const { record } = aCreate({ input, tenant });
  await store.create({ ...aCreate(), record });
  const run = { tenant, id: record.id };
  const command = { run, owner: "w", token: `t-${record.id}`, leaseMs: 10_000 };
  const answer = await store.acquire(command);
  if (answer.answer !== "OK") throw new Error(answer.answer);
  return { run, record: answer.record, lease: aLease(run, answer.fence, command.token, "w"), command };
}

describe("a value above the threshold", () => {
  test("is kept under the hash of its content, and the store holds the reference", async () => {
    const { run, record } = await held(large);
    expect((await raw.read(run))?.input).toEqual(reference);
    expect(artifacts.puts).toEqual([`ns/default/${hash}`]);
    expect(record.input).toEqual(large);
    expect((await store.read(run))?.input).toEqual(large);
  });

  test("may be a text, which is found again by what it says", async () => {
    const text = "y".repeat(500);
    const { record, lease } = await held(text);
    const commit = aCommit(record, { now: 0 });
    await store.commit({ lease, commit, leaseMs: 10_000 });
    expect((await raw.read(commit.run))?.input).toMatchObject({ bytes: 502 });
    expect(artifacts.puts).toHaveLength(1);
  });

  test("is put before the write that refers to it; where that fails nothing is written", async () => {
    artifacts.isAway = true;
    const command = aCreate({ input: large });
    await expect(store.create(command)).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
    expect(await raw.read(command.record)).toBeNull();
    artifacts.isAway = false;
    await store.create(command);
    expect((await raw.read(command.record))?.input).toEqual(reference);
  });

  test("is neither hashed nor put again while it is the same value", async () => {
    const { record, lease, run } = await held(large);
    const rows = [aRow(1, {}, { input: large, output: large })];
    const commit = aCommit(record, { rows, record: { rows: 1 } });
    await store.commit({ lease, commit, leaseMs: 10_000 });
    await store.commit({ lease, commit: aCommit(commit.record), leaseMs: 10_000 });
    expect(artifacts.puts).toHaveLength(1);
    expect((await raw.ledger(run))[0]).toMatchObject({ input: reference, output: reference });
    expect((await store.ledger(run))[0]).toMatchObject({ input: large, output: large });
  });

  test("makes a write that is sent again the same write", async () => {
    const { record, lease } = await held({});
    const sent: unknown[] = [];
    const listening = withArtifacts(
      { ...raw, commit: async (command) => ({ answer: "OK", inbox: [], now: sent.push(command) }) },
      { artifacts, namespace: "ns", thresholdBytes },
    );
    const command = { lease, commit: aCommit(record, { rows: [aRow(1, {}, { output: large })] }), leaseMs: 10_000 };
    await listening.commit(command);
    await listening.commit(command);
    expect(JSON.stringify(sent[0])).toBe(JSON.stringify(sent[1]));
    expect(JSON.stringify(sent[0])).toContain(hash);
  });

  test("that could not be put with a commit is put when the commit is sent again", async () => {
    const { record, lease, run } = await held({});
    const command = { lease, commit: aCommit(record, { rows: [aRow(1, {}, { output: large })] }), leaseMs: 10_000 };
    artifacts.isAway = true;
    await expect(store.commit(command)).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
    expect(await raw.ledger(run)).toEqual([]);
    artifacts.isAway = false;
    expect(await store.commit(command)).toMatchObject({ answer: "OK" });
    expect((await store.ledger(run))[0]?.output).toEqual(large);
  });

  test("is what it says when it is written, though its owner goes on using the object", async () => {
    const mine = { text: large.text, n: 1 };
    const { record, lease, run } = await held(mine);
    mine.n = 2;
    expect((await held(mine)).record.input).toEqual({ text: large.text, n: 2 });
    const first = aCommit(record, { rows: [aRow(1, {}, { progress: mine })], record: { rows: 1 } });
    await store.commit({ lease, commit: first, leaseMs: 10_000 });
    mine.n = 3;
    const rows = [aRow(1, {}, { progress: mine }), aRow(2, {}, { output: mine })];
    await store.commit({ lease, commit: aCommit(first.record, { rows, record: { rows: 2 } }), leaseMs: 10_000 });
    expect((await store.read(run))?.input).toEqual({ text: large.text, n: 1 });
    const ledger = await store.ledger(run);
    expect([ledger[0]?.progress, ledger[1]?.output]).toEqual([mine, mine]);
  });

  test("is put for every run anew: what was kept for another may have been deleted since", async () => {
    const first = await held(large);
    artifacts.lose();
    const second = await held(large);
    expect(second.record.input).toEqual(large);
    expect((await store.read(first.run))?.input).toEqual(large);
  });

  test("that is part of a machine's context or output is not kept again there", async () => {
    const { record, lease, run, command } = await held({});
    const rows = [aRow(1, {}, { output: large })];
    const context = { input: {}, results: { scan: { ...large } } };
    const active = { value: "s", context, status: "active" } as const;
    const commit = aCommit(record, { rows, record: { rows: 1, snapshot: active } });
    await store.commit({ lease, commit, leaseMs: 10_000 });
    const done = {
      value: "s",
      context: { ...context, GO: {} },
      status: "done",
      output: { scan: { ...large } },
    } as const;
    const last = aCommit(commit.record, { record: { snapshot: done, output: done.output } });
    await store.commit({ lease, commit: last, leaseMs: 10_000 });
    expect(artifacts.puts).toEqual([`ns/default/${hash}`]);
    expect((await raw.read(run))?.output).toEqual({ $artifact: null, parts: { scan: reference } });
    const acquired = await store.acquire(command);
    expect(acquired).toMatchObject({ record: { snapshot: done, output: done.output } });
  });

  test("of a saga's machine, of an ended run and of a compensation goes out as well", async () => {
    const { record, lease, run } = await held({});
    const undo = { state: "kept", call: null, reason: null, input: large } as const;
    const snapshot = { value: "s", context: large, status: "done", output: large } as const;
    const commit = aCommit(record, { rows: [aRow(1, {}, { undo, progress: large })], record: { snapshot, rows: 1 } });
    await store.commit({ lease, commit, leaseMs: 10_000 });
    expect((await raw.read(run))?.snapshot).toEqual({ ...snapshot, context: reference, output: reference });
    expect((await raw.ledger(run))[0]).toMatchObject({ progress: reference, undo: { input: reference } });
    expect((await store.read(run))?.snapshot).toEqual(snapshot);
  });

  test("keeps the order of its keys, on which digests of snapshots rest", async () => {
    const { run } = await held({ b: "x".repeat(500), a: 1 });
    expect(Object.keys((await store.read(run))?.input as object)).toEqual(["b", "a"]);
  });

  test("is not shared between tenants, whoever has it first", async () => {
    await held(large, "one");
    await held(large, "two");
    expect(artifacts.puts).toEqual([`ns/one/${hash}`, `ns/two/${hash}`]);
  });

  test("goes out of many starts at once, each answered in its place", async () => {
    const commands = Array.from({ length: 30 }, (_, n) => aCreate({ input: { text: "z".repeat(500), n } }));
    const answers = await store.createMany(commands);
    expect(answers.map(({ answer }) => answer)).toEqual(commands.map(() => "OK"));
    const inputs = await Promise.all(commands.map(async ({ record }) => (await store.read(record))?.input));
    expect(inputs).toEqual(commands.map(({ record }) => record.input));
    expect(artifacts.kept.size).toBe(30);
  });

  test("comes to the worker of a named queue with its permit", async () => {
    const { record, lease, run } = await held({});
    const rows = [{ ...anOfferedRow(1), input: large }];
    const commit = aCommit(record, { rows, record: { rows: 1 }, release: true });
    await store.commit({ lease, commit, leaseMs: 10_000 });
    const asked = { run, seq: 1, send: 1, side: "action", owner: "g", token: "p", leaseMs: 1, windowMs: 1 } as const;
    expect(await store.permit(asked)).toMatchObject({ answer: "OK", row: { input: large } });
    expect(await store.permit({ ...asked, token: "q" })).toMatchObject({ answer: "GONE" });
  });
});

describe("a value up to the threshold", () => {
  test("stays in the store, to the byte", async () => {
    const fits = "x".repeat(thresholdBytes - 2);
    const { run } = await held(fits);
    expect((await raw.read(run))?.input).toBe(fits);
    const over = await held({ t: "é".repeat(146) });
    expect((await raw.read(over.run))?.input).toEqual({ t: "é".repeat(146) });
    const more = await held({ t: "é".repeat(147) });
    expect((await raw.read(more.run))?.input).toMatchObject({ bytes: 302 });
    expect(artifacts.puts).toHaveLength(1);
  });

  test.each<[string, Json]>([
    ["a reference", reference],
    ["a wrapped value", { $artifact: null, value: 7 }],
    ["something like one", { $artifact: { deep: true } }],
    ["a list of references", [reference]],
  ])("that looks like %s is what it was", async (_, value) => {
    const { run, record } = await held(value);
    expect(record.input).toEqual(value);
    const withoutPlace = withArtifacts(raw, { artifacts: null, namespace: "ns", thresholdBytes });
    expect((await withoutPlace.read(run))?.input).toEqual(value);
    expect(artifacts.gets).toEqual([]);
  });

  test("of a process without a place for artifacts is told apart from a reference too", async () => {
    const withoutPlace = withArtifacts(raw, { artifacts: null, namespace: "ns", thresholdBytes });
    const { record } = aCreate({ input: reference });
    await withoutPlace.create({ ...aCreate(), record });
    expect((await store.read(record))?.input).toEqual(reference);
    expect(artifacts.gets).toEqual([]);
  });
});

describe("a value that cannot be had", () => {
  async function missing(why: string, where: Store = store) {
    const { run, command } = await held(large);
    if (why === "gone") artifacts.lose();
    if (why === "damaged") for (const name of artifacts.kept.keys()) artifacts.kept.set(name, Buffer.from("{}"));
    const answer = await where.acquire(command);
    if (answer.answer !== "OK") throw new Error(answer.answer);
    return { run, command, record: answer.record };
  }

  test.each(["gone", "damaged"] as const)("because it is %s says so in its place", async (why) => {
    const { record } = await missing(why);
    expect(record.input).toBeInstanceOf(MissingArtifact);
    expect(record.input).toMatchObject({ ...reference, why });
  });

  test("because this process has no place for artifacts says so", async () => {
    const { record } = await missing("", withArtifacts(raw, { artifacts: null, namespace: "ns", thresholdBytes }));
    expect(record.input).toMatchObject({ ...reference, why: "no_store" });
  });

  test("is written back as the reference it was, and is a value again once it is there", async () => {
    const { run, command, record } = await missing("");
    const restore = artifacts.lose();
    const again = await store.acquire(command);
    if (again.answer !== "OK") throw new Error(again.answer);
    const commit = aCommit(again.record);
    const lease = aLease(run, again.fence, command.token, "w");
    await store.commit({ lease, commit, leaseMs: 10_000 });
    expect((await raw.read(run))?.input).toEqual(reference);
    restore();
    expect((await store.read(run))?.input).toEqual(record.input);
  });

  test("because a part of it is missing is missing as a whole, and written back with its parts", async () => {
    const { record, lease, run, command } = await held({});
    const context = { $artifact: "mine", text: large.text };
    const snapshot = { value: "s", context, status: "active" } as const;
    await store.commit({ lease, commit: aCommit(record, { record: { snapshot } }), leaseMs: 10_000 });
    const restore = artifacts.lose();
    const found = await store.acquire(command);
    if (found.answer !== "OK") throw new Error(found.answer);
    expect(found.record.snapshot?.context).toBeInstanceOf(MissingArtifact);
    expect(found.record.snapshot?.context).toMatchObject({ bytes: 502, why: "gone" });
    await store.commit({ lease, commit: aCommit(found.record), leaseMs: 10_000 });
    restore();
    expect((await store.read(run))?.snapshot?.context).toEqual(context);
  });

  test("while nobody can say is no answer at all", async () => {
    const { run, command } = await held(large);
    artifacts.isAway = true;
    await expect(store.acquire(command)).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
    await expect(store.read(run)).rejects.toMatchObject({ code: "ARTIFACTS_UNAVAILABLE" });
    artifacts.isAway = false;
    expect(await store.acquire(command)).toMatchObject({ answer: "OK", record: { input: large } });
  });
});
