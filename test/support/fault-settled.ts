/** What every file of crashes ends with: when all is over the invariants hold for every run, and no queue holds a job. */
import { expect } from "vitest";
import { leaveEvidence } from "./evidence.ts";
import type { Room } from "./fault-room.ts";
import type { Stage } from "./fault-stage.ts";

export interface Settled {
  /** The invariants that the title claims. */
  readonly ids: readonly string[];
  /** Which runs these were. */
  readonly what: string;
}

/** Judges every room that was left, by the one checker, and leaves evidence for the invariants. */
export async function expectAllSettled(stage: Stage, { ids, what }: Settled): Promise<void> {
  const rooms = await stage.drained();
  const reports = await Promise.all(rooms.map((room) => room.check({ queued: true })));
  expect(reports.flatMap(({ violations }) => violations)).toEqual([]);
  for (const room of rooms) expect((await statesSeen(room)).filter((state) => state !== "sent")).toEqual([]);
  const sum = (of: "arrivals" | "effects" | "runs") => reports.reduce((total, report) => total + report[of], 0);
  leaveEvidence(ids, {
    arrivals: sum("arrivals"),
    effects: sum("effects"),
    checks: [`${sum("runs")} runs ${what}, three witnesses compared, queues empty, every arrival saw its row sent`],
  });
}

/** What the world saw of the rows of its arrivals, at those moments. */
async function statesSeen(room: Room): Promise<readonly string[]> {
  const arrivals = (await room.entries()).filter(({ kind }) => kind === "arrival");
  return [...new Set(arrivals.map(({ saw }) => String((saw as { readonly state?: unknown } | undefined)?.state)))];
}
