/** A worker process of a rolling deploy, composed by the public door: it serves the versions it is told, until SIGTERM. */
import process from "node:process";
import { createWorker, type Fact } from "../../src/index.ts";
import { worldClient } from "../../src/testing/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { byNumber, type VersionOrders } from "./versions-sagas.ts";

const { redis, world, namespace, versions } = readOrders<VersionOrders>();
const worker = createWorker({
  redis,
  namespace,
  sagas: byNumber.filter((_, number) => versions.includes(number)),
  services: worldClient(world),
  settings: { shutdownMs: 20_000 },
  facts: {
    emit: (fact: Fact) => {
      if (fact.fact === "unserved") say({ unserved: fact.run.id });
    },
  },
  log: () => undefined,
});

listen(async () => undefined);
process.on("SIGTERM", () => {
  void worker.stop().finally(() => process.exit(0));
});
try {
  await worker.start();
} catch (error) {
  // As `workers/worker.ts` ends.
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
}
say({ ready: true });
