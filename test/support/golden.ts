/**
 * The golden corpus: runs as Redis keeps them, of every record format there was, with the sagas they are pinned to. Owns where it
 * lies, making the newest part anew (`npm run golden`), and putting a part into a Redis.
 *
 * Invariant: what lies in a folder is written once, by the release that wrote that format, and never again.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import {
  type Artifacts,
  type Client,
  createClient,
  createWorker,
  fileArtifacts,
  type RunStatus,
  type Saga,
} from "../../src/index.ts";

export const namespace = "golden";
const home = fileURLToPath(new URL("../fixtures/golden/", import.meta.url));

/** What lies in Redis under one key, by its type. */
type Kept =
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "hash" | "zset"; readonly value: Readonly<Record<string, string>> }
  | { readonly type: "list" | "set"; readonly value: readonly string[] }
  /** Each entry with its id before its fields. */
  | { readonly type: "stream"; readonly value: readonly (readonly string[])[] };
export type Corpus = Readonly<Record<string, Kept>>;

/** The sagas and the runs of one format, as its folder declares them. */
export interface Part {
  readonly sagas: readonly Saga[];
  readonly make: (client: Client, stop: () => Promise<void>) => Promise<void>;
  readonly finish: (client: Client) => Promise<Readonly<Record<string, RunStatus>>>;
  readonly expected: Readonly<Record<string, RunStatus>>;
  /** What the steps of this process were asked to do, by operation id. */
  readonly called: readonly string[];
}

/** Numbers of the formats that are kept, the newest last. */
export function keptFormats(): readonly number[] {
  const folders = readdirSync(home).flatMap((name) => /^format-(\d+)$/.exec(name)?.[1] ?? []);
  return folders.map(Number).sort((a, b) => a - b);
}

export function folderOf(format: number): string {
  return `${home}format-${format}/`;
}

export async function partOf(format: number): Promise<Part> {
  const [sagas, runs] = await Promise.all([
    import(`${folderOf(format)}sagas.ts`) as Promise<Pick<Part, "sagas" | "called">>,
    import(`${folderOf(format)}runs.ts`) as Promise<Omit<Part, "sagas" | "called">>,
  ]);
  return { ...runs, sagas: sagas.sagas, called: sagas.called };
}

export function corpusOf(format: number): Corpus {
  return JSON.parse(readFileSync(`${folderOf(format)}store.json`, "utf8")) as Corpus;
}

// ---- playing

/** Short enough that the runs make use of bases and of artifacts. */
const settings = { logEntries: 10, artifactThresholdBytes: 1_000, shutdownMs: 3_000 };

/** A client and a worker of a part's sagas, over a Redis and a directory of artifacts. */
export async function playersAt(redis: string, artifacts: string, sagas: readonly Saga[]) {
  const kept: Artifacts = fileArtifacts({ dir: artifacts });
  const facts = { emit: () => undefined };
  const place = { redis, namespace, shards: 1, sagas, artifacts: kept, settings, facts };
  const client = createClient(place);
  const worker = createWorker({ ...place, log: () => undefined });
  await worker.start();
  return { client, stop: () => worker.stop() };
}

/** Plays the runs of a part from their start, and takes out what lies in Redis then. */
export async function makeCorpus(redis: string, artifacts: string, { sagas, make }: Part): Promise<Corpus> {
  const { client, stop } = await playersAt(redis, artifacts, sagas);
  try {
    await make(client, stop);
  } finally {
    await stop();
    await client.close();
  }
  return await takeOut(redis);
}

// ---- between Redis and JSON

/** Of the store alone: jobs are wake-ups, and can be lost. */
async function takeOut(url: string): Promise<Corpus> {
  const redis = new Redis(url);
  try {
    const keys = [
      ...(await redis.keys(`{reprise:${namespace}}:*`)),
      ...(await redis.keys(`{reprise:${namespace}:0}:*`)),
    ];
    const corpus: Record<string, Kept> = {};
    for (const key of keys.sort()) corpus[key] = await keptAt(redis, key);
    return corpus;
  } finally {
    redis.disconnect();
  }
}

async function keptAt(redis: Redis, key: string): Promise<Kept> {
  const type = await redis.type(key);
  switch (type) {
    case "string":
      return { type, value: (await redis.get(key)) ?? "" };
    case "hash":
      return { type, value: await redis.hgetall(key) };
    case "list":
      return { type, value: await redis.lrange(key, 0, -1) };
    case "set":
      return { type, value: (await redis.smembers(key)).sort() };
    case "zset": {
      const flat = await redis.zrange(key, "0", "-1", "WITHSCORES");
      const pairs = flat.flatMap((member, at) => (at % 2 === 0 ? [[member, flat[at + 1] ?? ""] as const] : []));
      return { type, value: Object.fromEntries(pairs) };
    }
    case "stream":
      return { type, value: (await redis.xrange(key, "-", "+")).map(([id, fields]) => [id, ...fields]) };
    default:
      throw new Error(`${key} is a ${type}`);
  }
}

export async function putBack(url: string, corpus: Corpus): Promise<void> {
  const redis = new Redis(url);
  try {
    for (const [key, kept] of Object.entries(corpus)) await putKey(redis, key, kept);
  } finally {
    redis.disconnect();
  }
}

async function putKey(redis: Redis, key: string, kept: Kept): Promise<void> {
  switch (kept.type) {
    case "string":
      await redis.set(key, kept.value);
      return;
    case "hash":
      await redis.hset(key, kept.value);
      return;
    case "list":
      await redis.rpush(key, ...kept.value);
      return;
    case "set":
      await redis.sadd(key, ...kept.value);
      return;
    case "stream":
      for (const [id = "*", ...fields] of kept.value) await redis.xadd(key, id, ...fields);
      return;
    case "zset":
      await redis.zadd(key, ...Object.entries(kept.value).flatMap(([member, score]) => [score, member]));
      return;
  }
}
