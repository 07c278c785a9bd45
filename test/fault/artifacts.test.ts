/**
 * A worker is killed during a call that was given a large value, and the value is lost before the next worker comes: that
 * one repeats nothing, though the call is safe to repeat, until the value is back.
 */
import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createClient, fileArtifacts } from "../../src/index.ts";
import { type Child, owned, spawnChild, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { archive, effectsIn, type Place } from "./artifacts-saga.ts";

const directory = mkdtempSync(join(tmpdir(), "reprise-artifacts-"));
const all = owned();
afterAll(async () => {
  await all.release();
  rmSync(directory, { recursive: true, force: true });
});

test("kill -9 during a call, its value lost meanwhile: parked, restored, and the effect was made once", async () => {
  const redis = all.own(await startRedisServer());
  const values = join(directory, "values");
  const world = join(directory, "world.txt");
  const place: Place = {
    REDIS_URL: redis.url,
    REPRISE_NAMESPACE: "archive",
    REPRISE_ARTIFACTS: `file://${values}`,
    WORLD: world,
  };
  const program = new URL("./artifacts.child.ts", import.meta.url);
  const worker = async (): Promise<Child> => all.own(await spawnChild(program, { env: { ...place } }));
  const artifacts = fileArtifacts({ dir: values });
  const client = createClient({ redis: redis.url, namespace: "archive", sagas: [archive], artifacts });
  all.own(client);

  const first = await worker();
  const run = await client.start(archive, {}, { id: "r1" });
  await waitFor(() => effectsIn(world).length === 2, { what: "the document to be filed" });
  expect(await first.kill("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" });
  const kept = join(values, "n.archive/t.default");
  const [name = ""] = readdirSync(kept);
  renameSync(join(kept, name), join(directory, "backup"));

  await worker();
  const parked = await waitFor(async () => (await run.get()).review ?? undefined, { what: "the run to be parked" });
  expect(parked).toMatchObject({ reason: "missing_artifact" });
  expect(parked.message).toContain(name);
  expect(await run.verdict()).toMatchObject({ verdict: "BLOCKED" });
  expect((await run.ledger())[1]?.call).toMatchObject({ state: "sent", send: 1 });

  renameSync(join(directory, "backup"), join(kept, name));
  await run.operator.retry({ by: "ann", reason: "restored from the backup" });
  await run.result({ timeout: "30s", through: "review" });
  expect((await run.ledger())[1]?.call).toMatchObject({ state: "succeeded", send: 2 });
  expect(effectsIn(world).map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
    "scan archive/default/r1/scan/1",
    "file archive/default/r1/file/1",
  ]);
});
