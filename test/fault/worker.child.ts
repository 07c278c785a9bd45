/**
 * A worker process whose ports are wrapped, so that it dies (or stands still) at the point it was told. It serves each
 * namespace it is asked to by a worker of its own. Composed like `createWorker`, whose ports cannot be reached.
 */
import { engineWorker, systemClock, systemIds, type Worker } from "../../src/engine/index.ts";
import { faultConnections } from "../support/fault-connect.ts";
import {
  Gate,
  type Orders,
  readOrders,
  settings,
  type WorkerReply,
  type WorkerRequest,
} from "../support/fault-plan.ts";
import { gatedConsumers, gatedServices, gatedStore, gatedWakeUps } from "../support/fault-ports.ts";
import { faultServices, sagas } from "../support/fault-sagas.ts";

interface Served {
  readonly worker: Worker;
  readonly close: () => Promise<void>;
}

const concurrency = 20;
const orders = readOrders();
const gate = new Gate(orders);
const served = new Map<string, Served>();

function serve(namespace: string, { redis, world }: Orders): Served {
  const { store, wakeUps, consumers, pulse, facts, close } = faultConnections(redis, namespace);
  const worker = engineWorker(
    {
      ports: {
        store: gatedStore(store, gate),
        wakeUps: gatedWakeUps(wakeUps, gate),
        clock: systemClock,
        ids: systemIds(),
        facts,
      },
      consumers: gatedConsumers(consumers, gate),
      pulse,
    },
    {
      namespace,
      sagas: Object.values(sagas),
      pools: ["default"],
      queues: [],
      concurrency,
      services: gatedServices(faultServices(world), gate),
      settings,
      allowForgetfulStore: false,
      log: () => undefined,
    },
  );
  return { worker, close };
}

async function answer(request: WorkerRequest): Promise<WorkerReply> {
  if ("serve" in request) {
    const mine = serve(request.serve, orders);
    served.set(request.serve, mine);
    await mine.worker.start();
    return { serving: request.serve, owner: mine.worker.id, pid: process.pid };
  }
  const mine = served.get(request.leave);
  served.delete(request.leave);
  await mine?.worker.stop();
  await mine?.close();
  return { left: request.leave };
}

function say(reply: WorkerReply): void {
  process.send?.(reply);
}

process.on("message", (request: WorkerRequest) => {
  answer(request).then(say, (error: unknown) => {
    console.error(error);
    process.exit(2);
  });
});
process.once("disconnect", () => process.exit(0)); // whoever started it is gone
say({ ready: true });
