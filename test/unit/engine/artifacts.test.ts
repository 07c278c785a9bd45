/** Workers over a store whose large values lie elsewhere: nobody is called without what it is to be given. */
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { withArtifacts } from "../../../src/artifacts/index.ts";
import { type RunRef, runKey, type Store } from "../../../src/core/index.ts";
import { saga, step } from "../../../src/saga/index.ts";
import { MemoryArtifacts } from "../../support/artifacts.ts";
import { benchTop } from "./bench-top.ts";

const large = { text: "x".repeat(5_000) };
const document = z.object({ text: z.string() });

const seen: string[] = [];
const saw = (what: string, { text }: { readonly text: string }) => {
  seen.push(`${what} ${text === large.text ? "the document" : text}`);
  return { text };
};

const scan = step("scan", { input: z.object({}), output: document, effect: "none", action: () => saw("scan", large) });
const render = step("render", {
  input: document,
  output: document,
  effect: "once",
  noCompensation: "it is only pixels",
  queue: "gpu",
  action: ({ input }) => saw("render", input),
});
const rendering = saga("rendering", { version: 1, input: z.object({}) })
  .step(scan, () => ({}))
  .step(render, ({ results }) => results.scan)
  .build();

function opened() {
  const artifacts = new MemoryArtifacts();
  const top = benchTop([rendering], (store) =>
    withArtifacts(store, { artifacts, namespace: "test", thresholdBytes: 1_000 }),
  );
  return { ...top, artifacts };
}

async function retry({ store, queue }: ReturnType<typeof benchTop>, run: RunRef, review: number): Promise<void> {
  const verb = { verb: "retry", input: undefined, reason: "it is back" } as const;
  const slot = `review:${review}`;
  const sent = await store.send({ run, slot, commandId: slot, by: "ann", body: { type: "verb", verb } });
  if (sent.answer === "OK" && sent.wake !== null) await queue.wakeUps.wake([sent.wake]);
}

/** The run as the store holds it. */
const read = async (store: Store, run: RunRef) => (await store.read(run)) ?? expect.fail(`no run ${runKey(run)}`);

beforeEach(() => {
  seen.length = 0;
});

describe("a worker of a named queue", () => {
  test("does not call a step whose input is missing; the run parks, and the call is made once when it is back", async () => {
    const top = opened();
    await top.worker().start();
    const run = await top.start(rendering, {});
    await top.clock.advance(1_000);
    expect((await top.store.ledger(run))[1]?.call.state).toBe("offered");
    const restore = top.artifacts.lose();
    await top.worker({ pools: [], queues: ["gpu"] }).start();
    await top.clock.advance(10_000);
    expect(seen).toEqual(["scan the document"]);
    expect((await read(top.store, run)).review).toMatchObject({ n: 1, reason: "missing_artifact" });
    restore();
    await retry(top, run, 1);
    await top.clock.advance(10_000);
    expect(await read(top.store, run)).toMatchObject({ status: "completed" });
    expect(seen).toEqual(["scan the document", "render the document"]);
  });
});

describe("while nobody can say what is kept", () => {
  test("an outcome waits to be written, and is written when they can", async () => {
    const top = opened();
    top.artifacts.isAway = true;
    await top.worker({ queues: ["gpu"] }).start();
    const run = await top.start(rendering, {});
    await top.clock.advance(5_000);
    expect(seen).toEqual(["scan the document"]);
    expect((await read(top.store, run)).status).toBe("running");
    top.artifacts.isAway = false;
    await top.clock.advance(30_000);
    expect(await read(top.store, run)).toMatchObject({ status: "completed" });
    expect(seen).toEqual(["scan the document", "render the document"]);
  });

  test("a run is neither driven nor parked", async () => {
    const top = opened();
    const first = top.worker();
    await first.start();
    const run = await top.start(rendering, {});
    await top.clock.advance(1_000);
    const stopped = first.stop();
    await top.clock.advance(20_000);
    await stopped;
    const { revision } = await read(top.store, run);
    top.artifacts.isAway = true;
    await top.worker({ queues: ["gpu"] }).start();
    await top.clock.advance(60_000);
    expect(await read(top.store, run)).toMatchObject({ revision, review: null });
    expect(seen).toEqual(["scan the document"]);
    top.artifacts.isAway = false;
    await top.clock.advance(60_000);
    expect(await read(top.store, run)).toMatchObject({ status: "completed" });
    expect(seen).toEqual(["scan the document", "render the document"]);
  });
});
