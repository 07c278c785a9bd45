/** The requests between a parent and its child, one at a time, over the memory store. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { MissingArtifact, type RunRef, type Store } from "../../../src/core/index.ts";
import { callChild } from "../../../src/engine/children.ts";
import type { EngineContext } from "../../../src/engine/context.ts";
import { RepriseError } from "../../../src/errors.ts";
import { child, fail, saga, step, withChildren } from "../../../src/saga/index.ts";
import { benchTop, settings, wrapped } from "./bench-top.ts";

const acts: string[] = [];
const act = step("act", {
  input: z.object({ bad: z.boolean() }),
  effect: "keyed",
  action: ({ operationId, input }) => {
    if (input.bad) throw fail("no");
    acts.push(operationId);
  },
  compensate: ({ operationId }) => void acts.push(operationId),
});
const errand = saga("errand", { version: 1, input: z.object({ bad: z.boolean() }) })
  .step(act)
  .build();
const parent = saga("parent", { version: 1, input: z.object({ bad: z.boolean() }) })
  .step(child(errand))
  .build();
const sagas = withChildren([parent]);

/** A parent whose row says sent, held there: its `create` does not arrive before it is let go. */
async function held() {
  acts.length = 0;
  let letGo: () => void = () => undefined;
  const late = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const top = benchTop(
    sagas,
    wrapped((store) => ({ create: (command) => late.then(() => store.create(command)) })),
  );
  const worker = top.worker();
  await worker.start();
  const run = await top.start(parent, { bad: false });
  await top.clock.advance(50);
  return { ...top, run, letGo };
}

const childOf = ({ tenant, id }: RunRef) => ({ tenant, id: `${id}.1` });

describe("a request to start a child that is held up", () => {
  test("starts nothing when it arrives after its parent has gone back", async () => {
    const { clock, store, ports, run, letGo } = await held();
    const [row] = await store.ledger(run);
    const record = await store.read(run);
    if (row === undefined || record === null) throw new Error("nothing was asked for");
    expect(row.call.state).toBe("sent");
    // The next worker goes back with it, while the first one's request is on its way.
    const step = child(errand).spec;
    const undo = { ...row, undo: { state: "sent", call: row.call, reason: null } as const };
    const context = { ...ports, store, settings, isOver: () => false } as unknown as EngineContext;
    const seen = await callChild(context, { order: { side: "undo" }, parent: record, row: undo, step });
    expect(seen).toMatchObject({ is: "run", asked: null, child: { status: "cancelled", rollback: "not_applicable" } });
    letGo();
    await clock.advance(2_000);
    expect(await store.read(childOf(run))).toMatchObject({ status: "cancelled", rollback: "not_applicable" });
    expect(acts).toEqual([]);
  });
});

describe("a child", () => {
  async function play(wrap: (store: Store) => Partial<Store>, input = { bad: false }) {
    acts.length = 0;
    const top = benchTop(sagas, wrapped(wrap));
    await top.worker().start();
    const run = await top.start(parent, input);
    return { ...top, run };
  }

  test("is waited for while the store is away", async () => {
    let isAway = true;
    const { clock, store, run, facts } = await play((of) => ({
      create: (command) =>
        isAway ? Promise.reject(new RepriseError("STORE_UNAVAILABLE", "away")) : of.create(command),
    }));
    await clock.advance(5_000);
    expect(await store.read(run)).toMatchObject({ status: "running" });
    expect(facts).toContainEqual({ fact: "trouble", where: "child", message: "away" });
    isAway = false;
    await clock.advance(5_000);
    expect([await store.read(run), acts.length]).toMatchObject([{ status: "completed" }, 1]);
    expect((await store.ledger(run))[0]?.call.attempt).toBe(1);
  });

  test("whose result is kept elsewhere and cannot be had is waited for", async () => {
    let isGone = true;
    const { clock, store, run } = await play((of) => ({
      read: async (ref) => {
        const record = await of.read(ref);
        if (!isGone || record?.status !== "completed") return record;
        return { ...record, output: new MissingArtifact({ hash: "h", bytes: 9, why: "gone" }, null) };
      },
    }));
    await clock.advance(30_000);
    expect(await store.read(run)).toMatchObject({ status: "waiting", waitingFor: "child" });
    isGone = false;
    await clock.advance(60_000);
    expect(await store.read(run)).toMatchObject({ status: "completed" });
  });

  test("whose word is lost is looked at all the same, a little later", async () => {
    const lost: string[] = [];
    const { clock, store, run } = await play((of) => ({
      send: async (command) => {
        if (!command.slot.startsWith("child:")) return await of.send(command);
        lost.push(command.slot);
        return { answer: "DUP", now: await of.now() };
      },
    }));
    await clock.advance(1_000);
    expect([lost, await store.read(run)]).toMatchObject([["child:1.3"], { status: "waiting" }]);
    await clock.advance(5_000);
    expect(await store.read(run)).toMatchObject({ status: "completed" });
  });

  test("that fails is a failure of its parent", async () => {
    const { clock, store, run } = await play(() => ({}), { bad: true });
    await clock.advance(2_000);
    expect(await store.read(run)).toMatchObject({
      status: "failed",
      cause: { step: "errand", message: expect.stringContaining("run r1.1 ended failed (no)") },
    });
  });

  test("that no worker serves is waited for, and carried out by the first one that does", async () => {
    acts.length = 0;
    const top = benchTop(sagas);
    const first = top.worker({ serve: [parent] });
    await first.start();
    const run = await top.start(parent, { bad: false });
    await top.clock.advance(10_000);
    expect(await top.store.read(run)).toMatchObject({ status: "waiting", waitingFor: "child" });
    expect(top.facts).toContainEqual(expect.objectContaining({ fact: "unserved", saga: "errand" }));
    const stopped = first.stop();
    await top.clock.advance(1_000);
    await stopped;
    await top.worker().start();
    await top.clock.advance(60_000);
    expect([await top.store.read(run), acts.length]).toMatchObject([{ status: "completed" }, 1]);
  });
});

describe("a request that is made", () => {
  const refuse = step("refuse", {
    input: z.object({}),
    effect: "none",
    action: () => {
      throw fail("no");
    },
  });
  const gone = saga("gone", { version: 1, input: z.object({ bad: z.boolean() }) })
    .step(child(errand))
    .step(refuse, () => ({}))
    .build();
  const aside = saga("aside", { version: 1, input: z.object({ bad: z.boolean() }) })
    .step(child(errand, { detached: true }))
    .build();
  const all = withChildren([parent, gone, aside]);

  /** A parent of that saga, at its end or wherever it comes to by itself. */
  async function over(saga: (typeof all)[number], wrap: (store: Store) => Partial<Store> = () => ({})) {
    acts.length = 0;
    const top = benchTop(all, wrapped(wrap));
    await top.worker().start();
    const run = await top.start(saga, { bad: false });
    await top.clock.advance(2_000);
    const [record, [row]] = [await top.store.read(run), await top.store.ledger(run)];
    if (record === null || row === undefined) throw new Error("nothing was asked for");
    const context = { ...top.ports, settings, isOver: () => false } as unknown as EngineContext;
    const ask = (side: "action" | "undo", more: object = {}) =>
      callChild(context, { order: { side }, parent: { ...record, ...more }, row, step: child(errand).spec });
    return { ...top, run, record, row, ask };
  }

  test("twice is answered twice, and starts and undoes once", async () => {
    const { store, run, ask, clock } = await over(parent);
    expect(await ask("action")).toMatchObject({ is: "run", child: { status: "completed" }, asked: null });
    const back = [await ask("undo"), await ask("undo")];
    expect(back).toMatchObject([
      { asked: "undo", isPending: true },
      { asked: "undo", isPending: true },
    ]);
    await clock.advance(2_000);
    expect(await store.read(childOf(run))).toMatchObject({ status: "cancelled", rollback: "complete" });
    expect([await ask("undo"), acts.length]).toMatchObject([{ asked: null, isPending: false }, 2]);
  });

  test("by a parent that goes back undoes the child once, as its log says", async () => {
    const { store, run } = await over(gone);
    const asked = (await store.log(childOf(run))).flatMap(({ taken }) =>
      taken.filter(({ what }) => what === "control"),
    );
    expect(asked).toMatchObject([{ control: "undo", by: `run ${run.id}` }]);
  });

  test("in a mode goes under the slot of that mode", async () => {
    const slots: string[] = [];
    let isAsked = false;
    const { ask } = await over(parent, (of) => ({
      send: (command) => {
        if (isAsked) slots.push(command.slot);
        return of.send(command);
      },
      // Read a moment ago, when it had not ended.
      read: async (ref) => {
        const record = await of.read(ref);
        return isAsked && record !== null ? { ...record, status: "running" } : record;
      },
    }));
    isAsked = true;
    for (const mode of ["stop", "kill"] as const) {
      const cancel = { mode, reason: "enough", by: "ann", at: 0 };
      expect(await ask("undo", { cancel, cause: null })).toMatchObject({ asked: "cancel", isPending: false });
    }
    expect(slots).toEqual(["cancel:stop", "cancel:kill"]);
  });

  test("of a run that is somebody else's changes nothing of it", async () => {
    const top = benchTop(all);
    await top.worker().start();
    const other = await top.start(errand, { bad: false }, "r1.1");
    await top.clock.advance(1_000);
    const run = await top.start(parent, { bad: false });
    await top.clock.advance(2_000);
    expect(await top.store.read(run)).toMatchObject({ status: "needs_review", review: { reason: "defect" } });
    const [record, [row]] = [await top.store.read(run), await top.store.ledger(run)];
    if (record === null || row === undefined) throw new Error("nothing was asked for");
    const context = { ...top.ports, settings, isOver: () => false } as unknown as EngineContext;
    const before = await top.store.read(other);
    const seen = await callChild(context, { order: { side: "undo" }, parent: record, row, step: child(errand).spec });
    expect([seen, await top.store.read(other)]).toEqual([{ is: "foreign", run: "r1.1" }, before]);
  });

  test("of one that is detached says where it is, and asks no more", async () => {
    const { row, store, run } = await over(aside);
    expect(row).toMatchObject({ output: { id: "r1.1" }, call: { state: "succeeded" } });
    expect(await store.read(childOf(run))).toMatchObject({ parent: { run: "r1", seq: 1, detached: true } });
  });

  test("for a step that is no child is not answered, and told", async () => {
    const { ports, record, row, facts } = await over(parent);
    const context = { ...ports, settings, isOver: () => false } as unknown as EngineContext;
    const made = await callChild(context, {
      order: { side: "action" },
      parent: record,
      row: { ...row, child: null },
      step: act.spec,
    });
    expect([made.is, facts.some((fact) => fact.fact === "trouble" && fact.where === "child")]).toEqual([
      "unreached",
      true,
    ]);
  });
});
