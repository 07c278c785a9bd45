/** Large values of runs beside Redis: they flow as if they lay in it, and a run that misses one does nothing. */
import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import {
  type Artifacts,
  createClient,
  fail,
  fileArtifacts,
  RunFailed,
  s3Artifacts,
  saga,
  step,
} from "../../src/index.ts";
import { redisConnections } from "../../src/redis/connections.ts";
import { credentials, region, startFakeS3 } from "../support/fake-s3.ts";
import { type Top, top, until } from "./top.ts";

const large = "a very large document ".repeat(10_000);
const document = z.object({ text: z.string() });

/** Scan a document, wait for a go, file it; `world` is what happened, in order, with what each call was given. */
function archive(world: string[], { refused = false } = {}) {
  const saw = (what: string, text: string) => world.push(`${what} ${text === large ? "the document" : text}`);
  const scan = step("scan", {
    input: z.object({}),
    output: document,
    effect: "keyed",
    action: () => {
      world.push("scan");
      return { text: large };
    },
    compensate: ({ output }) => void saw("shred", output?.text ?? "nothing"),
  });
  const file = step("file", {
    input: document,
    effect: "once",
    noCompensation: "it is only paper",
    action: ({ input }) => {
      saw("file", input.text);
      if (refused) throw fail("the archive is full");
      return null;
    },
  });
  return saga("archive", { version: 1, input: z.object({}), events: { GO: z.object({}) } })
    .step(scan, () => ({}))
    .waitFor("GO")
    .step(file, ({ results }) => results.scan)
    .build();
}

/** A directory for artifacts, and where the only value of a run lies in it. */
async function directory() {
  const dir = await mkdtemp(join(tmpdir(), "reprise-values-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return {
    artifacts: fileArtifacts({ dir }),
    file: async ({ namespace }: Top) => {
      const kept = join(dir, `n.${namespace}`, "t.default");
      const [name = ""] = await readdir(kept);
      return join(kept, name);
    },
  };
}

/** Everything Redis holds of a namespace, as one text. */
async function inRedis({ namespace }: Top): Promise<string> {
  const connections = redisConnections({ url: inject("redisUrl"), readyWithinMs: 10_000, commandTimeoutMs: 10_000 });
  onTestFinished(() => connections.close());
  const redis = connections.commands();
  await connections.ready(redis);
  const keys = (await redis.keys("*")).filter((key) => key.includes(namespace));
  const values = await Promise.all(
    keys.map(async (key) => {
      const type = await redis.type(key);
      if (type === "string") return await redis.get(key);
      if (type === "list") return (await redis.lrange(key, 0, -1)).join();
      return type === "hash" ? JSON.stringify(await redis.hgetall(key)) : "";
    }),
  );
  return values.join("\n");
}

async function waiting(on: Top, saga: ReturnType<typeof archive>) {
  const run = await on.client.start(saga, {}, { id: "r1" });
  await until(async () => (await run.get()).status === "waiting");
  return run;
}

describe("a large output", () => {
  test("reaches the next step and the compensation; Redis holds the reference alone", async () => {
    const world: string[] = [];
    const { artifacts } = await directory();
    const refusing = archive(world, { refused: true });
    const on = top([refusing], undefined, { artifacts });
    await on.worker();
    const run = await waiting(on, refusing);
    await run.signal("GO", {});
    await expect(run.result({ timeout: "10s" })).rejects.toBeInstanceOf(RunFailed);
    expect(world).toEqual(["scan", "file the document", "shred the document"]);
    expect((await run.ledger())[0]).toMatchObject({ output: { text: large }, missing: [] });
    const held = await inRedis(on);
    expect(held).toContain("$artifact");
    expect(held).not.toContain("a very large document");
    expect(held.length).toBeLessThan(20_000);
    expect(on.troubles).toEqual([]);
  });

  test("reaches whoever waits for the run's result", async () => {
    const { artifacts } = await directory();
    const make = step("make", { input: document, output: document, effect: "none", action: ({ input }) => input });
    const copy = saga("copy", { version: 1, input: document })
      .step(make, ({ input }) => input)
      .build();
    const on = top([copy], undefined, { artifacts });
    await on.worker();
    const run = await on.client.start(copy, { text: large });
    await expect(run.result({ timeout: "10s" })).resolves.toEqual({ make: { text: large } });
    expect(await inRedis(on)).not.toContain("a very large document");
    await expect(on.client.start(copy, { text: large }, { id: run.id })).resolves.toMatchObject({ id: run.id });
  });
});

describe("a value that is lost while its run waits", () => {
  const restored: Record<string, (file: string) => Promise<() => Promise<void>>> = {
    "is gone": async (file) => {
      await rename(file, `${file}.away`);
      return () => rename(`${file}.away`, file);
    },
    "is not what was": async (file) => {
      await rename(file, `${file}.away`);
      await writeFile(file, JSON.stringify({ text: "another document" }));
      return () => rename(`${file}.away`, file);
    },
  };

  test.each(Object.keys(restored))(
    "and %s: parked before any effect, and each effect is made once after it is back",
    async (how) => {
      const world: string[] = [];
      const { artifacts, file } = await directory();
      const on = top([archive(world)], undefined, { artifacts });
      await on.worker();
      const run = await waiting(on, archive(world));
      const restore = await restored[how]!(await file(on));
      await run.signal("GO", {});
      const { review } = await until(async () => {
        const view = await run.get();
        return view.status === "needs_review" ? view : null;
      });
      expect(review).toMatchObject({ reason: "missing_artifact", verbs: ["retry", "compensate", "close"] });
      expect(review?.message).toContain("the output of scan (row 1)");
      expect((await run.ledger())[0]?.missing).toMatchObject([{ where: "the output of scan (row 1)" }]);
      expect(await run.verdict()).toMatchObject({ verdict: "BLOCKED" });
      expect((await run.explain()).text).toContain("the output of scan (row 1)");
      await run.operator.retry({ by: "ann", reason: "is it back?" });
      await until(async () => (await run.get()).review?.n === 2);
      expect(world).toEqual(["scan"]);
      await restore();
      await run.operator.retry({ by: "ann", reason: "it is back" });
      await run.result({ timeout: "10s", through: "review" });
      expect(world).toEqual(["scan", "file the document"]);
    },
  );

  test("is not undone without it either: the compensation waits for the value", async () => {
    const world: string[] = [];
    const { artifacts, file } = await directory();
    const on = top([archive(world)], undefined, { artifacts });
    await on.worker();
    const run = await waiting(on, archive(world));
    const restore = await restored["is gone"]!(await file(on));
    await run.cancel({ by: "bob", reason: "not wanted" });
    await until(async () => (await run.get()).status === "needs_review");
    expect(world).toEqual(["scan"]);
    await restore();
    await run.operator.retry({ by: "ann", reason: "it is back" });
    await until(async () => (await run.get()).status === "cancelled");
    expect(world).toEqual(["scan", "shred the document"]);
  });

  test("is named by `result` instead of being passed for a result", async () => {
    const { artifacts, file } = await directory();
    const make = step("make", {
      input: z.object({}),
      output: document,
      effect: "none",
      action: () => ({ text: large }),
    });
    const whole = saga("whole", { version: 1, input: z.object({}) })
      .step(make, () => ({}))
      .build();
    const on = top([whole], undefined, { artifacts });
    await on.worker();
    const run = await on.client.start(whole, {});
    await run.result({ timeout: "10s" });
    await rm(await file(on));
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({
      code: "ARTIFACT_MISSING",
      message: expect.stringContaining("the output of the run"),
    });
    expect(await run.get()).toMatchObject({ status: "completed", missing: [{ why: "gone" }] });
  });
});

describe("a place that the environment names", () => {
  test("is where values are kept", async () => {
    const dir = await mkdtemp(join(tmpdir(), "reprise-values-"));
    vi.stubEnv("REPRISE_ARTIFACTS", `file://${dir}`);
    onTestFinished(async () => {
      vi.unstubAllEnvs();
      await rm(dir, { recursive: true, force: true });
    });
    const world: string[] = [];
    const on = top([archive(world)]);
    await on.worker();
    await waiting(on, archive(world));
    expect(await readdir(join(dir, `n.${on.namespace}`, "t.default"))).toHaveLength(1);
  });

  test("and that cannot be used is refused before anything is started", () => {
    vi.stubEnv("REPRISE_ARTIFACTS", "s3://values");
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    expect(() => createClient({ redis: "redis://127.0.0.1:1", sagas: [] })).toThrow("AWS_ACCESS_KEY_ID");
  });
});

test("a worker without a place for artifacts gives such a run back untouched, and one with it goes on", async () => {
  const world: string[] = [];
  const { artifacts } = await directory();
  const on = top([archive(world)], undefined, { artifacts });
  const first = await on.worker();
  const run = await waiting(on, archive(world));
  await first.stop();
  const stranger = await on.worker({ artifacts: undefined });
  await run.signal("GO", {});
  await until(() => on.facts.some(({ fact }) => fact === "unserved"));
  expect(on.troubles.join()).toContain("this process was given none");
  expect(await run.get()).toMatchObject({ status: "waiting", revision: (await run.log()).length });
  await stranger.stop();
  await on.worker();
  await run.result({ timeout: "20s" });
  expect(world).toEqual(["scan", "file the document"]);
});

test("a bucket that is away for a while holds a run up, and every effect is made once", async () => {
  const s3 = await startFakeS3();
  onTestFinished(() => s3.stop());
  const { endpoint, bucket } = s3;
  const artifacts: Artifacts = s3Artifacts({ endpoint, bucket, region, credentials, timeoutMs: 300 });
  const world: string[] = [];
  const on = top([archive(world)], undefined, { artifacts });
  await on.worker();
  s3.fault = "503";
  const run = await on.client.start(archive(world), {});
  await until(() => s3.requests.length > 2);
  expect(await run.get()).toMatchObject({ status: "running" });
  s3.fault = "none";
  await until(async () => (await run.get()).status === "waiting");
  s3.fault = "hang";
  await run.signal("GO", {});
  await until(() => on.troubles.some((trouble) => trouble.startsWith("acquire: artifact")));
  s3.fault = "none";
  await run.result({ timeout: "25s" });
  expect(world).toEqual(["scan", "file the document"]);
  expect(s3.objects.size).toBe(1);
});
