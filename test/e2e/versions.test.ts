/** The files of docs/versions.md, taken from the page and run as they stand: two versions, a check, a dry run, and a move. */
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createClient } from "../../src/index.ts";
import { docPage } from "../support/doc-program.ts";
import { owned, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const root = resolve(import.meta.dirname, "../..");
const { own, release } = owned();
afterAll(release);

it("a run of the first version goes on beside the second, is moved to it, and is wrapped", async () => {
  const [page, redis] = [own(docPage("versions")), own(await startRedisServer())];
  const env = { REDIS_URL: redis.url };
  const ready = async (more: Record<string, string>) => {
    const child = await page.start("worker.ts", { ...env, ...more });
    await waitFor(() => child.stdout.includes("ready"), { what: "the worker", timeoutMs: 60_000 });
    return child;
  };
  const old = await ready({});
  const command = [join(root, "dist/cli/main.js"), "check", "--sagas", join(page.directory, "order.ts")];
  const checked = spawnSync(process.execPath, command, { env: { ...process.env, ...env }, encoding: "utf8" });
  expect([checked.status, checked.stdout]).toEqual([0, expect.stringContaining("✓ 1 run open: 1 goes on")]);

  const both = await ready({ SERVE: "both" });
  await old.kill("SIGTERM");
  expect(await page.output("move.ts", env)).toBe("o-1 moves input.gift: nothing -> false\n");
  const client = own(createClient({ redis: redis.url, sagas: [] }));
  const isMoved = async () => (await client.run("o-1").get()).version === 2;
  await waitFor(isMoved, { what: "the run to have moved", timeoutMs: 60_000, everyMs: 100 });
  expect(await client.run("o-1").get()).toMatchObject({ status: "waiting", input: { sku: "mug", gift: false } });
  const steps = (await client.run("o-1").ledger()).map(({ step }) => step);
  expect(steps).toEqual(["charge"]);
  expect(await both.kill("SIGTERM")).toEqual({ code: 0, signal: null });
});
