/** `reprise migrate` on a real Redis with a worker of both versions: what it says before, and where the runs are afterwards. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { order1, order2 } from "../fixtures/cli/versions.ts";
import { cli } from "../support/cli.ts";
import { shapeOf } from "../support/shape.ts";
import { top, until } from "./top.ts";

const versions = resolve(import.meta.dirname, "../fixtures/cli/versions.ts");

/** Runs of version 1 that wait, one of which the migration cannot take, and a command line that knows both versions. */
async function scene() {
  const here = top([order1, order2]);
  await here.worker({ allowForgetfulStore: true });
  for (const sku of ["a", "b", "bad"]) {
    const run = await here.client.start(order1, { sku }, { id: sku });
    await until(async () => (await run.get()).waitingFor === "event");
  }
  const cwd = mkdtempSync(join(tmpdir(), "reprise-migrate-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const place = { redis: inject("redisUrl"), namespace: here.namespace, shards: inject("shards"), sagas: versions };
  writeFileSync(join(cwd, "reprise.config.json"), JSON.stringify(place));
  const run = (...argv: readonly string[]) => cli(["migrate", ...argv, "--by", "ann"], { cwd });
  const versionOf = async (id: string) => (await here.client.run(id).get()).version;
  return { ...here, run, versionOf };
}

test("it says first what would become of each run, and changes nothing", async () => {
  const { run, versionOf } = await scene();
  const { code, stdout } = await run("--all", "--dry-run", "--json");
  const report = JSON.parse(stdout);
  expect([code, report.kind]).toEqual([10, "RunMigrationList"]);
  const fates = report.data.map((each: { run: string; fate: string; problem: string }) => [each.run, each.fate]);
  expect(fates.sort()).toEqual([
    ["a", "moves"],
    ["b", "moves"],
    ["bad", "refused"],
  ]);
  expect(shapeOf(report.data.find((each: { fate: string }) => each.fate === "moves"))).toMatchSnapshot("RunMigration");
  const refused = await run("bad", "--dry-run");
  expect([refused.code, refused.stdout]).toEqual([7, expect.stringContaining("no such sku")]);
  expect(await Promise.all(["a", "b", "bad"].map(versionOf))).toEqual([1, 1, 1]);
});

test("what fits is moved, what does not is named and stays, and a second time there is nothing to do for the others", async () => {
  const { client, run, versionOf } = await scene();
  const asks = await run("--saga", "order", "--from", "1");
  expect([asks.code, asks.stderr]).toEqual([2, expect.stringContaining("--yes")]);
  const bare = await run("--saga", "order", "--yes");
  expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining("--reason")]);
  const done = await run("--saga", "order", "--from", "1", "--yes", "--reason", "gifts");
  expect([done.code, done.stdout]).toEqual([10, expect.stringMatching(/refused +bad +1 +2 .*no such sku/)]);
  await until(async () => (await versionOf("a")) === 2 && (await versionOf("b")) === 2);
  expect(await versionOf("bad")).toBe(1);
  expect((await client.audit({ act: "migrate" })).acts).toMatchObject([
    { by: "ann", reason: "gifts", about: "version 2" },
    { by: "ann", reason: "gifts", about: "version 2" },
  ]);
  const again = await run("--all", "--dry-run");
  expect([again.code, again.stdout]).toEqual([7, expect.not.stringMatching(/moves/)]);
});

test("a saga that this project does not have, and a version without a saga, are refused", async () => {
  const { run } = await scene();
  expect((await run("--saga", "trip", "--dry-run")).code).toBe(3);
  const bare = await run("--from", "1", "--dry-run");
  expect([bare.code, bare.stderr]).toEqual([2, expect.stringContaining("--saga")]);
  expect((await run("a", "--all", "--dry-run")).code).toBe(2);
});
