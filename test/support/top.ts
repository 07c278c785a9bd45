/** Client and workers in this process over a real Redis and BullMQ, each test in a namespace and with a world of its own. */
import { randomBytes } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Fact } from "../../src/core/index.ts";
import {
  type Client,
  type CreateClientOptions,
  type CreateWorkerOptions,
  createClient,
  createWorker,
  type Saga,
  type Worker,
} from "../../src/index.ts";
import { FakeWorld, worldClient } from "../../src/testing/index.ts";

export interface Top {
  readonly namespace: string;
  readonly client: Client;
  readonly world: FakeWorld;
  readonly troubles: readonly string[];
  readonly facts: readonly Fact[];
  worker(options?: Partial<CreateWorkerOptions>): Promise<Worker>;
  /** One more client of the same namespace, as another replica of an application has it. */
  replica(settings?: CreateClientOptions["settings"]): Client;
}

/** Where Redis is, and how many shards a namespace has there. */
export interface Place {
  readonly redis: string;
  readonly shards: number;
  /** Where large values are kept, if not in Redis. */
  readonly artifacts?: CreateClientOptions["artifacts"];
  /** What is given to a worker to do at once is divided among so many; one, unless it is a cluster. */
  readonly lanes?: number | undefined;
}

/** A client and a world; everything is stopped when the test has finished. */
export function topAt({ redis, shards, ...kept }: Place, sagas: readonly Saga[], world = new FakeWorld()): Top {
  const namespace = `t${randomBytes(6).toString("hex")}`;
  const troubles: string[] = [];
  const facts: Fact[] = [];
  const emit = (fact: Fact) => {
    facts.push(fact);
    if (fact.fact === "trouble") troubles.push(`${fact.where}: ${fact.message}`);
  };
  const replica = (settings?: CreateClientOptions["settings"]) => {
    const client = createClient({ redis, namespace, shards, sagas, facts: { emit }, settings, ...kept });
    onTestFinished(() => client.close());
    return client;
  };
  onTestFinished(() => world.close());
  return {
    namespace,
    client: replica(),
    replica,
    world,
    troubles,
    facts,
    worker: async (options = {}) => {
      const settings = { shutdownMs: 3_000, ...options.settings };
      const shared = {
        redis,
        namespace,
        shards,
        sagas,
        services: worldClient(world),
        facts: { emit },
        log: () => undefined,
        ...kept,
      };
      const worker = createWorker({ ...shared, ...options, settings });
      onTestFinished(() => worker.stop());
      await worker.start();
      return worker;
    },
  };
}

/** What happened in the world, in order: `payments.charge`, ... */
export function effectsOf(world: FakeWorld): readonly string[] {
  return world.effects().map(({ service, action }) => `${service}.${action}`);
}

/** Waits for a condition; no test sleeps. */
export async function until<Value>(ask: () => Value | Promise<Value>, withinMs = 10_000): Promise<NonNullable<Value>> {
  const end = performance.now() + withinMs;
  for (;;) {
    const value = await ask();
    if (value) return value;
    if (performance.now() > end) throw new Error(`it did not happen within ${withinMs} ms`);
    await pass(10);
  }
}
