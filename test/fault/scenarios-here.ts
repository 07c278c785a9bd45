/**
 * Scenarios in this process, over a redis-server that the file owns: clients, workers and a world of each test's own. For
 * what a queue, a store or a second replica does to a run; where a process has to die there is the stage.
 */
import type { Saga } from "../../src/index.ts";
import type { FakeWorld } from "../../src/testing/index.ts";
import { agreedAt } from "../support/agreed.ts";
import { leaveEvidence, type Observed } from "../support/evidence.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { type Place, type Top, topAt } from "../support/top.ts";

/** Runs in the stated size only where that was asked for. */
export const isFull = process.env["REPRISE_SIZE"] === "full";

export class Here {
  readonly redis: RedisServer;

  private constructor(redis: RedisServer) {
    this.redis = redis;
  }

  static async open(): Promise<Here> {
    return new Here(await startRedisServer());
  }

  get place(): Place {
    return { redis: this.redis.url, shards: 1 };
  }

  top(sagas: readonly Saga[], world?: FakeWorld): Top {
    return topAt(this.place, sagas, world);
  }

  /** World, store and client agree about these runs, and evidence is left for the scenario. */
  async prove(
    id: string | readonly string[],
    { top, sagas, runs }: { readonly top: Top; readonly sagas: readonly Saga[]; readonly runs: readonly string[] },
    seen: Pick<Observed, "killed" | "checks" | "refusal">,
  ): Promise<void> {
    const { arrivals, effects, checks } = await agreedAt(this.place, top, sagas, runs);
    leaveEvidence(id, { ...seen, arrivals, effects, checks: [...seen.checks, ...checks] });
  }

  /** Jobs of BullMQ that lie in the namespace for a run, by its id. */
  async jobsOf(namespace: string, id: string): Promise<readonly string[]> {
    const keys = (await this.redis.ask("KEYS", `{reprise:${namespace}:w*}:*:default~${id}.*`)) as readonly string[];
    return keys.filter((key) => !key.endsWith(":lock"));
  }

  close(): Promise<void> {
    return this.redis.stop();
  }
}
