/**
 * A worker process of the scenarios. It serves each namespace it is asked to, and behaves towards signals as
 * `workers/worker.ts` does: SIGTERM drains it, and it ends by itself when nothing is left to do.
 */
import { defaultSettings } from "../../src/config.ts";
import type { ConsumerFactory, Facts } from "../../src/core/index.ts";
import type { Worker } from "../../src/engine/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { settings } from "../support/fault-plan.ts";
import { faultWorker } from "../support/fault-worker.ts";
import { outsideAt, sagas } from "./scenarios-sagas.ts";
import type { Orders, Said, Serve } from "./scenarios-words.ts";

const orders = readOrders<Orders>();
const serving: Worker[] = [];

function workerFor({ serve: namespace, concurrency, sigtermAtWake, isDefault }: Serve): Worker {
  return faultWorker({
    redis: orders.redis,
    namespace,
    sagas: Object.values(sagas),
    services: outsideAt(orders),
    concurrency,
    settings: isDefault ? defaultSettings : settings,
    faults: ({ facts, consumers }) => ({
      facts: heard(facts),
      consumers: sigtermAtWake === null ? consumers : terminated(consumers, sigtermAtWake),
    }),
  });
}

function heard(facts: Facts): Facts {
  return {
    emit: (fact) => {
      facts.emit(fact);
      if (fact.fact === "fenced") say<Said>({ said: "fenced", run: fact.run.id });
    },
  };
}

/** SIGTERM exactly when the handler's promise has resolved: BullMQ completes that job and fetches the next with it. */
function terminated(consumers: ConsumerFactory, atWake: number): ConsumerFactory {
  let wakes = 0;
  return (wanted) =>
    consumers({
      ...wanted,
      onWake: async (run) => {
        wakes += 1;
        const wake = wakes;
        if (wake > atWake) say<Said>({ said: "prefetched", run: run.id });
        await wanted.onWake(run);
        if (wake !== atWake) return;
        say<Said>({ said: "p12", run: run.id, wake });
        process.kill(process.pid, "SIGTERM");
      },
    });
}

/** A full machine is slow, never wrong: what found no Redis in time is begun anew. */
async function begin(request: Serve, triesLeft = 5): Promise<void> {
  const worker = workerFor(request);
  try {
    await worker.start();
  } catch (error) {
    await worker.stop();
    if (triesLeft === 0) throw error;
    return await begin(request, triesLeft - 1);
  }
  serving.push(worker);
  say<Said>({ said: "serving", namespace: request.serve, owner: worker.id });
}

let isStopping = false;
process.on("SIGTERM", () => {
  if (isStopping) return;
  isStopping = true;
  // An IPC channel that somebody listens on would keep the process.
  void Promise.all(serving.map((worker) => worker.stop())).finally(() => process.connected && process.disconnect());
});
listen(begin, () => {
  if (!isStopping) process.exit(0);
});
say<Said>({ said: "ready" });
