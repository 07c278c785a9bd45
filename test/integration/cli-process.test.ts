/**
 * The built command line as a process of its own: Ctrl-C, and a reader who stops reading. (Not once more in a cluster: there is nothing of Redis in it.)
 */
import { join, resolve } from "node:path";
import { beforeAll, expect, inject, test, vi } from "vitest";
import { order, sagas } from "../fixtures/cli/sagas.ts";
import buildPackage from "../support/global-build.ts";
import { spawnProgram, waitFor } from "../support/processes.ts";
import { top } from "./top.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });
beforeAll(buildPackage);
const root = resolve(import.meta.dirname, "../..");
const program = join(root, "dist/cli/main.js");

test("Ctrl-C while a run is watched leaves the run alone, says how to look again, and exits 130", async () => {
  const scene = top(sagas);
  await scene.client.start(order, { id: "o-1", cents: 7 }, { id: "r1", delay: "1h" });
  const env = {
    REDIS_URL: inject("redisUrl"),
    REPRISE_NAMESPACE: scene.namespace,
    REPRISE_SHARDS: String(inject("shards")),
  };
  // From a folder without a reprise.config: watching needs no saga.
  const argv = [program, "runs", "watch", "r1", "--jsonl"];
  const watching = await spawnProgram(process.execPath, argv, { env, cwd: join(root, "docs") });
  await waitFor(() => watching.stdout.includes('"id":"r1"'), { what: "the run to be shown", timeoutMs: 25_000 });
  const { code } = await watching.kill("SIGINT");
  expect([code, watching.stderr]).toEqual([
    130,
    expect.stringContaining("The run goes on. Look at it again: reprise runs watch r1"),
  ]);
  expect((await scene.client.run("r1").get()).status).not.toBe("cancelled");
});

test("a reader who stops reading is no error", async () => {
  const scene = top(sagas);
  await scene.client.startMany(
    order,
    Array.from({ length: 30 }, (_, at) => ({ id: `r${at}`, input: { id: "o", cents: 1 } })),
  );
  const env = {
    REDIS_URL: inject("redisUrl"),
    REPRISE_NAMESPACE: scene.namespace,
    REPRISE_SHARDS: String(inject("shards")),
  };
  const quoted = [process.execPath, program].map((word) => `'${word}'`).join(" ");
  const piped = await spawnProgram("sh", ["-c", `${quoted} runs list --jsonl | head -n 1`], {
    env,
    cwd: join(root, "docs"),
  });
  expect(await piped.exit).toMatchObject({ code: 0 });
  expect([piped.stdout.split("\n").length, piped.stderr]).toEqual([2, ""]);
});
