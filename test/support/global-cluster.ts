/**
 * The same suite in cluster mode: one redis-server that owns all slots, and that is asked at the end whether any command
 * ever crossed slots. `shards` says over how many hash tags a namespace is spread.
 */
import type { TestProject } from "vitest/node";
import { startRedisServer } from "./redis-server.ts";

/** The global setup for a number of shards. */
export function clusterOf(shards: number): (project: TestProject) => Promise<() => Promise<void>> {
  return async (project) => {
    const server = await startRedisServer({ cluster: true });
    project.provide("redisUrl", `${server.url}?cluster=true`);
    project.provide("shards", shards);
    return async () => {
      const errors = String(await server.ask("INFO", "errorstats"));
      await server.stop();
      if (errors.includes("CROSSSLOT")) throw new Error(`commands crossed slots in cluster mode: ${errors}`);
    };
  };
}
