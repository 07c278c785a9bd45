/**
 * What a run keeps of other runs: its parent, its children, and those it takes turns with. Shapes only; `run.ts` says where
 * they stand.
 */
import type { Json } from "../saga/index.ts";
import type { Rollback, RunStatus } from "./run-status.ts";

/** The run that started this one as a step of its own, in the same tenant. */
export interface Parent {
  readonly run: string;
  readonly seq: number;
  /** It goes its own way: it is not cancelled or undone with its parent, and its parent does not wait. */
  readonly detached: boolean;
}

/** What a row knows of the run it has started. The child's own record is the truth. */
export interface RowChild {
  readonly run: string;
  readonly status: RunStatus;
  readonly rollback: Rollback;
  /** Revision of the child at which that was so. */
  readonly revision: number;
}

/** A run that takes turns with others of the same key: `waiting` until it is its turn, `mine` until it has ended. */
export interface RunLimit {
  readonly key: Json;
  readonly limit: number;
  readonly state: "asking" | "waiting" | "mine" | "freed";
  /** Asks again then, should nobody call it. */
  readonly askAt: number | null;
}
