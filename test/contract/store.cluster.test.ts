import { afterAll, beforeAll, describe } from "vitest";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { storeContract } from "./store.suite.ts";
import { redisBench } from "./suite/redis-bench.ts";

/** One server in cluster mode that owns all slots: every key must lie where its script runs. */
describe.runIf(process.env["REPRISE_CONTRACT"] !== "memory")("over a cluster", () => {
  let server: RedisServer | null = null;
  beforeAll(async () => {
    server = await startRedisServer({ cluster: true });
  });
  afterAll(async () => {
    await server?.stop();
  });
  storeContract(
    "cluster",
    redisBench(() => `${server?.url}?cluster=true`),
  );
});
