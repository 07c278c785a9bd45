import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { begin, hashOf, machineOf, type RunRecord, type Store } from "../../../src/core/index.ts";
import type { EngineContext } from "../../../src/engine/context.ts";
import { Memory } from "../../../src/engine/memory.ts";
import { saga, step, structureOf } from "../../../src/saga/index.ts";
import { memoryStore } from "../../../src/store/index.ts";
import { benchTop, settings, wrapped } from "./bench-top.ts";

const look = step("look", { input: z.json(), effect: "none", action: () => null });
const one = saga("one", { version: 1, input: z.json() })
  .step(look, () => null)
  .build();

function scene() {
  const top = benchTop([one]);
  const work: Promise<unknown>[] = [];
  const asked: string[] = [];
  const state = { isAway: false, isStopping: false, hold: Promise.resolve() };
  const store = {
    read: top.store.read.bind(top.store),
    create: top.store.create.bind(top.store),
    now: () => (state.isAway ? Promise.reject(new Error("away")) : top.store.now()),
    log: async (...args: Parameters<typeof top.store.log>) => {
      asked.push(args[0].id);
      await state.hold;
      if (state.isAway) throw new Error("away");
      return await top.store.log(...args);
    },
  };
  // What memory uses of a context.
  const context = {
    ...top.ports,
    store,
    settings,
    isStopping: () => state.isStopping,
    isOver: () => state.isStopping,
    background: (one: Promise<unknown>) => void work.push(one),
  } as unknown as EngineContext;
  return { top, context, asked, state, work };
}

/** A run at its first revision, as the store has it or (`tale`) as it never was. */
function runOf(id: string, now: number, tale = false) {
  const run = { tenant: "default", id };
  const hash = hashOf(structureOf(one));
  const first = begin({ machine: machineOf(one.spec), hash, ...run, input: null, priority: 0, now, startAt: now });
  const record: RunRecord = tale ? { ...first.record, revision: 4, logDigest: "never written" } : first.record;
  // Only its time is read of a commit.
  return { commit: { now, keepUntil: null } as never, run: { record, rows: [], inbox: [] }, ref: run };
}

describe("what a process remembers", () => {
  test("is compared once more when a connection is opened in the middle of it: the server may be another one", async () => {
    const { top, context, asked, state } = scene();
    await top.start(one, null, "r1", { wake: false });
    const memory = new Memory(
      context,
      () => Promise.resolve(),
      () => Promise.resolve(),
    );
    const { commit, run } = runOf("r1", await top.store.now());
    memory.keep(commit, run);
    let release = () => {};
    state.hold = new Promise((resolve) => {
      release = resolve;
    });
    const first = memory.compare();
    const second = memory.compare();
    expect(asked).toEqual(["r1"]);
    release();
    await Promise.all([first, second]);
    expect(asked).toEqual(["r1", "r1"]);
    await memory.compare();
    expect(asked).toHaveLength(3);
  });

  test("is asked about again and again while the store is away, and no more when the worker stops", async () => {
    const { top, context, asked, state } = scene();
    await top.start(one, null, "r1", { wake: false });
    const memory = new Memory(
      context,
      () => Promise.resolve(),
      () => Promise.resolve(),
    );
    const { commit, run } = runOf("r1", await top.store.now());
    memory.keep(commit, run);
    state.isAway = true;
    const compared = memory.compare();
    await top.clock.advance(500);
    expect(asked.length).toBeGreaterThan(1);
    state.isStopping = true;
    await top.clock.advance(500);
    await compared;
  });

  test("a refused commit is a matter of one question where somebody else has simply taken the run over", async () => {
    const { top, context, asked, work } = scene();
    await top.start(one, null, "r1", { wake: false });
    const advanced: string[] = [];
    const memory = new Memory(
      context,
      async ({ id }) => void advanced.push(id),
      () => Promise.resolve(),
    );
    const { commit, run, ref } = runOf("r1", await top.store.now());
    memory.keep(commit, run);
    memory.doubt(ref);
    memory.doubt({ ...ref, id: "r2" });
    await Promise.all(work);
    expect([asked, advanced]).toEqual([["r1"], []]);
    expect(memory.forgottenBy(run.record)).toBeNull();
  });

  test("a run of which the store has less is given up and driven until a commit has put it right", async () => {
    const { top, context, work, state } = scene();
    await top.start(one, null, "r1", { wake: false });
    const done: string[] = [];
    const { commit, run } = runOf("r1", await top.store.now(), true);
    const memory: Memory = new Memory(
      context,
      async () => {
        done.push("driven");
        if (done.length === 4) memory.keep(commit, run);
      },
      async () => void done.push("given up"),
    );
    memory.keep(commit, run);
    await memory.compare();
    await top.clock.advance(1_000);
    await Promise.all(work);
    expect(done).toEqual(["given up", "driven", "given up", "driven"]);
    expect(memory.forgottenBy({ ...run.record, revision: 0 })).not.toBeNull();
    expect(state.isStopping).toBe(false);
  });

  test("a commit that is forgotten in its turn while its run is still being driven is put right as well", async () => {
    const { top, context } = scene();
    await top.start(one, null, "r1", { wake: false });
    const driven: (() => void)[] = [];
    const memory: Memory = new Memory(
      context,
      () => new Promise((resolve) => driven.push(resolve)),
      () => Promise.resolve(),
    );
    const { commit, run } = runOf("r1", await top.store.now(), true);
    memory.keep(commit, run);
    await memory.compare();
    await top.clock.advance(1);
    // Its driver has brought it back, and goes on with it, in a world that is lost as well.
    memory.keep(commit, { ...run, record: { ...run.record, revision: 9, logDigest: "never written either" } });
    await memory.compare();
    expect(driven).toHaveLength(1);
    driven[0]?.();
    await top.clock.advance(500);
    expect(driven).toHaveLength(2);
  });

  test("is forgotten of a run that was deleted when its time was over, and of one whose id another run has", async () => {
    const { top, context, work } = scene();
    const driven: string[] = [];
    const memory = new Memory(
      context,
      async ({ id }) => void driven.push(id),
      () => Promise.resolve(),
    );
    const now = await top.store.now();
    for (const id of ["gone", "kept", "reused"]) {
      const { run } = runOf(id, now, true);
      memory.keep({ now, keepUntil: id === "kept" ? null : now + 1_000 } as never, run);
    }
    await top.clock.advance(1_000);
    await top.start(one, null, "reused", { wake: false });
    const reused = await top.store.read({ tenant: "default", id: "reused" });
    expect(reused).not.toBeNull();
    if (reused !== null) expect(memory.forgottenBy(reused)).toBeNull();
    await memory.compare();
    await top.clock.advance(300);
    expect(new Set(driven)).toEqual(new Set(["kept"]));
    expect(await top.store.read({ tenant: "default", id: "gone" })).toBeNull();
    expect(work.length).toBeGreaterThan(0);
  });

  test("is limited: the oldest go first, whole runs before marks", async () => {
    const { top, context } = scene();
    const memory = new Memory(
      context,
      () => Promise.resolve(),
      () => Promise.resolve(),
    );
    const now = await top.store.now();
    for (let n = 0; n <= 20_000; n += 1) {
      const { run, commit } = runOf("r", now, true);
      memory.keep(commit, { ...run, record: { ...run.record, id: `r${n}` } });
    }
    const stored = { ...runOf("r", now).run.record, id: "r1" };
    expect(memory.forgottenBy({ ...stored, id: "r0" })).toBeNull();
    expect(memory.forgottenBy(stored)).toMatchObject({ revision: 4, run: null });
    expect(memory.forgottenBy({ ...stored, id: "r20000" })?.run).not.toBeNull();
  });
});

test("I12 a commit whose acknowledgement came after the pulse had met the next server is looked for when its own connection is opened anew", async () => {
  const worlds = { now: null as Store | null };
  let reconnected = (): void => undefined;
  const over = wrapped(() => ({
    onReconnect: (listener) => {
      reconnected = listener;
      return () => undefined;
    },
  }));
  // Everything is asked of the world there is now.
  const top = benchTop(
    [one],
    (first) =>
      new Proxy(over(first), {
        get: (target, name) => {
          const value: unknown = Reflect.get(worlds.now === null || name === "onReconnect" ? target : worlds.now, name);
          return typeof value === "function" ? value.bind(worlds.now ?? target) : value;
        },
      }),
  );
  const { kill } = await top.mortal();
  onTestFinished(kill);
  const run = await top.start(one, null);
  await top.clock.advance(1_000);
  expect((await top.store.read(run))?.status).toBe("completed");
  worlds.now = memoryStore({ clock: top.clock });
  await top.clock.advance(5_000);
  expect(await worlds.now.read(run)).toBeNull();
  reconnected();
  await top.clock.advance(5_000);
  expect(await worlds.now.read(run)).toMatchObject({ status: "completed", knownTo: { revision: 3, as: 4 } });
  // What was brought back may be forgotten in its turn.
  worlds.now = memoryStore({ clock: top.clock });
  reconnected();
  await top.clock.advance(5_000);
  expect(await worlds.now.read(run)).toMatchObject({ status: "completed" });
});
