/** Client and workers over a real Redis and BullMQ, each test in a namespace of its own. */
import { randomBytes } from "node:crypto";
import { inject, onTestFinished } from "vitest";
import type { Fact } from "../../src/core/index.ts";
import {
  type Client,
  type CreateWorkerOptions,
  createClient,
  createWorker,
  type Saga,
  type Worker,
} from "../../src/index.ts";

export interface Top {
  readonly namespace: string;
  readonly client: Client;
  readonly troubles: readonly Fact[];
  worker(options?: Partial<CreateWorkerOptions>): Promise<Worker>;
}

/** A client; everything is stopped when the test has finished. */
export function top(sagas: readonly Saga[], services?: unknown): Top {
  const namespace = `t${randomBytes(6).toString("hex")}`;
  const redis = inject("redisUrl");
  const troubles: Fact[] = [];
  const facts = { emit: (fact: Fact) => void (fact.fact === "trouble" && troubles.push(fact)) };
  const client = createClient({ redis, namespace, sagas, facts });
  onTestFinished(() => client.close());
  return {
    namespace,
    client,
    troubles,
    worker: async (options = {}) => {
      const settings = { shutdownMs: 3_000, ...options.settings };
      const worker = createWorker({
        redis,
        namespace,
        sagas,
        services,
        facts,
        log: () => undefined,
        ...options,
        settings,
      });
      onTestFinished(() => worker.stop());
      await worker.start();
      return worker;
    },
  };
}
