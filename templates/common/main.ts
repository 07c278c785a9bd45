/** `npm start`: a Redis of its own (or REDIS_URL), a worker, and one run from start to end. */
import { join } from "node:path";
import { createClient, createWorker, ensureRedis } from "reprise";
import { FakeWorld, worldClient } from "reprise/testing";
import { input, saga } from "./example.ts";
import * as sagas from "./sagas/index.ts";

const redis = await ensureRedis({ dir: join(import.meta.dirname, ".reprise/redis") });
const world = new FakeWorld();
const place = { redis: redis.url, sagas: Object.values(sagas) };
const worker = createWorker({ ...place, services: worldClient(world) });
const client = createClient(place);
try {
  await worker.start();
  const run = await client.start(saga, input);
  console.log(`started ${saga.name} ${run.id}`);
  console.log("result:", JSON.stringify(await run.result({ timeout: "60s" })));
  for (const { step, call } of await run.ledger()) console.log(`  ${step}: ${call.state}`);
} finally {
  await client.close();
  await worker.stop();
  await redis.stop();
}
