/**
 * A worker process composed by the public door. It kills itself when a run was parked, in the moment between the commit that
 * says so and the letter that shows it.
 */
import process from "node:process";
import { createWorker } from "reprise";
import { worldClient } from "reprise/testing";
import { order } from "../../sagas/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import type { LetterOrders, LetterSaid } from "./dead-letters-words.ts";

const { redis, world, namespace, dies } = readOrders<LetterOrders>();
const worker = createWorker({
  redis,
  namespace,
  sagas: [order],
  services: worldClient(world),
  settings: { deadLetterSweepMs: 500, shutdownMs: 3_000 },
  facts: {
    emit: (fact) => {
      if (dies && fact.fact === "committed" && fact.record.status === "needs_review")
        process.kill(process.pid, "SIGKILL");
      if (fact.fact === "trouble") console.error(`${fact.where}: ${fact.message}`);
    },
  },
  log: () => undefined,
});

listen(async () => undefined);
await worker.start();
say<LetterSaid>({ ready: true });
