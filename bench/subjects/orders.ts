/** What the bench tells a measured process over IPC, and what it hears. */
import type { Load, Place } from "./contestant.ts";

export interface Order {
  readonly number: number;
  readonly what: "fill" | "drain" | "alone" | "serve" | "rest" | "pace" | "lateness";
  readonly place: Place;
  readonly load: Load;
  /** For `serve`: steps of `held` runs do not answer. */
  readonly hold: boolean;
}

/** What carrying out an order took this process; of a `drain`, from the first step that was entered. */
export interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
  readonly rssMb: number;
  /** What an `alone`, a `pace` (when it was asked for) or `lateness` tells of each saga, in ms. */
  readonly times: readonly number[];
  /** Of a `pace`: how long until each start was acknowledged, in ms. */
  readonly took: readonly number[];
}

export type Reply =
  | { readonly number: number; readonly cost: Cost }
  | { readonly number: number; readonly problem: string };

/** Said, unasked and not too often, by a process that serves: all runs that have ended here so far, and the CPU it has used since it began. */
export interface Progress {
  readonly ended: number;
  readonly cpuMs: number;
}

/** Said, unasked, when a step of a `held` or `timed` run is entered in a process that serves: when, by the machine's monotonic clock. */
export interface Entered {
  readonly entered: string;
  readonly atMs: number;
}
