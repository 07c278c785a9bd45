/** A worker process: start as many as you like. SIGTERM drains it; kill -9 is safe: another one takes over. */
import { createWorker } from "reprise";
import { worldClient } from "reprise/testing";
import * as sagas from "./sagas/index.ts";

const worker = createWorker({
  redis: process.env["REDIS_URL"],
  sagas: Object.values(sagas),
  // The fake world stands in for your services: replace it by the SDKs that your steps call.
  services: worldClient(process.env["WORLD_URL"] ?? "http://127.0.0.1:4100"),
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void worker.stop());
await worker.start();
console.log(`worker ${worker.id} serves ${Object.keys(sagas).join(", ")}`);
