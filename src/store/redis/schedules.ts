/** `putSchedule`, `getSchedule`, `listSchedules`: all schedules of a namespace lie in its first shard. */
import type { PutScheduleCommand, Schedule, ScheduleShelf } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import { actText } from "./acts.ts";
import { now } from "./reads.ts";
import type { Wire } from "./wire.ts";

type Answer<Method extends keyof ScheduleShelf> = ReturnType<ScheduleShelf[Method]>;

export async function putSchedule(wire: Wire, command: PutScheduleCommand): Answer<"putSchedule"> {
  const { id, schedule, expects, act } = command;
  const text = schedule === null ? "" : `${schedule.revision} ${JSON.stringify(schedule)}`;
  const { clock, audit } = wire.shard(0);
  const keys = [clock, keyOf(wire), audit];
  const [answer, time] = await wire.run<readonly ["OK" | "STALE" | "FULL", number]>("put_schedule", keys, [
    id,
    expects ?? "",
    text,
    actText(act),
  ]);
  return { answer, now: time };
}

export async function getSchedule(wire: Wire, id: string): Answer<"getSchedule"> {
  const text = await wire.ask("schedule", () => wire.client.hget(keyOf(wire), id));
  return { schedule: text === null ? null : read(id, text), now: await now(wire) };
}

export async function listSchedules(wire: Wire): Answer<"listSchedules"> {
  const kept = await wire.ask("schedules", () => wire.client.hgetall(keyOf(wire)));
  const schedules = Object.entries(kept).map(([id, text]) => read(id, text));
  return { schedules: schedules.sort((a, b) => (a.id < b.id ? -1 : 1)), now: await now(wire) };
}

/** What is there was written above. */
function read(id: string, text: string): Schedule {
  try {
    return JSON.parse(text.slice(text.indexOf(" ") + 1)) as Schedule;
  } catch (cause) {
    throw new RepriseError("RECORD_CORRUPT", `the schedule ${id} cannot be read`, { details: { id }, cause });
  }
}

function keyOf(wire: Wire): string {
  return `${wire.shard(0).prefix}schedules`;
}
