import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { findRedisServer, startServer } from "../../src/redis/ensure.mjs";

const urlVariable = "REPRISE_TEST_REDIS_URL";

/**
 * One private redis-server for all files of all projects that do not disturb it: unix socket, every write synced, no
 * eviction. Tests read its URL by `inject("redisUrl")` or from REPRISE_TEST_REDIS_URL, and each works in a namespace of
 * its own. Set beforehand, REPRISE_TEST_REDIS_URL names the server to test on; REDIS_URL is never written to by a test.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env[urlVariable];
  project.provide("shards", 1);
  if (given !== undefined) {
    project.provide("redisUrl", given);
    return async () => {};
  }
  const dir = await mkdtemp(join(tmpdir(), "reprise-redis-"));
  const server = await startServer(await findRedisServer({ log: console.log }), { dir });
  process.env[urlVariable] = server.url;
  project.provide("redisUrl", server.url);
  return async () => {
    delete process.env[urlVariable];
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
}

declare module "vitest" {
  interface ProvidedContext {
    redisUrl: string;
    /** How many shards a namespace of the tests has. */
    shards: number;
  }
}
