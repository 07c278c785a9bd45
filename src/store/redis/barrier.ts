/**
 * The barrier: waits until what was acknowledged is on disk or with replicas. One small write and then WAIT or WAITAOF on
 * a connection of its own per server: the wait blocks its connection, and on a connection that has not written it
 * answers at once, falsely (both measured, design section 5).
 *
 * A wait covers what was acknowledged before its write was sent, so callers who come while one is under way share the
 * next one.
 */
import { performance } from "node:perf_hooks";
import type { Redis } from "ioredis";
import { type StoreConnections, serversOf } from "./connections.ts";
import type { Wire } from "./wire.ts";

/** `aof`: until the server has synced its AOF (Redis 7.2 and later). Otherwise until that many replicas have it. */
export type BarrierOption = "aof" | { readonly replicas: number; readonly timeoutMs?: number };

/** A server's connection and the key of a shard it holds. */
interface Lane {
  readonly client: Redis;
  readonly key: string;
}

export class Barrier {
  readonly #wire: Wire;
  readonly #connections: StoreConnections;
  readonly #option: BarrierOption;
  #lanes: Promise<readonly Lane[]> | null = null;
  #underWay: Promise<boolean> | null = null;
  #next: Promise<boolean> | null = null;
  #count = 0;

  constructor(wire: Wire, connections: StoreConnections, option: BarrierOption) {
    this.#wire = wire;
    this.#connections = connections;
    this.#option = option;
  }

  /** `false`: not reached in time, or the servers cannot be reached. */
  async reached(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    const shared = this.#share(deadline);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, false);
    });
    return await Promise.race([shared, late]).finally(() => clearTimeout(timer));
  }

  close(): void {
    this.#forget();
  }

  #share(deadline: number): Promise<boolean> {
    if (this.#next !== null) return this.#next;
    if (this.#underWay === null) return this.#start(deadline);
    this.#next = this.#underWay.then(() => {
      this.#next = null;
      return this.#start(deadline);
    });
    return this.#next;
  }

  #start(deadline: number): Promise<boolean> {
    const mine = this.#pass(deadline).finally(() => {
      if (this.#underWay === mine) this.#underWay = null;
    });
    this.#underWay = mine;
    return mine;
  }

  async #pass(deadline: number): Promise<boolean> {
    try {
      this.#lanes ??= this.#open();
      const lanes = await this.#lanes;
      const reached = await Promise.all(lanes.map((lane) => this.#waitOn(lane, deadline)));
      return reached.every(Boolean);
    } catch {
      // A server is gone or its shards have moved: look for them anew next time.
      this.#forget();
      return false;
    }
  }

  async #waitOn({ client, key }: Lane, deadline: number): Promise<boolean> {
    const leftMs = Math.floor(deadline - performance.now());
    if (leftMs < 1) return false;
    this.#count += 1;
    const written = client.set(key, this.#count);
    const waited = this.#option === "aof" ? this.#waitAof(client, leftMs) : this.#waitReplicas(client, leftMs);
    const [, reached] = await Promise.all([written, waited]);
    return reached;
  }

  async #waitAof(client: Redis, leftMs: number): Promise<boolean> {
    const [local] = (await client.call("WAITAOF", 1, 0, leftMs)) as [number, number];
    return local >= 1;
  }

  async #waitReplicas(client: Redis, leftMs: number): Promise<boolean> {
    const { replicas, timeoutMs } = this.#option as Exclude<BarrierOption, "aof">;
    return (await client.wait(replicas, Math.min(leftMs, timeoutMs ?? leftMs))) >= replicas;
  }

  /** Finds which server holds which shard by trying: a server refuses a key that is not its own. */
  async #open(): Promise<readonly Lane[]> {
    const { isCluster } = this.#connections;
    const addresses = serversOf(this.#wire.client).map(({ options: { host, port } }) =>
      isCluster && host !== undefined && port !== undefined ? { host, port } : null,
    );
    const lanes = await Promise.all(
      addresses.map(async (address) => {
        const client = this.#connections.node(address);
        await this.#connections.ready(client);
        const keys = await Promise.all(this.#wire.shards.map(({ barrier }) => holds(client, barrier)));
        return { client, keys: keys.flatMap((key) => key ?? []) };
      }),
    );
    const held = lanes.reduce((sum, { keys }) => sum + keys.length, 0);
    if (held !== this.#wire.shards.length) {
      for (const { client } of lanes) client.disconnect();
      throw new Error("shards are moving between servers");
    }
    return lanes.flatMap(({ client, keys: [key] }) => {
      if (key === undefined) client.disconnect();
      return key === undefined ? [] : [{ client, key }];
    });
  }

  #forget(): void {
    const lanes = this.#lanes;
    this.#lanes = null;
    lanes?.then(
      (opened) => {
        for (const { client } of opened) client.disconnect();
      },
      () => undefined,
    );
  }
}

async function holds(client: Redis, key: string): Promise<string | null> {
  try {
    await client.set(key, 0);
    return key;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("MOVED")) return null;
    throw error;
  }
}
