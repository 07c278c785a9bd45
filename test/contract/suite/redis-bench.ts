/**
 * A bench on a real Redis. Its time stands still where the test puts it: the highest time a shard has seen lies in the
 * future, and the server's own clock is far behind it.
 */
import { type RedisConnections, redisConnections } from "../../../src/redis/connections.ts";
import type { PulsePlace } from "../../../src/redis/pulse.ts";
import { redisStore } from "../../../src/store/index.ts";
import { shardKeys } from "../../../src/store/keys.ts";
import { fresh } from "../../support/records.ts";
import { type Bench, epochMs } from "./harness.ts";

/** Says what is in a Redis, without a store between. */
export interface RedisBench extends Bench {
  readonly namespace: string;
  readonly connections: RedisConnections;
  readonly inspect: ReturnType<RedisConnections["commands"]>;
  /** Forgets everything of its namespace but the number of shards. */
  clear(): Promise<void>;
}

/** Opens benches on the Redis at `url`, each in a namespace of its own. */
export function redisBench(url: () => string): (options: BenchOptions) => Promise<RedisBench> {
  return async ({ shards, lanes }) => {
    const connections = redisConnections({ url: url(), readyWithinMs: 10_000, commandTimeoutMs: 10_000 });
    const namespace = `${fresh("contract")}-${process.pid}-${Date.now()}`;
    const options = { connections, namespace, shards, lanes, settleMs: 60_000 };
    const [store, another] = [redisStore(options), redisStore(options)];
    await Promise.all([store.open(), another.open()]);
    const inspect = connections.commands();
    await connections.ready(inspect);
    let timeMs = epochMs;
    const setTime = async (ms: number) => {
      timeMs = ms;
      const clocks = Array.from({ length: shards }, (_, shard) => shardKeys(namespace, shard).clock);
      await Promise.all(clocks.map((clock) => inspect.set(clock, ms)));
    };
    await setTime(epochMs);
    return {
      store,
      namespace,
      connections,
      inspect,
      advance: (ms) => setTime(timeMs + ms),
      // The server's clock is behind the highest time seen all along.
      turnBack: async () => undefined,
      clear: async () => {
        const keys = await inspect.keys(`{reprise:${namespace}*`);
        await Promise.all(keys.filter((key) => !key.endsWith(":meta")).map((key) => inspect.del(key)));
        await setTime(epochMs);
      },
      pulses: pulsesOf(connections),
      lostByAnother: () => another.lostOwners(),
      close: async () => {
        await Promise.all([store.close(), another.close()]);
        connections.close();
      },
    };
  };
}

interface BenchOptions {
  readonly shards: number;
  readonly lanes: number;
}

function pulsesOf(connections: RedisConnections): Bench["pulses"] {
  const open = new Map<string, () => void>();
  return {
    open: () =>
      new Promise<PulsePlace>((resolve) => {
        const pulse = connections.pulse((place) => {
          open.set(place.pulse, () => pulse.close());
          resolve(place);
        });
      }),
    kill: async (pulse) => open.get(pulse)?.(),
  };
}
