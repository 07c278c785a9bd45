/** What one process of a fault test talks to Redis with, for one namespace, before anything is wrapped around it. */
import type { ConsumerFactory, Facts, Store, WakeUps } from "../../src/core/index.ts";
import type { WorkerParts } from "../../src/engine/index.ts";
import { bullmqConsumers, bullmqWakeUps } from "../../src/queue/index.ts";
import { redisConnections } from "../../src/redis/index.ts";
import { redisStore } from "../../src/store/index.ts";
import { settings } from "./fault-plan.ts";

export interface FaultConnections {
  readonly store: Store;
  readonly wakeUps: WakeUps;
  readonly consumers: ConsumerFactory;
  readonly pulse: NonNullable<WorkerParts["pulse"]>;
  readonly facts: Facts;
  readonly close: () => Promise<void>;
}

/** Composed like `src/orchestrator`. Nothing is opened before it is used. */
export function faultConnections(
  url: string,
  namespace: string,
  commandTimeoutMs = settings.commandTimeoutMs,
  say: (line: string) => void = console.error,
  shards = 1,
): FaultConnections {
  const onTrouble = (where: string, error: unknown) => say(`${namespace}: ${where}: ${String(error)}`);
  const connections = redisConnections({ url, commandTimeoutMs });
  const store = redisStore({ connections, namespace, shards, settleMs: settings.leaseMs });
  const wakeUps = bullmqWakeUps({ connect: () => connections.commands(), namespace, onTrouble });
  return {
    store,
    wakeUps,
    consumers: (wanted) =>
      bullmqConsumers({ connection: connections.blocking(), namespace, lanes: 1, onTrouble })(wanted),
    pulse: (onOpen) => connections.pulse(onOpen),
    facts: {
      emit: (fact) => (fact.fact === "trouble" ? onTrouble(fact.where, fact.message) : undefined),
    },
    close: async () => {
      await wakeUps.close();
      await store.close();
      connections.close();
    },
  };
}
