/** Why a run is parked for a person, and what that person may do. Shapes only; `core/people/verbs.ts` owns what follows. */
import type { Json } from "../../saga/index.ts";

export type ReviewReason =
  | "unknown_outcome"
  | "exhausted"
  | "halted"
  | "defect"
  | "poison"
  | "after_pivot"
  | "blocked"
  | "late_result"
  /** Its intent is taken with other arguments; by an owner that does not come to an end; or was undone by its owner. */
  | "intent_conflict"
  | "intent_busy"
  | "intent_undone"
  /** A value that was kept outside the store is gone, or is not what was kept. */
  | "missing_artifact"
  /** The store has forgotten commits that it had acknowledged. */
  | "store_rollback"
  /** A budget is used up. */
  | "budget"
  /** The same call was asked for too often. */
  | "loop"
  /** It was not over in time, and a person is to say what then. */
  | "deadline"
  /** Nobody has decided in time, and a person is to say what then. */
  | "approval_expired";

/** What a person may do with a parked run. */
export type Verb = "probe" | "resolve" | "retry" | "skip" | "discard" | "rewind" | "compensate" | "raise" | "close";

/** Why a run is parked and what a person may do; present exactly while `status` is `needs_review`. */
export interface Review {
  /** Grows every time the run is (still) parked after a verb; the slot is `review:<n>`. */
  readonly n: number;
  readonly reason: ReviewReason;
  /** In plain words, for the person who must act. */
  readonly message: string;
  /** The row it is about, and whether it is about its action or its compensation. */
  readonly seq: number | null;
  readonly side: "action" | "undo" | null;
  /** Id of the event it is about: one whose transition is a defect. Absent where it is about none. */
  readonly event?: string;
  readonly since: number;
  readonly evidence: Json;
  readonly verbs: readonly Verb[];
}
