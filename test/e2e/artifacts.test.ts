/** The program of docs/artifacts.md, taken from the page and run as it stands, on a real Redis. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { defaultSettings } from "../../src/config.ts";
import { docPage } from "../support/doc-program.ts";
import { owned } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const { own, release } = owned();
afterAll(release);
const page = own(docPage("artifacts"));

it("hands the document from step to step, and Redis holds none of it", async () => {
  const redis = own(await startRedisServer());
  const values = join(page.directory, "values");
  const printed = await page.output("archive.ts", { REDIS_URL: redis.url, ARCHIVE_DIR: values });
  expect(printed.trim()).toBe("50000");
  expect(readdirSync(join(values, "n.default/t.default"))).toHaveLength(1);
  await redis.ask("CONFIG", "SET", "rdbcompression", "no");
  await redis.ask("SAVE");
  const held = readFileSync(join(redis.directory, "dump.rdb"));
  expect([held.includes("$artifact"), held.includes("all that the pages say")]).toEqual([true, false]);
});

it.each(["artifactThresholdBytes", "maxPayloadBytes", "maxRunBytes"] as const)("says what %s is unless set", (name) => {
  const [, standard = ""] = new RegExp(`\`${name}\`[^|]*\\|[^|]*\\|\\s*([\\d,]+)`).exec(page.text) ?? [];
  expect(Number(standard.replaceAll(",", ""))).toBe(defaultSettings[name]);
});
