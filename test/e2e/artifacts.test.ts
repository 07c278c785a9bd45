/** The program of docs/artifacts.md, taken from the page and run as it stands, on a real Redis. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { defaultSettings } from "../../src/config.ts";
import { owned, spawnChild, spawnProgram } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const root = new URL("../../", import.meta.url).pathname;
const page = readFileSync(join(root, "docs/artifacts.md"), "utf8");
const [, program = ""] = /```ts file=archive\.ts\n([\s\S]*?)```/.exec(page) ?? [];

const things = owned();
let dir = "";

beforeAll(() => {
  mkdirSync(join(root, "build"), { recursive: true });
  dir = mkdtempSync(join(root, "build/artifacts-"));
  writeFileSync(join(dir, "archive.ts"), program);
});
afterAll(async () => {
  await things.release();
  rmSync(dir, { recursive: true, force: true });
});

it("compiles as it stands", async () => {
  const config = { extends: join(root, "tsconfig.json"), include: [join(dir, "*.ts")], exclude: [] };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
  const tsc = await spawnProgram(join(root, "node_modules/.bin/tsc"), ["--noEmit", "-p", join(dir, "tsconfig.json")]);
  const { code } = await tsc.exit;
  expect(`${tsc.stdout}${tsc.stderr}`).toBe("");
  expect(code).toBe(0);
});

it("hands the document from step to step, and Redis holds none of it", async () => {
  const redis = things.own(await startRedisServer());
  const env = { REDIS_URL: redis.url, ARCHIVE_DIR: join(dir, "values") };
  const app = things.own(await spawnChild(join(dir, "archive.ts"), { env }));
  const { code } = await app.exit;
  expect(app.stderr).toBe("");
  expect(code).toBe(0);
  expect(app.stdout.trim()).toBe("50000");
  expect(readdirSync(join(dir, "values/n.default/t.default"))).toHaveLength(1);
  await redis.ask("CONFIG", "SET", "rdbcompression", "no");
  await redis.ask("SAVE");
  const held = readFileSync(join(redis.directory, "dump.rdb"));
  expect([held.includes("$artifact"), held.includes("all that the pages say")]).toEqual([true, false]);
});

it.each(["artifactThresholdBytes", "maxPayloadBytes", "maxRunBytes"] as const)("says what %s is unless set", (name) => {
  const [, standard = ""] = new RegExp(`\`${name}\`[^|]*\\|[^|]*\\|\\s*([\\d,]+)`).exec(page) ?? [];
  expect(Number(standard.replaceAll(",", ""))).toBe(defaultSettings[name]);
});
