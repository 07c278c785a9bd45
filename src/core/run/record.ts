/**
 * The run record: the only truth about a run. It decides nothing. The stored form (short keys) is `store/codec.ts`'s.
 *
 * Invariants: R1 `record.revision` is the number of commits, with those that the store has forgotten, and never given twice.
 * R2 row `seq` is its 1-based place in the ledger. R3 `record.open` holds exactly the seqs of rows that still owe something
 * (`rowIsOpen`). R4 all times are Redis time in ms. R5 everything here is JSON.
 */
import type { Json } from "../../saga/index.ts";
import type { MachineState } from "../machine/port.ts";
import type { Cancel, Cause } from "./basics.ts";
import type { Parent, RunLimit } from "./company.ts";
import type { Budget } from "./people.ts";
import type { Review } from "./review.ts";
import type { Row } from "./row.ts";
import type { ForkStart, Migrated, Savepoint, Timer } from "./standing.ts";
import type { Rollback, RunStatus } from "./status.ts";
import type { InboxEntry } from "./words.ts";

export type WaitingFor = "timer" | "event" | "approval" | "budget" | "child" | "intent" | "limit" | "worker";

/** A running unwind. */
export interface Unwind {
  readonly cause: Cause;
  readonly at: number;
  /** Calls in flight may still answer until then. */
  readonly quiesceUntil: number;
  readonly ends: "failed" | "cancelled";
  /** A person has said that it goes back although a point of no return was passed. */
  readonly despitePivot: boolean;
  /** It ends there, and the run goes on; absent: it undoes everything and ends the run. */
  readonly to?: Savepoint;
  /** Nothing is undone: what is there is left as it is (`leave.ts`). */
  readonly leaves?: true;
}

/** Where a run comes from that replays another one. */
export type ReplayOf = Origin & ({ readonly mode: "new_run" } | { readonly mode: "fork"; readonly start: ForkStart });

interface Origin {
  /** Id of the other run, in the same tenant, and its revision then. */
  readonly run: string;
  readonly revision: number;
  /** The plan that was executed, by whom and why. */
  readonly plan: string;
  readonly by: string;
  readonly reason: string;
}

/** The run record: everything about a run but its rows, its log and its inbox. */
export interface RunRecord {
  readonly format: 1;
  readonly tenant: string;
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  readonly hash: string;
  readonly pool: string;
  readonly priority: number;
  readonly input: Json;
  readonly inputHash: string;
  readonly revision: number;
  readonly status: RunStatus;
  readonly rollback: Rollback;
  readonly cause: Cause | null;
  /** `null` until the first driver has begun it. */
  readonly snapshot: MachineState | null;
  readonly output: Json;
  /** Number of rows in the ledger. */
  readonly rows: number;
  readonly open: readonly number[];
  /** Seqs of those that ask people now. */
  readonly asks: readonly number[];
  /** Times each parallel region was entered, by region id; only regions entered more than once matter. */
  readonly regionEntries: Readonly<Record<string, number>>;
  readonly timers: readonly Timer[];
  readonly waitingFor: WaitingFor | null;
  readonly review: Review | null;
  /** Reviews so far. */
  readonly reviews: number;
  readonly cancel: Cancel | null;
  readonly paused: boolean;
  readonly unwind: Unwind | null;
  /** Owner deaths with no row sent, since the last outcome (poison). */
  readonly interruptions: number;
  /** Plans executed on it, and on the run that it replays. */
  readonly replays: number;
  /** The run that this one replays; `null`: it was started for itself. */
  readonly replayOf: ReplayOf | null;
  /** `null`: nobody's child. */
  readonly parent: Parent | null;
  /** `null`: it takes turns with nobody. */
  readonly limit: RunLimit | null;
  /** By name of what is used. */
  readonly budgets: Readonly<Record<string, Budget>>;
  /** It is to have ended by then; `null`: whenever. */
  readonly deadlineAt: number | null;
  /** How it is followed from outside: the W3C traceparent under which it was started; `null`: nobody follows it. */
  readonly trace: string | null;
  /** Where it was before it moved to today's version; `null`: it has not moved. */
  readonly migratedFrom: Migrated | null;
  /** The first revision whose log entry is still kept. */
  readonly logFrom: number;
  /** The newest revision whose log entry says where the machine stood; `null`: none does. */
  readonly logMark: number | null;
  /** Up to where it was brought back that the store had forgotten it; `null`: it never has. */
  readonly knownTo: KnownTo | null;
  /** Where a partial unwind may go back to, oldest first; only of sagas that have such states. */
  readonly savepoints: readonly Savepoint[];
  /** Highest inbox position looked at. */
  readonly seen: number;
  readonly attributes: Readonly<Record<string, Json>>;
  /** Bytes of its input and of the inputs and outputs of its rows, as JSON (`size.ts`). */
  readonly bytes: number;
  readonly createdAt: number;
  readonly startAt: number;
  readonly endedAt: number | null;
  /** Digest of the newest log entry; chains the log. */
  readonly logDigest: string;
}

/** How much is known again of a run of which the store had forgotten a part (`change/rollback.ts`). */
export interface KnownTo {
  /** Store time and revision of the newest commit that was remembered. */
  readonly at: number;
  readonly revision: number;
  /** The revision that brought it back. */
  readonly as: number;
}

/** A value that is kept outside the store and cannot be had. */
export interface MissingValue {
  /** In plain words: which value of what. */
  readonly where: string;
  /** SHA-256 of its content, in hex. */
  readonly hash: string;
  readonly bytes: number;
  /** `no_store`: this process was not told where such values are kept. */
  readonly why: "gone" | "damaged" | "no_store";
}

/** A run as its driver holds it: record, whole ledger (row seq at index seq - 1), and the inbox, oldest first. */
export interface Run {
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly inbox: readonly InboxEntry[];
  /** Values that were not there when the run was acquired (`hold.ts`). Absent where none is missing. */
  readonly missing?: readonly MissingValue[];
}
