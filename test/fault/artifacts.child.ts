/** A worker of `archive`, in the place that its environment names. */
import { createWorker } from "../../src/index.ts";
import { archive } from "./artifacts-saga.ts";

const worker = createWorker({ sagas: [archive], log: () => undefined });
await worker.start();
process.once("SIGTERM", () => void worker.stop());
