/** Schedules in memory: the counterpart of `lua/put_schedule.lua`. */
import type { PutScheduleCommand, Schedule } from "../../core/index.ts";
import { maxSchedules } from "../limits.ts";

export type KeptSchedules = Map<string, Schedule>;

export function putSchedule(
  kept: KeptSchedules,
  { id, schedule, expects }: PutScheduleCommand,
): { readonly answer: "OK" | "STALE" | "FULL" } {
  const known = kept.get(id);
  if ((known?.revision ?? null) !== expects) return { answer: "STALE" };
  if (schedule === null) kept.delete(id);
  else if (known === undefined && kept.size >= maxSchedules) return { answer: "FULL" };
  else kept.set(id, structuredClone(schedule));
  return { answer: "OK" };
}

export function listSchedules(kept: KeptSchedules): readonly Schedule[] {
  return [...kept.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map((schedule) => structuredClone(schedule));
}
