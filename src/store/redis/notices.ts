/** `takeNotices`, `dropNotices`, `noticesOwed`: what is owed to hooks, one sorted set for each hook and shard. */
import type { NoticeBox, TakeNoticesCommand } from "../../core/index.ts";
import { boxKey, type ShardKeys } from "../keys.ts";
import { sumOwed } from "../owed.ts";
import { now } from "./reads.ts";
import type { Wire } from "./wire.ts";

type Answer<Method extends keyof NoticeBox> = ReturnType<NoticeBox[Method]>;

type TakeReply = readonly ["OK", lost: number, texts: readonly string[]] | readonly ["HELD"];

export async function takeNotices(wire: Wire, command: TakeNoticesCommand): Answer<"takeNotices"> {
  const { hook, owner, leaseMs, limit, most } = command;
  const shard = wire.shard(command.shard);
  const keys = [boxKey(shard, hook), `${shard.prefix}teller:${hook}`, shard.hooks];
  const reply = await wire.run<TakeReply>("take_notices", keys, [hook, owner, leaseMs, limit, most]);
  return reply[0] === "HELD" ? { answer: "HELD" } : { answer: "OK", lost: reply[1], texts: reply[2] };
}

export async function dropNotices(wire: Wire, shard: number, hook: string, texts: readonly string[]): Promise<void> {
  if (texts.length === 0) return;
  await wire.ask("notices", () => wire.client.zrem(boxKey(wire.shard(shard), hook), ...texts));
}

export async function noticesOwed(wire: Wire): Answer<"noticesOwed"> {
  const time = await now(wire);
  const owed = await wire.ask("notices", () => Promise.all(wire.shards.map((shard) => owedIn(wire, shard))));
  return { hooks: sumOwed(owed.flat()), now: time };
}

async function owedIn({ client }: Wire, shard: ShardKeys) {
  const hooks = Object.entries(await client.hgetall(shard.hooks));
  return await Promise.all(
    hooks.map(async ([hook, lost]) => {
      const box = boxKey(shard, hook);
      const [owed, oldest] = await Promise.all([
        client.zcard(box),
        client.zrangebyscore(box, "-inf", "+inf", "WITHSCORES", "LIMIT", 0, 1),
      ]);
      return { hook, owed, oldestAt: oldest[1] === undefined ? null : Number(oldest[1]), lost: Number(lost) };
    }),
  );
}
