/** `reprise dev` of the built package as a process of its own, with a Redis of its own, in a project whose TypeScript its tsx reads: a changed file is served, and Ctrl-C leaves nothing behind. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { findRedisServer } from "../../src/redis/ensure.mjs";
import buildPackage from "../support/global-build.ts";
import { type ProcessHandle, spawnProgram, waitFor } from "../support/processes.ts";
import { shapeOf } from "../support/shape.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
beforeAll(buildPackage);
const root = resolve(import.meta.dirname, "../..");
const program = join(root, "dist/cli/main.js");

function sagaText(version: number): string {
  return `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { saga, step } from ${JSON.stringify(join(root, "dist/index.js"))};
const input = z.object({});
const greet = step("greet", { input, effect: "none", action: () => undefined });
export const greeting = saga("greeting", { version: ${version}, input }).step(greet, () => ({})).build();\n`;
}

/** A project, and a folder in which Redis and nothing else is found and kept. */
async function project() {
  const folder = mkdtempSync(join(tmpdir(), "reprise-dev-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(join(root, "node_modules/tsx"), join(folder, "node_modules/tsx"));
  writeFileSync(join(folder, "saga.ts"), sagaText(1));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "reprise.config.json"), JSON.stringify({ sagas: "./saga.ts", namespace: "dev" }));
  const found = await findRedisServer();
  const env = {
    ...found.env,
    PATH: [dirname(found.binary), process.env["PATH"]].join(delimiter),
    XDG_CACHE_HOME: join(folder, ".cache"),
    REDIS_URL: "",
  };
  return { folder, env };
}

interface Serving {
  readonly redis: string;
  readonly sagas: readonly string[];
  readonly workers: readonly { readonly pid: number }[];
  readonly changed: readonly string[];
}

async function serving(dev: ProcessHandle, n: number): Promise<Serving> {
  const what = `it to serve for the ${n}th time`;
  await waitFor(() => dev.stdout.trim().split("\n").filter(Boolean).length >= n, { what, timeoutMs: 40_000 });
  return JSON.parse(dev.stdout.trim().split("\n")[n - 1] ?? "").data;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a changed saga is served, a broken one is told and mended, and Ctrl-C ends Redis and workers", async () => {
  const { folder, env } = await project();
  const dev = await spawnProgram(process.execPath, [program, "dev", "--jsonl"], { env, cwd: folder });
  onTestFinished(() => dev.stop());
  const first = await serving(dev, 1);
  expect([first.sagas, first.changed, first.workers.length]).toEqual([["greeting@1"], [], 1]);
  expect(first.redis).toMatch(/^unix:/);
  expect(shapeOf(first)).toMatchSnapshot("DevServing");

  writeFileSync(join(folder, "saga.ts"), sagaText(2));
  const second = await serving(dev, 2);
  expect([second.sagas, second.changed]).toEqual([["greeting@2"], ["saga.ts"]]);
  expect(isAlive(first.workers[0]?.pid ?? 0)).toBe(false);

  writeFileSync(join(folder, "saga.ts"), "export const broken = ;\n");
  await waitFor(() => dev.stderr.includes("No worker serves"), { what: "it to be told", timeoutMs: 40_000 });
  expect(dev.stderr).toContain("saga.ts");
  writeFileSync(join(folder, "saga.ts"), sagaText(3));
  const third = await serving(dev, 3);
  expect(third.sagas).toEqual(["greeting@3"]);

  const socket = third.redis.slice("unix://".length);
  const redisPid = Number(readFileSync(join(dirname(socket), "redis.pid"), "utf8").trim());
  expect(isAlive(redisPid)).toBe(true);
  const { code } = await dev.kill("SIGINT");
  expect([code, dev.stderr]).toEqual([0, expect.stringContaining("Everything has ended")]);
  const pids = [redisPid, ...third.workers.map(({ pid }) => pid)];
  await waitFor(() => pids.every((pid) => !isAlive(pid)), { what: "everything to have ended", timeoutMs: 10_000 });
});

test("a Redis that is named is used, and left as it is; several workers serve", async () => {
  const { folder, env } = await project();
  const named = { ...env, REDIS_URL: inject("redisUrl"), REPRISE_SHARDS: String(inject("shards")) };
  const argv = [program, "dev", "--jsonl", "--workers", "2", "--namespace", `dev${process.pid}`];
  const dev = await spawnProgram(process.execPath, argv, { env: named, cwd: folder });
  onTestFinished(() => dev.stop());
  const { redis, workers } = await serving(dev, 1);
  expect([redis, new Set(workers.map(({ pid }) => pid)).size]).toEqual([inject("redisUrl"), 2]);
  expect((await dev.kill("SIGTERM")).code).toBe(0);
  await waitFor(() => workers.every(({ pid }) => !isAlive(pid)), { what: "the workers to end", timeoutMs: 10_000 });
});

test("workers of one that is killed notice it and end", async () => {
  const { folder, env } = await project();
  const named = { ...env, REDIS_URL: inject("redisUrl"), REPRISE_SHARDS: String(inject("shards")) };
  const argv = [...program, "dev", "--jsonl", "--namespace", `killed${process.pid}`];
  const dev = await spawnProgram(process.execPath, argv, { env: named, cwd: folder });
  onTestFinished(() => dev.stop());
  const { workers } = await serving(dev, 1);
  const pid = workers[0]?.pid ?? 0;
  onTestFinished(() => void (isAlive(pid) && process.kill(pid, "SIGKILL")));
  expect(isAlive(pid)).toBe(true);
  await dev.kill("SIGKILL");
  await waitFor(() => !isAlive(pid), { what: "its worker to end", timeoutMs: 20_000 });
});
