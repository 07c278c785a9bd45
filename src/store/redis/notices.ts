/** What is owed to hooks: a box for each hook and shard (`lua/shared.notices.lua`). */
import type {
  NoticeBox,
  NoticeFailure,
  OwedRun,
  PutOffCommand,
  ShownOwed,
  TakeNoticesCommand,
} from "../../core/index.ts";
import { boxKeys, type ShardKeys } from "../keys.ts";
import { longestOwedFirst, sumOwed } from "../owed.ts";
import { now } from "./reads.ts";
import type { Wire } from "./wire.ts";

type Answer<Method extends keyof NoticeBox> = ReturnType<NoticeBox[Method]>;

type TakeReply = readonly ["OK", now: number, lost: number, words: readonly string[]] | readonly ["HELD"];

export async function takeNotices(wire: Wire, command: TakeNoticesCommand): Answer<"takeNotices"> {
  const { hook, owner, leaseMs, limit, most } = command;
  const shard = wire.shard(command.shard);
  const { box, runs, turns, tried, taker } = boxKeys(shard, hook);
  const keys = [shard.clock, box, runs, turns, tried, taker, shard.hooks];
  const reply = await wire.run<TakeReply>("take_notices", keys, [hook, owner, leaseMs, limit, most]);
  if (reply[0] === "HELD") return { answer: "HELD" };
  const [, time, lost, words] = reply;
  return { answer: "OK", now: time, lost, runs: runsIn(words) };
}

function runsIn(words: readonly string[]): readonly OwedRun[] {
  return Array.from({ length: words.length / 4 }, (_, nth) => {
    const [run = "", text = "", againAt = "", before = ""] = words.slice(nth * 4);
    return { run, text, failure: againAt === "" ? null : failureOf(before, againAt) };
  });
}

/** `<tries> <time of the last> <why>` */
function failureOf(before: string, againAt: string): NoticeFailure {
  const [, tries = 0, at = 0, why = ""] = /^(\d+) (\d+) (.*)$/s.exec(before) ?? [];
  return { tries: Number(tries), at: Number(at), why, againAt: Number(againAt) };
}

export async function strikeNotice(
  wire: Wire,
  shard: number,
  hook: string,
  { run, text }: Pick<OwedRun, "run" | "text">,
): Answer<"strikeNotice"> {
  const { box, runs, turns, tried } = boxKeys(wire.shard(shard), hook);
  const [, next] = await wire.run<readonly ["OK" | "GONE", string]>(
    "strike_notice",
    [box, runs, turns, tried],
    [run, text],
  );
  return next === "" ? null : next;
}

export async function putOffNotice(wire: Wire, command: PutOffCommand): Promise<void> {
  const { hook, run, text, afterMs, why } = command;
  const shard = wire.shard(command.shard);
  const { box, runs, turns, tried } = boxKeys(shard, hook);
  await wire.run("put_off_notice", [shard.clock, box, runs, turns, tried], [run, text, afterMs, why]);
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
      const { box, runs, turns } = boxKeys(shard, hook);
      const [owed, oldest, failing] = await Promise.all([
        client.zcard(box),
        client.zrangebyscore(runs, "-inf", "+inf", "WITHSCORES", "LIMIT", 0, 1),
        client.zcount(turns, 0, "+inf"),
      ]);
      return { hook, owed, oldestAt: oldest[1] === undefined ? null : Number(oldest[1]), lost: Number(lost), failing };
    }),
  );
}

export async function owedRuns(wire: Wire, hook: string, limit: number): Answer<"owedRuns"> {
  const read = (shard: ShardKeys) => owedRunsIn(wire, shard, hook, limit);
  const shown = await wire.ask("notices", () => Promise.all(wire.shards.map(read)));
  return longestOwedFirst(shown.flat()).slice(0, limit);
}

async function owedRunsIn({ client }: Wire, shard: ShardKeys, hook: string, limit: number) {
  const { box, runs, turns, tried } = boxKeys(shard, hook);
  const oldest = await client.zrangebyscore(runs, "-inf", "+inf", "LIMIT", 0, limit);
  const shown = await Promise.all(
    oldest.map(async (run): Promise<readonly ShownOwed[]> => {
      const [from, to] = [`[${run} `, `(${run}!`];
      const [[first], owed, again, before] = await Promise.all([
        client.zrangebylex(box, from, to, "LIMIT", 0, 1),
        client.zlexcount(box, from, to),
        client.zscore(turns, run),
        client.hget(tried, run),
      ]);
      const [, text, since] = /^\S+ (.*) (\d+)$/s.exec(first ?? "") ?? [];
      // It was told between the two looks.
      if (text === undefined) return [];
      const failure = again === null || before === null ? null : failureOf(before, again);
      return [{ run, text, failure, since: Number(since), owed }];
    }),
  );
  return shown.flat();
}
