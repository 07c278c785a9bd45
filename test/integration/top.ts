/** Client and workers over a real Redis and BullMQ, each test in a namespace of its own, with a world of its own. */
import { randomBytes } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { inject, onTestFinished } from "vitest";
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
  /** A client like this one, with other settings; closed when the test has finished. */
  another(settings: CreateClientOptions["settings"]): Client;
  readonly world: FakeWorld;
  readonly troubles: readonly string[];
  readonly facts: readonly Fact[];
  worker(options?: Partial<CreateWorkerOptions>): Promise<Worker>;
}

/** A client and a world; everything is stopped when the test has finished. */
export function top(sagas: readonly Saga[], world = new FakeWorld()): Top {
  const namespace = `t${randomBytes(6).toString("hex")}`;
  const redis = inject("redisUrl");
  const shards = inject("shards");
  const troubles: string[] = [];
  const facts: Fact[] = [];
  const emit = (fact: Fact) => {
    facts.push(fact);
    if (fact.fact === "trouble") troubles.push(`${fact.where}: ${fact.message}`);
  };
  const place = { redis, namespace, shards, sagas, facts: { emit } };
  const client = createClient(place);
  onTestFinished(async () => {
    await client.close();
    world.close();
  });
  return {
    namespace,
    client,
    another: (settings) => {
      const other = createClient({ ...place, settings });
      onTestFinished(() => other.close());
      return other;
    },
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
