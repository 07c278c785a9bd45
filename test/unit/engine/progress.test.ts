/** A long step says how far it has come; whoever makes the call again goes on from there. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { RepriseError } from "../../../src/errors.ts";
import { type ActionContext, type Json, saga, step } from "../../../src/saga/index.ts";
import { benchTop, settings } from "./bench-top.ts";

const input = z.object({ n: z.number() });

/** A saga of one step that does what `act` says. */
function long(act: (context: ActionContext) => Promise<unknown>, more: { readonly queue?: string } = {}) {
  const batch = step("batch", {
    input,
    effect: "keyed",
    action: async (context) => {
      await act(context as ActionContext);
      return null;
    },
    compensate: () => undefined,
    timeout: "60s",
    ...more,
  });
  return saga("long", { version: 1, input })
    .step(batch, ({ input }) => input)
    .build();
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "kept",
    (error: RepriseError) => error.code,
  );

test("a batch whose worker dies goes on at the item after the last that was kept", async () => {
  const items = Array.from({ length: 10 }, (_, index) => index);
  const worked: string[] = [];
  const sagaOf = long(async ({ progress, attempt }) => {
    const from = (progress.get() as number | null) ?? 0;
    for (const item of items.slice(from)) {
      worked.push(`${item}/${attempt}`);
      await new Promise<void>((resolve) => void top.clock.after(100, resolve));
      await progress.set(item + 1);
    }
  });
  const top = benchTop([sagaOf]);
  const first = await top.mortal();
  const run = await top.start(sagaOf, { n: 1 });
  await top.clock.advance(450);
  first.kill();
  expect((await top.store.ledger(run))[0]).toMatchObject({ progress: 4, call: { state: "sent" } });
  await top.worker().start();
  await top.clock.advance(3 * settings.leaseMs);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(worked.map((each) => each.split("/")[0])).toEqual(["0", "1", "2", "3", "4", "4", "5", "6", "7", "8", "9"]);
  const taken = (await top.store.log(run)).flatMap((entry) => entry.taken);
  expect(taken.filter(({ what }) => what === "progress")).toHaveLength(items.length);
});

test("a worker that has lost the run cannot move the cursor, and is told to stop", async () => {
  const outcome: string[] = [];
  let isFirst = true;
  const sagaOf = long(async ({ progress, signal }) => {
    if (!isFirst) return;
    isFirst = false;
    await progress.set({ item: 1 });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    outcome.push(await codeOf(progress.set({ item: 2 })));
  });
  const top = benchTop([sagaOf]);
  await top.worker().start();
  const run = await top.start(sagaOf, { n: 1 });
  await top.clock.advance(100);
  await top.store.expire({
    owner: (await top.store.log(run)).at(-1)?.actor ?? "",
    serverId: null,
    pulse: null,
    compared: null,
  });
  const thief = await top.store.acquire({ run, owner: "thief", token: "stolen", leaseMs: 1_000 });
  expect(thief.answer).toBe("OK");
  await top.clock.advance(2 * settings.renewMs);
  expect(outcome).toEqual(["LEASE_LOST"]);
  expect((await top.store.ledger(run))[0]).toMatchObject({ progress: { item: 1 } });
});

test("what is no JSON or too large is refused by name, and the cursor stays", async () => {
  const said: (string | Json)[] = [];
  const sagaOf = long(async ({ progress }) => {
    await progress.set("here");
    said.push(await codeOf(progress.set(undefined as unknown as Json)));
    said.push(await codeOf(progress.set("x".repeat(settings.maxPayloadBytes + 1))));
    said.push(progress.get());
  });
  const top = benchTop([sagaOf]);
  await top.worker().start();
  await top.start(sagaOf, { n: 1 });
  await top.clock.advance(1_000);
  expect(said).toEqual(["INPUT_INVALID", "PAYLOAD_TOO_LARGE", "here"]);
});

test("on a named queue nobody keeps it, and that is said", async () => {
  const said: string[] = [];
  const sagaOf = long(async ({ progress }) => void said.push(await codeOf(progress.set(1))), { queue: "gpu" });
  const top = benchTop([sagaOf]);
  await top.worker({ queues: ["gpu"] }).start();
  await top.start(sagaOf, { n: 1 });
  await top.clock.advance(5_000);
  expect(said).toEqual(["INPUT_INVALID"]);
});

test("of a call that timed out no progress is kept any more", async () => {
  const said: string[] = [];
  let tries = 0;
  const sagaOf = long(async ({ progress }) => {
    tries += 1;
    if (tries > 1) return;
    await new Promise<void>((resolve) => void top.clock.after(62_000, resolve));
    said.push(await codeOf(progress.set(1)));
  });
  const top = benchTop([sagaOf]);
  await top.worker().start();
  const run = await top.start(sagaOf, { n: 1 });
  await top.clock.advance(90_000);
  expect(said).toEqual(["LEASE_LOST"]);
  expect((await top.store.ledger(run))[0]).toMatchObject({ progress: null, call: { state: "succeeded" } });
});
