/** What the commits of this process say of timers: when each was to fire, and when it did, by Redis time. */
import type { Fact } from "reprise";

/** Run -> when its timer is due. */
const due = new Map<string, number>();

export const timers = {
  lateness: [] as number[],
  hear(fact: Fact): void {
    if (fact.fact !== "committed") return;
    const { run, record, entry } = fact;
    const at = due.get(run.id);
    if (at !== undefined && entry.taken.some((taken) => taken.what === "timer")) this.lateness.push(entry.at - at);
    const [timer] = record.timers;
    if (timer !== undefined) due.set(run.id, timer.at);
  },
};
