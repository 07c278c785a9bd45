/** The log: what each commit took into account. Shapes only; `core/change/fold.ts` reads it back. */
import type { Json } from "../../saga/index.ts";
import type { RunLimit } from "./company.ts";
import type { DecisionKind, RowApproval } from "./people.ts";
import type { Verb } from "./review.ts";
import type { IntentState, IntentWord, Proof, UndoState } from "./row.ts";
import type { ForkStart, LogBase } from "./standing.ts";
import type { RunStatus } from "./status.ts";

/**
 * One thing a commit took into account, as the log tells it. `begun`, `told`, `timer` and `event` (unless forbidden) moved
 * the machine, in this order, except where it was `refused`, which then follows at once (`fold.ts`). `forgotten` stands alone: the
 * store has lost what was there (`change/rollback.ts`).
 */
export type Taken =
  | {
      readonly what:
        | "created"
        | "begun"
        | "resumed"
        | "forgotten"
        | "parked"
        | "unwinding"
        | "ended"
        | "defect"
        | "refused"
        | "missing";
      readonly note?: string;
    }
  | {
      readonly what: "sent" | "offered" | "withdrawn" | "abandoned" | "taken_back" | "interrupted" | "progress";
      readonly seq: number;
    }
  /** An action asked for a tool: a new row, or (`again`) one that is there. */
  | { readonly what: "tool"; readonly seq: number; readonly again?: true }
  /** How the row stands to its intent now. */
  | { readonly what: "intent"; readonly seq: number; readonly state: IntentState; readonly owner?: string }
  /** The registry of intents knows what became of the row. */
  | { readonly what: "published"; readonly seq: number; readonly became: IntentWord }
  | {
      readonly what: "outcome";
      readonly seq: number;
      readonly send: number;
      readonly outcome: "succeeded" | "not_applied" | "unknown";
      readonly proof: Proof;
    }
  /** The machine was told that the row succeeded (with the row's output), or failed. */
  | { readonly what: "told"; readonly seq: number; readonly failure: Json }
  /** `note`: why it is not believed. */
  | {
      readonly what: "probed";
      readonly seq: number;
      readonly answer: "happened" | "absent" | "cannot_tell";
      readonly note?: string;
    }
  | { readonly what: "undo"; readonly seq: number; readonly state: UndoState; readonly note?: string }
  | { readonly what: "timer"; readonly id: string }
  | {
      readonly what: "event";
      readonly id: string;
      readonly type: string;
      readonly payload: Json;
      readonly forbidden?: true;
    }
  | {
      readonly what: "verb";
      readonly verb: Verb;
      readonly review: number;
      readonly by: string;
      readonly payload: Json;
      readonly plan?: string;
    }
  | {
      /** An `undo` that was not done is `refused`, which then follows at once and says why. */
      readonly what: "control";
      readonly control: "cancel" | "pause" | "resume" | "undo";
      readonly by: string;
      readonly reason: string;
      readonly despitePivot?: true;
      /** Of a cancel that does not compensate. */
      readonly mode?: "stop" | "kill";
      readonly plan?: string;
    }
  /** How it stands with people's word on a row: `by` whom, where somebody has said something. */
  | {
      readonly what: "approval";
      readonly seq: number;
      readonly n: number;
      readonly state: RowApproval["state"] | DecisionKind | "delegate" | "answer" | "escalated" | "refused";
      readonly by?: string;
      readonly note?: string;
    }
  /** How it stands with the run that a row has started. */
  | { readonly what: "child"; readonly seq: number; readonly status: RunStatus }
  | { readonly what: "turn_taken"; readonly state: RunLimit["state"] }
  | {
      readonly what: "budget";
      readonly name: string;
      readonly used: number;
      readonly passed?: "soft" | "hard";
      readonly raised?: number;
      /** It was given so much in all by its parent, or (`seq`) has given it to the run of that row. */
      readonly share?: number;
      readonly seq?: number;
    }
  /** The time of a row is over, or (`null`) that of the run. */
  | { readonly what: "deadline"; readonly seq: number | null }
  | {
      /** It moved to another version, from `base` on; without it, it was `refused`, which then follows at once. */
      readonly what: "migrated";
      readonly from: number;
      readonly to: number;
      readonly by: string;
      readonly reason: string;
      readonly base?: LogBase;
    }
  /** From here on the log can be read by itself. */
  | { readonly what: "stood"; readonly base: LogBase }
  /** The store had forgotten entries before it; it goes on from `base`, as a worker remembered it. */
  | { readonly what: "restored"; readonly note: string; readonly base: LogBase }
  /** What came after a savepoint is undone: the machine stands there again, and asks for its steps as new rows. */
  | { readonly what: "rewound"; readonly state: string; readonly start: ForkStart }
  | { readonly what: "late"; readonly seq: number; readonly send: number; readonly outcome: string }
  | { readonly what: "unconsumed" | "discarded"; readonly slot: string };

/** One revision of a run, after the one before. */
export interface LogEntry {
  readonly revision: number;
  readonly at: number;
  readonly from: RunStatus | null;
  readonly to: RunStatus;
  readonly taken: readonly Taken[];
  /** Who moved it: a worker's incarnation, `client`, or a person. */
  readonly actor: string;
  readonly fence: number;
  /** Digest of the snapshot after it (with the entry's own facts) chained to the entry before. */
  readonly digest: string;
}
