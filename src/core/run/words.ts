/** What is sent to a run: the entries of its inbox, and what they say. Shapes only; `core/inbox.ts` reads them. */
import type { Json } from "../../saga/index.ts";
import type { Cancel } from "./basics.ts";
import type { Amounts } from "./company.ts";
import type { Principal } from "./people.ts";
import type { IntentWord } from "./row.ts";

/** What was sent to a run and not yet consumed. `slot` decides who wins (design section 4, Inbox). */
export interface InboxEntry {
  readonly slot: string;
  /** A counter of the run, never reused. */
  readonly position: number;
  readonly commandId: string;
  readonly at: number;
  readonly by: string;
  readonly body: InboxBody;
}

/** What a late or remote worker reports of a call. */
export type CallResult =
  | { readonly kind: "succeeded"; readonly output: Json }
  | { readonly kind: "unusable"; readonly output: Json; readonly problem: string }
  | {
      readonly kind: "not_applied" | "unknown";
      readonly code: string | null;
      readonly message: string;
      /** `fail()`: no retry, the author has decided. */
      readonly final: boolean;
      readonly reason: "error" | "timeout" | "fail";
      readonly retryAfterMs: number | null;
    }
  /** The grant was never used: proof that nothing happened. */
  | { readonly kind: "not_called"; readonly reason: string }
  /** It was stopped in the middle because one of its tools cannot be answered now; it is made again. */
  | { readonly kind: "suspended"; readonly reason: string }
  | { readonly kind: "defect"; readonly message: string };

/** What a request was decided on; absent where nobody said. */
export interface Shown {
  /** It counts for this revision alone. */
  readonly revision?: number;
  /** The plan that it executes. */
  readonly plan?: string;
}

export type InboxBody =
  | { readonly type: "event"; readonly event: string; readonly payload: Json; readonly reason?: string }
  | { readonly type: "cancel"; readonly mode: Cancel["mode"]; readonly reason: string }
  | { readonly type: "control"; readonly control: "pause" | "resume"; readonly reason: string }
  | ({ readonly type: "undo"; readonly reason: string; readonly despitePivot: boolean } & Shown)
  | ({ readonly type: "verb"; readonly verb: VerbCommand } & Shown)
  | {
      readonly type: "settle" | "late";
      readonly seq: number;
      readonly send: number;
      readonly side: "action" | "undo";
      readonly result: CallResult;
    }
  /** What a person says of what a row asks. `shown`: the digest of what was on the screen. */
  | {
      readonly type: "decide";
      readonly seq: number;
      readonly n: number;
      readonly shown: string;
      readonly as: Principal;
      readonly decision: ApprovalWord;
    }
  /** A run that a row has started has moved; its own record says how. */
  | { readonly type: "child"; readonly seq: number; readonly run: string }
  /** What the run may use in all of the budgets of the run that has started it; `null`: that has ended, and gives no more. */
  | { readonly type: "share"; readonly shares: Amounts | null }
  /** It may be this run's turn. */
  | { readonly type: "turn" }
  | { readonly type: "migrate"; readonly to: number; readonly hash: string; readonly reason: string }
  /** What became of an intent that a row of this run waits for, or whose outcome it has reused. */
  | {
      readonly type: "intent";
      readonly seq: number;
      readonly owner: string;
      readonly became: IntentWord;
    };

/** A person's word on an approval. */
export type ApprovalWord =
  | { readonly is: "approve"; readonly reason: string | null; readonly input?: Json; readonly form?: Json }
  | { readonly is: "reject"; readonly reason: string }
  | { readonly is: "ask_back" | "answer"; readonly text: string }
  | { readonly is: "delegate"; readonly to: string; readonly reason: string | null };

/** A verb with its arguments, as an operator sends it. */
export type VerbCommand =
  | { readonly verb: "probe" }
  | {
      readonly verb: "resolve";
      readonly as: "happened" | "absent";
      readonly output: Json;
      readonly reference: string | null;
      readonly evidence: string;
    }
  | { readonly verb: "retry"; readonly input: Json | undefined; readonly reason: string }
  | { readonly verb: "skip"; readonly reason: string }
  | { readonly verb: "discard"; readonly reason: string }
  | {
      readonly verb: "rewind";
      /** Id of a state tagged `savepoint`. */
      readonly to: string;
      readonly reason: string;
      /** Although a point of no return was passed since, or what stays would be made again. */
      readonly despite: boolean;
    }
  | { readonly verb: "compensate"; readonly reason: string }
  /** Gives a budget a new hard limit. */
  | { readonly verb: "raise"; readonly budget: string; readonly to: number; readonly reason: string }
  | { readonly verb: "close"; readonly reason: string };
