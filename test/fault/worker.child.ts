/**
 * A worker process whose ports are wrapped, so that it dies (or stands still) at the point it was told. It serves each
 * namespace it is asked to by a worker of its own.
 */
import type { Worker } from "../../src/engine/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { Gate, type Orders, settings, type WorkerReply, type WorkerRequest } from "../support/fault-plan.ts";
import { gatedConsumers, gatedServices, gatedStore, gatedWakeUps } from "../support/fault-ports.ts";
import { faultServices } from "../support/fault-services.ts";
import { sagaSets } from "../support/fault-sets.ts";
import { faultWorker } from "../support/fault-worker.ts";

const orders = readOrders<Orders>();
const gate = new Gate(orders);
const serving = new Map<string, Worker>();

function workerFor(namespace: string): Worker {
  return faultWorker({
    redis: orders.redis,
    namespace,
    sagas: sagaSets[orders.sagas].sagas,
    services: gatedServices(faultServices(orders.world), gate),
    concurrency: orders.plan?.holds === true ? 100 : 20,
    settings,
    faults: ({ store, wakeUps, consumers }) => ({
      store: gatedStore(store, gate),
      wakeUps: gatedWakeUps(wakeUps, gate),
      consumers: gatedConsumers(consumers, gate),
    }),
  });
}

async function answer(request: WorkerRequest): Promise<WorkerReply> {
  if ("serve" in request) {
    const worker = workerFor(request.serve);
    serving.set(request.serve, worker);
    await worker.start();
    return { serving: request.serve, owner: worker.id, pid: process.pid };
  }
  const worker = serving.get(request.leave);
  serving.delete(request.leave);
  await worker?.stop();
  return { left: request.leave };
}

listen(async (request: WorkerRequest) => say<WorkerReply>(await answer(request)));
say<WorkerReply>({ ready: true });
