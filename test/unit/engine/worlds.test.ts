import { describe, expect, test } from "vitest";
import type { OwnerRef } from "../../../src/core/index.ts";
import type { EngineContext } from "../../../src/engine/context.ts";
import { Worlds } from "../../../src/engine/worlds.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { settings } from "./bench-top.ts";

const mostMs = 2 * settings.leaseMs;

interface Scene {
  world: string | null;
  owners: OwnerRef[] | null;
  isStopping: boolean;
  compared: Promise<void>;
  right: Promise<void>;
}

async function scene(owners: OwnerRef[] = []) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const said: (string | null)[] = [];
  const state: Scene = {
    world: "first",
    owners,
    isStopping: false,
    compared: Promise.resolve(),
    right: Promise.resolve(),
  };
  const answer = <Value>(value: Value | null): Promise<Value> =>
    value === null ? Promise.reject(new Error("away")) : Promise.resolve(value);
  // What worlds use of a context.
  const context = {
    clock,
    settings,
    owner: "me",
    store: { world: () => answer(state.world), owners: () => answer(state.owners) },
    facts: { emit: ({ message }: { readonly message: string }) => told.push(message) },
    isStopping: () => state.isStopping,
    isOver: () => state.isStopping,
    background: (work: Promise<unknown>) => void work,
  } as unknown as EngineContext;
  const worlds: Worlds = new Worlds({
    context,
    compare: () => state.compared,
    allRight: () => state.right,
    register: async () => void said.push(worlds.compared),
  });
  await worlds.begin();
  await clock.advance(1);
  return { clock, told, said, state, worlds };
}

function owner(name: string, compared: string | null): OwnerRef {
  return { owner: name, serverId: null, pulse: null, compared };
}

describe("a worker that starts", () => {
  test("has compared the world it finds, and drives at once where all others have", async () => {
    const { worlds, said } = await scene([owner("me", null), owner("other", "first")]);
    expect([worlds.compared, worlds.isOpen, said]).toEqual(["first", true, []]);
  });

  test("shortly after the store was restarted waits for those who were there before, too", async () => {
    const { worlds, clock, state } = await scene([owner("other", "an older one")]);
    expect(worlds.isOpen).toBe(false);
    state.owners = [owner("other", "first")];
    await clock.advance(200);
    expect(worlds.isOpen).toBe(true);
  });
});

describe("after a connection was opened", () => {
  test("nothing is driven before it is known that it leads to the same world", async () => {
    const { worlds, clock, state, told } = await scene();
    state.world = null;
    worlds.opened();
    await clock.advance(5_000);
    expect(worlds.isOpen).toBe(false);
    state.world = "first";
    await clock.advance(5_000);
    expect(worlds.isOpen).toBe(true);
    expect(told.filter((line) => line !== "away")).toEqual([]);
  });

  test("to another world nothing is driven before every owner has compared, and that is told", async () => {
    const { worlds, clock, state, told, said } = await scene([owner("other", "first")]);
    state.world = "second";
    worlds.opened();
    await clock.advance(mostMs / 2);
    expect([worlds.isOpen, said]).toEqual([false, ["second"]]);
    state.owners = null;
    await clock.advance(500);
    expect(worlds.isOpen).toBe(false);
    state.owners = [owner("other", "second"), owner("me", "first")];
    await clock.advance(200);
    expect(worlds.isOpen).toBe(true);
    expect(told[0]).toContain(`for ${mostMs} ms at most`);
  });

  test("one who says nothing is waited for as long as two leases, from the newest world on", async () => {
    const { worlds, clock, state } = await scene([owner("other", "first")]);
    state.world = "second";
    worlds.opened();
    await clock.advance(mostMs - 1_000);
    state.world = "third";
    worlds.opened();
    await clock.advance(mostMs - 1_000);
    expect(worlds.isOpen).toBe(false);
    await clock.advance(1_200);
    expect(worlds.isOpen).toBe(true);
  });

  test("nothing new is driven before this process has asked about all that it remembers, however long others have waited", async () => {
    const { worlds, clock, state } = await scene();
    let asked = (): void => undefined;
    state.compared = new Promise((resolve) => {
      asked = resolve;
    });
    state.world = "second";
    worlds.opened();
    await clock.advance(2 * mostMs);
    expect(worlds.isOpen).toBe(false);
    // What is not put right yet keeps nobody from driving other runs.
    state.right = new Promise(() => undefined);
    asked();
    await clock.advance(1);
    expect([worlds.isOpen, worlds.isSettled, worlds.compared]).toEqual([true, false, "first"]);
  });

  test("it says that it has compared when what was forgotten is put right, and only of the world that is there by then", async () => {
    const { worlds, clock, state, said } = await scene();
    let right = (): void => undefined;
    state.right = new Promise((resolve) => {
      right = resolve;
    });
    state.world = "second";
    worlds.opened();
    await clock.advance(1_000);
    expect([worlds.compared, said]).toEqual(["first", []]);
    state.world = "third";
    worlds.opened();
    await clock.advance(1_000);
    right();
    await clock.advance(1);
    expect([worlds.compared, said]).toEqual(["third", ["third"]]);
  });
});

test("who waits for it is let go when it opens, and when the worker is stopped", async () => {
  const { worlds, clock, state } = await scene([owner("other", "older")]);
  const answers: boolean[] = [];
  void worlds.whenOpen().then((isOpen) => answers.push(isOpen));
  await clock.advance(1_000);
  expect(answers).toEqual([]);
  state.owners = [];
  await clock.advance(300);
  expect(answers).toEqual([true]);
  state.world = null;
  worlds.opened();
  void worlds.whenOpen().then((isOpen) => answers.push(isOpen));
  await clock.advance(300);
  state.isStopping = true;
  await clock.advance(300);
  expect(answers).toEqual([true, false]);
});
