import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

/** `file: imports` — a tree in which every rule is broken once, and some of what is allowed stands beside it. */
const planted: Readonly<Record<string, string>> = {
  "src/errors.ts": `import "./saga/index.ts";`,
  "src/config.ts": `import "./core/index.ts";`,
  "src/project.ts": `import "./core/index.ts"; import "./config.ts";`,
  "src/index.ts": `export * from "./testing/index.ts";`,
  "src/orchestrator/index.ts": `import "../cli/index.ts";`,
  "src/saga/index.ts": `import "../core/index.ts";`,
  "src/saga/logic.ts": `import { fromPromise } from "xstate"; void fromPromise;`,
  "src/saga/step.ts": `import type { AnyActor } from "xstate"; import { setup } from "xstate"; void setup; export type A = AnyActor;`,
  "src/core/index.ts": `import "../store/index.ts"; import "../errors.ts"; import "node:fs";`,
  "src/core/digest.ts": `import "node:crypto"; import "canonicalize";`,
  "src/core/ids.ts": `import "node:crypto"; import "canonicalize"; import "node:vm";`,
  "src/store/index.ts": `import "ioredis"; import "bullmq"; import "../queue/index.ts";`,
  "src/store/keys.ts": `import "../core/ids.ts";`,
  "src/queue/index.ts": `import "bullmq"; import "ioredis"; import "../store/index.ts"; import "aws4fetch"; import "pino";`,
  "src/artifacts/index.ts": `import "aws4fetch"; import "../store/index.ts";`,
  "src/telemetry/index.ts": `import "../engine/index.ts";`,
  "src/redis/index.ts": `import "../core/index.ts";`,
  "src/engine/index.ts": `import "../store/index.ts"; import type { AnyActor } from "xstate"; export type A = AnyActor;`,
  "src/client/index.ts": `import "../engine/index.ts";`,
  "src/page/index.ts": `import "../store/index.ts";`,
  "src/admin/index.ts": `import "../core/index.ts"; import "../store/index.ts";`,
  "src/supervisor/index.ts": `import "../client/index.ts"; import "../store/index.ts";`,
  "src/webhook/index.ts": `import "../core/index.ts";`,
  "src/idempotency/index.ts": `import "../core/index.ts"; import "../store/index.ts";`,
  "src/testing/index.ts": `import "../store/index.ts"; import "../queue/index.ts"; import "vitest"; import "../../test/world.ts";`,
  "src/cli/index.ts": `import "../testing/index.ts"; import "../orchestrator/index.ts"; import "../store/index.ts";`,
  "src/http/index.ts": `import "../testing/index.ts";`,
  "src/dashboard/index.ts": `import "../store/index.ts";`,
  "src/mcp/index.ts": `import "../engine/index.ts";`,
  "src/ai/index.ts": `import "../engine/index.ts"; import "./nowhere.ts";`,
  "sagas/order.ts": `import "reprise"; import "../src/core/index.ts";`,
  "workers/worker.ts": `import "../sagas/order.ts"; import "reprise";`,
  "test/world.ts": "export {};",
};

const project = resolve(import.meta.dirname, "../..");
const rules = createRequire(import.meta.url)("../../.dependency-cruiser.cjs") as { forbidden: { name: string }[] };
let violations: { rule: { name: string }; from: string; to: string }[];
let tree: string;

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), "reprise-rules-"));
  for (const [file, text] of Object.entries(planted)) {
    await mkdir(dirname(join(tree, file)), { recursive: true });
    await writeFile(join(tree, file), text);
  }
  for (const file of ["package.json", "tsconfig.json", ".dependency-cruiser.cjs"]) {
    await cp(join(project, file), join(tree, file));
  }
  await symlink(join(project, "node_modules"), join(tree, "node_modules"));
  const program = join(project, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");
  const args = [program, "--config", ".dependency-cruiser.cjs", "--output-type", "json", "src", "sagas", "workers"];
  violations = JSON.parse(execFileSync(process.execPath, args, { cwd: tree, encoding: "utf8" })).summary.violations;
}, 60_000);

afterAll(() => rm(tree, { recursive: true, force: true }));

test("every dependency rule catches the violation planted for it", () => {
  const caught = new Set(violations.map((violation) => violation.rule.name));
  expect(rules.forbidden.map((rule) => rule.name).filter((name) => !caught.has(name))).toEqual([]);
});

test.each([
  ["src/core/index.ts", "src/errors.ts", "any room may import the errors"],
  ["src/testing/index.ts", "src/store/index.ts", "testing has the memory store"],
  ["src/cli/index.ts", "src/testing/index.ts", "the command line simulates"],
  ["src/cli/index.ts", "src/orchestrator/index.ts", "a face starts at the composition root"],
  ["sagas/order.ts", "reprise", "an example imports the package by name"],
  ["sagas/order.ts", "src/index.ts", "which is its public door"],
  ["workers/worker.ts", "sagas/order.ts", "a worker serves the examples"],
])("%s may import %s: %s", (from, to) => {
  const refused = violations.filter((violation) => violation.rule.name !== "no-cycles");
  expect(refused.filter((violation) => violation.from === from && violation.to === to)).toEqual([]);
});

test("core/digest.ts has the hash, saga/logic.ts has values of XState, other files of saga have its types only", () => {
  const from = (file: string) => violations.filter((violation) => violation.from === file).map(({ rule }) => rule.name);
  expect(from("src/core/digest.ts")).toEqual([]);
  expect(from("src/saga/logic.ts")).toEqual([]);
  expect(from("src/saga/step.ts")).toEqual(["xstate-values"]);
});
