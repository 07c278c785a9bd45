/** A worker process that keeps its log where it is kept by default, on stderr. Told where Redis is by its environment. */
import process from "node:process";
import { createWorker } from "../../src/index.ts";
import { leaky } from "./scenarios-secrets-saga.ts";

const worker = createWorker({ sagas: [leaky], services: {}, settings: { sweepMs: 100, shutdownMs: 1_000 } });
process.on("SIGTERM", () => void worker.stop().finally(() => process.disconnect?.()));
await worker.start();
process.send?.("serving");
