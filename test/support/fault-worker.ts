/** One worker of a child process, composed like `createWorker`, whose ports cannot be reached to make faults in them. */
import type { Settings } from "../../src/config.ts";
import { engineWorker, systemClock, systemIds, type Worker } from "../../src/engine/index.ts";
import type { Saga } from "../../src/index.ts";
import { type FaultConnections, faultConnections } from "./fault-connect.ts";

export interface FaultWorkerOptions {
  readonly redis: string;
  readonly namespace: string;
  readonly sagas: readonly Saga[];
  readonly services: unknown;
  readonly concurrency: number;
  readonly settings: Settings;
  /** `false` when left out. */
  readonly allowForgetfulStore?: boolean;
  /** Gives some of its ports with faults wrapped around them. */
  readonly faults: (ports: FaultConnections) => Partial<FaultConnections>;
}

/** Stopping it closes its connections, too. */
export function faultWorker({
  redis,
  namespace,
  faults,
  allowForgetfulStore = false,
  ...options
}: FaultWorkerOptions): Worker {
  const connections = faultConnections(redis, namespace);
  const { store, wakeUps, consumers, pulse, facts } = { ...connections, ...faults(connections) };
  const worker = engineWorker(
    { ports: { store, wakeUps, clock: systemClock, ids: systemIds(), facts }, consumers, pulse },
    { ...options, namespace, pools: ["default"], queues: [], allowForgetfulStore, log: () => undefined },
  );
  return {
    id: worker.id,
    start: () => worker.start(),
    stop: async () => {
      await worker.stop();
      await connections.close();
    },
    ended: worker.ended,
    health: () => worker.health(),
  };
}
