/**
 * How an operation reaches Redis: the client, the scripts, the names of keys, and what a failure is called. Nothing is
 * sent a second time here but what the server said it has not run (NOSCRIPT).
 */

import type { RunRef, WakeUp } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import { memberOf, runOf, type ShardKeys, shardKeys, shardOfMember } from "../keys.ts";
import {
  loadScripts,
  runScript,
  runScripts,
  type ScriptArgument,
  type ScriptName,
  type Scripts,
  type ScriptWords,
} from "../scripts.ts";
import type { StoreClient } from "./connections.ts";

/** A run, found: its member name, and the key of each thing kept of it. */
export interface Found {
  readonly member: string;
  readonly shard: ShardKeys;
  readonly run: string;
  readonly record: string;
}

export interface WireOptions {
  readonly client: StoreClient;
  readonly place: string;
  readonly namespace: string;
  readonly shards: number;
  readonly lanes: number;
}

export class Wire {
  readonly client: StoreClient;
  readonly place: string;
  readonly shards: readonly ShardKeys[];
  readonly #lanes: number;
  readonly #scripts: Scripts;

  constructor({ client, place, namespace, shards, lanes }: WireOptions) {
    this.client = client;
    this.place = place;
    this.shards = Array.from({ length: shards }, (_, shard) => shardKeys(namespace, shard));
    this.#lanes = lanes;
    this.#scripts = loadScripts(shards);
  }

  find(run: RunRef): Found {
    const member = memberOf(run);
    const shard = this.shard(shardOfMember(member, this.shards.length));
    return { member, shard, run: `${shard.prefix}run:${member}`, record: `${shard.prefix}rec:${member}` };
  }

  /** Places in the list, by shard. */
  byShard(runs: readonly RunRef[]): ReadonlyMap<ShardKeys, readonly number[]> {
    const byShard = new Map<ShardKeys, number[]>();
    for (const [n, run] of runs.entries()) {
      const { shard } = this.find(run);
      const places = byShard.get(shard);
      if (places === undefined) byShard.set(shard, [n]);
      else places.push(n);
    }
    return byShard;
  }

  shard(shard: number): ShardKeys {
    const keys = this.shards[shard];
    if (keys !== undefined) return keys;
    throw new RepriseError("CONFIG_INVALID", `there is no shard ${shard} of ${this.shards.length}`);
  }

  /** Runs a script. What it answers is trusted: both ends are ours. */
  run<Reply>(name: ScriptName, keys: readonly string[], args: readonly ScriptArgument[]): Promise<Reply> {
    return this.runAndRead<Reply, Reply>(name, { keys, args }, asItIs);
  }

  /** The same, handing on what `read` makes of the answer; what that throws is nobody else's fault and keeps its name. */
  runAndRead<Reply, Result>(
    name: ScriptName,
    words: ScriptWords,
    read: (reply: Reply) => Result | Promise<Result>,
  ): Promise<Result> {
    const named = (error: unknown) => this.failed(error, name);
    return runScript(this.client, this.#scripts[name], words, { read: (reply) => read(reply as Reply), named });
  }

  /** Runs a script many times on one shard, sent together. Rejects if one of them failed. */
  async runMany<Reply>(name: ScriptName, calls: readonly ScriptWords[]): Promise<readonly Reply[]> {
    const answers = await this.ask(name, () => runScripts(this.client, this.#scripts[name], calls));
    return answers.map(({ error, reply }) => {
      if (error !== null) throw this.failed(error, name);
      return reply as Reply;
    });
  }

  /** Awaits commands that are no scripts, with the same errors. */
  async ask<Reply>(what: string, commands: () => Promise<Reply>): Promise<Reply> {
    try {
      return await commands();
    } catch (error) {
      throw this.failed(error, what);
    }
  }

  wakeUp(reply: WakeUpReply | undefined | null): WakeUp | null {
    if (reply === undefined || reply === null) return null;
    const [member, wake, pool, priority] = reply;
    return {
      run: runOf(member),
      wake: Number(wake),
      pool: pool ?? "default",
      lane: shardOfMember(member, this.shards.length) % this.#lanes,
      priority: Number(priority ?? 0),
    };
  }

  failed(error: unknown, what: string): RepriseError {
    if (error instanceof RepriseError) return error;
    const message = error instanceof Error ? error.message : String(error);
    const details = { place: this.place, what };
    // Only keys written by somebody else, or a mistake of ours, make a script stumble: trying again would not help.
    if (/^WRONGTYPE|user_script:\d+: (?!.*(OOM|READONLY|MISCONF|NOREPLICAS))/.test(message)) {
      return new RepriseError("RECORD_CORRUPT", `${what} cannot read what lies in Redis at ${this.place}: ${message}`, {
        details,
        cause: error,
      });
    }
    const fate = error instanceof Error && error.name === "ReplyError" ? "was refused by" : "got no answer from";
    return new RepriseError("STORE_UNAVAILABLE", `${what} ${fate} Redis at ${this.place}: ${message}`, {
      details,
      cause: error,
    });
  }
}

function asItIs<Value>(value: Value): Value {
  return value;
}

/** Member, wake number, pool, priority. */
export type WakeUpReply = readonly [string, string, string | null, string | null];
