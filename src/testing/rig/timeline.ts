/** What happened on a rig, to be read: the newest of it, oldest first. */
import type { Rig } from "./rig.ts";

const maxTimeline = 60;

/** What happened inside and outside, oldest first. */
export function timelineOf({ events, world }: Rig): readonly string[] {
  const outside = world.entries().map(({ at, kind, service, action, operationId }) => ({
    at: Date.parse(at),
    text:
      kind === "effect"
        ? `the world: ${service}.${action} happens ("${operationId}")`
        : `${service}.${action} is ${kind === "query" ? "asked about" : "asked for"}`,
  }));
  const all = [...events, ...outside].toSorted((a, b) => a.at - b.at);
  const start = all[0]?.at ?? 0;
  return all.slice(-maxTimeline).map(({ at, text }) => `${String(at - start).padStart(8)} ms  ${text}`);
}
