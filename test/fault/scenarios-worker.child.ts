/**
 * A worker process of the scenarios. It serves each namespace it is asked to, and behaves towards signals as
 * `workers/worker.ts` does: SIGTERM drains it, and it ends by itself when nothing is left to do.
 */
import { defaultSettings } from "../../src/config.ts";
import type { ConsumerFactory } from "../../src/core/index.ts";
import { engineWorker, systemClock, systemIds, type Worker } from "../../src/engine/index.ts";
import { faultConnections } from "../support/fault-connect.ts";
import { outsideAt, sagas } from "./scenarios-sagas.ts";
import { type Orders, ordersVariable, type Said, type Serve, settings } from "./scenarios-words.ts";

interface Served {
  readonly worker: Worker;
  readonly close: () => Promise<void>;
}

const orders = JSON.parse(process.env[ordersVariable] ?? "null") as Orders; // written by the harness, same version
const served: Served[] = [];

function say(words: Said): void {
  process.send?.(words);
}

function serve(request: Serve): Served {
  const { store, wakeUps, consumers, pulse, facts, close } = faultConnections(orders.redis, request.serve);
  const worker = engineWorker(
    {
      ports: {
        store,
        wakeUps,
        clock: systemClock,
        ids: systemIds(),
        facts: {
          emit: (fact) => {
            facts.emit(fact);
            if (fact.fact === "fenced") say({ said: "fenced", run: fact.run.id });
          },
        },
      },
      consumers: request.sigtermAtWake === null ? consumers : terminated(consumers, request.sigtermAtWake),
      pulse,
    },
    {
      namespace: request.serve,
      sagas: Object.values(sagas),
      pools: ["default"],
      queues: [],
      concurrency: request.concurrency,
      services: outsideAt(orders),
      settings: request.isDefault ? defaultSettings : settings,
      allowForgetfulStore: false,
      log: () => undefined,
    },
  );
  return { worker, close };
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
        if (wake > atWake) say({ said: "prefetched", run: run.id });
        await wanted.onWake(run);
        if (wake !== atWake) return;
        say({ said: "p12", run: run.id, wake });
        process.kill(process.pid, "SIGTERM");
      },
    });
}

/** A full machine is slow, never wrong: what found no Redis in time is begun anew. */
async function begin(request: Serve, triesLeft = 5): Promise<void> {
  const mine = serve(request);
  try {
    await mine.worker.start();
  } catch (error) {
    await stop(mine);
    if (triesLeft === 0) throw error;
    return await begin(request, triesLeft - 1);
  }
  served.push(mine);
  say({ said: "serving", namespace: request.serve, owner: mine.worker.id });
}

async function stop({ worker, close }: Served): Promise<void> {
  await worker.stop();
  await close();
}

let isStopping = false;
process.on("SIGTERM", () => {
  if (isStopping) return;
  isStopping = true;
  // An IPC channel that somebody listens on would keep the process.
  void Promise.all(served.map(stop)).finally(() => process.connected && process.disconnect());
});
process.on("message", (request: Serve) => {
  begin(request).catch((error: unknown) => {
    console.error(error);
    process.exit(2);
  });
});
process.once("disconnect", () => {
  if (!isStopping) process.exit(0); // whoever started it is gone
});
say({ said: "ready" });
