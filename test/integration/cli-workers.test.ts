/** `reprise worker`, `reprise workers list` and `reprise workers drain`, in the test's own process. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { createClient } from "../../src/index.ts";
import { cli, startCli } from "../support/cli.ts";
import { shapeOf } from "../support/shape.ts";
import { until } from "../support/top.ts";

const publicDoor = resolve(import.meta.dirname, "../../src/index.ts");

/** A project whose one saga asks its services for a word. */
function project() {
  const cwd = mkdtempSync(join(tmpdir(), "reprise-workers-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  writeFileSync(
    join(cwd, "saga.ts"),
    `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { saga, step } from ${JSON.stringify(publicDoor)};
const input = z.object({});
const greet = step("greet", { input, output: z.string(), effect: "none", action: ({ services }) => services.word });
export const greeting = saga("greeting", { version: 1, input })
  .step(greet, () => ({}))
  .build();\n`,
  );
  writeFileSync(join(cwd, "services.ts"), `export default async () => ({ word: "hello" });\n`);
  const namespace = `w${randomBytes(6).toString("hex")}`;
  const place = { redis: inject("redisUrl"), namespace, shards: inject("shards") };
  const config = { ...place, sagas: "./saga.ts", services: "./services.ts", settings: { shutdownMs: 3_000 } };
  writeFileSync(join(cwd, "reprise.config.json"), JSON.stringify(config));
  return { cwd, place };
}

function startWorker(cwd: string, flags: readonly string[] = []) {
  const abort = new AbortController();
  const argv = ["worker", "--admin-port", "0", "--allow-forgetful-store", "--json", ...flags];
  const started = startCli(argv, { cwd, signal: abort.signal });
  onTestFinished(async () => {
    abort.abort();
    await started.told;
  });
  const ready = until(() => (started.stdout().includes("\n") ? started.stdout() : null));
  return { ...started, abort, ready: ready.then((text) => JSON.parse(text) as { readonly data: Ready }) };
}

interface Ready {
  readonly id: string;
  readonly admin: string;
}

test("a worker serves the project's sagas with its services, is listed, and leaves when it is asked to", async () => {
  const { cwd, place } = project();
  const worker = startWorker(cwd, ["--name", "eu-1", "--concurrency", "7"]);
  const { data } = await worker.ready;
  expect(data).toMatchObject({ pid: process.pid, sagas: ["greeting@1"] });
  expect(shapeOf(await worker.ready)).toMatchSnapshot("WorkerReady");
  expect((await fetch(`${data.admin}/livez`)).status).toBe(200);
  const client = createClient({ ...place, sagas: [] });
  onTestFinished(() => client.close());
  await until(async () => (await client.workers()).workers[0]?.heartbeat);
  const listed = await cli(["workers", "list", "--json"], { cwd });
  expect(JSON.parse(listed.stdout)).toMatchObject({
    kind: "WorkerList",
    data: [{ id: data.id, state: "ready", heartbeat: { name: "eu-1", slots: { busy: 0, total: 7 } } }],
  });
  expect(shapeOf(JSON.parse(listed.stdout))).toMatchSnapshot("WorkerList");
  expect(listed.stderr).toContain("No supervisor");
  const glance = await cli(["top", "--json"], { cwd });
  expect(JSON.parse(glance.stdout)).toMatchObject({
    apiVersion: "v1",
    kind: "Overview",
    data: {
      ...{
        tenant: "default",
        backlog: { count: 0, oldestMs: null },
        pace: { begun: 0, ended: 0, steps: 0 },
        parked: 0,
      },
      ...{ sagas: [{ saga: "greeting", runs: { running: 0, completed: 0 } }], workers: [{ id: data.id }] },
    },
  });
  expect((await cli(["top"], { cwd })).stdout).toContain("eu-1");
  const dry = await cli(["workers", "drain", data.id, "--dry-run"], { cwd });
  expect([dry.code, dry.stdout, dry.stderr]).toEqual([0, "eu-1 would be asked to drain.\n", ""]);
  const would = await cli(["workers", "drain", data.id, "--dry-run", "--json"], { cwd });
  expect(shapeOf(JSON.parse(would.stdout))).toMatchSnapshot("Drain");
  const drained = await cli(["workers", "drain", data.id, "--reason", "deploy", "--by", "ann"], { cwd });
  expect([drained.code, drained.stdout]).toEqual([0, "eu-1 was asked to drain by ann: deploy\n"]);
  const told = await worker.told;
  expect(told.code).toBe(0);
  expect(told.stderr).toContain("ann asked for it (deploy)");
  const none = await cli(["workers", "list"], { cwd });
  expect([none.stdout, none.stderr]).toEqual(["", expect.stringContaining("reprise worker")]);
});

test("SIGTERM drains it, and it ends with 0", async () => {
  const { cwd } = project();
  const worker = startWorker(cwd);
  await worker.ready;
  worker.abort.abort();
  const told = await worker.told;
  expect([told.code, told.stderr]).toEqual([0, expect.stringContaining("Draining")]);
});

test("a worker of no pool is refused: it would drive nothing", async () => {
  const { cwd } = project();
  const worker = await cli(["worker", "--pools", ",", "--admin-port", "0"], { cwd });
  expect([worker.code, worker.stderr]).toEqual([2, expect.stringContaining("--pools")]);
});

test("without a saga there is nothing to serve, and a worker that is not there cannot be asked", async () => {
  const { cwd, place } = project();
  writeFileSync(join(cwd, "reprise.config.json"), JSON.stringify(place));
  const worker = await cli(["worker"], { cwd });
  expect([worker.code, worker.stderr]).toEqual([2, expect.stringContaining("names no saga")]);
  const drain = await cli(["workers", "drain", "nobody", "--reason", "x", "--json"], { cwd });
  expect(drain.code).toBe(3);
  expect(JSON.parse(drain.stderr.trim().split("\n").at(-1) ?? "")).toMatchObject({
    error: { code: "WORKER_NOT_FOUND", runbook: "docs/runbooks/WORKER_NOT_FOUND.md" },
  });
});

test("a supervisor says that it watches", async () => {
  const { cwd } = project();
  const abort = new AbortController();
  const started = startCli(["supervisor", "--admin-port", "0", "--jsonl"], { cwd, signal: abort.signal });
  onTestFinished(async () => {
    abort.abort();
    await started.told;
  });
  await until(() => started.stdout().includes("\n"));
  expect(shapeOf(JSON.parse(started.stdout().split("\n")[0] ?? ""))).toMatchSnapshot("SupervisorReady");
});
