import { describe, inject } from "vitest";
import { storeContract } from "./store.suite.ts";
import { redisBench } from "./suite/redis-bench.ts";

describe.runIf(process.env["REPRISE_CONTRACT"] !== "memory")("over Redis", () => {
  storeContract(
    "redis",
    redisBench(() => inject("redisUrl")),
  );
});
