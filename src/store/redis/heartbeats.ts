/** Heartbeats: a key for each incarnation, that expires; all of them in the first shard, where schedules are. */
import type { DrainCommand, DrainRequest, Heartbeat, Heartbeats, KeptHeartbeat } from "../../core/index.ts";
import { heartbeatKeptMs } from "../../core/index.ts";
import { actText } from "./acts.ts";
import { now } from "./reads.ts";
import { stampedIn } from "./replies.ts";
import type { Wire } from "./wire.ts";

type Answer<Method extends keyof Heartbeats> = ReturnType<Heartbeats[Method]>;

export async function beat(wire: Wire, heartbeat: Heartbeat): Answer<"beat"> {
  const { id, role } = heartbeat;
  const { beatOf, drainOf, heard, supervised, teller } = namesIn(wire);
  const keys = [wire.shard(0).clock, beatOf(id), drainOf(id), heard, supervised, teller];
  const args = [id, JSON.stringify(heartbeat), role === "supervisor" ? "1" : ""];
  const reply = await wire.run<readonly [drain: string, at: string, now: number, tells: 0 | 1]>("beat", keys, args);
  const [drain, at, time, tells] = reply;
  return {
    drain: stampedIn<DrainRequest>(drain),
    supervisedAt: at === "" ? null : Number(at),
    tells: tells === 1,
    now: time,
  };
}

export async function heartbeats(wire: Wire): Answer<"heartbeats"> {
  const { beatOf, drainOf, heard } = namesIn(wire);
  const time = await now(wire);
  const listed = await wire.ask("heartbeats", () =>
    wire.client.zrangebyscore(heard, `(${time - heartbeatKeptMs}`, "+inf", "WITHSCORES"),
  );
  const ids = listed.filter((_, at) => at % 2 === 0);
  if (ids.length === 0) return { heartbeats: [], drains: {}, now: time };
  const texts = await wire.ask("heartbeats", () => wire.client.mget([...ids.map(beatOf), ...ids.map(drainOf)]));
  const kept = ids.flatMap((_, at) => readHeartbeat(texts[at] ?? null, Number(listed[2 * at + 1])));
  const drains = ids.flatMap((id, at) => {
    const drain = stampedIn<DrainRequest>(texts[ids.length + at] ?? "");
    return drain === null ? [] : [[id, drain] as const];
  });
  return { heartbeats: kept.sort((a, b) => (a.id < b.id ? -1 : 1)), drains: Object.fromEntries(drains), now: time };
}

export async function askToDrain(wire: Wire, { worker, by, reason }: DrainCommand): Answer<"askToDrain"> {
  const { beatOf, drainOf } = namesIn(wire);
  const { clock, audit } = wire.shard(0);
  const keys = [clock, beatOf(worker), drainOf(worker), audit];
  const act = { act: "drain", by, reason, run: null, about: `worker ${worker}` };
  const args = [JSON.stringify({ by, reason }), actText(act)];
  const [answer, drain, time] = await wire.run<readonly ["OK" | "ABSENT", string, number]>("ask_to_drain", keys, args);
  return { answer, drain: stampedIn<DrainRequest>(drain), now: time };
}

/** Who says goodbye is not to be seen any more. */
export async function forgetHeartbeat(wire: Wire, id: string): Promise<void> {
  const { beatOf, drainOf, heard, teller } = namesIn(wire);
  await wire.ask("goodbye", () => Promise.all([wire.client.zrem(heard, id), wire.client.del(beatOf(id), drainOf(id))]));
  // Another one tells at once; nobody but itself could have taken its place meanwhile.
  const told = await wire.ask("goodbye", () => wire.client.get(teller));
  if (told?.startsWith(`${id} `) === true) await wire.ask("goodbye", () => wire.client.del(teller));
}

function namesIn(wire: Wire) {
  const { prefix } = wire.shard(0);
  return {
    beatOf: (id: string) => `${prefix}heartbeat:${id}`,
    drainOf: (id: string) => `${prefix}drain:${id}`,
    heard: `${prefix}heard`,
    supervised: `${prefix}supervised`,
    teller: `${prefix}supervisor`,
  };
}

/** What lies there was put there by `beat`, perhaps of another version: what cannot be read is not shown. */
function readHeartbeat(text: string | null, at: number): readonly KeptHeartbeat[] {
  if (text === null) return [];
  try {
    return [{ ...(JSON.parse(text) as Heartbeat), at }];
  } catch {
    return [];
  }
}
