/** When timers are due, and when the commits of this process say that they fired, by Redis time. */
import type { Fact } from "reprise";
import type { Paced } from "./contestant.ts";

/** When the timer of a run is due. */
export function dueAt({ firstAt, everyMs }: Paced, number: number): number {
  return Math.round(firstAt + number * everyMs);
}

const fired: { readonly run: string; readonly at: number }[] = [];

export const timers = {
  hear(fact: Fact): void {
    if (fact.fact !== "committed" || !fact.entry.taken.some((taken) => taken.what === "timer")) return;
    fired.push({ run: fact.run.id, at: fact.entry.at });
  },
  /** By how much each was late that fired. */
  lateness(paced: Paced): readonly number[] {
    return fired.map(({ run, at }) => at - dueAt(paced, Number(run.slice(2))));
  },
};
