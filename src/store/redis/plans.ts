/** Plans and batches: from the port's words to the scripts' and back. */
import type {
  KeptPlan,
  PlanShelf,
  PutPlanCommand,
  SetSuspensionCommand,
  Suspension,
  TakePlanCommand,
} from "../../core/index.ts";
import type { Json } from "../../saga/index.ts";
import { lastToExpireFirst } from "../cursor.ts";
import { planPlace } from "../keys.ts";
import { actText } from "./acts.ts";
import { now } from "./reads.ts";
import { stampedIn } from "./replies.ts";
import type { Wire } from "./wire.ts";

type Answer<Method extends keyof PlanShelf> = ReturnType<PlanShelf[Method]>;

export async function putPlan(wire: Wire, { id, body, expiresAt, isBatch = false }: PutPlanCommand): Answer<"putPlan"> {
  const args = [JSON.stringify(body), expiresAt, isBatch ? id : ""];
  const keys = [...keysOf(wire, id), wire.find(planPlace(id)).shard.batches];
  const [answer, now] = await wire.run<readonly ["OK" | "EXISTS", number]>("put_plan", keys, args);
  return { answer, now };
}

export async function listBatches(wire: Wire, limit: number): Answer<"listBatches"> {
  const time = await now(wire);
  const listed = await wire.ask("batches", () =>
    Promise.all(
      wire.shards.map(({ batches }) =>
        wire.client.zrevrangebyscore(batches, "+inf", `(${time}`, "WITHSCORES", "LIMIT", 0, limit),
      ),
    ),
  );
  const batches = listed.flatMap((flat) =>
    flat.flatMap((id, at) => (at % 2 === 0 ? [{ id, expiresAt: Number(flat[at + 1]) }] : [])),
  );
  return { batches: batches.sort(lastToExpireFirst).slice(0, limit), now: time };
}

type GetReply = readonly ["OK", number, fields: readonly string[]] | readonly ["ABSENT", number];

export async function getPlan(wire: Wire, id: string): Answer<"getPlan"> {
  const reply = await wire.run<GetReply>("get_plan", keysOf(wire, id), []);
  if (reply[0] === "ABSENT") return { answer: "ABSENT", now: reply[1] };
  return { answer: "OK", ...keptPlan(reply[2]), now: reply[1] };
}

/** What is there was written by the scripts beside this file. */
function keptPlan(flat: readonly string[]): KeptPlan {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) fields.set(flat[at] as string, flat[at + 1] as string);
  const [by, commandId] = [fields.get("b"), fields.get("c")];
  const results = [...fields].flatMap(([name, text]) =>
    name.startsWith("r") ? [[name.slice(1), JSON.parse(text) as Json] as const] : [],
  );
  return {
    body: JSON.parse(fields.get("p") ?? "null") as Json,
    expiresAt: Number(fields.get("e")),
    taken: by === undefined || commandId === undefined ? null : { by, commandId },
    results: Object.fromEntries(results),
    suspended: stampedIn<Suspension>(fields.get("s") ?? ""),
  };
}

type TakeReply = readonly ["OK" | "DUP" | "ABSENT", number] | readonly ["TAKEN", number, by: string, commandId: string];

export async function takePlan(wire: Wire, { id, by, commandId, act }: TakePlanCommand): Answer<"takePlan"> {
  const keys = [...keysOf(wire, id), wire.find(planPlace(id)).shard.audit];
  const reply = await wire.run<TakeReply>("take_plan", keys, [by, commandId, actText(act)]);
  if (reply[0] !== "TAKEN") return { answer: reply[0], now: reply[1] };
  return { answer: "TAKEN", by: reply[2], commandId: reply[3], now: reply[1] };
}

export async function noteResult(wire: Wire, id: string, item: number, result: Json): Answer<"noteResult"> {
  const args = [item, JSON.stringify(result)];
  const keys = keysOf(wire, id);
  const [answer, now] = await wire.run<readonly ["OK" | "KNOWN" | "ABSENT", number]>("note_result", keys, args);
  return { answer, now };
}

type SetSuspensionReply = readonly ["OK", number, was: string, suspended: string] | readonly ["ABSENT", number];

export async function setSuspension(wire: Wire, { id, suspended, act }: SetSuspensionCommand): Answer<"setSuspension"> {
  const keys = [...keysOf(wire, id), wire.find(planPlace(id)).shard.audit];
  const args = [suspended === null ? "" : JSON.stringify(suspended), actText(act)];
  const reply = await wire.run<SetSuspensionReply>("set_suspension", keys, args);
  if (reply[0] === "ABSENT") return { answer: "ABSENT", now: reply[1] };
  const [answer, time, was, is] = reply;
  return { answer, was: stampedIn<Suspension>(was), suspended: stampedIn<Suspension>(is), now: time };
}

type GetSuspensionReply = readonly ["OK", number, suspended: string] | readonly ["ABSENT", number];

export async function getSuspension(wire: Wire, id: string): Answer<"getSuspension"> {
  const reply = await wire.run<GetSuspensionReply>("get_suspension", keysOf(wire, id), []);
  if (reply[0] === "ABSENT") return { answer: "ABSENT", now: reply[1] };
  return { answer: "OK", suspended: stampedIn<Suspension>(reply[2]), now: reply[1] };
}

/** A plan lies in the shard of its own id: one that executes it knows nothing else. */
function keysOf(wire: Wire, id: string): readonly string[] {
  const { member, shard } = wire.find(planPlace(id));
  return [shard.clock, shard.prefix + member];
}
