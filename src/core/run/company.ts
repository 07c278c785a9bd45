/**
 * What a run keeps of other runs: its parent, its children, and those it takes turns with. Shapes only; `run.ts` says where
 * they stand.
 */
import type { Json } from "../../saga/index.ts";
import type { Cause } from "./basics.ts";
import type { Rollback, RunStatus } from "./status.ts";

/** The run that started this one as a step of its own, in the same tenant. */
export interface Parent {
  readonly run: string;
  readonly seq: number;
  /** It goes its own way: it is not cancelled or undone with its parent, and its parent does not wait. */
  readonly detached: boolean;
}

/** Amounts by the name of a budget. */
export type Amounts = Readonly<Record<string, number>>;

/** What a run may use of the budgets of the run that starts it; `null`: it counts for that, which has no limit there. */
export type Shares = Readonly<Record<string, number | null>>;

/** What a row knows of the run it has started. The child's own record is the truth. */
export interface RowChild {
  readonly run: string;
  readonly status: RunStatus;
  readonly rollback: Rollback;
  /** Revision of the child at which that was so. */
  readonly revision: number;
  /** What a person is asked about it, where it is parked. */
  readonly why: string | null;
  /** It does nothing by itself before something comes from outside, or time passes. */
  readonly rests?: true;
  /** What it had used; absent: nothing. */
  readonly used?: Amounts;
  /** Of what it wants more than its share, and how much that was; absent: of nothing. */
  readonly short?: Amounts;
}

/** What a request to a child has brought. */
export type ChildSeen =
  | {
      readonly is: "run";
      readonly child: RowChild;
      /** Encoded; only read when it has completed. */
      readonly output: Json;
      readonly cause: Cause | null;
      /** What it was asked before it was read; `null`: nothing. */
      readonly asked: "cancel" | "undo" | null;
      /** That lies in its inbox, and was not read yet. */
      readonly isPending: boolean;
    }
  /** The id is that of a run which this row has not started. */
  | { readonly is: "foreign"; readonly run: string }
  /** Nothing can be said of it now. */
  | { readonly is: "unreached"; readonly why: string };

/** A run that takes turns with others of the same key: `waiting` until it is its turn, `mine` until it has ended. */
export interface RunLimit {
  readonly key: Json;
  readonly limit: number;
  readonly state: "asking" | "waiting" | "mine" | "freed";
  /** Asks again then, should nobody call it. */
  readonly askAt: number | null;
  /** The number under which it had asked for the turn that is its own; absent: it has none, or has it from before there were numbers. */
  readonly asked?: number;
}
