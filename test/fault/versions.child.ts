/** A worker process of a rolling deploy, composed by the public door: it serves the versions it is told, until SIGTERM. */
import process from "node:process";
import { createWorker, type Fact } from "../../src/index.ts";
import { worldClient } from "../../src/testing/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { first, second, type VersionOrders } from "./versions-sagas.ts";

const { redis, world, namespace, versions } = readOrders<VersionOrders>();
const worker = createWorker({
  redis,
  namespace,
  sagas: [first, second].filter(({ version }) => versions.includes(version)),
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
await worker.start();
say({ ready: true });
