/** Where a machine stood at a moment that is gone back to: savepoints, forks, moves to another version, the base of a trimmed log. Shapes only. */
import type { Json } from "../../saga/index.ts";
import type { MachineState } from "../machine/port.ts";

/** A durable timer of the machine. */
export interface Timer {
  readonly id: string;
  readonly at: number;
  readonly event: { readonly type: string; readonly [key: string]: Json };
}

/** A timer with what it waits for, not yet set. */
export interface StartTimer {
  readonly id: string;
  readonly delayMs: number;
  readonly event: Timer["event"];
}

/** Where the other run stood when a fork of it began there. */
export interface ForkStart {
  readonly snapshot: MachineState;
  /** Rows that the ledger began with, and those of them that the machine waited for. */
  readonly rows: number;
  readonly waits: readonly number[];
  readonly timers: readonly StartTimer[];
}

/** A state tagged `savepoint`, as the run last entered it: an unwind may end there. */
export interface Savepoint {
  /** Id of the state. */
  readonly state: string;
  readonly revision: number;
  readonly start: ForkStart;
}

/** A run as it was before it was moved to another version. */
export interface Migrated {
  readonly version: number;
  readonly hash: string;
  readonly revision: number;
  readonly snapshot: MachineState | null;
}

/**
 * Where the machine stood before a log entry was written (after it had moved, for a migration): with it the log can be read
 * from that entry on, whatever became of those before it.
 */
export interface LogBase {
  /** Digest of the entry before. */
  readonly after: string;
  readonly snapshot: MachineState | null;
  /** Rows asked for by then, those the machine waited for, and of each step the newest row whose output it had. */
  readonly rows: number;
  readonly waits: readonly number[];
  readonly used: readonly number[];
  readonly timers: readonly StartTimer[];
}
