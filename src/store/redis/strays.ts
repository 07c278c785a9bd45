/** Keys of a namespace that nothing accounts for, by a bounded SCAN over every server; and how many shards it was begun with. Reads only. */
import type { Redis } from "ioredis";
import { type KeyReason, reasonOf } from "../kept-keys.ts";
import { sharedKeys } from "../keys.ts";
import { type StoreClient, serversOf } from "./connections.ts";

export interface StrayOptions {
  readonly namespace: string;
  /** Lanes that are read. */
  readonly lanes: number;
  /** Keys (of everybody on these servers) that are passed at most. */
  readonly maxKeys: number;
}

export interface Strays {
  /** `null`: the namespace has not begun. */
  readonly registeredShards: number | null;
  /** Keys of the namespace that were looked at. */
  readonly looked: number;
  /** Were that all? */
  readonly isWhole: boolean;
  readonly strays: readonly { readonly key: string; readonly why: string }[];
}

/** Keys of one answer of SCAN: others wait no longer than that takes. */
const atOnce = 500;

export async function straysIn(client: StoreClient, options: StrayOptions): Promise<Strays> {
  const stored = await client.hget(sharedKeys(options.namespace).meta, "shards");
  const shards = stored === null ? null : Number(stored);
  const strays: { key: string; why: string }[] = [];
  let looked = 0;
  let left = options.maxKeys;
  let isWhole = true;
  for (const server of serversOf(client)) {
    let cursor = "0";
    do {
      const [next, keys] = await server.scan(cursor, "MATCH", `{reprise:${options.namespace}*`, "COUNT", atOnce);
      const mine = keys.flatMap((key) => {
        const reason = reasonOf(key, options.namespace);
        return reason === null ? [] : [{ key, reason }];
      });
      const whys = await Promise.all(mine.map(({ reason }) => whyStray(server, reason, shards, options.lanes)));
      const found = mine.flatMap(({ key }, at) => (whys[at] == null ? [] : [{ key, why: whys[at] }]));
      // What was deleted meanwhile is no orphan.
      const there = await Promise.all(found.map(({ key }) => server.exists(key)));
      strays.push(...found.filter((_, at) => there[at] === 1));
      looked += mine.length;
      left -= atOnce;
      cursor = next;
    } while (cursor !== "0" && left > 0);
    isWhole &&= cursor === "0";
  }
  return { registeredShards: shards, looked, isWhole, strays: strays.sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

/** `null`: something accounts for it. What it needs lies on the same server, in its own slot. */
async function whyStray(
  server: Redis,
  reason: KeyReason,
  shards: number | null,
  lanes: number,
): Promise<string | null> {
  if ("shard" in reason && shards !== null && reason.shard >= shards) return `shard ${reason.shard} of ${shards}`;
  switch (reason.is) {
    case "known":
    case "shard":
      return null;
    case "unknown":
      return "no key of this version of Reprise";
    case "lane":
      return reason.lane < lanes ? null : `lane ${reason.lane} of ${lanes}: no worker reads it`;
    case "run_part":
      return (await server.exists(reason.needs)) === 1 ? null : "its run is not there";
    case "structure":
      return (await server.sismember(reason.needs, reason.structure)) === 1 ? null : "its structure is not known";
  }
}
